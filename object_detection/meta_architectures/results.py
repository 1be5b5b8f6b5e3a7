"""From the heads' output to detections."""

import dataclasses
from typing import NamedTuple

import tensorflow as tf

from object_detection.core import post_processing
from object_detection.core.box_coder import BoxCoder
from object_detection.core.nms import NmsSettings
from object_detection.core.score_converters import ScoreConverter
from object_detection.core.structures import HeadOutput, ImageExtent, Proposals
from object_detection.meta_architectures.proposals import clip_window


class Detections(NamedTuple):
    """Final boxes, padded to D per image; boxes are normalized to the image without padding."""

    boxes: tf.Tensor  # float32 [B, D, 4]
    scores: tf.Tensor  # float32 [B, D], descending
    classes: tf.Tensor  # float32 [B, D], 0-based
    num_detections: tf.Tensor  # float32 [B]
    multiclass_scores: tf.Tensor  # float32 [B, D, C + 1], background first
    anchor_indices: tf.Tensor  # int32 [B, D], row of the proposal each came from
    raw_boxes: tf.Tensor  # float32 [B, P, 4], all candidates, for their best class
    raw_scores: tf.Tensor  # float32 [B, P, C + 1]
    input_boxes: tf.Tensor  # float32 [B, D, 4], the boxes in pixels of the network input

    def as_dict(self) -> dict[str, tf.Tensor]:
        """Returns the tensors under the names users know."""
        return {
            "detection_boxes": self.boxes, "detection_scores": self.scores,
            "detection_classes": self.classes, "num_detections": self.num_detections,
            "detection_multiclass_scores": self.multiclass_scores,
            "detection_anchor_indices": self.anchor_indices,
            "raw_detection_boxes": self.raw_boxes, "raw_detection_scores": self.raw_scores}


@dataclasses.dataclass(frozen=True)
class DetectionPostprocessor:
    """Decodes boxes, converts scores and suppresses duplicates per class.

    Attributes:
        box_coder: of the second stage.
        convert_scores: float32 logits [..., C + 1] to scores, background first.
        nms: limits and thresholds; boxes come out relative to the image without padding.
    """

    box_coder: BoxCoder
    convert_scores: ScoreConverter
    nms: NmsSettings

    def decode(self, encodings: tf.Tensor, proposal_boxes: tf.Tensor) -> tf.Tensor:
        """Decodes [B * P, C or 1, 4] against [B, P, 4] to pixels, float32 [B, P, C or 1, 4]."""
        return decode_per_class(self.box_coder, encodings, proposal_boxes)

    def detect(self, head: HeadOutput, proposals: Proposals, images: ImageExtent) -> Detections:
        """Returns the detections of a batch; no gradient reaches the heads through them."""
        head = HeadOutput(*(tf.stop_gradient(value) for value in head))
        decoded = self.decode(head.box_encodings, proposals.boxes)
        shape = tf.shape(proposals.boxes)
        slots = head.class_logits.shape[-1]
        logits = tf.reshape(head.class_logits, [shape[0], shape[1], slots])
        scores = self.convert_scores(logits)
        windows = clip_window(images)
        candidates = self.candidates(decoded, scores[..., 1:], windows)
        kept = post_processing.batch_multiclass_non_max_suppression(
            *candidates, windows, self.nms, proposals.num_valid)
        valid = kept.valid_mask()
        multiclass = tf.gather(scores, kept.indices, batch_dims=1)
        return Detections(
            kept.boxes, kept.scores, tf.cast(kept.classes, tf.float32),
            tf.cast(kept.num_valid, tf.float32), tf.where(valid[..., None], multiclass, 0.0),
            tf.where(valid, kept.indices, 0), _raw_boxes(decoded, logits, images),
            scores, self.to_input(kept.boxes, images))

    def candidates(self, boxes: tf.Tensor, scores: tf.Tensor,
                   windows: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
        """Returns the boxes and scores that suppression compares: here, all as they are.

        Args:
            boxes: float32 [B, P, C or 1, 4], pixels.
            scores: float32 [B, P, C]; -inf takes a box of a class out.
            windows: float32 [B, 4], the images in the network input.
        """
        del windows
        return boxes, scores

    def to_input(self, boxes: tf.Tensor, images: ImageExtent) -> tf.Tensor:
        """Maps boxes [B, D, 4] normalized to the image without padding to pixels."""
        return to_pixels(boxes, images)


def decode_per_class(box_coder: BoxCoder, encodings: tf.Tensor,
                     proposal_boxes: tf.Tensor) -> tf.Tensor:
    """Decodes [B * P, C or 1, 4] against [B, P, 4]: float32 [B, P, C or 1, 4]."""
    shape = tf.shape(proposal_boxes)
    per_class = tf.reshape(encodings, [shape[0], shape[1], encodings.shape[1], 4])
    return box_coder.decode(per_class, proposal_boxes[:, :, None, :])


def to_pixels(boxes: tf.Tensor, images: ImageExtent) -> tf.Tensor:
    """Maps boxes [B, P, 4] relative to the unpadded image to pixels of the network input."""
    corner, size = _corner_and_size(images)
    return boxes * size + corner


def normalize_boxes(boxes: tf.Tensor, images: ImageExtent) -> tf.Tensor:
    """Maps pixels [B, P, 4] to the unpadded image, whose extent is [0, 1]."""
    corner, size = _corner_and_size(images)
    return (boxes - corner) / size


def mask_scores(logits: tf.Tensor, classes: tf.Tensor) -> tf.Tensor:
    """Returns float32 [B, D, h, w] in [0, 1]: the mask of each detection's own class.

    Args:
        logits: float32 [B * D, C or 1, h, w].
        classes: float32 [B, D], 0-based.
    """
    masks, height, width = logits.shape[1:]
    if masks == 1:
        chosen = logits[:, 0]
    else:
        chosen = tf.gather(logits, tf.reshape(tf.cast(classes, tf.int32), [-1]), batch_dims=1)
    shape = tf.shape(classes)
    return tf.sigmoid(tf.reshape(chosen, [shape[0], shape[1], height, width]))


def _corner_and_size(images: ImageExtent) -> tuple[tf.Tensor, tf.Tensor]:
    """Returns top left corners and sizes of the images, float32 [B, 1, 4] each, for boxes."""
    windows = clip_window(images)[:, None, :]
    corner = tf.tile(windows[..., :2], [1, 1, 2])
    return corner, tf.tile(windows[..., 2:], [1, 1, 2]) - corner


def _raw_boxes(decoded: tf.Tensor, logits: tf.Tensor, images: ImageExtent) -> tf.Tensor:
    if decoded.shape[2] == 1:
        boxes = decoded[:, :, 0, :]
    else:
        boxes = tf.gather(decoded, tf.argmax(logits[..., 1:], axis=-1), batch_dims=2)
    return tf.clip_by_value(normalize_boxes(boxes, images), 0.0, 1.0)
