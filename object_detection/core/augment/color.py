"""Augmentations of pixel values: nothing moves, so boxes and masks stay as they are."""

from collections.abc import Callable, Sequence

import tensorflow as tf

from object_detection.core.augment.tensors import (
    Tensors,
    changed,
    image_size,
    maybe,
    split,
    uniform,
    uniform_int,
)
from object_detection.core.standard_fields import InputDataFields as Fields


def normalize_image(tensors: Tensors, seed: tf.Tensor, original_minval: float,
                    original_maxval: float, target_minval: float,
                    target_maxval: float) -> Tensors:
    """Maps pixel values linearly from one range to another."""
    if original_maxval <= original_minval:
        raise ValueError(f"normalize_image: original_maxval ({original_maxval:g}) must be above "
                         f"original_minval ({original_minval:g})")
    scale = (target_maxval - target_minval) / (original_maxval - original_minval)
    return changed(tensors, Fields.image,
                   lambda image: (image - original_minval) * scale + target_minval)


def subtract_channel_mean(tensors: Tensors, seed: tf.Tensor, means: Sequence[float]) -> Tensors:
    """Subtracts one value per channel."""
    channels = tensors[Fields.image].shape[-1]
    if len(means) != channels:
        raise ValueError(f"subtract_channel_mean.means: want {channels} values, one per image "
                         f"channel, got {len(means)}")
    return changed(tensors, Fields.image, lambda image: image - tf.constant(means, tf.float32))


def rgb_to_gray(tensors: Tensors, seed: tf.Tensor) -> Tensors:
    """Replaces the three channels by one."""
    return changed(tensors, Fields.image, tf.image.rgb_to_grayscale)


def random_rgb_to_gray(tensors: Tensors, seed: tf.Tensor, probability: float) -> Tensors:
    """Takes the colour away and keeps three equal channels."""
    return maybe(tensors, seed, probability, lambda t: changed(
        t, Fields.image,
        lambda image: tf.image.grayscale_to_rgb(tf.image.rgb_to_grayscale(image))))


def random_pixel_value_scale(tensors: Tensors, seed: tf.Tensor, minval: float,
                             maxval: float) -> Tensors:
    """Multiplies each value of each pixel by its own random factor."""
    def scaled(image: tf.Tensor) -> tf.Tensor:
        factor = tf.random.stateless_uniform(tf.shape(image), seed, minval, maxval)
        return tf.clip_by_value(image * factor, 0.0, 255.0)
    return changed(tensors, Fields.image, scaled)


def random_adjust_brightness(tensors: Tensors, seed: tf.Tensor, max_delta: float) -> Tensors:
    """Adds up to `max_delta` (of full scale) to all values, or takes it away."""
    delta = uniform(seed, -max_delta, max_delta)
    return _on_unit_range(tensors, lambda image: image + delta)


def random_adjust_contrast(tensors: Tensors, seed: tf.Tensor, min_delta: float,
                           max_delta: float) -> Tensors:
    """Scales each channel's distance from its mean by a factor in [min_delta, max_delta]."""
    factor = uniform(seed, min_delta, max_delta)
    return _on_unit_range(tensors, lambda image: tf.image.adjust_contrast(image, factor))


def random_adjust_hue(tensors: Tensors, seed: tf.Tensor, max_delta: float) -> Tensors:
    """Turns the hue by up to `max_delta` of the colour circle, either way."""
    delta = uniform(seed, -max_delta, max_delta)
    return _on_unit_range(tensors, lambda image: tf.image.adjust_hue(image, delta))


def random_adjust_saturation(tensors: Tensors, seed: tf.Tensor, min_delta: float,
                             max_delta: float) -> Tensors:
    """Scales the saturation by a factor in [min_delta, max_delta]."""
    factor = uniform(seed, min_delta, max_delta)
    return _on_unit_range(tensors, lambda image: tf.image.adjust_saturation(image, factor))


def random_distort_color(tensors: Tensors, seed: tf.Tensor, color_ordering: int) -> Tensors:
    """Distorts brightness, contrast, saturation and hue in one of two orders (0 or 1)."""
    if color_ordering not in (0, 1):
        raise ValueError(f"random_distort_color.color_ordering: want 0 or 1, got {color_ordering}")
    seeds = split(seed, 4)
    tensors = random_adjust_brightness(tensors, seeds[0], max_delta=32.0 / 255.0)
    if color_ordering == 1:
        tensors = random_adjust_contrast(tensors, seeds[3], min_delta=0.5, max_delta=1.5)
    tensors = random_adjust_saturation(tensors, seeds[1], min_delta=0.5, max_delta=1.5)
    tensors = random_adjust_hue(tensors, seeds[2], max_delta=0.2)
    if color_ordering == 0:
        tensors = random_adjust_contrast(tensors, seeds[3], min_delta=0.5, max_delta=1.5)
    return tensors


