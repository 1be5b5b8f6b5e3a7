"""Losses of the two stages and of the mask head.

Shapes: B images, N ground truth boxes, A anchors, P proposals, C foreground classes.
"""

import dataclasses
from typing import NamedTuple

import tensorflow as tf

from object_detection.core import losses as core_losses
from object_detection.core import mask_ops
from object_detection.core.balanced_positive_negative_sampler import (
    BalancedPositiveNegativeSampler,
)
from object_detection.core.hard_example_miner import HardExampleMiner
from object_detection.core.structures import GroundTruth, HeadOutput, Proposals, RpnOutput
from object_detection.core.target_assigner import TargetAssigner, Targets
from object_detection.meta_architectures.proposals import with_background


class LossPair(NamedTuple):
    """Weighted scalar losses of one stage."""

    localization: tf.Tensor
    classification: tf.Tensor


class RegionTargets(NamedTuple):
    """What the second stage should have said about B x P regions."""

    assigned: Targets
    one_hot: tf.Tensor  # float32 [B, P, C + 1], the class with the largest target

    def objects(self) -> tf.Tensor:
        """Returns bool [B, P], true where a region belongs to an object with a weight."""
        return self.assigned.reg_weights > 0.0


@dataclasses.dataclass(frozen=True)
class ImageMean:
    """Averages a loss over the images of a batch.

    Attributes:
        count_unannotated: divide by all images, even those whose loss is left out.
    """

    count_unannotated: bool = False

    def __call__(self, per_image: tf.Tensor, is_annotated: tf.Tensor) -> tf.Tensor:
        """Reduces float32 [B]; images that are not annotated add nothing."""
        used = tf.cast(is_annotated, tf.float32)
        total = tf.reduce_sum(tf.where(is_annotated, per_image, 0.0))
        if self.count_unannotated:
            return total / tf.cast(tf.size(used), tf.float32)
        return total / tf.maximum(tf.reduce_sum(used), 1.0)


@dataclasses.dataclass(frozen=True)
class RpnLoss:
    """Loss of the region proposal network over a sampled minibatch of anchors.

    Attributes:
        assigner: matches anchors to ground truth.
        sampler: balances objects and background among the anchors.
        minibatch_size: anchors sampled per image.
    """

    assigner: TargetAssigner
    sampler: BalancedPositiveNegativeSampler
    minibatch_size: int
    localization_weight: float
    objectness_weight: float
    mean: ImageMean

    def __call__(self, rpn: RpnOutput, truth: GroundTruth) -> LossPair:
        """Averages over the sampled anchors of each image, then over images."""
        ones = tf.ones(tf.concat([tf.shape(truth.boxes)[:2], [1]], axis=0))
        targets = self.assigner.assign(rpn.anchors, truth.boxes, ones, tf.zeros([1]),
                                       truth.weights)
        labels = targets.cls_targets[..., 0]
        sampled = tf.cast(self.sampler.subsample(
            targets.cls_weights[..., 0] > 0, self.minibatch_size, labels > 0), tf.float32)
        normalizer = tf.maximum(tf.reduce_sum(sampled, axis=1), 1.0)
        localization = core_losses.WeightedSmoothL1LocalizationLoss()(
            rpn.box_encodings, targets.reg_targets, weights=sampled * targets.reg_weights)
        objectness = core_losses.WeightedSoftmaxClassificationLoss()(
            rpn.objectness, tf.one_hot(tf.cast(labels, tf.int32), 2), weights=sampled[..., None])
        return LossPair(
            self.localization_weight * self.mean(
                tf.reduce_sum(localization, axis=1) / normalizer, truth.is_annotated),
            self.objectness_weight * self.mean(
                tf.reduce_sum(objectness, axis=1) / normalizer, truth.is_annotated))


