"""Proposals as Matterport's Mask_RCNN chooses them: among the best candidates, cut at the edge."""

import dataclasses

import tensorflow as tf

from object_detection.core import box_ops, post_processing
from object_detection.core.box_coder import BoxCoder
from object_detection.core.nms import NmsSettings
from object_detection.core.structures import ImageExtent, Proposals, RpnOutput


@dataclasses.dataclass(frozen=True)
class MatterportProposer:
    """Decodes the best anchors, cuts them at the padded input's edge and suppresses overlaps.

    Boxes name their first and last pixels (core/box_frame.PixelCentreFrame).

    Attributes:
        box_coder: of the first stage.
        nms: limits and thresholds of the suppression; one class.
        pre_nms_limit: candidates of an image that are looked at.
        original_without_area: fault of the original, see `without_area_dropped`.
        pass_gradient: fault of the original: the proposals depend on the first stage's boxes.
    """

    box_coder: BoxCoder
    nms: NmsSettings
    pre_nms_limit: int = 6000
    original_without_area: bool = False
    pass_gradient: bool = False

    def decode(self, rpn: RpnOutput) -> tf.Tensor:
        """Returns float32 [B, A, 4] boxes, not clipped."""
        return self.box_coder.decode(rpn.box_encodings, rpn.anchors)

    def propose(self, rpn: RpnOutput, images: ImageExtent) -> tuple[Proposals, tf.Tensor]:
        """Returns the proposals, and the anchor row of each, int32 [B, P]."""
        encodings = rpn.box_encodings
        if not self.pass_gradient:
            encodings = tf.stop_gradient(encodings)
        scores = tf.stop_gradient(tf.nn.softmax(rpn.objectness)[..., 1])
        count = scores.shape[1]
        if count is None:
            limit = tf.minimum(self.pre_nms_limit, tf.shape(scores)[1])
        else:
            limit = min(self.pre_nms_limit, count)
        scores, rows = tf.math.top_k(scores, k=limit)
        boxes = self.box_coder.decode(tf.gather(encodings, rows, batch_dims=1),
                                      tf.gather(rpn.anchors, rows))
        window = tf.concat([tf.zeros([2]), images.size - 1.0], axis=0)
        boxes = box_ops.clip_to_window(boxes, window)
        scores = without_area_dropped(boxes, scores[..., None], self.original_without_area)
        kept = post_processing.batch_multiclass_non_max_suppression(
            tf.stop_gradient(boxes)[:, :, None, :], scores, None, self.nms,
            keep_without_area=True)
        valid = kept.valid_mask()
        chosen = tf.where(valid[..., None], tf.gather(boxes, kept.indices, batch_dims=1), 0.0)
        return (Proposals(chosen, kept.scores, kept.num_valid),
                tf.gather(rows, kept.indices, batch_dims=1))


def without_area_dropped(boxes: tf.Tensor, scores: tf.Tensor, original: bool) -> tf.Tensor:
    """Takes boxes [B, P, 4] without area out of the suppression of [B, P, C] scores.

    Args:
        original: do as TensorFlow 1's suppression did: the best box without area of each class
            stays, and no box of the class with a lower score than that does.
    Returns:
        the scores, -inf where a box is out.
    """
    has_area = (box_ops.area(boxes) > 0.0)[..., None]
    if not original:
        return tf.where(has_area, scores, float("-inf"))
    best = tf.reduce_max(tf.where(has_area, float("-inf"), scores), axis=1, keepdims=True)
    return tf.where(scores >= best, scores, float("-inf"))
