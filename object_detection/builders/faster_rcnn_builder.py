"""Builds the parts of a two-stage detector from a FasterRcnn message and puts them together."""

import dataclasses

import tensorflow as tf

from object_detection.box_coders.faster_rcnn_box_coder import FasterRcnnBoxCoder
from object_detection.builders import (
    anchor_generator_builder,
    box_predictor_builder,
    feature_extractor_builder,
    hyperparams_builder,
    image_resizer_builder,
    losses_builder,
    matterport_builder,
    post_processing_builder,
    roi_cropper_builder,
    static_shapes,
    target_assigner_builder,
    torchvision_builder,
)
from object_detection.core import losses
from object_detection.core.balanced_positive_negative_sampler import (
    BalancedPositiveNegativeSampler,
)
from object_detection.core.box_coder import BoxCoder
from object_detection.core.feature_extractor import FasterRCNNFeatureExtractor
from object_detection.core.nms import NmsSettings
from object_detection.core.target_assigner import TargetAssigner
from object_detection.meta_architectures.faster_rcnn_meta_arch import FasterRCNNMetaArch
from object_detection.meta_architectures.losses import (
    BoxClassifierLoss,
    ImageMean,
    MaskLoss,
    RpnLoss,
)
from object_detection.meta_architectures.proposals import ProposalSampler, Proposer
from object_detection.meta_architectures.results import DetectionPostprocessor
from object_detection.meta_architectures.rfcn_meta_arch import RFCNMetaArch
from object_detection.meta_architectures.rpn import RegionProposalNetwork
from object_detection.meta_architectures.settings import (
    DetectorSettings,
    FirstStage,
    SecondStage,
)
from object_detection.models.keras_feature_extractor import KerasFeatureExtractor
from object_detection.predictors.convolutional_box_predictor import ConvolutionalBoxPredictor
from object_detection.protos import faster_rcnn_pb2

Config = faster_rcnn_pb2.FasterRcnn

# Both stages encode boxes with these factors; they are part of every checkpoint of the family.
BOX_SCALE_FACTORS = (10.0, 10.0, 5.0, 5.0)


def build(config: Config, is_training: bool) -> FasterRCNNMetaArch:
    """Builds the detector, without its variables.

    Raises:
        ValueError: if a field cannot work, naming it.
    """
    if config.HasField("matterport"):
        return matterport_builder.build(config, is_training)
    if config.HasField("torchvision"):
        return torchvision_builder.build(config, is_training)
    _check(config)
    settings = DetectorSettings(
        num_classes=config.num_classes, number_of_stages=config.number_of_stages,
        is_training=is_training, clip_anchors=config.clip_anchors_to_image,
        masks_cropped_in_true_frame=config.original_faults.mask_crops_use_true_shape,
        resize_masks=config.resize_masks,
        raw_detections_in_predict=config.return_raw_detections_during_predict,
        box_features_in_output=config.output_final_box_features,
        rpn_features_in_output=config.output_final_box_rpn_features,
        crops_ignore_map_padding=config.original_faults.pyramid_crops_use_unpadded_size)
    coder = FasterRcnnBoxCoder(scale_factors=BOX_SCALE_FACTORS)
    mean = ImageMean(config.original_faults.unannotated_images_count_in_mean)
    first = _first_stage(config, is_training, coder, mean)
    if config.number_of_stages == 1:
        return FasterRCNNMetaArch(settings, first, None)
    architecture = RFCNMetaArch if _is_rfcn(config) else FasterRCNNMetaArch
    second = _second_stage(config, is_training, coder, mean, first.extractor)
    return architecture(settings, first, second)


def _first_stage(config: Config, is_training: bool, coder: BoxCoder,
                 mean: ImageMean) -> FirstStage:
    # Whatever activation the config names: so the weights of every checkpoint were trained.
    hyperparams = dataclasses.replace(hyperparams_builder.build(
        config.first_stage_box_predictor_conv_hyperparams, is_training), activation=tf.nn.relu6)
    faults = config.original_faults
    extractor = feature_extractor_builder.build(config.feature_extractor, is_training, faults)
    rpn = RegionProposalNetwork(
        depth=config.first_stage_box_predictor_depth,
        kernel_size=config.first_stage_box_predictor_kernel_size,
        atrous_rate=config.first_stage_atrous_rate, hyperparams=hyperparams,
        predictor=ConvolutionalBoxPredictor(num_classes=1, hyperparams=hyperparams),
        anchor_generator=anchor_generator_builder.build(config.first_stage_anchor_generator),
        predictor_per_level=extractor.pyramid_levels is not None)
    loss = RpnLoss(
        assigner=_assigner(config, "proposal"),
        sampler=_sampler(config, config.first_stage_positive_balance_fraction, is_training),
        minibatch_size=config.first_stage_minibatch_size,
        localization_weight=config.first_stage_localization_loss_weight,
        objectness_weight=config.first_stage_objectness_loss_weight, mean=mean)
    return FirstStage(
        resizer=image_resizer_builder.build(config.image_resizer), extractor=extractor, rpn=rpn,
        proposer=Proposer(coder, _first_stage_nms(config, is_training)), loss=loss)


