"""Anchors of several sizes and shapes in every cell of one feature map."""

from collections.abc import Sequence

import numpy as np
import tensorflow as tf

from object_detection.core import box_ops
from object_detection.core.anchor_generator import AnchorGenerator, Size


class GridAnchorGenerator(AnchorGenerator):
    """Anchors of every scale with every aspect ratio, as in Faster R-CNN.

    An anchor of scale s and aspect ratio r (width over height) is s / sqrt(r) times the base height
    and s * sqrt(r) times the base width. In a cell, scales change faster than ratios.
    """

    def __init__(self, scales: Sequence[float] = (0.5, 1.0, 2.0),
                 aspect_ratios: Sequence[float] = (0.5, 1.0, 2.0),
                 base_anchor_size: tuple[float, float] = (256, 256),
                 anchor_stride: tuple[float, float] = (16, 16),
                 anchor_offset: tuple[float, float] = (0, 0)) -> None:
        """Makes a generator.

        Args:
            scales, aspect_ratios: of the anchors in a cell.
            base_anchor_size: (height, width) of an anchor of scale 1 and ratio 1, in pixels.
            anchor_stride: (y, x) distance of neighbouring cells, in pixels.
            anchor_offset: (y, x) centre of the anchors of the first cell, in pixels.
        Raises:
            ValueError: if there are no scales or ratios, or one is not positive.
        """
        heights, widths = anchor_sizes(scales, aspect_ratios, base_anchor_size)
        self._heights, self._widths = heights, widths
        self._stride, self._offset = anchor_stride, anchor_offset

    def num_anchors_per_location(self) -> list[int]:
        return [len(self._heights)]

    def _generate(self, feature_map_shapes: Sequence[tuple[Size, Size]], im_height: Size | None,
                  im_width: Size | None) -> list[tf.Tensor]:
        return [tile_anchors(feature_map_shapes[0], self._heights, self._widths, self._stride,
                             self._offset)]


def anchor_sizes(scales: Sequence[float], aspect_ratios: Sequence[float],
                 base_size: tuple[float, float]) -> tuple[np.ndarray, np.ndarray]:
    """Returns heights and widths, float32 [K] each, of all pairs of a scale and a ratio.

    Raises:
        ValueError: if there are no scales or ratios, or one is not positive.
    """
    for name, values in (("scales", scales), ("aspect_ratios", aspect_ratios)):
        if not len(values) or min(values) <= 0.0:
            raise ValueError(f"anchors: {name}: want one or more positive numbers, "
                             f"got {list(values)}")
    roots = np.sqrt(np.asarray(aspect_ratios, np.float32))[:, None]
    factors = np.asarray(scales, np.float32)[None, :]
    return ((factors / roots * np.float32(base_size[0])).ravel(),
            (factors * roots * np.float32(base_size[1])).ravel())


def tile_anchors(map_shape: tuple[Size, Size], heights: np.ndarray, widths: np.ndarray,
                 stride: tuple[float, float],
                 offset: tuple[float | tf.Tensor, float | tf.Tensor]) -> tf.Tensor:
    """Puts anchors of given sizes in every cell of a map.

    Args:
        map_shape: (height, width) in cells.
        heights, widths: float32 [K], of the anchors of a cell.
        stride, offset: (y, x) distance of cells and centre of the first cell.
    Returns:
        float32 [height * width * K, 4].
    """
    y_centers = tf.cast(tf.range(map_shape[0]), tf.float32) * stride[0] + offset[0]
    x_centers = tf.cast(tf.range(map_shape[1]), tf.float32) * stride[1] + offset[1]
    shape = [map_shape[0], map_shape[1], len(heights)]
    anchors = box_ops.from_center_size(
        tf.broadcast_to(y_centers[:, None, None], shape),
        tf.broadcast_to(x_centers[None, :, None], shape),
        tf.broadcast_to(tf.constant(heights, tf.float32), shape),
        tf.broadcast_to(tf.constant(widths, tf.float32), shape))
    return tf.reshape(anchors, [-1, 4])
