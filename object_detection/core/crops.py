"""Crops of regions from one feature map or from a pyramid of them.

Shapes: B images, P regions per image. See `utils.crop_ops` for how a crop is sampled.
"""

from collections.abc import Sequence

import tensorflow as tf

from object_detection.utils import map_samples, sample_matrix
from object_detection.utils.crop_ops import (
    crop_and_resize,
    crop_flat,
    matmul_crop_and_resize,
    position_sensitive_crop,
)

__all__ = ["crop_and_resize", "crop_flat", "matmul_crop_and_resize", "position_sensitive_crop",
           "multilevel_crop_and_resize", "gathered_crops"]

# Share of a map's size by which a sample may lie past the last pixel through rounding.
_SLACK = 1e-6


def multilevel_crop_and_resize(features: list[tf.Tensor], boxes_normalized: tf.Tensor,
                               levels: tf.Tensor, crop_size: Sequence[int],
                               use_static_shapes: bool = False,
                               original_far_edge: bool = False) -> tf.Tensor:
    """Crops every region from its own level, all levels at once.

    Boxes get no gradient.

    Args:
        features: float [B, h, w, depth] each; all have one depth and one type.
        boxes_normalized: float32 [B, P, 4].
        levels: int32 [B, P], index into `features`; a level that does not exist gives zeros.
        crop_size: height and width of the result.
        use_static_shapes: gather the samples from the maps laid end to end, which compiles with
            static shapes, instead of multiplying the maps with a sparse matrix.
        original_far_edge: see `crop_and_resize`; samples then lie where the kernel would compute
            them for the single map.
    Returns:
        [B, P, crop height, crop width, depth] of the type of `features`.
    """
    boxes = tf.stop_gradient(boxes_normalized)
    levels = tf.convert_to_tensor(levels)
    known = (levels >= 0) & (levels < len(features))
    level = tf.where(known, levels, 0)
    maps = map_samples.flatten(features)
    extents = tf.gather(maps.extents, level)
    rows, columns = _grid(boxes, crop_size, extents, original_far_edge)
    read = map_samples.read if use_static_shapes else sample_matrix.read
    crops = read(maps.pixels, tf.where(known, tf.gather(maps.starts, level), -1), extents[..., 1],
                 rows, columns)
    return tf.cast(crops, features[0].dtype)


def gathered_crops(pixels: tf.Tensor, starts: tf.Tensor, extents: tf.Tensor, boxes: tf.Tensor,
                   crop_size: Sequence[int], original_far_edge: bool = False) -> tf.Tensor:
    """Crops from maps that lie end to end, by reading the four pixels around each sample.

    Args:
        pixels: [B, pixels of all maps, depth], each map row by row.
        starts: int32 [B, P], first pixel of the map of each region; negative: the crop is zeros.
        extents: int32 [B, P, 2], height and width of that map.
        boxes: float32 [B, P, 4], normalized to that map.
        crop_size: height and width of the result.
        original_far_edge: see `crop_and_resize`.
    Returns:
        float32 [B, P, crop height, crop width, depth]; samples outside the map are 0.
    """
    rows, columns = _grid(boxes, crop_size, extents, original_far_edge)
    return map_samples.read(pixels, starts, extents[..., 1], rows, columns)


def _grid(boxes: tf.Tensor, crop_size: Sequence[int], extents: tf.Tensor,
          original_far_edge: bool) -> list[map_samples.AxisSamples]:
    """Places the samples of each box, along its height and its width."""
    slack = 0.0 if original_far_edge else _SLACK
    return [_samples(boxes, axis, crop_size[axis], extents[..., axis], slack) for axis in (0, 1)]


def _samples(boxes: tf.Tensor, axis: int, count: int, size: tf.Tensor,
             slack: float) -> map_samples.AxisSamples:
    positions = map_samples.corner_positions(boxes[..., axis], boxes[..., axis + 2], count, size)
    margin = slack * tf.maximum(tf.cast(size - 1, tf.float32), 1.0)[..., None]
    return map_samples.around(positions, size, margin)

