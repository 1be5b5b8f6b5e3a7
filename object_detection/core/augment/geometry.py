"""Augmentations that move pixels: image, masks, boxes and keypoints change together."""

from collections.abc import Sequence

import tensorflow as tf

from object_detection.core import resizers
from object_detection.core.augment.tensors import (
    OBJECT_KEYS,
    Tensors,
    changed,
    image_size,
    maybe,
    move_coordinates,
    split,
    uniform,
    uniform_int,
)
from object_detection.core.standard_fields import InputDataFields as Fields


def random_horizontal_flip(tensors: Tensors, seed: tf.Tensor,
                           keypoint_flip_permutation: Sequence[int], probability: float) -> Tensors:
    """Swaps left and right; `keypoint_flip_permutation` renames keypoints (left and right eye)."""
    def flip(t: Tensors) -> Tensors:
        t = changed(t, Fields.image, lambda image: tf.reverse(image, [1]))
        t = changed(t, Fields.groundtruth_instance_masks, lambda masks: tf.reverse(masks, [2]))
        t = move_coordinates(t, tf.constant([1.0, -1.0]), tf.constant([0.0, 1.0]))
        t = changed(t, Fields.groundtruth_boxes, lambda b: tf.gather(b, [0, 3, 2, 1], axis=1))
        return _permute_keypoints(t, keypoint_flip_permutation)
    return maybe(tensors, seed, probability, flip)


def random_vertical_flip(tensors: Tensors, seed: tf.Tensor,
                         keypoint_flip_permutation: Sequence[int], probability: float) -> Tensors:
    """Swaps top and bottom."""
    def flip(t: Tensors) -> Tensors:
        t = changed(t, Fields.image, lambda image: tf.reverse(image, [0]))
        t = changed(t, Fields.groundtruth_instance_masks, lambda masks: tf.reverse(masks, [1]))
        t = move_coordinates(t, tf.constant([-1.0, 1.0]), tf.constant([1.0, 0.0]))
        t = changed(t, Fields.groundtruth_boxes, lambda b: tf.gather(b, [2, 1, 0, 3], axis=1))
        return _permute_keypoints(t, keypoint_flip_permutation)
    return maybe(tensors, seed, probability, flip)


def random_rotation90(tensors: Tensors, seed: tf.Tensor, keypoint_rot_permutation: Sequence[int],
                      probability: float) -> Tensors:
    """Turns by 90 degrees counter-clockwise: the right border becomes the top."""
    def rotate(t: Tensors) -> Tensors:
        t = changed(t, Fields.image,
                    lambda image: tf.reverse(tf.transpose(image, [1, 0, 2]), [0]))
        t = changed(t, Fields.groundtruth_instance_masks,
                    lambda masks: tf.reverse(tf.transpose(masks, [0, 2, 1]), [1]))
        t = changed(t, Fields.groundtruth_boxes, lambda b: tf.stack(
            [1.0 - b[:, 3], b[:, 0], 1.0 - b[:, 1], b[:, 2]], axis=1))
        t = changed(t, Fields.groundtruth_keypoints, lambda k: tf.stack(
            [1.0 - k[..., 1], k[..., 0]], axis=-1))
        return _permute_keypoints(t, keypoint_rot_permutation)
    channels = tensors[Fields.image].shape[-1]
    rotated = maybe(tensors, seed, probability, rotate)
    return changed(rotated, Fields.image, lambda i: tf.ensure_shape(i, [None, None, channels]))


def random_image_scale(tensors: Tensors, seed: tf.Tensor, min_scale_ratio: float,
                       max_scale_ratio: float) -> Tensors:
    """Scales both sides by one random factor."""
    ratio = uniform(seed, min_scale_ratio, max_scale_ratio)
    height, width = (tf.cast(tf.cast(side, tf.float32) * ratio, tf.int32)
                     for side in image_size(tensors))
    return _resized(tensors, tf.maximum(height, 1), tf.maximum(width, 1), "BILINEAR")


