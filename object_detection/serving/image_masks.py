"""Masks of the whole image from masks that are cut to their boxes, for whole batches."""

import tensorflow as tf

from object_detection.utils import ops

# Lies outside of every image, so nothing is drawn of it.
_NOWHERE = (2.0, 2.0, 3.0, 3.0)


def draw(box_masks: tf.Tensor, boxes: tf.Tensor, num_detections: tf.Tensor,
         image_sizes: tf.Tensor) -> tf.Tensor:
    """Draws each mask where its box lies, as `ops.reframe_box_masks_to_image_masks` does.

    Args:
        box_masks: float32 [B, D, h, w].
        boxes: float32 [B, D, 4], normalized each to its own image.
        num_detections: [B]; later rows are padding and come out as zeros.
        image_sizes: int32 [B, 2], height and width. Smaller images than the largest height and the
            largest width get zeros below and to the right.
    Returns:
        float32 [B, D, largest height, largest width], 0 outside of the box. That is four bytes per
        pixel and detection.
    """
    canvas = tf.maximum(tf.reduce_max(image_sizes, axis=0), 1)
    # 0 and 1 are the centres of the first and last pixel.
    share = tf.cast(image_sizes - 1, tf.float32) / tf.cast(tf.maximum(canvas - 1, 1), tf.float32)
    placed = boxes * tf.tile(share, [1, 2])[:, tf.newaxis]
    valid = tf.sequence_mask(tf.cast(num_detections, tf.int32), maxlen=tf.shape(boxes)[1])
    placed = tf.where(valid[..., tf.newaxis], placed, tf.constant(_NOWHERE))
    drawn = ops.reframe_box_masks_to_image_masks(
        tf.reshape(box_masks, tf.concat([[-1], tf.shape(box_masks)[2:]], axis=0)),
        tf.reshape(placed, [-1, 4]), canvas[0], canvas[1])
    shape = tf.concat([tf.shape(box_masks)[:2], canvas], axis=0)
    return tf.ensure_shape(tf.reshape(drawn, shape), [*box_masks.shape[:2], None, None])
