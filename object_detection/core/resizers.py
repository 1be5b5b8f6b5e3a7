"""Image resizers: how an image of any size becomes an input of the network.

A resizer is two rules: the size to scale to, and the size to pad to (right and bottom, so boxes in
pixels do not move; `centered_resizers` pads on all sides). Sampling follows TensorFlow 1 (no
half-pixel centres; `align_corners` as each resizer of the OD API had it), because published weights
were trained on images scaled that way.
Where the size of the input is static, so is the size of the output.
"""

import dataclasses
from typing import NamedTuple

import numpy as np
import tensorflow as tf

METHODS = {
    "BILINEAR": tf.image.ResizeMethod.BILINEAR,
    "NEAREST_NEIGHBOR": tf.image.ResizeMethod.NEAREST_NEIGHBOR,
    "BICUBIC": tf.image.ResizeMethod.BICUBIC,
    "AREA": tf.image.ResizeMethod.AREA,
}

Length = int | tf.Tensor  # a side in pixels: int where it is known while tracing, else int32 scalar
Size = tuple[Length, Length]  # height, width


class Resized(NamedTuple):
    """One image at network size, with its instance masks."""

    image: tf.Tensor  # float32 [H, W, channels], padding included
    masks: tf.Tensor | None  # [N, H, W], dtype as given
    true_shape: tf.Tensor  # int32 [3]: height, width, channels without padding