def _second_stage(config: Config, is_training: bool, coder: BoxCoder,
                  mean: ImageMean, extractor: FasterRCNNFeatureExtractor) -> SecondStage:
    predictor = box_predictor_builder.build(config.second_stage_box_predictor, is_training,
                                            config.num_classes, _head_style(config, extractor))
    masks = not _is_rfcn(config) and predictor.mask_head is not None
    if config.number_of_stages == 3 and not masks:
        raise ValueError("model.faster_rcnn.number_of_stages: 3 draws masks; set second_stage_box_"
                         "predictor.mask_rcnn_box_predictor.predict_instance_masks: true")
    nms, convert_scores = post_processing_builder.build(
        config.second_stage_post_processing, config.original_faults)
    miner = None
    if config.HasField("hard_example_miner"):
        miner = losses_builder.build_hard_example_miner(
            config.hard_example_miner, config.second_stage_classification_loss_weight,
            config.second_stage_localization_loss_weight, config.original_faults,
            config.use_static_shapes)
    assigner = _assigner(config, "detection")
    sampler = None
    if miner is None:
        sampler = ProposalSampler(
            assigner, _sampler(config, config.second_stage_balance_fraction, is_training),
            config.second_stage_batch_size)
    box_loss = BoxClassifierLoss(
        assigner=assigner, classification=_classification_loss(config),
        localization_weight=config.second_stage_localization_loss_weight,
        classification_weight=config.second_stage_classification_loss_weight,
        mean=mean, miner=miner)
    mask_loss = None
    if masks:
        mask_loss = MaskLoss(
            config.second_stage_mask_prediction_loss_weight, config.use_static_shapes,
            config.original_faults.far_edge_crops_blank,
            config.original_faults.unannotated_images_count_in_mean)
    return SecondStage(
        cropper=roi_cropper_builder.build(config, is_training, extractor.pyramid_levels),
        predictor=predictor, sampler=sampler, loss=box_loss, mask_loss=mask_loss,
        masks_of_objects=masks and static_shapes.masks_of_objects(
            config, is_training, predictor.mask_head),
        postprocessor=DetectionPostprocessor(coder, convert_scores, nms))


def _head_style(config: Config,
                extractor: FasterRCNNFeatureExtractor) -> box_predictor_builder.HeadStyle:
    if isinstance(extractor, KerasFeatureExtractor):
        return box_predictor_builder.keras_style(
            config.original_faults.dense_heads_ignore_hyperparams)
    return box_predictor_builder.HeadStyle()


def _is_rfcn(config: Config) -> bool:
    return config.second_stage_box_predictor.HasField("rfcn_box_predictor")


def _first_stage_nms(config: Config, is_training: bool) -> NmsSettings:
    static = static_shapes.are_wanted(config, is_training)
    return NmsSettings(
        score_threshold=config.first_stage_nms_score_threshold,
        iou_threshold=config.first_stage_nms_iou_threshold,
        max_size_per_class=config.first_stage_max_proposals,
        max_total_size=config.first_stage_max_proposals,
        use_static_shapes=static,
        use_partitioned=config.use_partitioned_nms_in_first_stage and static,
        use_combined=config.use_combined_nms_in_first_stage)


def _assigner(config: Config, stage: str) -> TargetAssigner:
    return target_assigner_builder.create_target_assigner(
        "FasterRCNN", stage, use_matmul_gather=config.use_matmul_gather_in_matcher)


def _sampler(config: Config, positive_fraction: float,
             is_training: bool) -> BalancedPositiveNegativeSampler:
    return BalancedPositiveNegativeSampler(
        positive_fraction=positive_fraction,
        is_static=(config.use_static_balanced_label_sampler
                   and static_shapes.are_wanted(config, is_training)),
        original_static_fault=config.original_faults.static_sampler_takes_ignored)


def _classification_loss(config: Config) -> losses.Loss:
    if not config.HasField("second_stage_classification_loss"):
        return losses.WeightedSoftmaxClassificationLoss()
    return losses_builder.build_faster_rcnn_classification_loss(
        config.second_stage_classification_loss, config.original_faults)


def _check(config: Config) -> None:
    name = "model.faster_rcnn"
    if config.number_of_stages not in (1, 2, 3):
        raise ValueError(f"{name}.number_of_stages: want 1, 2 or 3, got {config.number_of_stages}")
    if config.num_classes < 1:
        raise ValueError(f"{name}.num_classes: want at least 1, got {config.num_classes}")
    for field in ("image_resizer", "feature_extractor", "first_stage_anchor_generator",
                  "first_stage_box_predictor_conv_hyperparams"):
        if not config.HasField(field):
            raise ValueError(f"{name}.{field}: must be set")
    generator = config.first_stage_anchor_generator
    kind = generator.WhichOneof("anchor_generator_oneof")
    if kind and getattr(getattr(generator, kind), "normalize_coordinates", False):
        raise ValueError(f"{name}.first_stage_anchor_generator.{kind}: set normalize_coordinates: "
                         "false; this detector compares anchors with boxes in pixels")
    if config.HasField("context_config"):
        raise ValueError(f"{name}.context_config: Context R-CNN is not built; remove the field to "
                         "train without context features")
    for field in ("output_final_box_features", "output_final_box_rpn_features"):
        if getattr(config, field) and (config.number_of_stages == 1 or _is_rfcn(config)):
            raise ValueError(f"{name}.{field}: needs a second stage that crops features of each "
                             "box (number_of_stages of 2 or 3, mask_rcnn_box_predictor); set it "
                             "to false")
    if config.number_of_stages == 1:
        return
    if _is_rfcn(config):
        if config.number_of_stages == 3:
            raise ValueError(f"{name}.number_of_stages: 3 draws masks, and rfcn_box_predictor has "
                             "none; set it to 2, or use mask_rcnn_box_predictor")
    else:
        for field in ("initial_crop_size", "maxpool_kernel_size", "maxpool_stride"):
            if getattr(config, field) < 1:
                raise ValueError(f"{name}.{field}: want at least 1, got {getattr(config, field)}")
    if config.second_stage_batch_size > config.first_stage_max_proposals:
        raise ValueError(
            f"{name}.second_stage_batch_size: {config.second_stage_batch_size} is more than "
            f"first_stage_max_proposals {config.first_stage_max_proposals}; lower the first or "
            "raise the second")
