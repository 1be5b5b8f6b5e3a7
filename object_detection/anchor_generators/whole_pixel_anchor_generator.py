"""Anchors of whole pixels around the corners of cells, as torchvision's detectors have them."""

from collections.abc import Sequence

import numpy as np
import tensorflow as tf

from object_detection.core.anchor_generator import AnchorGenerator, Size


class WholePixelAnchorGenerator(AnchorGenerator):
    """Lays anchors of one size over each map, in every aspect ratio.

    Half the height and half the width of an anchor are rounded to whole pixels, halves to even. Its
    middle is the top left corner of the cell. The stride of a map is the side of the image over
    that of the map, rounded down; it is not a power of two where the last level of a pyramid takes
    every second pixel of a map with an odd side.
    """

    def __init__(self, sizes: Sequence[float], aspect_ratios: Sequence[float]) -> None:
        """Makes a generator.

        Args:
            sizes: side in pixels of the square anchor of each map.
            aspect_ratios: height over width; in TensorFlow's generators it is width over height.
        Raises:
            ValueError: if there is none of either, or one is not positive.
        """
        if not sizes or not aspect_ratios or min(*sizes, *aspect_ratios) <= 0.0:
            raise ValueError("WholePixelAnchorGenerator: want positive sizes and aspect_ratios, "
                             f"got {list(sizes)} and {list(aspect_ratios)}")
        roots = np.sqrt(np.asarray(aspect_ratios, np.float32))
        self._around = []
        for size in sizes:
            halves = np.stack([roots * size, size / roots], axis=1).astype(np.float32) / 2.0
            self._around.append(np.round(np.concatenate([-halves, halves], axis=1)))

    def num_anchors_per_location(self) -> list[int]:
        return [len(around) for around in self._around]

    def _generate(self, feature_map_shapes: Sequence[tuple[Size, Size]], im_height: Size | None,
                  im_width: Size | None) -> list[tf.Tensor]:
        if im_height is None or im_width is None:
            raise ValueError("WholePixelAnchorGenerator.generate: strides follow from the image's "
                             f"size, so give im_height and im_width, got {im_height} and "
                             f"{im_width}")
        levels = []
        for (height, width), around in zip(feature_map_shapes, self._around, strict=True):
            y, x = tf.meshgrid(_corners(im_height, height), _corners(im_width, width),
                               indexing="ij")
            corners = tf.reshape(tf.stack([y, x, y, x], axis=-1), [-1, 1, 4])
            anchors = tf.reshape(corners + around, [-1, 4])
            if isinstance(height, int) and isinstance(width, int):
                anchors = tf.ensure_shape(anchors, [height * width * len(around), 4])
            levels.append(anchors)
        return levels


def _corners(image_side: Size, cells: Size) -> tf.Tensor:
    """Returns where the cells of an axis begin, float32 [cells], pixels."""
    stride = tf.cast(image_side, tf.int32) // tf.maximum(cells, 1)
    return tf.cast(tf.range(cells) * stride, tf.float32)
