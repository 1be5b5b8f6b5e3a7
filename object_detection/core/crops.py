"""Crops of regions from one feature map or from a pyramid of them.

Shapes: B images, P regions per image. See `utils.crop_ops` for how a crop is sampled.
"""

from collections.abc import Sequence

import tensorflow as tf

from object_detection.utils.crop_ops import (
    crop_and_resize,
    crop_flat,
    matmul_crop_and_resize,
    position_sensitive_crop,
)

__all__ = ["crop_and_resize", "crop_flat", "matmul_crop_and_resize", "position_sensitive_crop",
           "multilevel_crop_and_resize", "gathered_crops"]


def multilevel_crop_and_resize(features: list[tf.Tensor], boxes_normalized: tf.Tensor,
                               levels: tf.Tensor, crop_size: Sequence[int],
                               use_static_shapes: bool = False,
                               original_far_edge: bool = False) -> tf.Tensor:
    """Crops every region from its own level.

    Args:
        features: float [B, h, w, depth] each; all have one depth and one type.
        boxes_normalized: float32 [B, P, 4].
        levels: int32 [B, P], index into `features`; a level that does not exist gives zeros.
        crop_size: height and width of the result.
        use_static_shapes: read samples of all levels with one gather, so that all shapes are
            static. Otherwise each level runs the native kernel over its own regions.
        original_far_edge: see `crop_and_resize`; without effect for static shapes.
    Returns:
        [B, P, crop height, crop width, depth].
    """
    if use_static_shapes:
        return _gathered_levels(features, boxes_normalized, levels, crop_size)
    batch, count = tf.unstack(tf.shape(levels))
    boxes = tf.reshape(boxes_normalized, [-1, 4])
    flat_levels = tf.reshape(levels, [-1])
    owner = tf.repeat(tf.range(batch), count)
    shape = [crop_size[0], crop_size[1], features[0].shape[-1]]
    unknown = tf.where((flat_levels < 0) | (flat_levels >= len(features)))
    places = [unknown]
    crops = [tf.zeros(tf.concat([tf.shape(unknown)[:1], shape], axis=0))]
    for level, feature_map in enumerate(features):
        place = tf.where(flat_levels == level)
        crops.append(crop_flat(
            feature_map, tf.gather_nd(boxes, place), tf.gather_nd(owner, place), crop_size,
            original_far_edge))
        places.append(place)
    merged = tf.dynamic_stitch([tf.cast(place[:, 0], tf.int32) for place in places], crops)
    merged = tf.reshape(merged, tf.concat([[batch, count], shape], axis=0))
    merged = tf.ensure_shape(merged, boxes_normalized.shape[:2].concatenate(shape))
    return tf.cast(merged, features[0].dtype)


def gathered_crops(pixels: tf.Tensor, starts: tf.Tensor, extents: tf.Tensor, boxes: tf.Tensor,
                   crop_size: Sequence[int]) -> tf.Tensor:
    """Crops from maps that lie end to end, by reading the four pixels around each sample.

    Args:
        pixels: [B, pixels of all maps, depth], each map row by row.
        starts: int32 [B, P], first pixel of the map of each region; negative: the crop is zeros.
        extents: int32 [B, P, 2], height and width of that map.
        boxes: float32 [B, P, 4], normalized to that map.
        crop_size: height and width of the result.
    Returns:
        float32 [B, P, crop height, crop width, depth]; samples outside the map are 0.
    """
    y0, y1, y_share, y_inside = _neighbours(boxes[..., 0], boxes[..., 2], crop_size[0],
                                            extents[..., 0])
    x0, x1, x_share, x_inside = _neighbours(boxes[..., 1], boxes[..., 3], crop_size[1],
                                            extents[..., 1])
    start = tf.maximum(starts, 0)[..., None, None]
    width = extents[..., 1, None, None]

    def read(y: tf.Tensor, x: tf.Tensor) -> tf.Tensor:
        place = start + y[..., :, None] * width + x[..., None, :]
        return tf.cast(tf.gather(pixels, place, batch_dims=1), tf.float32)

    y_share, x_share = y_share[..., :, None, None], x_share[..., None, :, None]
    top = read(y0, x0) * (1.0 - x_share) + read(y0, x1) * x_share
    bottom = read(y1, x0) * (1.0 - x_share) + read(y1, x1) * x_share
    inside = y_inside[..., :, None] & x_inside[..., None, :] & (starts >= 0)[..., None, None]
    return tf.where(inside[..., None], top * (1.0 - y_share) + bottom * y_share, 0.0)


def _gathered_levels(features: list[tf.Tensor], boxes: tf.Tensor, levels: tf.Tensor,
                     crop_size: Sequence[int]) -> tf.Tensor:
    extents = tf.stack([tf.shape(x)[1:3] for x in features])
    starts = tf.cumsum(tf.reduce_prod(extents, axis=1), exclusive=True)
    pixels = tf.concat([tf.reshape(x, [tf.shape(x)[0], -1, x.shape[-1]]) for x in features],
                       axis=1)
    known = (levels >= 0) & (levels < len(features))
    level = tf.where(known, levels, 0)
    crops = gathered_crops(pixels, tf.where(known, tf.gather(starts, level), -1),
                           tf.gather(extents, level), boxes, crop_size)
    return tf.cast(crops, features[0].dtype)


def _neighbours(low: tf.Tensor, high: tf.Tensor, samples: int,
                size: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor, tf.Tensor, tf.Tensor]:
    """Finds the two pixels around each sample of an axis.

    Returns:
        int32 [B, P, samples] twice, the float32 share of the second, and bool: inside the map.
    """
    share = tf.linspace(0.0, 1.0, samples) if samples > 1 else tf.constant([0.5])
    span = tf.cast(size - 1, tf.float32)[..., None]
    position = span * (low[..., None] * (1.0 - share) + high[..., None] * share)
    slack = 1e-6 * tf.maximum(span, 1.0)
    inside = (position >= -slack) & (position <= span + slack)
    position = tf.clip_by_value(position, 0.0, span)
    first = tf.floor(position)
    return (tf.cast(first, tf.int32), tf.cast(tf.minimum(first + 1.0, span), tf.int32),
            position - first, inside)
