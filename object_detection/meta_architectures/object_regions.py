"""Picks the regions of objects, for the parts of the training loss that read no others."""

import tensorflow as tf


def in_front(objects: tf.Tensor) -> tf.Tensor:
    """Returns the rows of each image's objects, as many as the image with most objects has.

    Args:
        objects: bool [B, P], true where a region belongs to an object.
    Returns:
        int32 [B, N], N at least 1 where P is; the rows of objects in order, then others.
    """
    shape = tf.shape(objects)
    per_image = tf.reduce_sum(tf.cast(objects, tf.int32), axis=1)
    most = tf.minimum(tf.maximum(tf.reduce_max(per_image), 1), shape[1])
    rank = tf.where(objects, shape[1], 0) - tf.range(shape[1])
    return tf.math.top_k(rank, k=most).indices


def pick(values: object, rows: tf.Tensor) -> object:
    """Returns rows int32 [B, N] of each tensor [B, P, ...] of a structure."""
    return tf.nest.map_structure(lambda value: tf.gather(value, rows, batch_dims=1), values)