def random_downscale_to_target_pixels(tensors: Tensors, seed: tf.Tensor, random_coef: float,
                                      min_target_pixels: int, max_target_pixels: int) -> Tensors:
    """Shrinks the image to a random number of pixels; smaller images stay as they are.

    Keeps the image with a chance of `random_coef`.
    """
    seeds = split(seed, 2)
    height, width = image_size(tensors)
    target = uniform_int(seeds[1], min_target_pixels, max_target_pixels)
    ratio = tf.sqrt(tf.cast(target, tf.float32) / tf.cast(height * width, tf.float32))

    def shrink(t: Tensors) -> Tensors:
        sides = [tf.cast(tf.cast(side, tf.float32) * tf.minimum(ratio, 1.0), tf.int32)
                 for side in (height, width)]
        return _resized(t, tf.maximum(sides[0], 1), tf.maximum(sides[1], 1), "BILINEAR")
    return maybe(tensors, seeds[0], 1.0 - random_coef, shrink)


def resize_image(tensors: Tensors, seed: tf.Tensor, new_height: int, new_width: int,
                 method: str) -> Tensors:
    """Scales to a size; normalized boxes stay as they are."""
    if new_height < 1 or new_width < 1:
        raise ValueError("resize_image: set new_height and new_width to at least 1, got "
                         f"{new_height} and {new_width}")
    return _resized(tensors, new_height, new_width, method)


def random_resize_method(tensors: Tensors, seed: tf.Tensor, target_height: int,
                         target_width: int) -> Tensors:
    """Scales to a size with one of the four methods, chosen at random."""
    if target_height < 1 or target_width < 1:
        raise ValueError("random_resize_method: set target_height and target_width to at least 1, "
                         f"got {target_height} and {target_width}")
    branches = [lambda method=method: _resized(tensors, target_height, target_width, method)
                for method in sorted(resizers.METHODS)]
    return tf.switch_case(uniform_int(seed, 0, len(branches)), branches)


def random_pad_image(tensors: Tensors, seed: tf.Tensor, min_image_height: int,
                     min_image_width: int, max_image_height: int, max_image_width: int,
                     pad_color: Sequence[float]) -> Tensors:
    """Puts the image at a random place of a larger one of random size.

    A minimum of 0 means the image's own side, a maximum of 0 means twice that. Without `pad_color`
    the border has the image's mean colour.
    """
    height, width = image_size(tensors)
    low = tf.stack([min_image_height or height, min_image_width or width])
    high = tf.stack([max_image_height or 2 * height, max_image_width or 2 * width])
    own = tf.stack([height, width])
    return pad_at_random(tensors, seed, tf.maximum(low, own), tf.maximum(high, own), pad_color)


def random_absolute_pad_image(tensors: Tensors, seed: tf.Tensor, max_height_padding: int,
                              max_width_padding: int, pad_color: Sequence[float]) -> Tensors:
    """Adds up to so many pixels to height and width, at random sides."""
    if max_height_padding < 1 or max_width_padding < 1:
        raise ValueError("random_absolute_pad_image: want max_height_padding and max_width_padding "
                         f"of at least 1, got {max_height_padding} and {max_width_padding}")
    own = tf.stack(image_size(tensors))
    return pad_at_random(tensors, seed, own, own + [max_height_padding, max_width_padding],
                         pad_color)


def pad_at_random(tensors: Tensors, seed: tf.Tensor, low: tf.Tensor, high: tf.Tensor,
                  pad_color: Sequence[float]) -> Tensors:
    """Pads to a size in [low, high] (int32 [2] each, not below the image's), at a random offset."""
    seeds = split(seed, 4)
    own = tf.stack(image_size(tensors))
    size = tf.stack([uniform_int(seeds[i], low[i], high[i] + 1) for i in range(2)])
    offset = tf.stack([uniform_int(seeds[2 + i], 0, size[i] - own[i] + 1) for i in range(2)])
    return pad_to(tensors, size, offset, pad_color)


