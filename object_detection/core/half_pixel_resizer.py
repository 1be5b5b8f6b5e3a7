"""The resizer of torchvision's detectors: PyTorch's rounding of sizes and its bilinear sampling."""

import dataclasses
import math

import tensorflow as tf

from object_detection.core.resizers import Length, Resizer, Size


@dataclasses.dataclass(frozen=True)
class HalfPixelResizer(Resizer):
    """Scales the short side to `min_dimension`, unless the long side would pass `max_dimension`.

    Unlike `KeepAspectRatioResizer` it rounds sides down, and the first pixel's centre lies at half
    a pixel of the image, before and after. Masks keep the pixels that PyTorch's "nearest" keeps.
    """

    min_dimension: int = 800
    max_dimension: int = 1333

    def __post_init__(self) -> None:
        super().__post_init__()
        if not 1 <= self.min_dimension <= self.max_dimension:
            raise ValueError(
                "half_pixel_resizer: want 1 <= min_dimension <= max_dimension, got min_dimension "
                f"{self.min_dimension} and max_dimension {self.max_dimension}")
        if self.method != "BILINEAR" or self.to_gray:
            raise ValueError("half_pixel_resizer: is bilinear and keeps all channels")

    def scaled_size(self, size: Size) -> Size:
        if all(isinstance(side, int) for side in size):
            scale = min(self.min_dimension / min(size), self.max_dimension / max(size))
            return tuple(max(1, math.floor(side * scale)) for side in size)
        sides = [tf.cast(side, tf.float64) for side in size]
        scale = tf.minimum(self.min_dimension / tf.minimum(*sides),
                           self.max_dimension / tf.maximum(*sides))
        return tuple(_at_least_one(side * scale) for side in sides)

    def scale_images(self, images: tf.Tensor, size: Size) -> tf.Tensor:
        scaled = tf.image.resize(images, tf.stack(size), method="bilinear")
        height, width = (side if isinstance(side, int) else None for side in size)
        return tf.ensure_shape(scaled, [images.shape[0], height, width, images.shape[-1]])


def _at_least_one(side: tf.Tensor) -> Length:
    return tf.maximum(1, tf.cast(tf.floor(side), tf.int32))
