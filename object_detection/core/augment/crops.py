"""Augmentations that crop: objects mostly outside of the crop are dropped."""

import dataclasses
from collections.abc import Callable, Sequence

import tensorflow as tf

from object_detection.core import resizers
from object_detection.core.augment import geometry
from object_detection.core.augment.tensors import (
    Tensors,
    changed,
    image_size,
    keep_objects,
    maybe,
    move_coordinates,
    split,
    uniform,
    uniform_int,
)
from object_detection.core.standard_fields import InputDataFields as Fields

_ATTEMPTS = 100  # random windows tried before the whole image is taken


@dataclasses.dataclass(frozen=True)
class CropRule:
    """Which windows may be cut out, and what stays of objects (SSD, arXiv:1512.02325)."""

    min_object_covered: float = 1.0  # at least one box is covered by so much
    min_aspect_ratio: float = 0.75  # width over height of the window
    max_aspect_ratio: float = 1.33
    min_area: float = 0.1  # part of the image
    max_area: float = 1.0
    overlap_thresh: float = 0.3  # an object stays if so much of its box is inside
    clip_boxes: bool = True  # cut boxes at the window
    random_coef: float = 0.0  # chance that nothing is cropped


# What `ssd_random_crop` chooses from where the config lists nothing.
SSD_RULES = tuple(
    CropRule(covered, 0.5, 2.0, 0.1, 1.0, covered, True, 0.15)
    for covered in (0.0, 0.1, 0.3, 0.5, 0.7, 0.9, 1.0))


def random_crop_image(tensors: Tensors, seed: tf.Tensor, rule: CropRule) -> Tensors:
    """Cuts out a random window that fits the rule; an image where none fits stays whole."""
    seeds = split(seed, 2)
    return maybe(tensors, seeds[0], 1.0 - rule.random_coef,
                 lambda t: _crop(t, _random_window(t, seeds[1], rule), rule.overlap_thresh,
                                 rule.clip_boxes))


def random_crop_pad_image(tensors: Tensors, seed: tf.Tensor, rule: CropRule,
                          min_padded_size_ratio: Sequence[float],
                          max_padded_size_ratio: Sequence[float],
                          pad_color: Sequence[float]) -> Tensors:
    """Crops, then pads the window to a size between the ratios (of the original image's size).

    Ratios are height and width; the defaults are 1, 1 and 2, 2.
    """
    low, high = tuple(min_padded_size_ratio) or (1.0, 1.0), tuple(max_padded_size_ratio) or (2., 2.)
    if len(low) != 2 or len(high) != 2:
        raise ValueError("random_crop_pad_image: want two values (height, width) in "
                         f"min_padded_size_ratio and max_padded_size_ratio, got {low} and {high}")
    seeds = split(seed, 2)
    size = tf.cast(tf.stack(image_size(tensors)), tf.float32)
    tensors = random_crop_image(tensors, seeds[0], rule)
    own = tf.stack(image_size(tensors))
    bounds = [tf.maximum(own, tf.cast(size * tf.constant(ratio, tf.float32), tf.int32))
              for ratio in (low, high)]
    return geometry.pad_at_random(tensors, seeds[1], bounds[0], bounds[1], pad_color)


def random_crop_to_aspect_ratio(tensors: Tensors, seed: tf.Tensor, aspect_ratio: float,
                                overlap_thresh: float, clip_boxes: bool) -> Tensors:
    """Cuts the largest window of this aspect ratio (width over height), at a random place."""
    if aspect_ratio <= 0:
        raise ValueError("random_crop_to_aspect_ratio.aspect_ratio: want a positive value, got "
                         f"{aspect_ratio:g}")
    height, width = image_size(tensors)
    exact_height = tf.cast(width, tf.float32) / aspect_ratio
    exact_width = tf.cast(height, tf.float32) * aspect_ratio
    new_height = tf.clip_by_value(tf.cast(tf.round(exact_height), tf.int32), 1, height)
    new_width = tf.clip_by_value(tf.cast(tf.round(exact_width), tf.int32), 1, width)
    seeds = split(seed, 2)
    top = uniform_int(seeds[0], 0, height - new_height + 1)
    left = uniform_int(seeds[1], 0, width - new_width + 1)
    window = tf.stack([top, left, top + new_height, left + new_width])
    return _crop(tensors, window, overlap_thresh, clip_boxes)


def ssd_random_crop(tensors: Tensors, seed: tf.Tensor, rules: Sequence[CropRule]) -> Tensors:
    """Crops by one of several rules, chosen at random."""
    return _one_of(seed, [lambda s, rule=rule: random_crop_image(tensors, s, rule)
                          for rule in rules or SSD_RULES])


def ssd_random_crop_fixed_aspect_ratio(tensors: Tensors, seed: tf.Tensor,
                                       rules: Sequence[CropRule], aspect_ratio: float) -> Tensors:
    """Crops by one of several rules, then to a fixed aspect ratio."""
    seeds = split(seed, 2)
    tensors = ssd_random_crop(tensors, seeds[0], rules)
    return random_crop_to_aspect_ratio(tensors, seeds[1], aspect_ratio, 0.0, True)


