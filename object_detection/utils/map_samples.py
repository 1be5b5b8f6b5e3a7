"""Bilinear samples of feature maps: where they lie, and a way to read them by gathering.

The maps of a pyramid lie end to end in one tensor, so that one gather serves regions of all levels.
All shapes may be static. `sample_matrix` reads the same in less time and memory where they need not
be. Shapes: B images, P regions per image.
"""

from collections.abc import Sequence
from typing import NamedTuple

import tensorflow as tf


class AxisSamples(NamedTuple):
    """The two pixels around each sample along one axis of a map."""

    first: tf.Tensor   # int32 [B, P, samples]
    second: tf.Tensor  # int32 [B, P, samples], the next pixel, or the same at the end of the map
    share: tf.Tensor   # float32 [B, P, samples], weight of the second, in [0, 1)
    inside: tf.Tensor  # bool [B, P, samples], false: the sample is 0


class Maps(NamedTuple):
    """Feature maps end to end, row by row."""

    pixels: tf.Tensor   # [B, pixels of all maps, depth]
    starts: tf.Tensor   # int32 [maps], first pixel of each
    extents: tf.Tensor  # int32 [maps, 2], height and width of each


def flatten(features: Sequence[tf.Tensor]) -> Maps:
    """Joins maps [B, h, w, depth] of one depth and type."""
    extents = tf.stack([tf.shape(feature_map)[1:3] for feature_map in features])
    starts = tf.cumsum(tf.reduce_prod(extents, axis=1), exclusive=True)
    pixels = [tf.reshape(x, [tf.shape(x)[0], -1, x.shape[-1]]) for x in features]
    return Maps(tf.concat(pixels, axis=1), starts, extents)


def corner_positions(low: tf.Tensor, high: tf.Tensor, samples: int, size: tf.Tensor) -> tf.Tensor:
    """Spreads samples from corner to corner of a box, as `tf.image.crop_and_resize` does.

    Args:
        low, high: float32 [B, P], normalized: 0 and 1 are the centres of the end pixels.
        samples: number of them; a single one lies in the middle.
        size: int32 [B, P], pixels of the axis.
    Returns:
        float32 [B, P, samples], in pixels, computed with the kernel's roundings.
    """
    span = tf.cast(size - 1, tf.float32)
    if samples == 1:
        return (0.5 * (low + high) * span)[..., None]
    step = (high - low) * span / (samples - 1)
    return (low * span)[..., None] + tf.range(samples, dtype=tf.float32) * step[..., None]


def around(positions: tf.Tensor, size: tf.Tensor, margin: float | tf.Tensor) -> AxisSamples:
    """Finds the pixels around samples.

    Args:
        positions: float32 [B, P, samples], in pixels; whole numbers are pixel centres.
        size: int32 [B, P], pixels of the axis.
        margin: samples up to this far past an end pixel's centre take that pixel's value, others
            outside are 0. A number, or float32 [B, P, 1].
    """
    last = tf.cast(size - 1, tf.float32)[..., None]
    inside = (positions >= -margin) & (positions <= last + margin)
    clipped = tf.clip_by_value(positions, 0.0, last)
    first = tf.floor(clipped)
    second = tf.minimum(first + 1.0, last)
    return AxisSamples(tf.cast(first, tf.int32), tf.cast(second, tf.int32), clipped - first, inside)


def read(pixels: tf.Tensor, starts: tf.Tensor, widths: tf.Tensor, rows: AxisSamples,
         columns: AxisSamples, per_cell: int = 1) -> tf.Tensor:
    """Samples a grid of each region, with a gather.

    Args:
        pixels: [B, pixels of all maps, depth].
        starts: int32 [B, P], first pixel of each region's map; negative: zeros.
        widths: int32 [B, P], width of that map.
        rows, columns: the grid.
        per_cell: rows and columns of samples to average in one cell of the result.
    Returns:
        float32 [B, P, rows / per_cell, columns / per_cell, depth].
    """
    start = tf.maximum(starts, 0)[..., None, None]
    width = widths[..., None, None]
    corners = tf.stack(
        [start + y[..., :, None] * width + x[..., None, :]
         for y in (rows.first, rows.second) for x in (columns.first, columns.second)], axis=1)
    found = tf.cast(tf.gather(pixels, corners, batch_dims=1), tf.float32)
    top_left, top_right, bottom_left, bottom_right = tf.unstack(found, axis=1)
    down, right = rows.share[..., :, None, None], columns.share[..., None, :, None]
    top = top_left + (top_right - top_left) * right
    bottom = bottom_left + (bottom_right - bottom_left) * right
    inside = (rows.inside[..., :, None] & columns.inside[..., None, :]
              & (starts >= 0)[..., None, None])
    samples = tf.where(inside[..., None], top + (bottom - top) * down, 0.0)
    if per_cell == 1:
        return samples
    batch, count = tf.unstack(tf.shape(samples)[:2])
    grid_rows, grid_columns = (size // per_cell for size in samples.shape[2:4])
    cells = [batch, count, grid_rows, per_cell, grid_columns, per_cell, samples.shape[-1]]
    return tf.reduce_mean(tf.reshape(samples, cells), axis=[3, 5])
