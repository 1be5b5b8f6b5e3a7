"""Builds torchvision's Mask R-CNN from a FasterRcnn message with `torchvision` set."""

import dataclasses
import math
from collections.abc import Sequence

from object_detection.box_coders.faster_rcnn_box_coder import FasterRcnnBoxCoder
from object_detection.builders import (
    anchor_generator_builder,
    assembly_checks,
    feature_extractor_builder,
    hyperparams_builder,
    image_resizer_builder,
    post_processing_builder,
    static_shapes,
)
from object_detection.core import losses
from object_detection.core.balanced_positive_negative_sampler import (
    BalancedPositiveNegativeSampler,
)
from object_detection.core.nms import NmsSettings
from object_detection.core.region_similarity_calculator import IouSimilarity
from object_detection.core.roi_align import RoiAlign
from object_detection.core.target_assigner import TargetAssigner
from object_detection.matchers.argmax_matcher import ArgMaxMatcher
from object_detection.meta_architectures.faster_rcnn_meta_arch import FasterRCNNMetaArch
from object_detection.meta_architectures.losses import (
    BoxClassifierLoss,
    ImageMean,
    MaskLoss,
    RpnLoss,
)
from object_detection.meta_architectures.proposals import ProposalSampler
from object_detection.meta_architectures.rpn import RegionProposalNetwork
from object_detection.meta_architectures.settings import (
    DetectorSettings,
    FirstStage,
    SecondStage,
)
from object_detection.meta_architectures.torchvision.detections import ClipFirstPostprocessor
from object_detection.meta_architectures.torchvision.proposals import LevelwiseProposer
from object_detection.models.mask_rcnn_torchvision_feature_extractor import (
    TorchvisionFpnFeatureExtractor,
)
from object_detection.nets.hyperparams import Hyperparams
from object_detection.predictors.heads.matterport_mask_head import MatterportMaskHead
from object_detection.predictors.matterport_box_predictor import MatterportBoxPredictor
from object_detection.predictors.objectness_predictor import ObjectnessPredictor
from object_detection.protos import faster_rcnn_pb2, hyperparams_pb2
from object_detection.roi_croppers.pyramid import LevelRule, PyramidCropper

Config = faster_rcnn_pb2.FasterRcnn

BOX_SCALE_FACTORS = (10.0, 10.0, 5.0, 5.0)  # of the second stage; the first has none
MAX_LOG_RATIO = math.log(1000.0 / 16.0)
COARSEST_CROPPED = 5  # level; the one past it serves the first stage alone
SAMPLING_RATIO = 2


def build(config: Config, is_training: bool) -> FasterRCNNMetaArch:
    """Builds the detector, without its variables.

    Raises:
        ValueError: if a field cannot work, naming it.
    """
    assembly_checks.check(config, "torchvision", (
        "pre_nms_limit", "training_pre_nms_limit", "training_proposals", "box_head_depth",
        "mask_crop_size"), excluded=("matterport", "region_pooling"))
    _check_pixel_values(config)
    settings = DetectorSettings(
        num_classes=config.num_classes, number_of_stages=config.number_of_stages,
        is_training=is_training, keep_crossing_anchors=True, resize_masks=config.resize_masks,
        raw_detections_in_predict=config.return_raw_detections_during_predict,
        box_features_in_output=config.output_final_box_features,
        rpn_features_in_output=config.output_final_box_rpn_features)
    extractor = _extractor(config, is_training)
    return FasterRCNNMetaArch(settings, _first_stage(config, is_training, extractor),
                              _second_stage(config, is_training, extractor))


def _extractor(config: Config, is_training: bool) -> TorchvisionFpnFeatureExtractor:
    extractor = feature_extractor_builder.build(config.feature_extractor, is_training)
    if not isinstance(extractor, TorchvisionFpnFeatureExtractor):
        raise ValueError("model.faster_rcnn.feature_extractor.type: "
                         f"{config.feature_extractor.type} does not go with `torchvision`; use "
                         "mask_rcnn_resnet50_fpn_torchvision")
    given = {"pixel_mean": _as_written(config.torchvision.pixel_mean),
             "pixel_std": _as_written(config.torchvision.pixel_std)}
    return dataclasses.replace(extractor, **{name: values for name, values in given.items()
                                             if values})