def random_scale_crop_and_pad_to_square(tensors: Tensors, seed: tf.Tensor, output_size: int,
                                        scale_min: float, scale_max: float) -> Tensors:
    """Scales by a random factor and brings the result to a square by cropping and padding.

    Large scale jitter (Ghiasi et al., arXiv:2012.07177). The long side becomes a random multiple of
    `output_size`; padding is at the bottom and right, black. Objects without any pixel inside are
    dropped.
    """
    if output_size < 1 or not 0 < scale_min <= scale_max:
        raise ValueError("random_scale_crop_and_pad_to_square: want output_size >= 1 and 0 < "
                         f"scale_min <= scale_max, got {output_size}, {scale_min}, {scale_max}")
    seeds = split(seed, 3)
    height, width = (tf.cast(side, tf.float32) for side in image_size(tensors))
    factor = uniform(seeds[0], scale_min, scale_max) * output_size / tf.maximum(height, width)
    size = [tf.maximum(1, tf.cast(side * factor, tf.int32)) for side in (height, width)]
    tensors = _scaled(tensors, size)
    inner = [tf.minimum(side, output_size) for side in size]
    corner = [uniform_int(seeds[1 + i], 0, size[i] - inner[i] + 1) for i in range(2)]
    window = tf.stack([*corner, corner[0] + inner[0], corner[1] + inner[1]])
    tensors = _crop(tensors, window, 0.0, True)
    tensors = geometry.pad_to(tensors, tf.constant([output_size, output_size]),
                              tf.zeros([2], tf.int32), (0.0,))
    channels = tensors[Fields.image].shape[-1]
    return changed(tensors, Fields.image,
                   lambda image: tf.ensure_shape(image, [output_size, output_size, channels]))


def _scaled(tensors: Tensors, size: Sequence[tf.Tensor]) -> Tensors:
    tensors = changed(tensors, Fields.image,
                      lambda image: tf.compat.v1.image.resize(image, tf.stack(size)))
    return changed(tensors, Fields.groundtruth_instance_masks,
                   lambda masks: resizers.resize_nearest(masks, tuple(size)))


def _one_of(seed: tf.Tensor, choices: Sequence[Callable[[tf.Tensor], Tensors]]) -> Tensors:
    seeds = split(seed, 2)
    branches = [lambda choice=choice: choice(seeds[1]) for choice in choices]
    return tf.switch_case(uniform_int(seeds[0], 0, len(branches)), branches)


def _random_window(tensors: Tensors, seed: tf.Tensor, rule: CropRule) -> tf.Tensor:
    """Returns int32 [4] ymin, xmin, ymax, xmax in pixels."""
    boxes = tf.clip_by_value(tensors[Fields.groundtruth_boxes], 0.0, 1.0)
    begin, size, _ = tf.image.stateless_sample_distorted_bounding_box(
        tf.shape(tensors[Fields.image]), boxes[tf.newaxis], seed,
        min_object_covered=rule.min_object_covered,
        aspect_ratio_range=(rule.min_aspect_ratio, rule.max_aspect_ratio),
        area_range=(rule.min_area, rule.max_area),
        max_attempts=_ATTEMPTS, use_image_if_no_bounding_boxes=True)
    # A size of -1 stands for "up to the border".
    whole = tf.stack(image_size(tensors))
    end = tf.where(size[:2] < 0, whole, begin[:2] + size[:2])
    return tf.concat([begin[:2], end], 0)


def _crop(tensors: Tensors, window: tf.Tensor, overlap_thresh: float,
          clip_boxes: bool) -> Tensors:
    """Cuts out a window (int32 [4] pixels) and drops objects with too little inside."""
    top, left, bottom, right = tf.unstack(window)
    full = tf.cast(tf.stack(image_size(tensors)), tf.float32)
    offset = tf.cast(window[:2], tf.float32) / full
    size = tf.cast(window[2:] - window[:2], tf.float32) / full
    channels = tensors[Fields.image].shape[-1]
    tensors = changed(tensors, Fields.image, lambda image: tf.ensure_shape(
        image[top:bottom, left:right], [None, None, channels]))
    tensors = changed(tensors, Fields.groundtruth_instance_masks,
                      lambda masks: masks[:, top:bottom, left:right])
    tensors = move_coordinates(tensors, 1.0 / size, -offset / size)
    boxes = tensors[Fields.groundtruth_boxes]
    inside = tf.clip_by_value(boxes, 0.0, 1.0)
    share = tf.math.divide_no_nan(_area(inside), _area(boxes))
    tensors = keep_objects(tensors, (_area(inside) > 0.0) & (share >= overlap_thresh))
    if clip_boxes:
        tensors = changed(tensors, Fields.groundtruth_boxes,
                          lambda b: tf.clip_by_value(b, 0.0, 1.0))
    return tensors


def _area(boxes: tf.Tensor) -> tf.Tensor:
    return (boxes[:, 2] - boxes[:, 0]) * (boxes[:, 3] - boxes[:, 1])
