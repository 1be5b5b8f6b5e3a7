"""Builds what trains the detector of Matterport's Mask_RCNN: targets, sampling and losses."""

from object_detection.core.box_coder import BoxCoder
from object_detection.meta_architectures.matterport.losses import (
    MatterportBoxLoss,
    MatterportMaskLoss,
    MatterportRpnLoss,
)
from object_detection.meta_architectures.matterport.matching import RegionMatcher
from object_detection.meta_architectures.matterport.rpn_targets import RpnTargets
from object_detection.meta_architectures.matterport.targets import MaskTargets, RegionSampler
from object_detection.protos import faster_rcnn_pb2

Config = faster_rcnn_pb2.FasterRcnn


def build_rpn_loss(config: Config, coder: BoxCoder) -> MatterportRpnLoss:
    """Builds the losses of the first stage, whose boxes `coder` encodes."""
    targets = RpnTargets(
        coder, anchors_per_image=config.first_stage_minibatch_size,
        positive_fraction=_as_written(config.first_stage_positive_balance_fraction))
    return MatterportRpnLoss(
        targets, localization_weight=config.first_stage_localization_loss_weight,
        objectness_weight=config.first_stage_objectness_loss_weight)


def build_sampler(config: Config) -> RegionSampler:
    """Builds what chooses proposals for training the second stage.

    Raises:
        ValueError: if the share of objects is not in (0, 1].
    """
    ratio = _as_written(config.second_stage_balance_fraction)
    if not 0.0 < ratio <= 1.0:
        raise ValueError("model.faster_rcnn.second_stage_balance_fraction: want a number above 0 "
                         f"and up to 1, as it sets how much background goes with objects; got "
                         f"{ratio}")
    return RegionSampler(
        RegionMatcher(), regions_per_image=config.second_stage_batch_size, positive_ratio=ratio,
        no_objects_no_background=config.original_faults.no_background_without_objects)


def build_box_loss(config: Config, coder: BoxCoder) -> MatterportBoxLoss:
    """Builds the losses of the second stage, whose boxes `coder` encodes."""
    faults = config.original_faults
    return MatterportBoxLoss(
        RegionMatcher(), coder,
        localization_weight=config.second_stage_localization_loss_weight,
        classification_weight=config.second_stage_classification_loss_weight,
        padding_counts=faults.padding_regions_count_as_background,
        classes_of_first_image=faults.class_loss_uses_first_image_classes,
        gradient_through_targets=faults.box_targets_pass_gradient)


def build_mask_loss(config: Config) -> MatterportMaskLoss:
    """Builds the loss of the mask head."""
    matterport = config.matterport
    mini = (matterport.mini_mask_height, matterport.mini_mask_width)
    targets = MaskTargets(
        mini if matterport.use_mini_masks else None, use_static_shapes=config.use_static_shapes,
        original_far_edge=config.original_faults.far_edge_crops_blank)
    return MatterportMaskLoss(targets, config.second_stage_mask_prediction_loss_weight)


def _as_written(value: float) -> float:
    """Undoes the rounding of a float field: 0.33 is kept as 0.330000013."""
    return float(f"{value:.6g}")
