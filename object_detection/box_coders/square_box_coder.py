"""Box coder for objects that are known to be square."""

from collections.abc import Sequence

import tensorflow as tf

from object_detection.core import box_coder, box_ops


class SquareBoxCoder(box_coder.BoxCoder):
    """Offsets of the centre and the logarithm of the size ratio, in sides of squares of equal area.

    With l = sqrt(h * w):  ty = (y - ya) / la    tx = (x - xa) / la    tl = log(l / la).
    The shape of a box is lost: decoded boxes are squares.
    """

    def __init__(self, scale_factors: Sequence[float] | None = None) -> None:
        """Makes a coder.

        Args:
            scale_factors: what ty, tx, tl are multiplied by; None: 1 each.
        """
        self.scale_factors = box_coder.checked_scale_factors("SquareBoxCoder", scale_factors, 3)

    @property
    def code_size(self) -> int:
        return 3

    def encode(self, boxes: tf.Tensor, anchors: tf.Tensor) -> tf.Tensor:
        y_anchor, x_anchor, h_anchor, w_anchor = box_ops.center_size(anchors)
        y, x, h, w = box_ops.center_size(boxes)
        l_anchor = tf.maximum(tf.sqrt(h_anchor * w_anchor), box_coder.EPSILON)
        side = tf.maximum(tf.sqrt(h * w), box_coder.EPSILON)
        code = tf.stack([(y - y_anchor) / l_anchor, (x - x_anchor) / l_anchor,
                         tf.math.log(side / l_anchor)], axis=-1)
        return code * tf.constant(self.scale_factors, code.dtype)

    def decode(self, codes: tf.Tensor, anchors: tf.Tensor) -> tf.Tensor:
        y_anchor, x_anchor, h_anchor, w_anchor = box_ops.center_size(anchors)
        l_anchor = tf.sqrt(h_anchor * w_anchor)
        ty, tx, tl = tf.unstack(codes / tf.constant(self.scale_factors, codes.dtype), axis=-1)
        side = tf.exp(tl) * l_anchor
        return box_ops.from_center_size(ty * l_anchor + y_anchor, tx * l_anchor + x_anchor,
                                        side, side)
