"""Which object, if any, a region stands for, with crowds kept out on both sides.

Shapes: B images, N ground truth boxes, R regions (anchors or proposals). Rows of ground truth that
pad the batch, or have weight 0, are no objects.
"""

import dataclasses
from collections.abc import Callable
from typing import NamedTuple

import tensorflow as tf

from object_detection.core import box_ops
from object_detection.core.matcher import IGNORED, UNMATCHED, Match
from object_detection.core.structures import GroundTruth

# Keeps a part of the true elements of bool [B, R]: choose(candidates, most, wanted), where `most`
# bounds every image and `wanted` (int32 [B] or None) each of them; see
# `balanced_positive_negative_sampler.subsample_indicator`, which does it at random.
Choice = Callable[[tf.Tensor, int, tf.Tensor | None], tf.Tensor]

# A region that overlaps a crowd by this much is no background.
CROWD_IOU = 0.001


class Overlaps(NamedTuple):
    """How regions and ground truth overlap."""

    objects: tf.Tensor  # float32 [B, N + 1, R]; -1 in rows without an object, as the last one is
    touches_crowd: tf.Tensor  # bool [B, R]

    def best(self) -> tf.Tensor:
        """Returns float32 [B, R], the largest overlap with an object; -1 without any object."""
        return tf.reduce_max(self.objects, axis=1)

    def best_row(self) -> tf.Tensor:
        """Returns int32 [B, R], the first row of the largest overlap, in [0, N]."""
        return tf.argmax(self.objects, axis=1, output_type=tf.int32)


def overlaps(regions: tf.Tensor, truth: GroundTruth, crowd_iou: float = CROWD_IOU) -> Overlaps:
    """Compares regions, [R, 4] or [B, R, 4], with the ground truth of a batch."""
    iou = box_ops.iou(with_empty_row(truth.boxes), regions)
    is_object = with_empty_row((truth.weights > 0) & ~truth.is_crowd)[..., None]
    is_crowd = with_empty_row(truth.is_crowd)[..., None]
    in_crowd = tf.reduce_max(tf.where(is_crowd, iou, 0.0), axis=1)
    return Overlaps(tf.where(is_object, iou, -1.0), in_crowd >= crowd_iou)


def with_empty_row(values: tf.Tensor) -> tf.Tensor:
    """Appends zeros to [B, N, ...], so that there is a row to point at where N is 0."""
    return tf.pad(values, [[0, 0], [0, 1]] + [[0, 0]] * (values.shape.rank - 2))


@dataclasses.dataclass(frozen=True)
class RegionMatcher:
    """Matches proposals to objects.

    Attributes:
        positive_iou: a proposal that overlaps an object this much stands for it.
        crowd_iou: one that overlaps a crowd this much and no object is ignored.
    """

    positive_iou: float = 0.5
    crowd_iou: float = CROWD_IOU

    def match(self, boxes: tf.Tensor, truth: GroundTruth) -> Match:
        """Returns the object's row for float32 [B, P, 4]; no gradient."""
        found = overlaps(tf.stop_gradient(boxes), truth, self.crowd_iou)
        otherwise = tf.where(found.touches_crowd, IGNORED, UNMATCHED)
        return Match(tf.where(found.best() >= self.positive_iou, found.best_row(), otherwise))
