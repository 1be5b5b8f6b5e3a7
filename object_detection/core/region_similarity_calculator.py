"""Measures of how alike two boxes are, for matchers."""

import abc
import dataclasses

import tensorflow as tf

from object_detection.core import box_ops


class RegionSimilarityCalculator(abc.ABC):
    """Compares every box of one set with every box of another."""

    @abc.abstractmethod
    def compare(self, boxes1: tf.Tensor, boxes2: tf.Tensor,
                scores1: tf.Tensor | None = None) -> tf.Tensor:
        """Returns float [..., N, M], higher is more alike.

        Args:
            boxes1: float [..., N, 4].
            boxes2: float [..., M, 4].
            scores1: float [..., N], read only by measures that weigh boxes1.
        """


class IouSimilarity(RegionSimilarityCalculator):
    """Intersection over union."""

    def compare(self, boxes1: tf.Tensor, boxes2: tf.Tensor,
                scores1: tf.Tensor | None = None) -> tf.Tensor:
        return box_ops.iou(boxes1, boxes2)


class IoaSimilarity(RegionSimilarityCalculator):
    """Intersection over the area of the box of the second set."""

    def compare(self, boxes1: tf.Tensor, boxes2: tf.Tensor,
                scores1: tf.Tensor | None = None) -> tf.Tensor:
        return box_ops.ioa(boxes1, boxes2)


class NegSqDistSimilarity(RegionSimilarityCalculator):
    """Squared distance of the corners, negated; for the mean and stddev coder."""

    def compare(self, boxes1: tf.Tensor, boxes2: tf.Tensor,
                scores1: tf.Tensor | None = None) -> tf.Tensor:
        return -box_ops.sq_dist(boxes1, boxes2)


@dataclasses.dataclass(frozen=True)
class ThresholdedIouSimilarity(RegionSimilarityCalculator):
    """The score of the box of the first set where two boxes overlap enough, else 0.

    Attributes:
        iou_threshold: intersection over union must be above it.
    """

    iou_threshold: float = 0.0

    def compare(self, boxes1: tf.Tensor, boxes2: tf.Tensor,
                scores1: tf.Tensor | None = None) -> tf.Tensor:
        """Returns float [..., N, M]. Raises ValueError without scores1."""
        if scores1 is None:
            raise ValueError("ThresholdedIouSimilarity.compare: needs scores1, float [..., N]")
        overlaps = box_ops.iou(boxes1, boxes2)
        return tf.where(overlaps > self.iou_threshold, scores1[..., None], 0.0)
