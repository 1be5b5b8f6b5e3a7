"""Keeps the losses of the regions a detector gets most wrong."""

import dataclasses
from typing import Literal

import tensorflow as tf

from object_detection.core import nms
from object_detection.core.nms import NmsSettings


@dataclasses.dataclass(frozen=True)
class HardExampleMiner:
    """Picks regions by non-max suppression with the loss as score, and sums their losses.

    Shrivastava et al., Training Region-based Object Detectors with Online Hard Example Mining
    (arXiv:1604.03540), section 4.2: regions that overlap share a loss, which must not count twice.

    Attributes:
        num_hard_examples: regions kept per image; None: as many as there are.
        iou_threshold: of two regions that overlap by more, only the one with more loss is kept.
        loss_type: the loss that decides.
        cls_loss_weight, loc_loss_weight: factors of the two where both decide.
        max_negatives_per_positive: unmatched regions kept per matched one; None: no such limit.
        min_negatives_per_image: unmatched regions that this limit leaves in any case.
        first_image_only: other images give 0; a fault of the original's detector.
        ignore_matches: drop the limit of negatives; a fault of the original's detector.
        use_static_shapes: use operations that compile to static shapes; P must be static.
    """

    num_hard_examples: int | None = 64
    iou_threshold: float = 0.7
    loss_type: Literal["both", "cls", "loc"] = "both"
    cls_loss_weight: float = 0.05
    loc_loss_weight: float = 0.06
    max_negatives_per_positive: float | None = None
    min_negatives_per_image: int = 0
    first_image_only: bool = False
    ignore_matches: bool = False
    use_static_shapes: bool = False

    def __post_init__(self) -> None:
        if self.loss_type not in ("both", "cls", "loc"):
            raise ValueError("hard example miner: want a loss_type of both, cls or loc, got "
                             f"{self.loss_type!r}")

    def __call__(self, loc_losses: tf.Tensor, cls_losses: tf.Tensor, boxes: tf.Tensor,
                 num_valid: tf.Tensor | None = None,
                 match_rows: tf.Tensor | None = None) -> tuple[tf.Tensor, tf.Tensor]:
        """Sums the two losses over the hard regions of each image.

        Args:
            loc_losses, cls_losses: float32 [B, P].
            boxes: float32 [B, P, 4].
            num_valid: int32 [B], rows from this one on are padding; None: all count.
            match_rows: int32 [B, P], -1 unmatched, -2 ignored, 0 and up matched.
        Returns:
            float32 [B] sums of `loc_losses` and of `cls_losses`.
        Raises:
            ValueError: if negatives are limited and `match_rows` is missing.
        """
        chosen = tf.cast(self.select(loc_losses, cls_losses, boxes, num_valid, match_rows),
                         tf.float32)
        sums = [tf.reduce_sum(losses * chosen, axis=1) for losses in (loc_losses, cls_losses)]
        if self.first_image_only:
            sums = [tf.where(tf.range(tf.shape(x)[0]) == 0, x, 0.0) for x in sums]
        return sums[0], sums[1]

    def select(self, loc_losses: tf.Tensor, cls_losses: tf.Tensor, boxes: tf.Tensor,
               num_valid: tf.Tensor | None = None,
               match_rows: tf.Tensor | None = None) -> tf.Tensor:
        """Returns bool [B, P], true for the hard regions; arguments as in a call."""
        limited = self.max_negatives_per_positive is not None and not self.ignore_matches
        if limited and match_rows is None:
            raise ValueError("hard example miner: max_negatives_per_positive needs match_rows; "
                             "pass them or leave the limit out")
        scores = tf.stop_gradient(self._scores(loc_losses, cls_losses))
        count = tf.shape(scores)[1]
        if num_valid is not None:
            scores = tf.where(tf.sequence_mask(num_valid, count), scores, float("-inf"))
        rows, kept = self._suppressed(tf.stop_gradient(boxes), scores)
        valid = kept > float("-inf")
        if limited:
            valid &= self._within_ratio(tf.gather(match_rows, rows, batch_dims=1), valid)
        # Row numbers are unique among the valid ones; padding goes to a column that is cut off.
        target = tf.where(valid, rows, count)
        hits = tf.scatter_nd(
            tf.stack([tf.broadcast_to(tf.range(tf.shape(rows)[0])[:, None], tf.shape(rows)),
                      target], axis=-1),
            tf.ones_like(rows), [tf.shape(rows)[0], count + 1])
        return hits[:, :count] > 0

    def _scores(self, loc_losses: tf.Tensor, cls_losses: tf.Tensor) -> tf.Tensor:
        if self.loss_type == "loc":
            return loc_losses
        if self.loss_type == "cls":
            return cls_losses
        return cls_losses * self.cls_loss_weight + loc_losses * self.loc_loss_weight

    def _suppressed(self, boxes: tf.Tensor, scores: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
        """Returns int32 [B, K] rows, hardest first, and their scores, -inf in padding."""
        boxes, scores = boxes[:, :, None, :], scores[:, :, None]
        limit = self.num_hard_examples or scores.shape[1] or tf.int32.max
        settings = NmsSettings(score_threshold=float("-inf"), iou_threshold=self.iou_threshold,
                               max_size_per_class=limit, use_static_shapes=self.use_static_shapes)
        kept = nms.suppress(boxes, scores, settings)
        return kept.rows, kept.scores

    def _within_ratio(self, rows: tf.Tensor, valid: tf.Tensor) -> tf.Tensor:
        """Returns bool [B, K]: matched ones, and the hardest unmatched ones up to the limit.

        Ignored ones stay in front of the last unmatched one kept, as in the original.
        """
        positive = (rows >= 0) & valid
        negative = tf.cast((rows == -1) & valid, tf.int32)
        positives = tf.reduce_sum(tf.cast(positive, tf.float32), axis=1, keepdims=True)
        limit = tf.maximum(self.min_negatives_per_image,
                           tf.cast(self.max_negatives_per_positive * positives, tf.int32))
        return positive | (tf.cumsum(negative, axis=1) <= limit)
