"""Masks of objects, cut to the regions they are compared with.

Shapes: B images, N objects and P regions per image, H x W the padded network input.
"""

from collections.abc import Sequence

import tensorflow as tf

from object_detection.core import crops


def matched_mask_targets(masks: tf.Tensor, boxes: tf.Tensor, match_rows: tf.Tensor,
                         mask_size: Sequence[int], use_static_shapes: bool = False,
                         original_far_edge: bool = False) -> tf.Tensor:
    """Cuts from the mask of each region's object the part inside the region.

    No mask is copied per region: regions read from the masks where they are.

    Args:
        masks: float or uint8 [B, N, H, W], 0 or 1.
        boxes: float32 [B, P, 4], pixels of the H x W frame.
        match_rows: int32 [B, P], object of each region; negative: none.
        mask_size: height and width of the result.
        use_static_shapes: read samples with a gather instead of the crop kernel.
        original_far_edge: see `crops.crop_and_resize`; without effect for static shapes.
    Returns:
        float32 [B, P, mask height, mask width]; zeros for regions without an object.
    """
    _, _, height, width = tf.unstack(tf.shape(masks))
    size = tf.cast(tf.stack([height, width, height, width]), tf.float32)
    return crop_matched(masks, boxes / size, match_rows, mask_size, use_static_shapes,
                        original_far_edge)


def crop_matched(masks: tf.Tensor, boxes_normalized: tf.Tensor, match_rows: tf.Tensor,
                 mask_size: Sequence[int], use_static_shapes: bool = False,
                 original_far_edge: bool = False) -> tf.Tensor:
    """Cuts boxes [B, P, 4], normalized each to the mask of its own object.

    0 and 1 are the centres of the first and last pixel of that mask. For the rest see
    `matched_mask_targets`.
    """
    batch, count, height, width = tf.unstack(tf.shape(masks))
    shape = boxes_normalized.shape[:2].concatenate(mask_size)
    if masks.shape[1] == 0:
        regions = tf.shape(boxes_normalized)[:2]
        return tf.ensure_shape(tf.zeros(tf.concat([regions, mask_size], axis=0)), shape)
    if use_static_shapes:
        pixels = tf.reshape(masks, [batch, count * height * width, 1])
        starts = tf.where(match_rows >= 0, match_rows * height * width, -1)
        extents = tf.broadcast_to(tf.stack([height, width]),
                                  tf.concat([tf.shape(match_rows), [2]], axis=0))
        return crops.gathered_crops(pixels, starts, extents, boxes_normalized, mask_size)[..., 0]
    matched = tf.where(match_rows >= 0)
    owner = (tf.cast(matched[:, 0], tf.int32) * count + tf.gather_nd(match_rows, matched))
    cut = crops.crop_flat(tf.reshape(masks, [batch * count, height, width, 1]),
                          tf.gather_nd(boxes_normalized, matched), owner, mask_size,
                          original_far_edge)
    full = tf.concat([tf.shape(match_rows), mask_size], axis=0)
    return tf.ensure_shape(
        tf.scatter_nd(matched, cut[..., 0], tf.cast(full, tf.int64)), shape)
