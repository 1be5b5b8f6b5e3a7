"""What augmentations work on: the dictionary of one decoded record, and helpers to change it.

An augmentation is a plain function of the dictionary, a seed (int32 [2]) and its settings. It
returns a new dictionary. Pixels are float32 0..255; boxes and keypoints are normalized to the
image. All randomness comes from the seed, so the same seed gives the same result under any
number of threads.
"""

from collections.abc import Callable

import tensorflow as tf

from object_detection.core.standard_fields import InputDataFields as Fields

Tensors = dict[str, tf.Tensor]

# Keys with one row per object; a dictionary need not have all of them.
OBJECT_KEYS = (
    Fields.groundtruth_boxes, Fields.groundtruth_classes, Fields.groundtruth_weights,
    Fields.groundtruth_confidences, Fields.groundtruth_area, Fields.groundtruth_is_crowd,
    Fields.groundtruth_difficult, Fields.groundtruth_group_of, Fields.groundtruth_track_ids,
    Fields.groundtruth_instance_masks, Fields.groundtruth_instance_mask_weights,
    Fields.groundtruth_keypoints, Fields.groundtruth_keypoint_visibilities,
    Fields.multiclass_scores)


def keep_objects(tensors: Tensors, mask: tf.Tensor) -> Tensors:
    """Returns the tensors with only those objects whose entry in bool [N] `mask` is true."""
    rows = tf.where(mask)[:, 0]
    return {key: tf.gather(value, rows) if key in OBJECT_KEYS else value
            for key, value in tensors.items()}


def changed(tensors: Tensors, key: str, function: Callable[[tf.Tensor], tf.Tensor]) -> Tensors:
    """Returns the tensors with `function` applied to one of them; an absent key stays absent."""
    if key not in tensors:
        return tensors
    return {**tensors, key: function(tensors[key])}


def move_coordinates(tensors: Tensors, scale: tf.Tensor, offset: tf.Tensor) -> Tensors:
    """Maps normalized boxes and keypoints to `coordinate * scale + offset`; both are [2], y x."""
    boxes_scale, boxes_offset = tf.tile(scale, [2]), tf.tile(offset, [2])
    tensors = changed(tensors, Fields.groundtruth_boxes, lambda b: b * boxes_scale + boxes_offset)
    return changed(tensors, Fields.groundtruth_keypoints, lambda k: k * scale + offset)


def maybe(tensors: Tensors, seed: tf.Tensor, probability: float,
          function: Callable[[Tensors], Tensors]) -> Tensors:
    """Applies `function` with a probability; it must keep the keys and the types."""
    if probability <= 0.0:
        return tensors
    if probability >= 1.0:
        return function(tensors)
    return tf.cond(uniform(seed) < probability, lambda: function(tensors), lambda: dict(tensors))


def uniform(seed: tf.Tensor, low: float | tf.Tensor = 0.0,
            high: float | tf.Tensor = 1.0) -> tf.Tensor:
    """Returns a random float32 scalar in [low, high)."""
    return tf.random.stateless_uniform([], seed) * (high - low) + low


def uniform_int(seed: tf.Tensor, low: int | tf.Tensor, high: int | tf.Tensor) -> tf.Tensor:
    """Returns a random int32 scalar in [low, high), or low where that range is empty."""
    low = tf.cast(low, tf.int32)
    return tf.random.stateless_uniform([], seed, low, tf.maximum(tf.cast(high, tf.int32), low + 1),
                                       dtype=tf.int32)


def split(seed: tf.Tensor, count: int) -> list[tf.Tensor]:
    """Returns `count` independent seeds."""
    return [tf.random.fold_in(seed, number) for number in range(count)]


def image_size(tensors: Tensors) -> tuple[tf.Tensor, tf.Tensor]:
    """Returns height and width of the image, int32 scalars."""
    shape = tf.shape(tensors[Fields.image])
    return shape[0], shape[1]
