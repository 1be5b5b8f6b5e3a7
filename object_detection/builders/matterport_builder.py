"""Builds the detector of Matterport's Mask_RCNN from a FasterRcnn message with `matterport` set."""

import dataclasses
from collections.abc import Sequence

from object_detection.anchor_generators.pixel_centre_anchor_generator import (
    PixelCentreAnchorGenerator,
)
from object_detection.box_coders.faster_rcnn_box_coder import FasterRcnnBoxCoder
from object_detection.builders import (
    anchor_generator_builder,
    assembly_checks,
    feature_extractor_builder,
    hyperparams_builder,
    image_resizer_builder,
    matterport_training_builder,
    post_processing_builder,
    static_shapes,
)
from object_detection.core.box_frame import PixelCentreFrame
from object_detection.core.nms import NmsSettings
from object_detection.core.resizers import Resizer
from object_detection.meta_architectures.faster_rcnn_meta_arch import FasterRCNNMetaArch
from object_detection.meta_architectures.matterport.detections import MatterportPostprocessor
from object_detection.meta_architectures.matterport.proposals import MatterportProposer
from object_detection.meta_architectures.rpn import RegionProposalNetwork
from object_detection.meta_architectures.settings import (
    DetectorSettings,
    FirstStage,
    SecondStage,
)
from object_detection.models.mask_rcnn_resnet_fpn_feature_extractor import (
    BATCH_NORM,
    MaskRCNNFpnFeatureExtractor,
)
from object_detection.nets.hyperparams import Hyperparams
from object_detection.predictors.convolutional_box_predictor import ConvolutionalBoxPredictor
from object_detection.predictors.heads.matterport_mask_head import MatterportMaskHead
from object_detection.predictors.matterport_box_predictor import MatterportBoxPredictor
from object_detection.protos import faster_rcnn_pb2, hyperparams_pb2
from object_detection.roi_croppers.pyramid import LevelRule, PyramidCropper, Rounding

Config = faster_rcnn_pb2.FasterRcnn

BOX_STD_DEV = (0.1, 0.1, 0.2, 0.2)
COARSEST_CROPPED = 5  # level; P6 serves the first stage alone


def build(config: Config, is_training: bool) -> FasterRCNNMetaArch:
    """Builds the detector, without its variables.

    Raises:
        ValueError: if a field cannot work, naming it.
    """
    assembly_checks.check(config, "matterport", (
        "pre_nms_limit", "anchor_stride", "training_proposals", "box_head_depth",
        "mask_crop_size", "mini_mask_height", "mini_mask_width"))
    settings = DetectorSettings(
        num_classes=config.num_classes, number_of_stages=config.number_of_stages,
        is_training=is_training, resize_masks=config.resize_masks,
        raw_detections_in_predict=config.return_raw_detections_during_predict,
        box_features_in_output=config.output_final_box_features,
        rpn_features_in_output=config.output_final_box_rpn_features, frame=PixelCentreFrame(),
        keep_crossing_anchors=True)
    resizer = image_resizer_builder.build(config.image_resizer)
    extractor = _extractor(config, is_training)
    return FasterRCNNMetaArch(settings, _first_stage(config, is_training, resizer, extractor),
                              _second_stage(config, is_training, extractor))


def _extractor(config: Config, is_training: bool) -> MaskRCNNFpnFeatureExtractor:
    extractor = feature_extractor_builder.build(
        config.feature_extractor, is_training, config.original_faults)
    if not isinstance(extractor, MaskRCNNFpnFeatureExtractor):
        raise ValueError("model.faster_rcnn.feature_extractor.type: "
                         f"{config.feature_extractor.type} does not go with `matterport`; use mask_"
                         "rcnn_resnet50_fpn, mask_rcnn_resnet101_fpn, or one registered by mask_"
                         "rcnn_fpn_builder.from_backbone")
    mean = config.matterport.pixel_mean
    if mean:
        extractor = dataclasses.replace(extractor, pixel_mean=tuple(_as_written(mean)))
    return extractor


