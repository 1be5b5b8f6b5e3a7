"""Masks shrunk to the box of their object, so that a hundred of them fit in a batch.

Shapes: N objects, H x W the image, h x w a mini-mask. Boxes are in pixels, the far corner outside
the object. Arrays of numpy are taken as well as tensors.
"""

from collections.abc import Sequence

import tensorflow as tf

# A box side this close to the border of a pixel is meant to lie on it.
_ON_BORDER = 1e-2
# A sample halfway between two pixels takes the later one, as rounding in the original does.
_LEAN = 1e-5


def minimize(masks: tf.Tensor, boxes: tf.Tensor, size: Sequence[int]) -> tf.Tensor:
    """Resizes the part of each mask inside its box; bilinear, then rounded.

    Samples lie at pixel centres of both grids, and the mask is 0 outside the box.

    Args:
        masks: [N, H, W], 0 or 1.
        boxes: float32 [N, 4].
        size: h and w.
    Returns:
        uint8 [N, h, w], 0 or 1; zeros for a box without area.
    """
    masks, boxes = tf.cast(masks, tf.float32), tf.cast(boxes, tf.float32)
    y1, x1, y2, x2 = tf.unstack(boxes, axis=-1)
    first = tf.floor(boxes[:, :2] + _ON_BORDER)
    last = tf.math.ceil(boxes[:, 2:] - _ON_BORDER) - 1.0
    y, x = _spread(y1, y2, size[0]), _spread(x1, x2, size[1])
    sampled = _sample(masks, y, x, first, last)
    # The zeros around would round off the corners of an object that fills its box.
    most = _sample(tf.ones_like(masks), y, x, first, last)
    filled = tf.reduce_all(sampled > most - 1e-5, axis=[1, 2], keepdims=True)
    has_area = tf.reduce_all(last >= first, axis=1)[:, None, None]
    sampled = tf.where(filled & has_area, 1.0, sampled)
    return tf.ensure_shape(_rounded(sampled), [masks.shape[0], *size])


def expand(mini: tf.Tensor, boxes: tf.Tensor, height: int | tf.Tensor,
           width: int | tf.Tensor) -> tf.Tensor:
    """Draws mini-masks into their boxes on an image; the inverse of `minimize` but for detail.

    Args:
        mini: [N, h, w], 0 or 1.
        boxes: float32 [N, 4].
        height, width: H and W.
    Returns:
        uint8 [N, H, W], 0 or 1.
    """
    mini, boxes = tf.cast(mini, tf.float32), tf.cast(boxes, tf.float32)
    y1, x1, y2, x2 = tf.unstack(boxes, axis=-1)
    size = tf.cast(tf.shape(mini)[1:], tf.float32)
    y, y_inside = _places(y1, y2, height, size[0])
    x, x_inside = _places(x1, x2, width, size[1])
    low = tf.zeros_like(boxes[:, :2])
    drawn = _sample(mini, y, x, low, low + size - 1.0)
    inside = y_inside[:, :, None] & x_inside[:, None, :]
    return tf.where(inside, _rounded(drawn), tf.zeros([], tf.uint8))


def _spread(low: tf.Tensor, high: tf.Tensor, count: int) -> tf.Tensor:
    """Returns float32 [N, count], pixel coordinates of equal steps from side to side of boxes."""
    centres = (tf.range(count, dtype=tf.float32) + 0.5) / count
    return low[:, None] + centres * (high - low)[:, None] - 0.5 + _LEAN


def _places(low: tf.Tensor, high: tf.Tensor, length: int | tf.Tensor,
            size: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
    """Finds the pixels of an image axis in mini-masks: coordinates and bool, both [N, length]."""
    centres = tf.range(tf.cast(length, tf.float32)) + 0.5
    share = tf.math.divide_no_nan(centres - low[:, None], (high - low)[:, None])
    return share * size - 0.5 + _LEAN, (centres > low[:, None]) & (centres < high[:, None])


def _sample(masks: tf.Tensor, y: tf.Tensor, x: tf.Tensor, low: tf.Tensor,
            high: tf.Tensor) -> tf.Tensor:
    """Interpolates each mask on a grid.

    Args:
        masks: float32 [N, H, W].
        y, x: float32 [N, a], [N, b], rows and columns of the grid.
        low, high: float32 [N, 2], first and last pixel that is not taken for 0.
    Returns:
        float32 [N, a, b].
    """
    def blend(values: tf.Tensor, place: tf.Tensor, axis: int) -> tf.Tensor:
        first = tf.floor(place)
        blended = 0.0
        for pixel, share in ((first, first + 1.0 - place), (first + 1.0, place - first)):
            known = (pixel >= low[:, axis, None]) & (pixel <= high[:, axis, None])
            index = tf.clip_by_value(tf.cast(pixel, tf.int32), 0, tf.shape(values)[axis + 1] - 1)
            share = tf.where(known, share, 0.0)
            read = tf.gather(values, index, axis=axis + 1, batch_dims=1)
            blended += read * (share[:, :, None] if axis == 0 else share[:, None, :])
        return blended

    return blend(blend(masks, y, 0), x, 1)


def _rounded(values: tf.Tensor) -> tf.Tensor:
    return tf.cast(tf.round(values), tf.uint8)
