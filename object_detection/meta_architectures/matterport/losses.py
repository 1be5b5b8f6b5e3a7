"""The five losses of Mask R-CNN as Matterport's implementation averages them: over the batch.

Shapes: B images, N ground truth boxes, A anchors, P proposals, C foreground classes. Heads may
predict boxes and masks for C + 1 classes (background first), for C, or one for all.
"""

import dataclasses

import tensorflow as tf

from object_detection.core import losses as core_losses
from object_detection.core.box_coder import BoxCoder
from object_detection.core.structures import GroundTruth, HeadOutput, Proposals, RpnOutput
from object_detection.meta_architectures.losses import LossPair, require_masks
from object_detection.meta_architectures.matterport.matching import RegionMatcher
from object_detection.meta_architectures.matterport.rpn_targets import (
    NEUTRAL,
    OBJECT,
    AnchorTargets,
    RpnTargets,
)
from object_detection.meta_architectures.matterport.targets import (
    MaskTargets,
    RegionTargets,
    region_targets,
)


@dataclasses.dataclass(frozen=True)
class MatterportRpnLoss:
    """Objectness over all anchors that are not neutral, boxes over those of objects."""

    targets: RpnTargets
    localization_weight: float = 1.0
    objectness_weight: float = 1.0

    def __call__(self, rpn: RpnOutput, truth: GroundTruth) -> LossPair:
        return self.of_targets(rpn, self.targets(rpn.anchors, truth))

    def of_targets(self, rpn: RpnOutput, targets: AnchorTargets) -> LossPair:
        """Computes the losses against known targets."""
        is_object = tf.equal(targets.match, OBJECT)
        entropy = tf.nn.sparse_softmax_cross_entropy_with_logits(
            tf.cast(is_object, tf.int32), rpn.objectness)
        return LossPair(
            self.localization_weight * _box_loss(
                rpn.box_encodings, targets.deltas, targets.weights, is_object),
            self.objectness_weight * _mean(
                entropy, targets.weights, tf.not_equal(targets.match, NEUTRAL)))


@dataclasses.dataclass(frozen=True)
class MatterportBoxLoss:
    """Classes over all regions, boxes over those of objects.

    A region whose most likely class is not annotated in its image (`GroundTruth.known_classes`)
    adds no class loss: nobody knows whether it is right.

    Attributes:
        padding_counts, classes_of_first_image, gradient_through_targets: faults of the original,
            see docs/differences.md.
    """

    matcher: RegionMatcher
    box_coder: BoxCoder
    localization_weight: float = 1.0
    classification_weight: float = 1.0
    padding_counts: bool = False
    classes_of_first_image: bool = False
    gradient_through_targets: bool = False

    def targets(self, boxes: tf.Tensor, truth: GroundTruth) -> RegionTargets:
        """Assigns ground truth to float32 [B, P, 4] regions."""
        if not self.gradient_through_targets:
            boxes = tf.stop_gradient(boxes)
        return region_targets(self.matcher, self.box_coder, boxes, truth)

    def __call__(self, head: HeadOutput, proposals: Proposals, targets: RegionTargets,
                 truth: GroundTruth) -> LossPair:
        valid = proposals.valid_mask()
        shape = tf.shape(targets.class_ids)
        encodings = _of_class(head.box_encodings, targets.class_ids, truth.classes.shape[-1])
        return LossPair(
            self.localization_weight * _box_loss(
                tf.reshape(encodings, [shape[0], shape[1], 4]), targets.deltas, targets.weights,
                valid & targets.match.matched_mask()),
            self.classification_weight * self._class_loss(
                tf.reshape(head.class_logits, [shape[0], shape[1], -1]), valid, targets, truth))

    def _class_loss(self, logits: tf.Tensor, valid: tf.Tensor, targets: RegionTargets,
                    truth: GroundTruth) -> tf.Tensor:
        """Averages over regions of [B, P, C + 1] whose predicted class is annotated."""
        # Background is known everywhere.
        known = tf.pad(truth.known_classes, [[0, 0], [1, 0]], constant_values=True)
        if self.classes_of_first_image:
            known = tf.broadcast_to(known[:1], tf.shape(known))
        guessed = tf.argmax(logits, axis=-1, output_type=tf.int32)
        counted = tf.gather(known, guessed, batch_dims=1)
        if not self.padding_counts:
            counted &= valid
        entropy = tf.nn.sparse_softmax_cross_entropy_with_logits(targets.class_ids, logits)
        return _mean(entropy, targets.weights, counted)


@dataclasses.dataclass(frozen=True)
class MatterportMaskLoss:
    """Per-pixel loss of the mask of the object's class, over the regions of objects."""

    targets: MaskTargets
    weight: float = 1.0

    def __call__(self, logits: tf.Tensor, boxes: tf.Tensor, valid: tf.Tensor,
                 targets: RegionTargets, truth: GroundTruth) -> tf.Tensor:
        """Averages over the pixels of all objects' regions of the batch.

        Args:
            logits: float32 [B * P, C + 1, C or 1, mask height, mask width].
            boxes: float32 [B, P, 4], where each mask is drawn.
            valid: bool [B, P].
        Raises:
            ValueError: if the ground truth has no masks.
        """
        require_masks(truth)
        size = logits.shape[2:].as_list()
        chosen = _of_class(logits, targets.class_ids, truth.classes.shape[-1])
        wanted = self.targets(truth, boxes, targets.match, size)
        pixels = tf.nn.sigmoid_cross_entropy_with_logits(
            logits=tf.reshape(chosen, tf.shape(wanted)), labels=wanted)
        return self.weight * _mean(tf.reduce_mean(pixels, axis=[2, 3]), targets.weights,
                                   valid & targets.match.matched_mask())


def _box_loss(encodings: tf.Tensor, deltas: tf.Tensor, weights: tf.Tensor,
              counted: tf.Tensor) -> tf.Tensor:
    """Averages smooth L1 over the four numbers of the counted boxes of [B, rows, 4]."""
    per_box = core_losses.WeightedSmoothL1LocalizationLoss()(encodings, deltas)
    return _mean(per_box / 4.0, weights, counted)


def _mean(values: tf.Tensor, weights: tf.Tensor, counted: tf.Tensor) -> tf.Tensor:
    """Averages weighted values [B, rows] over the counted ones of weight; 0 without any."""
    counted &= weights > 0
    total = tf.reduce_sum(tf.where(counted, values * weights, 0.0))
    return tf.math.divide_no_nan(total, tf.reduce_sum(tf.cast(counted, tf.float32)))


def _of_class(values: tf.Tensor, class_ids: tf.Tensor, num_classes: int) -> tf.Tensor:
    """Picks from [B * P, slots, ...] the slot of each region's class (any for background)."""
    slots = values.shape[1]
    if slots == 1:
        return values[:, 0]
    absent = num_classes + 1 - slots  # 1 where background has no slot
    return tf.gather(values, tf.maximum(tf.reshape(class_ids, [-1]) - absent, 0), batch_dims=1)
