"""From ground truth to what each anchor should predict, and how much that counts.

Shapes: B images, N ground truth boxes, A anchors. B may be left out throughout, or be several
dimensions. Everything is batched and of static shape where the inputs are.
"""

import dataclasses
from typing import NamedTuple

import tensorflow as tf

from object_detection.core.box_coder import BoxCoder
from object_detection.core.matcher import Match, Matcher
from object_detection.core.region_similarity_calculator import RegionSimilarityCalculator


class Targets(NamedTuple):
    """Targets and weights of all anchors."""

    cls_targets: tf.Tensor  # [B, A, ...], labels of the matched box, else the unmatched label
    cls_weights: tf.Tensor  # float32 [B, A, ...], the shape of cls_targets; ignored anchors have 0
    reg_targets: tf.Tensor  # float32 [B, A, code_size], zeros where nothing is matched
    reg_weights: tf.Tensor  # float32 [B, A], 0 where nothing is matched
    match: Match


@dataclasses.dataclass(frozen=True)
class TargetAssigner:
    """Matches anchors to ground truth and reads targets off the matched boxes.

    Attributes:
        similarity: measures how well a box and an anchor fit.
        matcher: decides by these measures.
        box_coder: states matched boxes relative to their anchors.
        negative_class_weight: classification weight of anchors that are background.
        use_matmul_gather: fetch matched rows by matrix products, see `Match.gather`.
    """

    similarity: RegionSimilarityCalculator
    matcher: Matcher
    box_coder: BoxCoder
    negative_class_weight: float = 1.0
    use_matmul_gather: bool = False

    def assign(self, anchors: tf.Tensor, boxes: tf.Tensor, labels: tf.Tensor | None = None,
               unmatched_label: tf.Tensor | None = None,
               weights: tf.Tensor | None = None) -> Targets:
        """Assigns ground truth to anchors.

        A box of weight 0 is never forced on an anchor. If it overlaps an anchor enough, it still
        matches, and the anchor then counts in no loss. So padding rows must have no extent.

        Args:
            anchors: float32 [A, 4] or [B, A, 4], in the frame of the boxes.
            boxes: float32 [B, N, 4]; N may be 0.
            labels: [B, N, ...], anything known per box, such as one-hot classes with background
                or masks. None: ones [B, N, 1].
            unmatched_label: what anchors without a box get, in the shape of one label.
                None: zeros.
            weights: float32 [B, N], factor of each box in the losses. None: ones.
        """
        if labels is None:
            labels = tf.ones_like(boxes[..., :1])
        if unmatched_label is None:
            unmatched_label = tf.zeros([], labels.dtype)
        if weights is None:
            weights = tf.ones_like(boxes[..., 0])
        similarity = self.similarity.compare(boxes, anchors, _background_scores(boxes, labels))
        match = self.matcher.match(similarity, valid_rows=weights > 0)
        cls_targets = match.gather(labels, unmatched_label, unmatched_label,
                                   self.use_matmul_gather)
        cls_weights = match.gather(weights, self.negative_class_weight, 0.0,
                                   self.use_matmul_gather)
        reg_weights = match.gather(weights, 0.0, 0.0, self.use_matmul_gather)
        return Targets(cls_targets, _per_element(cls_weights, cls_targets),
                       self._reg_targets(anchors, boxes, match), reg_weights, match)

    def _reg_targets(self, anchors: tf.Tensor, boxes: tf.Tensor, match: Match) -> tf.Tensor:
        matched = match.gather(boxes, 0.0, 0.0, self.use_matmul_gather)
        codes = self.box_coder.encode(matched, anchors)
        return tf.where(match.matched_mask()[..., None], codes, 0.0)


def _background_scores(boxes: tf.Tensor, labels: tf.Tensor) -> tf.Tensor | None:
    """Returns float32 [B, N], the certainty that a box is an object; None for labels like masks.

    Similarities that weigh boxes by a score read it; the first label column is background.
    """
    if labels.shape.rank != boxes.shape.rank:
        return None
    return 1.0 - tf.cast(labels[..., 0], tf.float32)


def _per_element(weights: tf.Tensor, targets: tf.Tensor) -> tf.Tensor:
    """Repeats weights [B, A] over the label dimensions of targets [B, A, ...]."""
    expanded = weights[(..., *[tf.newaxis] * (targets.shape.rank - weights.shape.rank))]
    return tf.broadcast_to(expanded, tf.shape(targets))
