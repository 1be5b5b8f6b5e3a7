"""Box coder of Faster R-CNN."""

from collections.abc import Sequence

import tensorflow as tf

from object_detection.core import box_coder, box_ops


class FasterRcnnBoxCoder(box_coder.BoxCoder):
    """Offsets of the centre in anchor sizes, and logarithms of the size ratios.

    Ren et al., Faster R-CNN (arXiv:1506.01497), section 3.1.2:

        ty = (y - ya) / ha    tx = (x - xa) / wa    th = log(h / ha)    tw = log(w / wa)
    """

    def __init__(self, scale_factors: Sequence[float] | None = None,
                 max_log_ratio: float | None = None) -> None:
        """Makes a coder.

        Args:
            scale_factors: what ty, tx, th, tw are multiplied by, so that a network's targets have
                a spread near 1; None: 1 each.
            max_log_ratio: decoding takes larger th and tw for this, so that no box is endless;
                None: it takes them as they are.
        """
        self.scale_factors = box_coder.checked_scale_factors(
            "FasterRcnnBoxCoder", scale_factors, 4)
        self.max_log_ratio = max_log_ratio

    @property
    def code_size(self) -> int:
        return 4

    def encode(self, boxes: tf.Tensor, anchors: tf.Tensor) -> tf.Tensor:
        y_anchor, x_anchor, h_anchor, w_anchor = box_ops.center_size(anchors)
        y, x, h, w = box_ops.center_size(boxes)
        h_anchor = tf.maximum(h_anchor, box_coder.EPSILON)
        w_anchor = tf.maximum(w_anchor, box_coder.EPSILON)
        h, w = tf.maximum(h, box_coder.EPSILON), tf.maximum(w, box_coder.EPSILON)
        code = tf.stack([(y - y_anchor) / h_anchor, (x - x_anchor) / w_anchor,
                         tf.math.log(h / h_anchor), tf.math.log(w / w_anchor)], axis=-1)
        return code * tf.constant(self.scale_factors, code.dtype)

    def decode(self, codes: tf.Tensor, anchors: tf.Tensor) -> tf.Tensor:
        y_anchor, x_anchor, h_anchor, w_anchor = box_ops.center_size(anchors)
        ty, tx, th, tw = tf.unstack(codes / tf.constant(self.scale_factors, codes.dtype), axis=-1)
        if self.max_log_ratio is not None:
            th, tw = tf.minimum(th, self.max_log_ratio), tf.minimum(tw, self.max_log_ratio)
        return box_ops.from_center_size(ty * h_anchor + y_anchor, tx * w_anchor + x_anchor,
                                        tf.exp(th) * h_anchor, tf.exp(tw) * w_anchor)
