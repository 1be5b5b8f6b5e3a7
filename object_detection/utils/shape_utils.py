"""Padding, clipping and reading of shapes that may be known only at run time."""

from collections.abc import Sequence

import tensorflow as tf

Size = int | tf.Tensor


def combined_static_and_dynamic_shape(tensor: tf.Tensor) -> list[Size]:
    """Returns the size of each dimension: an int where it is known, else a scalar tensor."""
    dynamic = tf.shape(tensor)
    return [dynamic[i] if size is None else size for i, size in enumerate(tensor.shape)]


def pad_or_clip_nd(tensor: tf.Tensor, output_shape: Sequence[Size | None]) -> tf.Tensor:
    """Cuts or pads with zeros at the end of each dimension.

    Args:
        tensor: of any type.
        output_shape: wanted size of each dimension; None leaves one as it is.
    Raises:
        ValueError: if the number of dimensions differs.
    """
    if tensor.shape.rank != len(output_shape):
        raise ValueError(f"pad_or_clip_nd: {len(output_shape)} sizes for a tensor of "
                         f"{tensor.shape.rank} dimensions")
    present = combined_static_and_dynamic_shape(tensor)
    wanted = [have if size is None else size for have, size in zip(present, output_shape)]
    kept = [tf.minimum(have, size) for have, size in zip(present, wanted)]
    clipped = tf.slice(tensor, [0] * len(kept), kept)
    padded = tf.pad(clipped, [[0, size - have] for have, size in zip(kept, wanted)])
    return tf.ensure_shape(
        padded, [None if tf.is_tensor(size) else int(size) for size in wanted])


def pad_or_clip_tensor(tensor: tf.Tensor, length: Size) -> tf.Tensor:
    """Cuts the first dimension to `length`, or pads it with zeros."""
    return pad_or_clip_nd(tensor, [length] + [None] * (tensor.shape.rank - 1))


def pad_tensor(tensor: tf.Tensor, length: Size) -> tf.Tensor:
    """Pads the first dimension with zeros to `length`, which must not be smaller than it is."""
    missing = length - combined_static_and_dynamic_shape(tensor)[0]
    padded = tf.pad(tensor, [[0, missing]] + [[0, 0]] * (tensor.shape.rank - 1))
    return tf.ensure_shape(
        padded, [None if tf.is_tensor(length) else length] + tensor.shape[1:].as_list())


def clip_tensor(tensor: tf.Tensor, length: Size) -> tf.Tensor:
    """Keeps the first `length` rows; there must be as many."""
    clipped = tf.gather(tensor, tf.range(length))
    return tf.ensure_shape(
        clipped, [None if tf.is_tensor(length) else length] + tensor.shape[1:].as_list())
