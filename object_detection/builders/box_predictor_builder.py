"""Builds the second stage's predictor."""

import dataclasses

from object_detection.builders import hyperparams_builder
from object_detection.nets import slim_layers as layers
from object_detection.nets.hyperparams import Hyperparams
from object_detection.predictors.heads.box_head import BoxHead
from object_detection.predictors.heads.class_head import ClassHead
from object_detection.predictors.heads.mask_head import (
    KERAS_LAYOUT,
    SLIM_LAYOUT,
    MaskHead,
    MaskLayout,
)
from object_detection.predictors.mask_rcnn_box_predictor import MaskRCNNBoxPredictor
from object_detection.predictors.rfcn_box_predictor import RfcnBoxPredictor
from object_detection.protos import box_predictor_pb2


@dataclasses.dataclass(frozen=True)
class HeadStyle:
    """What the heads on a network have from the family of models the network belongs to.

    Attributes:
        mask_layout: layers of the mask head.
        dense_batch_norm: a batch norm in fc_hyperparams follows the dense heads.
        ignore_fc_hyperparams: fault of the original: dense heads take neither initializer nor
            regularizer from the config.
    """

    mask_layout: MaskLayout = SLIM_LAYOUT
    dense_batch_norm: bool = False
    ignore_fc_hyperparams: bool = False


def keras_style(ignore_fc_hyperparams: bool) -> HeadStyle:
    """Returns the style of the Keras models; the argument brings their fault back."""
    return HeadStyle(KERAS_LAYOUT, dense_batch_norm=True,
                     ignore_fc_hyperparams=ignore_fc_hyperparams)


def build(config: box_predictor_pb2.BoxPredictor, is_training: bool, num_classes: int,
          style: HeadStyle = HeadStyle()) -> MaskRCNNBoxPredictor | RfcnBoxPredictor:
    """Builds the predictor named by `box_predictor_oneof`.

    Raises:
        ValueError: if none or one outside this family is set, or its settings cannot work.
    """
    kind = config.WhichOneof("box_predictor_oneof")
    if kind not in _BUILDERS:
        raise ValueError(f"second_stage_box_predictor: set one of {sorted(_BUILDERS)}, got "
                         f"{kind or 'none of them'}")
    return _BUILDERS[kind](getattr(config, kind), is_training, num_classes, style)


def _mask_rcnn(config: box_predictor_pb2.MaskRCNNBoxPredictor, is_training: bool,
               num_classes: int, style: HeadStyle) -> MaskRCNNBoxPredictor:
    name = "mask_rcnn_box_predictor"
    if config.predict_keypoints:
        raise ValueError(f"{name}.predict_keypoints: there is no keypoint head; set it to false")
    if not config.HasField("fc_hyperparams"):
        raise ValueError(f"{name}.fc_hyperparams: must be set (op: FC, regularizer, initializer)")
    if config.box_code_size != 4:
        raise ValueError(f"{name}.box_code_size: boxes have 4 numbers, got {config.box_code_size}")
    keep = config.dropout_keep_probability
    if config.use_dropout and not 0.0 < keep <= 1.0:
        raise ValueError(f"{name}.dropout_keep_probability: want above 0 and at most 1, got {keep}")
    hyperparams = hyperparams_builder.build(config.fc_hyperparams, is_training)
    norm = None
    if style.dense_batch_norm and hyperparams.batch_norm is not None:
        norm = dataclasses.replace(hyperparams.batch_norm, biased=True)
    if style.ignore_fc_hyperparams:
        hyperparams = Hyperparams(initializer=layers.GLOROT)
    return MaskRCNNBoxPredictor(
        hyperparams=hyperparams,
        box_head=BoxHead(num_classes, config.share_box_across_classes, batch_norm=norm),
        class_head=ClassHead(num_classes, batch_norm=norm),
        mask_head=_mask_head(config, is_training, num_classes, style.mask_layout),
        dropout_keep_probability=keep if config.use_dropout else None)


def _mask_head(config: box_predictor_pb2.MaskRCNNBoxPredictor, is_training: bool,
               num_classes: int, layout: MaskLayout) -> MaskHead | None:
    name = "mask_rcnn_box_predictor"
    if not config.predict_instance_masks:
        return None
    if not config.HasField("conv_hyperparams"):
        raise ValueError(f"{name}.conv_hyperparams: must be set for predict_instance_masks "
                         "(op: CONV, regularizer, initializer)")
    for field, least in (("mask_prediction_num_conv_layers", 1), ("mask_height", 1),
                         ("mask_width", 1), ("mask_prediction_conv_depth", 0)):
        if getattr(config, field) < least:
            raise ValueError(f"{name}.{field}: want at least {least}, got "
                             f"{getattr(config, field)}")
    return MaskHead(
        num_classes=num_classes,
        hyperparams=hyperparams_builder.build(config.conv_hyperparams, is_training),
        mask_height=config.mask_height, mask_width=config.mask_width,
        num_conv_layers=config.mask_prediction_num_conv_layers,
        conv_depth=config.mask_prediction_conv_depth,
        class_agnostic=config.masks_are_class_agnostic,
        convolve_then_upsample=config.convolve_then_upsample_masks, layout=layout)


def _rfcn(config: box_predictor_pb2.RfcnBoxPredictor, is_training: bool, num_classes: int,
          _style: HeadStyle) -> RfcnBoxPredictor:
    name = "rfcn_box_predictor"
    if not config.HasField("conv_hyperparams"):
        raise ValueError(f"{name}.conv_hyperparams: must be set (op: CONV, regularizer, "
                         "initializer)")
    if config.box_code_size != 4:
        raise ValueError(f"{name}.box_code_size: boxes have 4 numbers, got {config.box_code_size}")
    if config.depth < 1:
        raise ValueError(f"{name}.depth: want at least 1, got {config.depth}")
    for axis in ("height", "width"):
        bins, size = (getattr(config, field + axis) for field in ("num_spatial_bins_", "crop_"))
        if bins < 1:
            raise ValueError(f"{name}.num_spatial_bins_{axis}: want at least 1, got {bins}")
        if size < 1 or size % bins:
            raise ValueError(f"{name}.crop_{axis}: want a multiple of num_spatial_bins_{axis}, "
                             f"which is {bins}, got {size}")
    return RfcnBoxPredictor(
        num_classes=num_classes,
        hyperparams=hyperparams_builder.build(config.conv_hyperparams, is_training),
        num_bins=config.num_spatial_bins_height * config.num_spatial_bins_width,
        depth=config.depth, box_code_size=config.box_code_size)


_BUILDERS = {"mask_rcnn_box_predictor": _mask_rcnn, "rfcn_box_predictor": _rfcn}
