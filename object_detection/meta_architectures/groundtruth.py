"""Ground truth as callers give it, made into one padded batch."""

import threading
from collections.abc import Sequence

import tensorflow as tf

from object_detection.core.resizers import Resizer
from object_detection.core.structures import GroundTruth


class GroundTruthHolder(threading.local):
    """Keeps the ground truth of the present step, per thread.

    A mirrored strategy traces each replica in a thread of its own; a plain attribute would let one
    replica see the ground truth of another.
    """

    def __init__(self) -> None:
        self.value: GroundTruth | None = None  # boxes normalized to the padded network input
        self.masks: Sequence[tf.Tensor] | None = None  # as they were given


def padded_batch(boxes: Sequence[tf.Tensor], classes: Sequence[tf.Tensor], num_classes: int,
                 weights: Sequence[tf.Tensor] | None = None,
                 is_annotated: Sequence[tf.Tensor] | None = None,
                 is_crowd: Sequence[tf.Tensor] | None = None,
                 known_classes: Sequence[tf.Tensor] | None = None) -> GroundTruth:
    """Pads per-image tensors to the most objects of the batch, at least one row.

    Each argument may also be one tensor with the batch in front, padded already (rows of padding
    need weight 0).

    Args:
        boxes: float32 [n_i, 4] each; units are kept.
        classes: [n_i, num_classes] each, without a background column.
        weights: float32 [n_i] each; 1 where absent.
        is_annotated: bool scalars; true where absent.
        is_crowd: bool [n_i] each, whose weights become 0; no crowds where absent.
        known_classes: [num_classes] each, not 0 for classes that are annotated in the image; all
            where absent.
    Raises:
        ValueError: if the lists disagree in length or a class row has another width.
    """
    count, given_boxes = len(boxes), boxes
    for name, given in (("classes", classes), ("weights", weights),
                        ("is_annotated", is_annotated), ("is_crowd", is_crowd),
                        ("labeled classes", known_classes)):
        if given is not None and len(given) != count:
            raise ValueError(f"ground truth: boxes of {count} images, but {name} of {len(given)}")
    width = classes[0].shape[-1]
    if width is not None and width != num_classes:
        raise ValueError(f"ground truth: classes must be one-hot with {num_classes} columns "
                         f"(num_classes, no background), got {width}")
    boxes, classes = stacked(boxes, tf.float32), stacked(classes, tf.float32)
    if weights is None:
        counts = [tf.shape(image_boxes)[0] for image_boxes in given_boxes]
        weights = tf.sequence_mask(counts, maxlen=tf.shape(boxes)[1], dtype=tf.float32)
    weights = stacked(weights, tf.float32)
    crowds = tf.zeros_like(weights, tf.bool) if is_crowd is None else stacked(is_crowd, tf.bool)
    return GroundTruth(
        boxes, classes, tf.where(crowds, 0.0, weights),
        is_annotated=_flags(is_annotated, [count]), is_crowd=crowds,
        known_classes=_flags(known_classes, [count, num_classes]))


def _flags(values: Sequence[tf.Tensor] | None, shape: Sequence[int]) -> tf.Tensor:
    """Returns bool [B, ...] of one value per image; all true where there are none."""
    if values is None:
        return tf.ones(shape, tf.bool)
    return tf.stack([tf.reshape(tf.cast(value, tf.bool), shape[1:]) for value in values])


def network_masks(masks: Sequence[tf.Tensor], height: tf.Tensor, width: tf.Tensor,
                  resizer: Resizer | None) -> tf.Tensor:
    """Brings masks to the frame of the padded network input.

    Args:
        masks: [n_i, h_i, w_i] each, 0 or 1.
        height, width: of the network input.
        resizer: resizes masks of another size than the network input, which are then those of the
            images as they were before resizing; None: masks have the right size.
    Returns:
        float32 [B, N, height, width].
    """
    def fitted(image_masks: tf.Tensor) -> tf.Tensor:
        image_masks = tf.cast(image_masks, tf.float32)
        size = tf.shape(image_masks)[1:]
        wanted = tf.stack([height, width])

        def resized() -> tf.Tensor:
            blank = tf.zeros(tf.concat([size, [1]], axis=0))
            found = resizer(blank, image_masks).masks
            around = tf.maximum(wanted - tf.shape(found)[1:], 0)
            return tf.pad(found, [[0, 0], [0, around[0]], [0, around[1]]])

        if image_masks.shape[1:].is_fully_defined() and tf.get_static_value(wanted) is not None:
            same = image_masks.shape[1:].as_list() == list(tf.get_static_value(wanted))
            return image_masks if same else resized()
        return tf.cond(tf.reduce_all(size == wanted), lambda: image_masks, resized)

    if resizer is None or (isinstance(masks, tf.Tensor) and masks.shape.rank == 4):
        return stacked(masks, tf.float32)
    return stacked([fitted(image_masks) for image_masks in masks], tf.float32)


def stacked(values: Sequence[tf.Tensor], dtype: tf.DType) -> tf.Tensor:
    """Stacks [n_i, ...] tensors, padding the first dimension with zeros to the largest n_i >= 1."""
    if isinstance(values, tf.Tensor):
        return tf.cast(values, dtype)
    values = [tf.cast(value, dtype) for value in values]
    sizes = {value.shape[0] for value in values}
    if len(sizes) == 1 and None not in sizes and 0 not in sizes:
        return tf.stack(values)
    static = None if None in sizes else max(1, *sizes)
    rows = static or tf.reduce_max([1] + [tf.shape(value)[0] for value in values])
    return tf.stack([
        tf.pad(value, [[0, rows - tf.shape(value)[0]]] + [[0, 0]] * (value.shape.rank - 1))
        for value in values])
