"""AutoAugment's operations on pixel values: float32 [H, W, 3], whole numbers 0..255.

They mean what the operations of Pillow with these names mean.
"""

import tensorflow as tf

from object_detection.core.augment.tensors import split, uniform_int

FILL = 128.0  # value of pixels that are cut out or come from outside the image


def autocontrast(image: tf.Tensor) -> tf.Tensor:
    """Spreads the values of each channel over the whole range."""
    low, high = (reduce(image, axis=[0, 1]) for reduce in (tf.reduce_min, tf.reduce_max))
    spread = tf.clip_by_value((image - low) * 255.0 / tf.maximum(high - low, 1.0), 0.0, 255.0)
    return tf.where(high > low, spread, image)


def equalize(image: tf.Tensor) -> tf.Tensor:
    """Changes the values of each channel so that they occur about equally often."""
    values = tf.cast(image, tf.int32)
    return tf.stack([_equalized(values[..., channel]) for channel in range(3)], axis=-1)


def posterize(image: tf.Tensor, bits: int) -> tf.Tensor:
    """Keeps the highest bits of each value, at least one."""
    step = 2.0 ** (8 - max(bits, 1))
    return tf.floor(image / step) * step


def solarize(image: tf.Tensor, threshold: int) -> tf.Tensor:
    """Inverts the values from `threshold` on."""
    return tf.where(image < threshold, image, 255.0 - image)


def solarize_add(image: tf.Tensor, addition: int) -> tf.Tensor:
    """Adds to the darker half of the values."""
    return tf.where(image < 128.0, tf.clip_by_value(image + addition, 0.0, 255.0), image)


def color(image: tf.Tensor, factor: float) -> tf.Tensor:
    """Moves away from gray (factor above 1) or towards it."""
    return _blended(tf.image.rgb_to_grayscale(image), image, factor)


def contrast(image: tf.Tensor, factor: float) -> tf.Tensor:
    """Moves away from the mean gray of the image, or towards it."""
    return _blended(tf.reduce_mean(tf.image.rgb_to_grayscale(image)), image, factor)


def brightness(image: tf.Tensor, factor: float) -> tf.Tensor:
    """Moves away from black, or towards it."""
    return _blended(tf.zeros([]), image, factor)


def sharpness(image: tf.Tensor, factor: float) -> tf.Tensor:
    """Moves away from a smoothed image, or towards it; the border stays as it is."""
    kernel = tf.constant([[1.0, 1.0, 1.0], [1.0, 5.0, 1.0], [1.0, 1.0, 1.0]]) / 13.0
    kernel = tf.tile(kernel[..., tf.newaxis, tf.newaxis], [1, 1, 3, 1])
    smooth = tf.nn.depthwise_conv2d(image[tf.newaxis], kernel, [1, 1, 1, 1], "SAME")[0]
    rows, columns = (tf.range(tf.shape(image)[axis]) for axis in range(2))
    inner = (((rows > 0) & (rows < rows[-1]))[:, tf.newaxis]
             & ((columns > 0) & (columns < columns[-1])))
    return tf.where(inner[..., tf.newaxis], _blended(smooth, image, factor), image)


def cutout(image: tf.Tensor, seed: tf.Tensor, half_side: int) -> tf.Tensor:
    """Fills a square whose middle is anywhere in the image."""
    size = tf.shape(image)[:2]
    middle = tf.stack([uniform_int(own, 0, size[axis])
                       for axis, own in enumerate(split(seed, 2))])
    return filled(image, middle - half_side, middle + half_side)


def filled(image: tf.Tensor, begin: tf.Tensor, end: tf.Tensor) -> tf.Tensor:
    """Fills the rows and columns from `begin` up to `end` (int32 [2] each)."""
    rows, columns = tf.range(tf.shape(image)[0]), tf.range(tf.shape(image)[1])
    inside = (((rows >= begin[0]) & (rows < end[0]))[:, tf.newaxis]
              & ((columns >= begin[1]) & (columns < end[1])))
    return tf.where(inside[..., tf.newaxis], FILL, image)


def _blended(far: tf.Tensor, image: tf.Tensor, factor: float) -> tf.Tensor:
    return tf.floor(tf.clip_by_value(far + factor * (image - far), 0.0, 255.0))


def _equalized(values: tf.Tensor) -> tf.Tensor:
    """Equalizes int32 [H, W] with Pillow's rule, which leaves the most frequent pixels room."""
    counts = tf.math.bincount(tf.reshape(values, [-1]), minlength=256, maxlength=256)
    step = (tf.size(values) - counts[tf.reduce_max(values)]) // 255
    before = tf.cumsum(counts, exclusive=True)
    table = tf.clip_by_value((before + step // 2) // tf.maximum(step, 1), 0, 255)
    return tf.cast(tf.where(step > 0, tf.gather(table, values), values), tf.float32)