def pad_to(tensors: Tensors, size: tf.Tensor, offset: tf.Tensor,
           pad_color: Sequence[float]) -> Tensors:
    """Places the image into one of `size`, its top left corner at `offset` (both int32 [2])."""
    image = tensors[Fields.image]
    own = tf.stack(image_size(tensors))
    channels = image.shape[-1]
    if pad_color and len(pad_color) not in (1, channels):
        raise ValueError(f"pad_color: want {channels} values, one per image channel, got "
                         f"{len(pad_color)}")
    color = tf.constant(pad_color, tf.float32) if pad_color else tf.reduce_mean(image, [0, 1])
    around = tf.stack([offset, size - own - offset], axis=1)
    zero = tf.zeros([1, 2], tf.int32)
    padded = tf.pad(image - color, tf.concat([around, zero], 0)) + color
    tensors = {**tensors, Fields.image: tf.ensure_shape(padded, [None, None, channels])}
    tensors = changed(tensors, Fields.groundtruth_instance_masks,
                      lambda masks: tf.pad(masks, tf.concat([zero, around], 0)))
    new = tf.cast(size, tf.float32)
    return move_coordinates(tensors, tf.cast(own, tf.float32) / new,
                            tf.cast(offset, tf.float32) / new)


def scale_boxes_to_pixel_coordinates(tensors: Tensors, seed: tf.Tensor) -> Tensors:
    """Changes normalized boxes and keypoints to pixels.

    The rest of the input pipeline wants normalized boxes, so this step is for use by hand.
    """
    size = tf.cast(tf.stack(image_size(tensors)), tf.float32)
    return move_coordinates(tensors, size, tf.zeros([2]))


def random_self_concat_image(tensors: Tensors, seed: tf.Tensor, concat_vertical_probability: float,
                             concat_horizontal_probability: float) -> Tensors:
    """Puts a copy below the image, or beside it, each by its chance; objects double with it."""
    seeds = split(seed, 2)
    tensors = maybe(tensors, seeds[0], concat_vertical_probability, lambda t: _doubled(t, 0))
    return maybe(tensors, seeds[1], concat_horizontal_probability, lambda t: _doubled(t, 1))


def _doubled(tensors: Tensors, axis: int) -> Tensors:
    half = tf.one_hot(axis, 2)
    scale = 1.0 - 0.5 * half
    first = move_coordinates(tensors, scale, tf.zeros([2]))
    second = move_coordinates(tensors, scale, 0.5 * half)

    def beside(masks: tf.Tensor, before: bool) -> tf.Tensor:
        empty = tf.zeros_like(masks)
        return tf.concat([empty, masks] if before else [masks, empty], axis + 1)
    first = changed(first, Fields.groundtruth_instance_masks, lambda m: beside(m, False))
    second = changed(second, Fields.groundtruth_instance_masks, lambda m: beside(m, True))
    joined = {key: tf.concat([value, second[key]], 0) if key in OBJECT_KEYS else value
              for key, value in first.items()}
    return changed(joined, Fields.image, lambda image: tf.concat([image, image], axis))


def _resized(tensors: Tensors, height: int | tf.Tensor, width: int | tf.Tensor,
             method: str) -> Tensors:
    channels = tensors[Fields.image].shape[-1]
    tensors = changed(tensors, Fields.image, lambda image: tf.ensure_shape(
        tf.compat.v1.image.resize(image, tf.stack([height, width]),
                                  method=resizers.METHODS[method]), [None, None, channels]))
    return changed(tensors, Fields.groundtruth_instance_masks,
                   lambda masks: resizers.resize_nearest(masks, (height, width)))


def _permute_keypoints(tensors: Tensors, permutation: Sequence[int]) -> Tensors:
    if not permutation:
        return tensors
    for key in (Fields.groundtruth_keypoints, Fields.groundtruth_keypoint_visibilities):
        tensors = changed(tensors, key, lambda k: tf.gather(k, list(permutation), axis=1))
    return tensors
