"""Builds the resizer that an `image_resizer` block asks for."""

from object_detection.core import centered_resizers, resizers
from object_detection.core.half_pixel_resizer import HalfPixelResizer
from object_detection.protos import image_resizer_pb2


def build(config: image_resizer_pb2.ImageResizer) -> resizers.Resizer:
    """Builds the resizer named by `image_resizer_oneof`. Raises ValueError if none is set."""
    kind = config.WhichOneof("image_resizer_oneof")
    if kind not in _BUILDERS:
        raise ValueError(f"image_resizer: set one of {sorted(_BUILDERS)}, "
                         f"got {kind or 'none of them'}")
    return _BUILDERS[kind](getattr(config, kind))


def _method(config: object) -> str:
    return image_resizer_pb2.ResizeType.Name(config.resize_method)


def _keep_aspect_ratio(
        config: image_resizer_pb2.KeepAspectRatioResizer) -> resizers.KeepAspectRatioResizer:
    return resizers.KeepAspectRatioResizer(
        method=_method(config),
        to_gray=config.convert_to_grayscale,
        min_dimension=config.min_dimension,
        max_dimension=config.max_dimension,
        pad_to_max_dimension=config.pad_to_max_dimension,
        per_channel_pad_value=tuple(config.per_channel_pad_value))


def _fixed_shape(config: image_resizer_pb2.FixedShapeResizer) -> resizers.FixedShapeResizer:
    return resizers.FixedShapeResizer(
        method=_method(config), to_gray=config.convert_to_grayscale,
        height=config.height, width=config.width)


def _identity(config: image_resizer_pb2.IdentityResizer) -> resizers.IdentityResizer:
    return resizers.IdentityResizer()


def _conditional_shape(
        config: image_resizer_pb2.ConditionalShapeResizer) -> resizers.ConditionalShapeResizer:
    return resizers.ConditionalShapeResizer(
        method=_method(config),
        to_gray=config.convert_to_grayscale,
        condition=image_resizer_pb2.ConditionalShapeResizer.ResizeCondition.Name(config.condition),
        size_threshold=config.size_threshold)


def _pad_to_multiple(
        config: image_resizer_pb2.PadToMultipleResizer) -> resizers.PadToMultipleResizer:
    return resizers.PadToMultipleResizer(
        to_gray=config.convert_to_grayscale, multiple=config.multiple)


def _centered_square(
        config: image_resizer_pb2.CenteredSquareResizer) -> centered_resizers.CenteredSquareResizer:
    return centered_resizers.CenteredSquareResizer(
        min_dimension=config.min_dimension, max_dimension=config.max_dimension,
        min_scale=config.min_scale, keep_fractions=config.keep_fractions)


def _centered_pad(config: image_resizer_pb2.CenteredPadToMultipleResizer,
                  ) -> centered_resizers.CenteredPadToMultipleResizer:
    return centered_resizers.CenteredPadToMultipleResizer(
        min_dimension=config.min_dimension, min_scale=config.min_scale, multiple=config.multiple,
        keep_fractions=config.keep_fractions)


def _random_crop(
        config: image_resizer_pb2.RandomCropResizer) -> centered_resizers.RandomCropResizer:
    return centered_resizers.RandomCropResizer(
        min_dimension=config.min_dimension, min_scale=config.min_scale,
        keep_fractions=config.keep_fractions)


def _half_pixel(config: image_resizer_pb2.HalfPixelResizer) -> HalfPixelResizer:
    return HalfPixelResizer(min_dimension=config.min_dimension, max_dimension=config.max_dimension)


_BUILDERS = {
    "keep_aspect_ratio_resizer": _keep_aspect_ratio,
    "fixed_shape_resizer": _fixed_shape,
    "identity_resizer": _identity,
    "conditional_shape_resizer": _conditional_shape,
    "pad_to_multiple_resizer": _pad_to_multiple,
    "centered_square_resizer": _centered_square,
    "centered_pad_to_multiple_resizer": _centered_pad,
    "random_crop_resizer": _random_crop,
    "half_pixel_resizer": _half_pixel,
}
