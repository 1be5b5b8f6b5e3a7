"""Crops of regions from one feature map or from a pyramid of them.

Shapes: B images, P regions per image. See `utils.crop_ops` for how a crop is sampled.
"""

from collections.abc import Sequence

import tensorflow as tf

from object_detection.utils import map_samples
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

    Args:
        features: float [B, h, w, depth] each; all have one depth and one type.
        boxes_normalized: float32 [B, P, 4].
        levels: int32 [B, P], index into `features`; a level that does not exist gives zeros.
        crop_size: height and width of the result.
        use_static_shapes: gather the samples from the maps laid end to end, which compiles with
            static shapes. Otherwise the native kernel crops from the maps laid side by side, which
            takes a quarter of the memory.
        original_far_edge: see `crop_and_resize`; samples are then gathered at the positions that
            the kernel would compute for the single map.
    Returns:
        [B, P, crop height, crop width, depth].
    """
    levels = tf.convert_to_tensor(levels)
    known = (levels >= 0) & (levels < len(features))
    level = tf.where(known, levels, 0)
    if use_static_shapes or original_far_edge:
        maps = map_samples.flatten(features)
        crops = gathered_crops(
            maps.pixels, tf.where(known, tf.gather(maps.starts, level), -1),
            tf.gather(maps.extents, level), boxes_normalized, crop_size, original_far_edge)
    else:
        crops = _crops_from_one_picture(features, boxes_normalized, level, known, crop_size)
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
    slack = 0.0 if original_far_edge else _SLACK
    rows, columns = (_samples(boxes, axis, crop_size[axis], extents[..., axis], slack)
                     for axis in (0, 1))
    return map_samples.read(pixels, starts, extents[..., 1], rows, columns)


def _samples(boxes: tf.Tensor, axis: int, count: int, size: tf.Tensor,
             slack: float) -> map_samples.AxisSamples:
    positions = map_samples.corner_positions(boxes[..., axis], boxes[..., axis + 2], count, size)
    margin = slack * tf.maximum(tf.cast(size - 1, tf.float32), 1.0)[..., None]
    return map_samples.around(positions, size, margin)


def _crops_from_one_picture(features: list[tf.Tensor], boxes: tf.Tensor, level: tf.Tensor,
                            known: tf.Tensor, crop_size: Sequence[int]) -> tf.Tensor:
    """Crops by the native kernel from the first map with the others in a column beside it."""
    extents = tf.stack([tf.shape(feature_map)[1:3] for feature_map in features])
    picture = _side_by_side(features, extents)
    below = tf.cumsum(extents[1:, 0], exclusive=True)
    corners = tf.stack([tf.concat([[0], below], axis=0),
                        tf.concat([[0], tf.repeat(extents[0, 1], len(features) - 1)], axis=0)],
                       axis=1)
    span = tf.cast(tf.gather(extents, level) - 1, tf.float32)
    corner = tf.cast(tf.gather(corners, level), tf.float32)
    whole = tf.cast(tf.maximum(tf.shape(picture)[1:3] - 1, 1), tf.float32)
    moved = (boxes * tf.tile(span, [1, 1, 2]) + tf.tile(corner, [1, 1, 2])) / tf.tile(whole, [2])
    crops = crop_and_resize(picture, moved, crop_size)
    # A sample past the edge of its map would read the neighbour's pixels. That is rare, and
    # clearing them is a pass over all crops.
    rows, columns = (_samples(boxes, axis, crop_size[axis], tf.gather(extents[:, axis], level),
                              _SLACK).inside for axis in (0, 1))
    inside = rows[..., :, None] & columns[..., None, :] & known[..., None, None]
    return tf.cond(tf.reduce_all(inside), lambda: crops,
                   lambda: tf.where(inside[..., None], crops, tf.zeros([], crops.dtype)))


def _side_by_side(features: list[tf.Tensor], extents: tf.Tensor) -> tf.Tensor:
    if len(features) == 1:
        return features[0]
    widest = tf.reduce_max(extents[1:, 1])
    column = tf.concat([
        tf.pad(feature_map, [[0, 0], [0, 0], [0, widest - tf.shape(feature_map)[2]], [0, 0]])
        for feature_map in features[1:]], axis=1)
    missing = tf.shape(column)[1] - extents[0, 0]
    first = tf.pad(features[0], [[0, 0], [0, tf.maximum(missing, 0)], [0, 0], [0, 0]])
    column = tf.pad(column, [[0, 0], [0, tf.maximum(-missing, 0)], [0, 0], [0, 0]])
    return tf.concat([first, column], axis=2)
