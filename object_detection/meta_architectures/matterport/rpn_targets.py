"""What anchors should say: object, background, or nothing.

Shapes: B images, N ground truth boxes, A anchors.
"""

import dataclasses
from typing import NamedTuple

import tensorflow as tf

from object_detection.core.balanced_positive_negative_sampler import subsample_indicator
from object_detection.core.box_coder import BoxCoder
from object_detection.core.structures import GroundTruth
from object_detection.meta_architectures.matterport import matching
from object_detection.meta_architectures.matterport.matching import Choice

# Overlaps that differ by less are equal but for rounding.
_TIE = 1e-5

OBJECT = 1
BACKGROUND = -1
NEUTRAL = 0


class AnchorTargets(NamedTuple):
    """Targets of all anchors."""

    match: tf.Tensor  # int32 [B, A], OBJECT, BACKGROUND or NEUTRAL
    deltas: tf.Tensor  # float32 [B, A, 4], zeros where there is no object
    weights: tf.Tensor  # float32 [B, A], factor in the losses; 0 for neutral anchors


@dataclasses.dataclass(frozen=True)
class RpnTargets:
    """Labels anchors by overlap and keeps a balanced part of them.

    An anchor is an object from `positive_iou` on, and also where it is the first of the best
    anchors of an object; it regresses to the object that it overlaps most. It is background below
    `negative_iou` with every object, unless it touches a crowd.

    Attributes:
        box_coder: with the standard deviations of deltas as factors.
        anchors_per_image: anchors kept.
        positive_fraction: largest part of them that are objects.
        far_side: added to the far corners of anchors and boxes before they are compared. Boxes
            that name their last pixel become the area of their pixels with 1.
        choose: picks the anchors to keep.
    """

    box_coder: BoxCoder
    anchors_per_image: int = 256
    positive_fraction: float = 0.5
    positive_iou: float = 0.7
    negative_iou: float = 0.3
    crowd_iou: float = matching.CROWD_IOU
    far_side: float = 1.0
    choose: Choice = subsample_indicator

    def __call__(self, anchors: tf.Tensor, truth: GroundTruth) -> AnchorTargets:
        """Labels float32 [A, 4] anchors, in the frame of the boxes."""
        grown = tf.constant([0.0, 0.0, self.far_side, self.far_side])
        anchors, boxes = anchors + grown, truth.boxes + grown
        found = matching.overlaps(anchors, truth._replace(boxes=boxes), self.crowd_iou)
        best, rows = found.best(), found.best_row()
        positive = (best >= self.positive_iou) | _claimed(found.objects)
        negative = (best < self.negative_iou) & ~found.touches_crowd & ~positive
        positive, negative = self._balanced(positive, negative)
        matched = tf.gather(matching.with_empty_row(boxes), rows, batch_dims=1)
        deltas = tf.where(positive[..., None], self.box_coder.encode(matched, anchors), 0.0)
        weights = tf.gather(matching.with_empty_row(truth.weights), rows, batch_dims=1)
        weights = tf.where(positive, weights, tf.cast(negative, tf.float32))
        labels = tf.where(positive, OBJECT, tf.where(negative, BACKGROUND, NEUTRAL))
        return AnchorTargets(labels, deltas, tf.where(truth.is_annotated[:, None], weights, 0.0))

    def _balanced(self, positive: tf.Tensor,
                  negative: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
        """Keeps some of bool [B, A] each."""
        most = int(self.anchors_per_image * self.positive_fraction)
        positive = self.choose(positive, most, None)
        kept = tf.reduce_sum(tf.cast(positive, tf.int32), axis=1)
        return positive, self.choose(negative, self.anchors_per_image,
                                     self.anchors_per_image - kept)


def _claimed(objects: tf.Tensor) -> tf.Tensor:
    """Returns bool [B, A]: anchors that an object of [B, rows, A] overlaps most, one for each.

    An object that no anchor touches claims none.
    """
    batch, rows, anchors = tf.unstack(tf.shape(objects))
    best = tf.reduce_max(objects, axis=2, keepdims=True)
    first = tf.argmax(objects >= best - _TIE, axis=2, output_type=tf.int32)
    claims = tf.cast(best[:, :, 0] > 0, tf.int32)
    image = tf.broadcast_to(tf.range(batch)[:, None], [batch, rows])
    counts = tf.scatter_nd(tf.stack([image, first], axis=-1), claims, [batch, anchors])
    return tf.ensure_shape(counts > 0, [objects.shape[0], objects.shape[2]])