def _first_stage(config: Config, is_training: bool, resizer: Resizer,
                 extractor: MaskRCNNFpnFeatureExtractor) -> FirstStage:
    hyperparams = _layers(config.first_stage_box_predictor_conv_hyperparams)
    generator = anchor_generator_builder.build(config.first_stage_anchor_generator)
    rpn = RegionProposalNetwork(
        depth=config.first_stage_box_predictor_depth,
        kernel_size=config.first_stage_box_predictor_kernel_size,
        atrous_rate=config.first_stage_atrous_rate, hyperparams=hyperparams,
        predictor=ConvolutionalBoxPredictor(num_classes=1, hyperparams=hyperparams),
        anchor_generator=PixelCentreAnchorGenerator(generator),
        stride=config.matterport.anchor_stride)
    coder = _coder(config.matterport.first_stage_box_std_dev, "first_stage_box_std_dev")
    count = config.first_stage_max_proposals
    if is_training:
        count = config.matterport.training_proposals
    nms = NmsSettings(
        score_threshold=config.first_stage_nms_score_threshold,
        iou_threshold=config.first_stage_nms_iou_threshold, max_size_per_class=count,
        max_total_size=count, use_static_shapes=static_shapes.are_wanted(config, is_training))
    faults = config.original_faults
    proposer = MatterportProposer(
        coder, nms, pre_nms_limit=config.matterport.pre_nms_limit,
        original_without_area=faults.boxes_without_area_suppress,
        pass_gradient=faults.box_targets_pass_gradient)
    return FirstStage(resizer, extractor, rpn, proposer,
                      matterport_training_builder.build_rpn_loss(config, coder))


def _second_stage(config: Config, is_training: bool,
                  extractor: MaskRCNNFpnFeatureExtractor) -> SecondStage:
    coder = _coder(config.matterport.second_stage_box_std_dev, "second_stage_box_std_dev")
    nms, _ = post_processing_builder.build(config.second_stage_post_processing)
    nms = dataclasses.replace(nms, change_coordinate_frame=False)  # the postprocessor does it
    predictor = _predictor(config, is_training)
    masks = predictor.mask_head is not None
    return SecondStage(
        cropper=_cropper(config, config.initial_crop_size, extractor, is_training),
        mask_cropper=(_cropper(config, config.matterport.mask_crop_size, extractor, is_training)
                      if masks else None),
        predictor=predictor,
        masks_of_objects=static_shapes.masks_of_objects(config, is_training, predictor.mask_head),
        postprocessor=MatterportPostprocessor(
            coder, nms, config.original_faults.boxes_without_area_suppress),
        sampler=matterport_training_builder.build_sampler(config),
        loss=matterport_training_builder.build_box_loss(config, coder),
        mask_loss=matterport_training_builder.build_mask_loss(config) if masks else None)


def _cropper(config: Config, size: int, extractor: MaskRCNNFpnFeatureExtractor,
             is_training: bool) -> PyramidCropper:
    pyramid = extractor.pyramid
    return PyramidCropper(
        size, pyramid.min_level, min(COARSEST_CROPPED, pyramid.max_level),
        LevelRule(rounding=Rounding.NEAREST),
        use_static_shapes=static_shapes.are_wanted(config, is_training),
        original_far_edge=config.original_faults.far_edge_crops_blank)


def _predictor(config: Config, is_training: bool) -> MatterportBoxPredictor:
    head = config.second_stage_box_predictor.mask_rcnn_box_predictor
    norm = dataclasses.replace(
        BATCH_NORM, is_training=is_training and config.feature_extractor.batch_norm_trainable,
        forgets=config.original_faults.batch_norm_forgets_statistics)
    mask_head = None
    if head.predict_instance_masks:
        mask_head = MatterportMaskHead(
            config.num_classes,
            dataclasses.replace(_layers(head.conv_hyperparams), batch_norm=norm),
            num_conv_layers=head.mask_prediction_num_conv_layers,
            conv_depth=head.mask_prediction_conv_depth)
    return MatterportBoxPredictor(
        config.num_classes,
        dataclasses.replace(_layers(head.fc_hyperparams), batch_norm=norm),
        depth=config.matterport.box_head_depth, mask_head=mask_head)


def _layers(config: hyperparams_pb2.Hyperparams) -> Hyperparams:
    """Returns settings of layers without batch norm."""
    return dataclasses.replace(hyperparams_builder.build(config, is_training=False),
                               batch_norm=None)


def _coder(std_dev: Sequence[float], field: str) -> FasterRcnnBoxCoder:
    values = _as_written(std_dev) or list(BOX_STD_DEV)
    if len(values) != 4 or min(values) <= 0.0:
        raise ValueError(f"model.faster_rcnn.matterport.{field}: want 4 positive numbers, got "
                         f"{values}")
    return FasterRcnnBoxCoder([1.0 / value for value in values])


def _as_written(values: Sequence[float]) -> list[float]:
    """Undoes the rounding of float fields: 0.1 is kept as 0.100000001."""
    return [float(f"{value:.6g}") for value in values]