@dataclasses.dataclass(frozen=True)
class Resizer:
    """Scales and pads images; subclasses say to which size. By itself it changes nothing."""

    method: str = "BILINEAR"  # key of METHODS; masks always use the nearest neighbour
    to_gray: bool = False  # one channel out (ITU-R 601 luma)

    def __post_init__(self) -> None:
        if self.method not in METHODS:
            raise ValueError(f"image_resizer: resize_method {self.method!r} is not one of "
                             f"{sorted(METHODS)}")

    @property
    def align_corners(self) -> bool:
        """Whether first and last samples lie on the border pixels (TensorFlow 1's meaning)."""
        return False

    @property
    def mask_precision(self) -> tf.DType:
        """Type of the positions that masks are read at; it decides where two pixels tie."""
        return tf.float32

    @property
    def fixed_size(self) -> tuple[int, int] | None:
        """Height and width of every output, or None where they depend on the image."""
        return None

    @property
    def crop_size(self) -> tuple[int, int] | None:
        """Height and width of what is cut from each output at random; None: nothing is cut."""
        return None

    def for_training(self) -> "Resizer":
        """Returns the resizer of training inputs, where that is another one."""
        return self

    def scaled_size(self, size: Size) -> Size:
        """Returns the size an image of `size` is scaled to, before padding."""
        return size

    def padded_size(self, scaled: Size) -> Size:
        """Returns the size after padding of an image scaled to `scaled`."""
        return scaled

    def corner(self, scaled: Size, padded: Size) -> Size:
        """Returns where the top left corner of an image lies in its padded frame: y, x."""
        return 0, 0

    def pad_values(self, channels: int) -> tuple[float, ...]:
        """Returns what fills the padding, one value per channel."""
        return (0.0,) * channels

    def scale_images(self, images: tf.Tensor, size: Size) -> tf.Tensor:
        """Scales float32 [B, H, W, channels] to `size`."""
        return _resize(images, size, self.method, self.align_corners)

    def window(self, true_shapes: tf.Tensor, height: Length, width: Length) -> tf.Tensor:
        """Returns where images lie in their frames: float32 [B, 4], pixels.

        Args:
            true_shapes: int32 [B, 3], as `resize_batch` gives them.
            height, width: of the frames, which may be padded further (at the bottom and right) for
                a batch; a window does not leave its frame.
        """
        sides = (true_shapes[:, 0], true_shapes[:, 1])
        top, left = self.corner(sides, self.padded_size(sides))
        ends = tf.stack([sides[0] + top, sides[1] + left], axis=1)
        begins = ends - true_shapes[:, :2]
        window = tf.concat([begins, tf.minimum(ends, tf.stack([height, width]))], axis=1)
        return tf.cast(window, tf.float32)

    def __call__(self, image: tf.Tensor, masks: tf.Tensor | None = None) -> Resized:
        """Resizes one image [H, W, channels] (0..255) and its masks [N, H, W]."""
        images, true_shapes = self.resize_batch(tf.expand_dims(image, 0))
        if masks is not None:
            scaled = self.scaled_size(_size(image, 0))
            masks = resize_nearest(masks, scaled, self.align_corners, self.mask_precision)
            masks = self._padded(masks[..., tf.newaxis], scaled, (0,))[..., 0]
        return Resized(images[0], masks, true_shapes[0])

    def resize_batch(self, images: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
        """Resizes float or integer images [B, H, W, channels] that share one size.

        Returns:
            float32 [B, H', W', channels'], and int32 [B, 3] true shapes (without padding).
        """
        images = tf.cast(images, tf.float32)
        scaled = self.scaled_size(_size(images, 1))
        images = self.scale_images(images, scaled)
        channels = images.shape[-1]
        if channels is None:
            raise ValueError("resizer: the number of image channels must be static, got shape "
                             f"{images.shape}")
        images = self._padded(images, scaled, self.pad_values(channels))
        if self.to_gray and channels == 3:
            images, channels = tf.image.rgb_to_grayscale(images), 1
        true_shape = tf.stack([scaled[0], scaled[1], channels])
        return images, tf.tile(true_shape[tf.newaxis], [tf.shape(images)[0], 1])

    def _padded(self, images: tf.Tensor, size: Size, values: tuple[float, ...]) -> tf.Tensor:
        padded = self.padded_size(size)
        return _pad(images, size, padded, self.corner(size, padded), values)


@dataclasses.dataclass(frozen=True)
class IdentityResizer(Resizer):
    """Leaves images as they are."""


@dataclasses.dataclass(frozen=True)
class FixedShapeResizer(Resizer):
    """Scales both sides independently; the aspect ratio is not kept."""

    height: int = 300
    width: int = 300

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.height < 1 or self.width < 1:
            raise ValueError("fixed_shape_resizer: want height and width of at least 1, got "
                             f"{self.height} and {self.width}")

    @property
    def fixed_size(self) -> tuple[int, int]:
        return self.height, self.width

    def scaled_size(self, size: Size) -> Size:
        return self.height, self.width


@dataclasses.dataclass(frozen=True)
class KeepAspectRatioResizer(Resizer):
    """Scales the short side to `min_dimension`, unless the long side would pass `max_dimension`."""

    min_dimension: int = 600
    max_dimension: int = 1024
    pad_to_max_dimension: bool = False  # pad to a square of max_dimension
    per_channel_pad_value: tuple[float, ...] = ()  # empty: zeros

    def __post_init__(self) -> None:
        super().__post_init__()
        if not 1 <= self.min_dimension <= self.max_dimension:
            raise ValueError(
                "keep_aspect_ratio_resizer: want 1 <= min_dimension <= max_dimension, got "
                f"min_dimension {self.min_dimension} and max_dimension {self.max_dimension}")

    @property
    def fixed_size(self) -> tuple[int, int] | None:
        side = self.max_dimension
        return (side, side) if self.pad_to_max_dimension else None

    def scaled_size(self, size: Size) -> Size:
        large = _scale_side(size, self.min_dimension, by_short_side=True)
        small = _scale_side(size, self.max_dimension, by_short_side=False)
        return _where(_maximum(large) > self.max_dimension, small, large)

    def padded_size(self, scaled: Size) -> Size:
        return self.fixed_size or scaled

    def pad_values(self, channels: int) -> tuple[float, ...]:
        if not self.per_channel_pad_value:
            return super().pad_values(channels)
        if len(self.per_channel_pad_value) != channels:
            raise ValueError(
                f"keep_aspect_ratio_resizer.per_channel_pad_value: want {channels} values, one "
                f"per image channel, got {len(self.per_channel_pad_value)}")
        return self.per_channel_pad_value


@dataclasses.dataclass(frozen=True)
class ConditionalShapeResizer(Resizer):
    """Keeps the aspect ratio and scales only images that are too large, or only too small ones.

    Unlike `KeepAspectRatioResizer` it rounds sides down and aligns corners, as the OD API does.
    """

    condition: str = "GREATER"  # GREATER: bound the long side. SMALLER: bound the short side
    size_threshold: int = 300

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.condition not in ("GREATER", "SMALLER"):
            raise ValueError("conditional_shape_resizer.condition: want GREATER or SMALLER, got "
                             f"{self.condition}")
        if self.size_threshold < 1:
            raise ValueError("conditional_shape_resizer.size_threshold: want at least 1, got "
                             f"{self.size_threshold}")

    @property
    def align_corners(self) -> bool:
        return True

    def scaled_size(self, size: Size) -> Size:
        smaller = self.condition == "SMALLER"
        scaled = _scale_side(size, self.size_threshold, by_short_side=smaller, round_down=True)
        applies = (_minimum(size) < self.size_threshold if smaller
                   else _maximum(size) > self.size_threshold)
        return _where(applies, scaled, size)


@dataclasses.dataclass(frozen=True)
class PadToMultipleResizer(Resizer):
    """Pads both sides to the next multiple; nothing is scaled."""

    multiple: int = 1

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.multiple < 1:
            raise ValueError(f"pad_to_multiple_resizer.multiple: want at least 1, got "
                             f"{self.multiple}")

    def padded_size(self, scaled: Size) -> Size:
        return tuple(-(-side // self.multiple) * self.multiple for side in scaled)


def resize_nearest(masks: tf.Tensor, size: Size, align_corners: bool = False,
                   precision: tf.DType = tf.float32) -> tf.Tensor:
    """Resizes [..., H, W] of any type and any number of masks, none included, by nearest neighbour.

    Reads the same pixels as `tf.compat.v1.image.resize`, which refuses an empty batch: pixel
    floor(index * input side / output side), or, with aligned corners,
    round(index * (input side - 1) / (output side - 1)).
    """
    for axis, new_side in zip((-2, -1), size):
        old_side = _size(masks, len(masks.shape) - 2)[axis]
        if isinstance(old_side, int) and isinstance(new_side, int) and old_side == new_side:
            continue
        old, new = tf.cast(old_side, precision), tf.cast(new_side, precision)
        scale = old / new
        if align_corners:
            scale = tf.where(new > 1.0, (old - 1.0) / tf.maximum(new - 1.0, 1.0), scale)
        position = tf.range(new, dtype=precision) * scale
        index = tf.cast(tf.floor(position + 0.5 if align_corners else position), tf.int32)
        masks = tf.gather(masks, tf.minimum(index, old_side - 1), axis=len(masks.shape) + axis)
    return masks


def _size(images: tf.Tensor, first_axis: int) -> Size:
    """Returns the two sides at `first_axis` and the next, as int where static."""
    dynamic = tf.shape(images)
    return tuple(images.shape[axis] if images.shape[axis] is not None else dynamic[axis]
                 for axis in (first_axis, first_axis + 1))


def _is_static(size: Size) -> bool:
    return all(isinstance(side, int) for side in size)


def _minimum(size: Size) -> Length:
    return min(size) if _is_static(size) else tf.minimum(*size)


def _maximum(size: Size) -> Length:
    return max(size) if _is_static(size) else tf.maximum(*size)


def _where(condition: bool | tf.Tensor, yes: Size, no: Size) -> Size:
    if isinstance(condition, bool):
        return yes if condition else no
    return tuple(tf.where(condition, a, b) for a, b in zip(yes, no))


def _scale_side(size: Size, target: int, by_short_side: bool, round_down: bool = False) -> Size:
    """Scales a size so that one side becomes `target`; float32, else rounds half to even."""
    side = _minimum(size) if by_short_side else _maximum(size)
    if _is_static(size):
        factor = np.float32(target) / np.float32(side)
        rounded = np.floor if round_down else np.round
        return tuple(max(1, int(rounded(np.float32(s) * factor))) for s in size)
    factor = tf.cast(target, tf.float32) / tf.cast(side, tf.float32)
    rounded = tf.floor if round_down else tf.round
    return tuple(tf.maximum(1, tf.cast(rounded(tf.cast(s, tf.float32) * factor), tf.int32))
                 for s in size)


def _resize(images: tf.Tensor, size: Size, method: str, align_corners: bool) -> tf.Tensor:
    resized = tf.compat.v1.image.resize(images, tf.stack(size), method=METHODS[method],
                                        align_corners=align_corners)
    height, width = (side if isinstance(side, int) else None for side in size)
    resized = tf.cast(resized, tf.float32)  # the nearest neighbour keeps the input type
    return tf.ensure_shape(resized, [images.shape[0], height, width, images.shape[-1]])


def _pad(images: tf.Tensor, size: Size, padded: Size, corner: Size,
         values: tuple[float, ...]) -> tf.Tensor:
    """Places [B, H, W, channels] of `size` at `corner` of a frame filled with `values`."""
    if _is_static(size) and _is_static(padded) and tuple(size) == tuple(padded):
        return images
    around = [[before, whole - before - side]
              for before, whole, side in zip(corner, padded, size)]
    paddings = [[0, 0], *around, [0, 0]]
    offset = tf.cast(tf.constant(values), images.dtype)
    if any(values):
        images = tf.pad(images - offset, paddings) + offset
    else:
        images = tf.pad(images, paddings)
    height, width = (side if isinstance(side, int) else None for side in padded)
    return tf.ensure_shape(images, [images.shape[0], height, width, images.shape[-1]])
