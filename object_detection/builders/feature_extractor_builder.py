"""Builds the backbone named in the config."""

import dataclasses
from collections.abc import Callable
from typing import NamedTuple

from object_detection.builders import hyperparams_builder
from object_detection.core.feature_extractor import FasterRCNNFeatureExtractor
from object_detection.models import (
    faster_rcnn_inception_resnet_v2_feature_extractor as inception_resnet,
)
from object_detection.models import faster_rcnn_inception_v2_feature_extractor as inception
from object_detection.models import faster_rcnn_mobilenet_v1_feature_extractor as mobilenet
from object_detection.models import faster_rcnn_resnet_v1_feature_extractor as resnet
from object_detection.models.faster_rcnn_inception_resnet_v2_feature_extractor import (
    FasterRCNNInceptionResnetV2FeatureExtractor,
)
from object_detection.models.faster_rcnn_inception_v2_feature_extractor import (
    FasterRCNNInceptionV2FeatureExtractor,
)
from object_detection.models.faster_rcnn_mobilenet_v1_feature_extractor import (
    FasterRCNNMobilenetV1FeatureExtractor,
)
from object_detection.models.faster_rcnn_resnet_v1_feature_extractor import (
    FasterRCNNResnetV1FeatureExtractor,
)
from object_detection.nets.inception_v2 import Width
from object_detection.nets.slim_layers import BatchNorm
from object_detection.protos import faster_rcnn_pb2, hyperparams_pb2

Config = faster_rcnn_pb2.FasterRcnnFeatureExtractor


class BackboneSettings(NamedTuple):
    """What the config may change about the layers of a backbone."""

    is_training: bool  # batch norm uses and moves the statistics
    weight_decay: float
    batch_norm: hyperparams_pb2.BatchNorm | None  # None: as the network has it

    def applied_to(self, own: BatchNorm) -> BatchNorm:
        """Returns a network's batch norm with these settings."""
        own = dataclasses.replace(own, is_training=self.is_training)
        if self.batch_norm is None:
            return own
        return dataclasses.replace(own, decay=self.batch_norm.decay,
                                   epsilon=self.batch_norm.epsilon)


def _resnet_v1(num_layers: int) -> Callable[[Config, BackboneSettings],
                                            FasterRCNNFeatureExtractor]:
    def create(config: Config, settings: BackboneSettings) -> FasterRCNNFeatureExtractor:
        _check_one_width(config, "ResNet")
        return FasterRCNNResnetV1FeatureExtractor(
            num_layers, config.first_stage_features_stride,
            settings.applied_to(resnet.BATCH_NORM), settings.weight_decay)
    return create


def _inception_resnet_v2(config: Config, settings: BackboneSettings) -> FasterRCNNFeatureExtractor:
    _check_one_width(config, "Inception-ResNet")
    return FasterRCNNInceptionResnetV2FeatureExtractor(
        config.first_stage_features_stride, settings.applied_to(inception_resnet.BATCH_NORM),
        settings.weight_decay)


def _inception_v2(config: Config, settings: BackboneSettings) -> FasterRCNNFeatureExtractor:
    _check_depth_multiplier(config)
    return FasterRCNNInceptionV2FeatureExtractor(
        config.first_stage_features_stride, Width(config.depth_multiplier, config.min_depth),
        settings.applied_to(inception.BATCH_NORM), settings.weight_decay)


def _mobilenet_v1(config: Config, settings: BackboneSettings) -> FasterRCNNFeatureExtractor:
    _check_depth_multiplier(config)
    return FasterRCNNMobilenetV1FeatureExtractor(
        config.first_stage_features_stride, config.depth_multiplier, config.min_depth,
        settings.applied_to(mobilenet.BATCH_NORM), settings.weight_decay)


def _check_one_width(config: Config, network: str) -> None:
    if config.depth_multiplier != 1.0:
        raise ValueError(f"feature_extractor.depth_multiplier: {network} has one width, got "
                         f"{config.depth_multiplier}; remove the field")


def _check_depth_multiplier(config: Config) -> None:
    if config.depth_multiplier <= 0:
        raise ValueError("feature_extractor.depth_multiplier: want above 0, got "
                         f"{config.depth_multiplier}")


# Users add their own network here: type name to a function of (config, settings).
FASTER_RCNN_FEATURE_EXTRACTOR_CLASS_MAP: dict[
    str, Callable[[Config, BackboneSettings], FasterRCNNFeatureExtractor]] = {
        "faster_rcnn_resnet50": _resnet_v1(50),
        "faster_rcnn_resnet101": _resnet_v1(101),
        "faster_rcnn_resnet152": _resnet_v1(152),
        "faster_rcnn_inception_v2": _inception_v2,
        "faster_rcnn_inception_resnet_v2": _inception_resnet_v2,
        "faster_rcnn_mobilenet_v1": _mobilenet_v1,
}


def build(config: Config, is_training: bool,
          ignore_conv_hyperparams: bool = False) -> FasterRCNNFeatureExtractor:
    """Builds the extractor named by `type`.

    Args:
        ignore_conv_hyperparams: fault of the original: no weight decay on slim networks.
    Raises:
        ValueError: for an unknown type or a stride that is not 8 or 16.
    """
    create = FASTER_RCNN_FEATURE_EXTRACTOR_CLASS_MAP.get(config.type)
    if create is None:
        raise ValueError(f"model.faster_rcnn.feature_extractor.type: {config.type!r} is not built; "
                         f"choose one of {sorted(FASTER_RCNN_FEATURE_EXTRACTOR_CLASS_MAP)}")
    if config.first_stage_features_stride not in (8, 16):
        raise ValueError("model.faster_rcnn.feature_extractor.first_stage_features_stride: want 8 "
                         f"or 16, got {config.first_stage_features_stride}")
    return create(config, _settings(config, is_training, ignore_conv_hyperparams))


def _settings(config: Config, is_training: bool, ignore: bool) -> BackboneSettings:
    train = is_training and config.batch_norm_trainable
    given = config.conv_hyperparams
    if ignore or not config.HasField("conv_hyperparams"):
        return BackboneSettings(train, 0.0, None)
    override = config.override_base_feature_extractor_hyperparams and given.HasField("batch_norm")
    return BackboneSettings(train, hyperparams_builder.weight_decay(given),
                            given.batch_norm if override else None)
