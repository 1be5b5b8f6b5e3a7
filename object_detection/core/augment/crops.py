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


@dataclasses.dataclass(frozen=True)
class CropPadRule:
    """A crop and the padding after it, as `random_crop_pad_image` has them."""

    rule: CropRule
    min_padded_size_ratio: tuple[float, ...] = ()
    max_padded_size_ratio: tuple[float, ...] = ()
    pad_color: tuple[float, ...] = ()


# What the SSD crops choose from where the config lists nothing.
SSD_RULES = tuple(
    CropRule(covered, 0.5, 2.0, 0.1, 1.0, covered, True, 0.15)
    for covered in (0.0, 0.1, 0.3, 0.5, 0.7, 0.9, 1.0))
SSD_PAD_RULES = tuple(CropPadRule(rule) for rule in SSD_RULES[1:])


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
    low, high = _padding_ratios(min_padded_size_ratio, max_padded_size_ratio)
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


def random_crop_to_size(tensors: Tensors, seed: tf.Tensor, size: tuple[int, int]) -> Tensors:
    """Cuts a window of this height and width, at a random place of an image that holds it.

    Objects without a pixel inside are dropped. With masks, that is a pixel of the mask, and boxes
    are drawn anew around what is left of the masks.
    """
    seeds = split(seed, 2)
    corner = tf.stack([uniform_int(seeds[i], 0, side - size[i] + 1)
                       for i, side in enumerate(image_size(tensors))])
    tensors = _crop(tensors, tf.concat([corner, corner + size], 0), 0.0, True)
    channels = tensors[Fields.image].shape[-1]
    tensors = changed(tensors, Fields.image,
                      lambda image: tf.ensure_shape(image, [*size, channels]))
    if Fields.groundtruth_instance_masks not in tensors:
        return tensors
    masks = tf.ensure_shape(tensors[Fields.groundtruth_instance_masks], [None, *size])
    filled = tf.reduce_any(masks > 0, axis=[1, 2])
    tensors = {**tensors, Fields.groundtruth_instance_masks: masks,
               Fields.groundtruth_boxes: _boxes_of_masks(masks)}
    return keep_objects(tensors, filled)


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


def ssd_random_crop_pad(tensors: Tensors, seed: tf.Tensor,
                        rules: Sequence[CropPadRule]) -> Tensors:
    """Crops and pads by one of several rules, chosen at random."""
    return _one_of(seed, [
        lambda s, r=rule: random_crop_pad_image(
            tensors, s, r.rule, r.min_padded_size_ratio, r.max_padded_size_ratio, r.pad_color)
        for rule in rules or SSD_PAD_RULES])


def ssd_random_crop_pad_fixed_aspect_ratio(
        tensors: Tensors, seed: tf.Tensor, rules: Sequence[CropRule], aspect_ratio: float,
        min_padded_size_ratio: Sequence[float],
        max_padded_size_ratio: Sequence[float]) -> Tensors:
    """Crops by one of several rules, then pads to a fixed aspect ratio (width over height).

    Padding is black, at the bottom and right. The result is the smallest canvas of that aspect
    ratio times a random factor, drawn so that its sides stay between the ratios where possible.
    """
    if aspect_ratio <= 0:
        raise ValueError("ssd_random_crop_pad_fixed_aspect_ratio.aspect_ratio: want a positive "
                         f"value, got {aspect_ratio:g}")
    low, high = _padding_ratios(min_padded_size_ratio, max_padded_size_ratio)
    seeds = split(seed, 2)
    tensors = ssd_random_crop(tensors, seeds[0], rules)
    own = tf.stack(image_size(tensors))
    sides = tf.cast(own, tf.float32)
    canvas = tf.stack([tf.maximum(sides[0], sides[1] / aspect_ratio),
                       tf.maximum(sides[1], sides[0] * aspect_ratio)])
    largest = tf.reduce_min(tf.maximum(tf.constant(high) * canvas, sides) / canvas)
    smallest = tf.reduce_max(tf.maximum(tf.constant(low) * canvas, sides) / canvas)
    factor = uniform(seeds[1], tf.minimum(smallest, largest), largest)
    size = tf.maximum(own, tf.cast(tf.round(canvas * factor), tf.int32))
    return geometry.pad_to(tensors, size, tf.zeros([2], tf.int32), (0.0,))


