"""Matterport's image modes "square", "pad64" and "crop": images in the middle of a black frame.

Its mode "none" is `resizers.IdentityResizer`. Sizes are rounded half to even and images are sampled
bilinearly with half-pixel centres, black beyond the border, and cut to whole numbers: the results
of scikit-image on uint8 images, which Matterport's weights were trained on. Masks keep the pixels
that `scipy.ndimage.zoom` keeps: the nearest one, first and last rows aligned.
"""

import dataclasses
from collections.abc import Callable

import tensorflow as tf

from object_detection.core.resizers import Length, Resizer, Size


@dataclasses.dataclass(frozen=True)
class CenteredResizer(Resizer):
    """Scales so that the short side reaches `min_dimension`; never scales down because of it."""

    min_dimension: int = 0  # 0: images keep their size
    min_scale: float = 0.0  # least factor, whatever min_dimension says
    keep_fractions: bool = False  # of pixel values, which are dropped otherwise

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.min_dimension < 0 or self.min_scale < 0.0:
            raise ValueError("image_resizer: want min_dimension and min_scale of 0 or more, got "
                             f"{self.min_dimension} and {self.min_scale:g}")
        if self.method != "BILINEAR" or self.to_gray:
            raise ValueError("image_resizer: centered resizers are bilinear and keep all channels")

    @property
    def align_corners(self) -> bool:
        return True  # masks only

    @property
    def mask_precision(self) -> tf.DType:
        return tf.float64

    def scale(self, size: Size) -> float | tf.Tensor:
        """Returns the factor (float64) that an image of `size` is scaled by."""
        return _larger(1.0, self.min_scale, _ratio(self.min_dimension, size, _smaller))

    def scaled_size(self, size: Size) -> Size:
        scale = self.scale(size)
        return tuple(_rounded(side, scale) for side in size)

    def corner(self, scaled: Size, padded: Size) -> Size:
        return tuple((whole - side) // 2 for whole, side in zip(padded, scaled))

    def scale_images(self, images: tf.Tensor, size: Size) -> tf.Tensor:
        if _same(images, size):
            return images
        lowest = tf.reduce_min(images, axis=[1, 2, 3], keepdims=True)
        # Whole numbers need float64: what is one ulp too small loses a grey level.
        exact = images if self.keep_fractions else tf.cast(images, tf.float64)
        scaled = _interpolated(_interpolated(exact, size[0], 1), size[1], 2)
        scaled = scaled if self.keep_fractions else tf.cast(tf.floor(scaled), tf.float32)
        return tf.maximum(scaled, lowest)  # black beyond the border darkens no more than the image


@dataclasses.dataclass(frozen=True)
class CenteredSquareResizer(CenteredResizer):
    """Pads to a square of `max_dimension`, which the long side must not pass (mode "square")."""

    min_dimension: int = 800
    max_dimension: int = 1024

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.max_dimension < max(1, self.min_dimension):
            raise ValueError(
                "centered_square_resizer: want max_dimension of at least min_dimension and 1, got "
                f"{self.max_dimension} and {self.min_dimension}")

    @property
    def fixed_size(self) -> tuple[int, int]:
        return self.max_dimension, self.max_dimension

    def scale(self, size: Size) -> float | tf.Tensor:
        wanted = super().scale(size)
        most = _ratio(self.max_dimension, size, _larger)
        too_large = _rounded(_larger(*size), wanted) > self.max_dimension
        if isinstance(too_large, bool):
            return most if too_large else wanted
        return tf.where(too_large, most, wanted)

    def padded_size(self, scaled: Size) -> Size:
        return self.fixed_size


@dataclasses.dataclass(frozen=True)
class CenteredPadToMultipleResizer(CenteredResizer):
    """Pads both sides to the next multiple (mode "pad64")."""

    multiple: int = 64

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.multiple < 1:
            raise ValueError("image_resizer: want a multiple of at least 1, got "
                             f"{self.multiple}")

    def padded_size(self, scaled: Size) -> Size:
        return tuple(-(-side // self.multiple) * self.multiple for side in scaled)


@dataclasses.dataclass(frozen=True)
class RandomCropResizer(CenteredPadToMultipleResizer):
    """Scales like its base; training inputs are random squares of `min_dimension` (mode "crop").

    Outside of training the whole image counts, so it is padded there and nothing is cut.
    """

    min_dimension: int = 800

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.min_dimension < 1:
            raise ValueError("random_crop_resizer.min_dimension: want at least 1, got "
                             f"{self.min_dimension}")

    def for_training(self) -> "ScaleForCropResizer":
        return ScaleForCropResizer(min_dimension=self.min_dimension, min_scale=self.min_scale,
                                   keep_fractions=self.keep_fractions)


@dataclasses.dataclass(frozen=True)
class ScaleForCropResizer(CenteredResizer):
    """Training inputs of `RandomCropResizer`: scaled, to be cut to a square afterwards."""

    @property
    def crop_size(self) -> tuple[int, int]:
        return self.min_dimension, self.min_dimension

    @property
    def fixed_size(self) -> tuple[int, int]:
        return self.crop_size


def _smaller(*values: Length) -> Length:
    tensors = [value for value in values if isinstance(value, tf.Tensor)]
    return tf.reduce_min(tf.stack(values), axis=0) if tensors else min(values)


def _larger(*values: Length | float) -> Length | float:
    """Returns the largest of numbers or tensors; a number takes the type of the tensors."""
    tensors = [value for value in values if isinstance(value, tf.Tensor)]
    if not tensors:
        return max(values)
    return tf.reduce_max(tf.stack([tf.cast(value, tensors[0].dtype) for value in values]), axis=0)


def _ratio(target: int, size: Size, side: Callable[..., Length]) -> float | tf.Tensor:
    chosen = side(*size)
    if isinstance(chosen, tf.Tensor):
        return tf.cast(target, tf.float64) / tf.cast(chosen, tf.float64)
    return target / chosen


def _rounded(side: Length, scale: float | tf.Tensor) -> Length:
    """Returns side * scale, rounded half to even, at least 1."""
    if isinstance(side, tf.Tensor) or isinstance(scale, tf.Tensor):
        exact = tf.cast(side, tf.float64) * tf.cast(scale, tf.float64)
        return tf.maximum(1, tf.cast(tf.round(exact), tf.int32))
    return max(1, round(side * scale))


def _same(images: tf.Tensor, size: Size) -> bool:
    """Whether the sides are known while tracing, and are `size` already."""
    return all(isinstance(side, int) for side in size) and tuple(images.shape[1:3]) == tuple(size)


def _interpolated(images: tf.Tensor, new: Length, axis: int) -> tf.Tensor:
    """Resamples one axis linearly, with half-pixel centres and zeros beyond the border."""
    static = images.shape[axis]
    old = static if static is not None else tf.shape(images)[axis]
    step = tf.cast(old, tf.float64) / tf.cast(new, tf.float64)
    position = (tf.range(tf.cast(new, tf.float64), dtype=tf.float64) + 0.5) * step - 0.5
    below = tf.floor(position)
    share = position - below
    shape = [-1 if number == axis else 1 for number in range(4)]

    def part(neighbour: tf.Tensor, weight: tf.Tensor) -> tf.Tensor:
        index = tf.cast(neighbour, tf.int32)
        weight = tf.where((index >= 0) & (index < old), weight, 0.0)
        values = tf.gather(images, tf.clip_by_value(index, 0, old - 1), axis=axis)
        return values * tf.cast(tf.reshape(weight, shape), images.dtype)

    resampled = part(below, 1.0 - share) + part(below + 1.0, share)
    known = [*images.shape]
    known[axis] = new if isinstance(new, int) else None
    return tf.ensure_shape(resampled, known)