def adjust_gamma(tensors: Tensors, seed: tf.Tensor, gamma: float, gain: float) -> Tensors:
    """Maps each value v of full scale to gain * v ** gamma."""
    return _on_unit_range(tensors, lambda image: gain * tf.pow(image, gamma))


def random_jpeg_quality(tensors: Tensors, seed: tf.Tensor, random_coef: float,
                        min_jpeg_quality: int, max_jpeg_quality: int) -> Tensors:
    """Encodes as JPEG of random quality and decodes; keeps the image with chance `random_coef`."""
    if not 0 <= min_jpeg_quality < max_jpeg_quality <= 100:
        raise ValueError("random_jpeg_quality: want 0 <= min_jpeg_quality < max_jpeg_quality <= "
                         f"100, got {min_jpeg_quality} and {max_jpeg_quality}")
    seeds = split(seed, 2)
    quality = uniform_int(seeds[1], min_jpeg_quality, max_jpeg_quality)
    return maybe(tensors, seeds[0], 1.0 - random_coef, lambda t: _on_unit_range(
        t, lambda image: tf.image.adjust_jpeg_quality(image, quality)))


def random_black_patches(tensors: Tensors, seed: tf.Tensor, max_black_patches: int,
                         probability: float, size_to_image_ratio: float) -> Tensors:
    """Blackens up to `max_black_patches` squares, each with a chance of `probability`."""
    height, width = image_size(tensors)
    side = tf.cast(tf.cast(tf.minimum(height, width), tf.float32) * size_to_image_ratio, tf.int32)
    rows, columns = tf.range(height)[:, tf.newaxis], tf.range(width)[tf.newaxis]
    visible = tf.ones([height, width], tf.bool)
    for patch_seed in split(seed, max_black_patches):
        seeds = split(patch_seed, 3)
        top = uniform_int(seeds[0], 0, height - side + 1)
        left = uniform_int(seeds[1], 0, width - side + 1)
        inside = ((rows >= top) & (rows < top + side) & (columns >= left)
                  & (columns < left + side))
        visible &= ~(inside & (uniform(seeds[2]) < probability))
    return changed(tensors, Fields.image,
                   lambda image: image * tf.cast(visible, tf.float32)[..., tf.newaxis])


def random_patch_gaussian(tensors: Tensors, seed: tf.Tensor, random_coef: float,
                          min_patch_size: int, max_patch_size: int, min_gaussian_stddev: float,
                          max_gaussian_stddev: float) -> Tensors:
    """Adds Gaussian noise to one square (Lopes et al., arXiv:1906.02611).

    The image stays as it is with a chance of `random_coef`. Deviations are parts of full scale.
    """
    seeds = split(seed, 6)
    height, width = image_size(tensors)
    size = uniform_int(seeds[1], min_patch_size, max_patch_size)
    deviation = uniform(seeds[2], min_gaussian_stddev, max_gaussian_stddev)
    middle_y, middle_x = uniform_int(seeds[3], 0, height), uniform_int(seeds[4], 0, width)

    def noisy(image: tf.Tensor) -> tf.Tensor:
        rows, columns = tf.range(height)[:, tf.newaxis], tf.range(width)[tf.newaxis]
        top, left = middle_y - size // 2, middle_x - size // 2
        inside = ((rows >= top) & (rows < top + size) & (columns >= left)
                  & (columns < left + size))
        noise = tf.random.stateless_normal(tf.shape(image), seeds[5], stddev=deviation)
        return image + noise * tf.cast(inside, tf.float32)[..., tf.newaxis]
    return maybe(tensors, seeds[0], 1.0 - random_coef, lambda t: _on_unit_range(t, noisy))


def _on_unit_range(tensors: Tensors, function: Callable[[tf.Tensor], tf.Tensor]) -> Tensors:
    """Applies a function of pixels in [0, 1] to pixels in [0, 255], and clips the result."""
    return changed(tensors, Fields.image, lambda image: tf.clip_by_value(
        function(image / 255.0) * 255.0, 0.0, 255.0))
