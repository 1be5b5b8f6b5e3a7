"""Detections as Matterport's Mask_RCNN makes them: every region stands for its best class."""

import dataclasses

import tensorflow as tf

from object_detection.core import box_ops, post_processing
from object_detection.core.box_coder import BoxCoder
from object_detection.core.nms import NmsSettings
from object_detection.core.structures import HeadOutput, ImageExtent, NmsResult, Proposals
from object_detection.meta_architectures import results
from object_detection.meta_architectures.matterport.proposals import without_area_dropped
from object_detection.meta_architectures.proposals import clip_window
from object_detection.meta_architectures.results import Detections

# From the edges of a box to its first and last pixels.
_LAST_PIXEL = (0.0, 0.0, 1.0, 1.0)


@dataclasses.dataclass(frozen=True)
class MatterportPostprocessor:
    """Takes each region's box of its best class, cut at the image, and suppresses per class.

    Boxes inside name their first and last pixels (core/box_frame.PixelCentreFrame); those that come
    out run from edge to edge, relative to the image without padding.

    Attributes:
        box_coder: of the second stage.
        nms: limits and thresholds; `score_threshold` is the least score that counts.
        original_without_area: fault of the original: boxes of rows that only fill up the batch are
            detections too, and see `proposals.without_area_dropped`.
    """

    box_coder: BoxCoder
    nms: NmsSettings
    original_without_area: bool = False

    def decode(self, encodings: tf.Tensor, proposal_boxes: tf.Tensor) -> tf.Tensor:
        """Decodes [B * P, C, 4] against [B, P, 4] to pixels, float32 [B, P, C, 4]."""
        return results.decode_per_class(self.box_coder, encodings, proposal_boxes)

    def detect(self, head: HeadOutput, proposals: Proposals, images: ImageExtent) -> Detections:
        """Returns the detections of a batch; no gradient reaches the heads through them."""
        head = HeadOutput(*(tf.stop_gradient(value) for value in head))
        shape = tf.shape(proposals.boxes)
        logits = tf.reshape(head.class_logits, [shape[0], shape[1], head.class_logits.shape[-1]])
        scores = tf.nn.softmax(logits)
        decoded = self.decode(head.box_encodings, proposals.boxes)
        foreground = tf.argmax(scores[..., 1:], axis=-1, output_type=tf.int32)
        boxes = tf.gather(decoded, foreground, batch_dims=2)
        raw_boxes = tf.clip_by_value(_to_image(boxes, images), 0.0, 1.0)
        boxes = box_ops.clip_to_window(boxes, clip_window(images) - _LAST_PIXEL)
        kept = self._suppressed(boxes, scores, proposals.valid_mask())
        valid = kept.valid_mask()
        return Detections(
            tf.where(valid[..., None], _to_image(kept.boxes, images), 0.0), kept.scores,
            tf.cast(kept.classes, tf.float32), tf.cast(kept.num_valid, tf.float32),
            tf.where(valid[..., None], tf.gather(scores, kept.indices, batch_dims=1), 0.0),
            tf.where(valid, kept.indices, 0), raw_boxes, scores, kept.boxes)

    def to_input(self, boxes: tf.Tensor, images: ImageExtent) -> tf.Tensor:
        """Maps boxes [B, D, 4] normalized to the image without padding to pixels."""
        return results.to_pixels(boxes, images) - _LAST_PIXEL

    def _suppressed(self, boxes: tf.Tensor, scores: tf.Tensor, valid: tf.Tensor) -> NmsResult:
        """Suppresses [B, P, 4] boxes of [B, P, C + 1] scores, each as its best class only."""
        best = tf.argmax(scores, axis=-1)
        counts = tf.one_hot(best, scores.shape[-1], on_value=True, off_value=False)[..., 1:]
        counts &= scores[..., 1:] >= self.nms.score_threshold
        if not self.original_without_area:
            counts &= valid[..., None]
        scores = without_area_dropped(boxes, tf.where(counts, scores[..., 1:], float("-inf")),
                                      self.original_without_area)
        # The threshold has been applied, and it includes its own value.
        nms = dataclasses.replace(self.nms, score_threshold=-1.0)
        return post_processing.batch_multiclass_non_max_suppression(
            boxes[:, :, None, :], scores, None, nms, keep_without_area=True)


def _to_image(boxes: tf.Tensor, images: ImageExtent) -> tf.Tensor:
    """Maps pixels [B, D, 4] to the image without padding, whose edges are 0 and 1."""
    return results.normalize_boxes(boxes + _LAST_PIXEL, images)