@dataclasses.dataclass(frozen=True)
class BoxClassifierLoss:
    """Loss of the second stage's boxes and classes.

    Attributes:
        assigner: matches regions to ground truth.
        classification: loss of class logits against class targets.
        miner: keeps only hard regions; None: all regions count.
    """

    assigner: TargetAssigner
    classification: core_losses.Loss
    localization_weight: float
    classification_weight: float
    mean: ImageMean
    miner: HardExampleMiner | None = None

    def targets(self, boxes: tf.Tensor, truth: GroundTruth) -> RegionTargets:
        """Assigns ground truth to float32 [B, P, 4] regions."""
        slots = truth.classes.shape[-1] + 1
        assigned = self.assigner.assign(boxes, truth.boxes, with_background(truth.classes),
                                        tf.one_hot(0, slots), truth.weights)
        return RegionTargets(
            assigned, tf.one_hot(tf.argmax(assigned.cls_targets, axis=-1), slots))

    def __call__(self, head: HeadOutput, proposals: Proposals, targets: RegionTargets,
                 truth: GroundTruth) -> LossPair:
        """Averages over the proposals of each image, then over images."""
        assigned = targets.assigned
        batch, count = tf.shape(proposals.boxes)[0], tf.shape(proposals.boxes)[1]
        logits = tf.reshape(head.class_logits, [batch, count, -1])
        encodings = encodings_of_class(head.box_encodings, targets.one_hot)
        localization = core_losses.WeightedSmoothL1LocalizationLoss()(
            encodings, assigned.reg_targets, weights=assigned.reg_weights)
        classification = self.classification(logits, assigned.cls_targets,
                                             weights=assigned.cls_weights)
        if classification.shape.rank == 3:  # one value per class, as sigmoid losses give
            classification = tf.reduce_sum(classification, axis=-1)
        valid = tf.cast(proposals.valid_mask(), tf.float32)
        normalizer = tf.cast(tf.maximum(proposals.num_valid, 1), tf.float32)
        localization *= valid / normalizer[:, None]
        classification *= valid / normalizer[:, None]
        if self.miner is not None:
            mined = self._mined(localization, classification, encodings, proposals, targets)
            localization, classification = mined
        else:
            localization = tf.reduce_sum(localization, axis=1)
            classification = tf.reduce_sum(classification, axis=1)
        return LossPair(
            self.localization_weight * self.mean(localization, truth.is_annotated),
            self.classification_weight * self.mean(classification, truth.is_annotated))

    def _mined(self, localization: tf.Tensor, classification: tf.Tensor, encodings: tf.Tensor,
               proposals: Proposals, targets: RegionTargets) -> tuple[tf.Tensor, tf.Tensor]:
        """Returns the [B] sums over the hard regions."""
        decoded = self.assigner.box_coder.decode(encodings, proposals.boxes)
        return self.miner(localization, classification, decoded, proposals.num_valid,
                          targets.assigned.match.rows)


@dataclasses.dataclass(frozen=True)
class MaskLoss:
    """Per-pixel loss of the mask drawn for the class of the matched object.

    He et al., Mask R-CNN (arXiv:1703.06870), section 3: masks do not compete among classes.

    Attributes:
        use_static_shapes, original_far_edge: see `mask_ops.matched_mask_targets`.
        count_unannotated: divide by the regions of all images, even those whose loss is left out.
    """

    weight: float
    use_static_shapes: bool = False
    original_far_edge: bool = False
    count_unannotated: bool = False

    def __call__(self, logits: tf.Tensor, boxes: tf.Tensor, valid: tf.Tensor,
                 targets: RegionTargets, truth: GroundTruth) -> tf.Tensor:
        """Averages over the pixels of all matched regions of the batch.

        Args:
            logits: float32 [B * P, C or 1, mask height, mask width].
            boxes: float32 [B, P, 4], where each mask is drawn.
            valid: bool [B, P].
        Raises:
            ValueError: if the ground truth has no masks.
        """
        require_masks(truth)
        height, width = logits.shape[2], logits.shape[3]
        batch, count = tf.shape(boxes)[0], tf.shape(boxes)[1]
        chosen = _masks_of_class(logits, targets.one_hot)
        cropped = tf.stop_gradient(mask_ops.matched_mask_targets(
            truth.masks, boxes, targets.assigned.match.rows, [height, width],
            self.use_static_shapes, self.original_far_edge))
        weights = targets.assigned.reg_weights
        pixel_losses = core_losses.WeightedSigmoidClassificationLoss()(
            tf.reshape(chosen, [batch, count, height * width]),
            tf.reshape(cropped, [batch, count, height * width]), weights=weights[..., None])
        used = valid & truth.is_annotated[:, None]
        counted = weights
        if not self.count_unannotated:
            counted = tf.where(truth.is_annotated[:, None], weights, 0.0)
        matched = tf.maximum(tf.reduce_sum(counted), 1.0)
        return self.weight * tf.reduce_sum(tf.where(used[..., None], pixel_losses, 0.0)) / (
            tf.cast(height * width, tf.float32) * matched)


def require_masks(truth: GroundTruth) -> None:
    """Raises ValueError, saying what to set, if the ground truth has no masks."""
    if truth.masks is None:
        raise ValueError("mask loss: the ground truth has no masks; set load_instance_masks: true "
                         "in the input reader and check mask_type, or use records that hold "
                         "image/object/mask")


def encodings_of_class(encodings: tf.Tensor, one_hot: tf.Tensor) -> tf.Tensor:
    """Picks from [B * P, C or 1, 4] the encodings of the target class: float32 [B, P, 4].

    Background has none; its rows are zeros, and their loss has weight 0.
    """
    shape = tf.shape(one_hot)
    per_class = tf.reshape(encodings, [shape[0], shape[1], encodings.shape[1], 4])
    if encodings.shape[1] == 1:
        return per_class[:, :, 0, :]
    return tf.reduce_sum(per_class * one_hot[:, :, 1:, None], axis=2)


def _masks_of_class(logits: tf.Tensor, one_hot: tf.Tensor) -> tf.Tensor:
    """Picks from [B * P, C or 1, h, w] the mask of the target class (any mask for background)."""
    if logits.shape[1] == 1:
        return logits[:, 0]
    classes = tf.reshape(tf.argmax(one_hot[..., 1:], axis=-1), [-1])
    return tf.gather(logits, classes, batch_dims=1)
