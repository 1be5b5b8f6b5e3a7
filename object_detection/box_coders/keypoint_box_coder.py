"""Box coder for boxes that carry keypoints."""

from collections.abc import Sequence

import tensorflow as tf

from object_detection.box_coders import faster_rcnn_box_coder
from object_detection.core import box_coder, box_ops


class KeypointBoxCoder(box_coder.BoxCoder):
    """The code of Faster R-CNN, then y and x of each keypoint in offsets from the anchor's centre.

    Offsets are in anchor sizes and take the scale factors of the centre.
    """

    def __init__(self, num_keypoints: int, scale_factors: Sequence[float] | None = None) -> None:
        """Makes a coder.

        Args:
            num_keypoints: keypoints per box.
            scale_factors: what ty, tx, th, tw are multiplied by; None: 1 each.
        """
        self.num_keypoints = num_keypoints
        self.scale_factors = box_coder.checked_scale_factors("KeypointBoxCoder", scale_factors, 4)
        self._box_coder = faster_rcnn_box_coder.FasterRcnnBoxCoder(scale_factors)

    @property
    def code_size(self) -> int:
        return 4 + 2 * self.num_keypoints

    def encode(self, boxes: tf.Tensor, anchors: tf.Tensor,
               keypoints: tf.Tensor | None = None) -> tf.Tensor:
        """Returns float [..., code_size].

        Args:
            boxes, anchors: float [..., 4].
            keypoints: float [..., num_keypoints, 2] of y and x, in the frame of the boxes.
        Raises:
            ValueError: if there are no keypoints.
        """
        if keypoints is None:
            raise ValueError("KeypointBoxCoder.encode: boxes without keypoints; want a tensor "
                             f"[..., {self.num_keypoints}, 2]")
        center, size = _anchor_frame(anchors)
        offsets = (keypoints - center) / tf.maximum(size, box_coder.EPSILON)
        offsets *= tf.constant(self.scale_factors[:2], offsets.dtype)
        flat = tf.reshape(offsets, tf.concat([tf.shape(offsets)[:-2], [-1]], axis=0))
        flat = tf.ensure_shape(flat, [*offsets.shape[:-2], 2 * self.num_keypoints])
        return tf.concat([self._box_coder.encode(boxes, anchors), flat], axis=-1)

    def decode(self, codes: tf.Tensor, anchors: tf.Tensor) -> tf.Tensor:
        return self._box_coder.decode(codes[..., :4], anchors)

    def decode_keypoints(self, codes: tf.Tensor, anchors: tf.Tensor) -> tf.Tensor:
        """Returns float [..., num_keypoints, 2] of y and x."""
        offsets = tf.reshape(codes[..., 4:], tf.concat(
            [tf.shape(codes)[:-1], [self.num_keypoints, 2]], axis=0))
        center, size = _anchor_frame(anchors)
        return offsets / tf.constant(self.scale_factors[:2], offsets.dtype) * size + center


def _anchor_frame(anchors: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
    """Returns centre and size, [..., 1, 2] each, of anchors [..., 4]."""
    y, x, height, width = box_ops.center_size(anchors)
    return (tf.stack([y, x], axis=-1)[..., None, :],
            tf.stack([height, width], axis=-1)[..., None, :])