def _first_stage(config: Config, is_training: bool,
                 extractor: TorchvisionFpnFeatureExtractor) -> FirstStage:
    hyperparams = _layers(config.first_stage_box_predictor_conv_hyperparams)
    generator = anchor_generator_builder.build(config.first_stage_anchor_generator)
    rpn = RegionProposalNetwork(
        depth=config.first_stage_box_predictor_depth,
        kernel_size=config.first_stage_box_predictor_kernel_size,
        atrous_rate=config.first_stage_atrous_rate, hyperparams=hyperparams,
        predictor=ObjectnessPredictor(hyperparams), anchor_generator=generator)
    coder = FasterRcnnBoxCoder(max_log_ratio=MAX_LOG_RATIO)
    own = config.torchvision
    count = own.training_proposals if is_training else config.first_stage_max_proposals
    nms = NmsSettings(
        score_threshold=config.first_stage_nms_score_threshold,
        iou_threshold=config.first_stage_nms_iou_threshold, max_size_per_class=count,
        max_total_size=count, use_static_shapes=static_shapes.are_wanted(config, is_training))
    proposer = LevelwiseProposer(
        coder, nms, own.training_pre_nms_limit if is_training else own.pre_nms_limit,
        tuple(generator.num_anchors_per_location()))
    loss = RpnLoss(
        assigner=TargetAssigner(
            IouSimilarity(), ArgMaxMatcher(0.7, 0.3, force_match_for_each_row=True), coder),
        sampler=BalancedPositiveNegativeSampler(config.first_stage_positive_balance_fraction),
        minibatch_size=config.first_stage_minibatch_size,
        localization_weight=config.first_stage_localization_loss_weight,
        objectness_weight=config.first_stage_objectness_loss_weight, mean=ImageMean())
    return FirstStage(image_resizer_builder.build(config.image_resizer), extractor, rpn, proposer,
                      loss)


def _second_stage(config: Config, is_training: bool,
                  extractor: TorchvisionFpnFeatureExtractor) -> SecondStage:
    def cropper(size: int) -> PyramidCropper:
        finest, coarsest = extractor.pyramid_levels
        return PyramidCropper(
            size, finest, min(COARSEST_CROPPED, coarsest), LevelRule(),
            use_static_shapes=static_shapes.are_wanted(config, is_training),
            roi_align=RoiAlign(size, size, SAMPLING_RATIO, aligned=False))

    coder = FasterRcnnBoxCoder(BOX_SCALE_FACTORS, MAX_LOG_RATIO)
    nms, convert_scores = post_processing_builder.build(config.second_stage_post_processing)
    masks = config.second_stage_box_predictor.mask_rcnn_box_predictor.predict_instance_masks
    assigner = TargetAssigner(IouSimilarity(), ArgMaxMatcher(0.5), coder)
    box_loss = BoxClassifierLoss(
        assigner, losses.WeightedSoftmaxClassificationLoss(),
        localization_weight=config.second_stage_localization_loss_weight,
        classification_weight=config.second_stage_classification_loss_weight, mean=ImageMean())
    predictor = _predictor(config)
    return SecondStage(
        cropper=cropper(config.initial_crop_size),
        mask_cropper=cropper(config.torchvision.mask_crop_size) if masks else None,
        predictor=predictor,
        masks_of_objects=static_shapes.masks_of_objects(config, is_training, predictor.mask_head),
        postprocessor=ClipFirstPostprocessor(coder, convert_scores, nms),
        sampler=ProposalSampler(
            assigner, BalancedPositiveNegativeSampler(config.second_stage_balance_fraction),
            config.second_stage_batch_size),
        loss=box_loss,
        mask_loss=MaskLoss(config.second_stage_mask_prediction_loss_weight,
                           config.use_static_shapes) if masks else None)



def _predictor(config: Config) -> MatterportBoxPredictor:
    """Returns Matterport's heads without batch norm, which are torchvision's."""
    head = config.second_stage_box_predictor.mask_rcnn_box_predictor
    mask_head = None
    if head.predict_instance_masks:
        mask_head = MatterportMaskHead(
            config.num_classes, _layers(head.conv_hyperparams),
            num_conv_layers=head.mask_prediction_num_conv_layers,
            conv_depth=head.mask_prediction_conv_depth)
    return MatterportBoxPredictor(config.num_classes, _layers(head.fc_hyperparams),
                                  depth=config.torchvision.box_head_depth, mask_head=mask_head)


def _layers(config: hyperparams_pb2.Hyperparams) -> Hyperparams:
    """Returns settings of layers without batch norm."""
    return dataclasses.replace(hyperparams_builder.build(config, is_training=False),
                               batch_norm=None)


def _as_written(values: Sequence[float]) -> tuple[float, ...]:
    """Undoes the rounding of float fields: 0.1 is kept as 0.100000001."""
    return tuple(float(f"{value:.6g}") for value in values)


def _check_pixel_values(config: Config) -> None:
    for field in ("pixel_mean", "pixel_std"):
        values = getattr(config.torchvision, field)
        if len(values) not in (0, 3) or (field == "pixel_std" and min(values, default=1.0) <= 0.0):
            raise ValueError(f"model.faster_rcnn.torchvision.{field}: want 3 numbers, positive "
                             f"ones for pixel_std, got {_as_written(values)}")
