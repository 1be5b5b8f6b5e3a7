"""Box coder that subtracts the anchor from the box."""

import tensorflow as tf

from object_detection.core import box_coder


class MeanStddevBoxCoder(box_coder.BoxCoder):
    """(box - anchor) / stddev, corner by corner: the anchor is the mean of what it predicts."""

    def __init__(self, stddev: float = 0.01) -> None:
        """Makes a coder; `stddev` is in the unit of the boxes. Raises ValueError unless above 0."""
        if stddev <= 0.0:
            raise ValueError(f"MeanStddevBoxCoder: stddev: want a positive number, got {stddev}")
        self.stddev = stddev

    @property
    def code_size(self) -> int:
        return 4

    def encode(self, boxes: tf.Tensor, anchors: tf.Tensor) -> tf.Tensor:
        return (boxes - anchors) / self.stddev

    def decode(self, codes: tf.Tensor, anchors: tf.Tensor) -> tf.Tensor:
        return codes * self.stddev + anchors