def random_square_crop_by_scale(tensors: Tensors, seed: tf.Tensor, max_border: int,
                                scale_min: float, scale_max: float, num_scales: int) -> Tensors:
    """Cuts a square whose side is a random multiple of the image's longer side.

    From CenterNet (Zhou et al., arXiv:1904.07850). The factor is one of `num_scales` evenly spaced
    ones. The middle keeps a distance from the border of `max_border` pixels, halved until it is at
    most half the side. What lies outside the image is black; objects outside the square are
    dropped.
    """
    if max_border < 1 or num_scales < 1 or not 0 < scale_min <= scale_max:
        raise ValueError(
            "random_square_crop_by_scale: want max_border and num_scales of at least 1 and 0 < "
            f"scale_min <= scale_max, got {max_border}, {num_scales}, {scale_min:g} and "
            f"{scale_max:g}")
    seeds = split(seed, 3)
    size = tf.stack(image_size(tensors))
    scale = tf.linspace(scale_min, scale_max, num_scales)[uniform_int(seeds[0], 0, num_scales)]
    longer = tf.cast(tf.reduce_max(size), tf.float32)
    side = tf.maximum(1, tf.cast(longer * tf.cast(scale, tf.float32), tf.int32))
    border = _distance_from_border(max_border, size)
    middle = tf.stack([uniform_int(seeds[1 + i], border[i], size[i] - border[i] + 1)
                       for i in range(2)])
    corner = tf.minimum(middle, size - 1) - side // 2
    begin, end = tf.maximum(corner, 0), tf.minimum(corner + side, size)
    tensors = _crop(tensors, tf.concat([begin, end], 0), 0.0, True)
    return geometry.pad_to(tensors, tf.stack([side, side]), begin - corner, (0.0,))


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


def _padding_ratios(low: Sequence[float],
                    high: Sequence[float]) -> tuple[tuple[float, ...], tuple[float, ...]]:
    """Returns both ratios of height and width, with the defaults in place of empty ones."""
    low, high = tuple(low) or (1.0, 1.0), tuple(high) or (2.0, 2.0)
    if len(low) != 2 or len(high) != 2:
        raise ValueError("data_augmentation_options: want two values (height, width) in "
                         f"min_padded_size_ratio and max_padded_size_ratio, got {low} and {high}")
    return low, high


def _distance_from_border(most: int, size: tf.Tensor) -> tf.Tensor:
    """Halves `most` until it is at most half of each side: int32 [2] for sides int32 [2]."""
    divisors = tf.constant([2 ** k for k in range(most.bit_length() + 2)])
    fits = 2 * most <= size[:, tf.newaxis] * divisors
    return most // tf.gather(divisors, tf.argmax(fits, axis=1))


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


def _boxes_of_masks(masks: tf.Tensor) -> tf.Tensor:
    """Returns normalized float32 [N, 4] around masks [N, H, W]; any box for an empty mask."""
    filled, sides = masks > 0, []
    for axis in (2, 1):  # rows that hold a pixel, then columns
        lines = tf.cast(tf.reduce_any(filled, axis=axis), tf.int32)
        length = tf.shape(lines)[1]
        first = tf.argmax(lines, axis=1, output_type=tf.int32)
        end = length - tf.argmax(tf.reverse(lines, [1]), axis=1, output_type=tf.int32)
        sides.append(tf.stack([first, end], axis=1) / length)
    (top, bottom), (left, right) = (tf.unstack(side, axis=1) for side in sides)
    return tf.cast(tf.stack([top, left, bottom, right], axis=1), tf.float32)


def _area(boxes: tf.Tensor) -> tf.Tensor:
    return (boxes[:, 2] - boxes[:, 0]) * (boxes[:, 3] - boxes[:, 1])
