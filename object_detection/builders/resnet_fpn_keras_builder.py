"""Builds the feature pyramids of the TF2 models of the Object Detection API."""

import dataclasses
from collections.abc import Callable
from typing import Protocol

from object_detection.builders import hyperparams_builder
from object_detection.core.feature_extractor import FasterRCNNFeatureExtractor
from object_detection.models import faster_rcnn_resnet_keras_feature_extractor as resnet_keras
from object_detection.models.faster_rcnn_resnet_fpn_keras_feature_extractor import (
    FasterRCNNResnetFpnKerasFeatureExtractor,
)
from object_detection.models.faster_rcnn_resnet_v1_feature_extractor import BATCH_NORM
from object_detection.nets import fpn
from object_detection.nets.hyperparams import Hyperparams
from object_detection.nets.slim_layers import GLOROT, BatchNorm, l2_regularizer
from object_detection.protos import faster_rcnn_pb2

Config = faster_rcnn_pb2.FasterRcnnFeatureExtractor

# A ResNet that is not overridden is regularized by 1e-4 times the sum of squares; our weight is
# halved.
_BACKBONE_L2 = 2e-4
_RESNET_LEVELS = (2, 5)
_NAME = "model.faster_rcnn.feature_extractor"


class Settings(Protocol):
    """What feature_extractor_builder adds to the config."""

    is_training: bool          # batch norm uses and moves the statistics
    dense_unregularized: bool  # fault of the original


def resnet(num_layers: int) -> Callable[[Config, Settings], FasterRCNNFeatureExtractor]:
    """Returns the builder of ResNet with 50, 101 or 152 layers, for the table of extractors.

    The builder raises ValueError for fields that cannot work, naming them.
    """
    def create(config: Config, settings: Settings) -> FasterRCNNFeatureExtractor:
        _check(config)
        own = _hyperparams(config, settings.is_training)
        backbone = own
        if not config.override_base_feature_extractor_hyperparams:
            backbone = resnet_keras.hyperparams(
                dataclasses.replace(BATCH_NORM, is_training=settings.is_training),
                l2_regularizer(_BACKBONE_L2))
        pyramid = fpn.PyramidSettings(
            min_level=config.fpn.min_level, max_level=config.fpn.max_level,
            depth=config.fpn.additional_layer_depth,
            lateral=dataclasses.replace(own, activation=None, batch_norm=None), smoothing=own,
            smooth_coarsest=False, add_smoothed=True,
            coarse=fpn.Coarse.CONVOLUTION)
        # The initializer of the config is meant for convolutions, not for 12544 inputs.
        dense = Hyperparams(
            initializer=GLOROT, batch_norm=own.batch_norm,
            regularizer=None if settings.dense_unregularized else own.regularizer)
        return FasterRCNNResnetFpnKerasFeatureExtractor(num_layers, backbone, pyramid, dense,
                                                        config.pad_to_multiple)
    return create


def _hyperparams(config: Config, is_training: bool) -> Hyperparams:
    """Returns the settings of the layers that a pyramid adds."""
    own = hyperparams_builder.build(config.conv_hyperparams, is_training)
    if isinstance(own.batch_norm, BatchNorm) and not own.batch_norm.center:
        # Keras layers keep their biases where the batch norm adds nothing.
        own = dataclasses.replace(own, batch_norm=dataclasses.replace(own.batch_norm, biased=True))
    return own


def _check(config: Config) -> None:
    if config.depth_multiplier != 1.0:
        raise ValueError(f"{_NAME}.depth_multiplier: ResNet has one width, got "
                         f"{config.depth_multiplier}; remove the field")
    if not config.HasField("conv_hyperparams"):
        raise ValueError(f"{_NAME}.conv_hyperparams: a pyramid needs it for the layers it adds; "
                         "set initializer, regularizer, activation and batch_norm")
    if config.conv_hyperparams.HasField("group_norm"):
        raise ValueError(f"{_NAME}.conv_hyperparams.group_norm: dense layers behind a pyramid have "
                         "no groups; use batch_norm, or neither for layers with biases")
    low, high = _RESNET_LEVELS
    pyramid = config.fpn
    if not low <= pyramid.min_level <= min(pyramid.max_level, high):
        raise ValueError(f"{_NAME}.fpn.min_level: want {low} to {high}, a level of the ResNet, and "
                         f"at most max_level, which is {pyramid.max_level}; got "
                         f"{pyramid.min_level}")
    if pyramid.additional_layer_depth < 1:
        raise ValueError(f"{_NAME}.fpn.additional_layer_depth: want at least 1 channel, got "
                         f"{pyramid.additional_layer_depth}")
    if config.pad_to_multiple < 1:
        raise ValueError(f"{_NAME}.pad_to_multiple: want at least 1 pixel, got "
                         f"{config.pad_to_multiple}")
