"""How boxes in pixels relate to boxes in parts of the image.

A box in pixels runs either from edge to edge (its size is ymax - ymin), or from the middle of its
first pixel to the middle of its last, as detectors in Matterport's line have it. Overlaps, box
encodings and suppression do not care; cropping and what users see do.
"""

import abc

import tensorflow as tf


class BoxFrame(abc.ABC):
    """Maps boxes [..., 4] between the detector's pixels and parts of the network input."""

    @abc.abstractmethod
    def from_normalized(self, boxes: tf.Tensor, size: tf.Tensor) -> tf.Tensor:
        """Maps boxes as users give them, edges in [0, 1], to pixels.

        Args:
            boxes: float32 [..., 4].
            size: float32 [2], height and width of the network input.
        """

    @abc.abstractmethod
    def to_normalized(self, boxes: tf.Tensor, size: tf.Tensor) -> tf.Tensor:
        """Maps pixels to what croppers take.

        Args:
            boxes: float32 [..., 4].
            size: float32 [2], height and width in pixels of what the feature maps cover.
        """


class EdgeFrame(BoxFrame):
    """Boxes from edge to edge: the frame of the Object Detection API."""

    def from_normalized(self, boxes: tf.Tensor, size: tf.Tensor) -> tf.Tensor:
        return boxes * _twice(size)

    def to_normalized(self, boxes: tf.Tensor, size: tf.Tensor) -> tf.Tensor:
        return boxes / _twice(size)


class PixelCentreFrame(BoxFrame):
    """Boxes from the first to the last pixel, [y1, x1, y2 - 1, x2 - 1] of the edges.

    Normalized for cropping, 0 is the middle of the first pixel and 1 that of the last, which is
    what `tf.image.crop_and_resize` means by them.
    """

    def from_normalized(self, boxes: tf.Tensor, size: tf.Tensor) -> tf.Tensor:
        return boxes * _twice(size) - tf.constant([0.0, 0.0, 1.0, 1.0])

    def to_normalized(self, boxes: tf.Tensor, size: tf.Tensor) -> tf.Tensor:
        return boxes / _twice(size - 1.0)


def _twice(size: tf.Tensor) -> tf.Tensor:
    """Returns [height, width, height, width] of [height, width]."""
    return tf.tile(size, [2])
