"""Builds the backbone named in the config."""

import dataclasses
from collections.abc import Callable
from typing import NamedTuple

from object_detection.builders import (
    hyperparams_builder,
    mask_rcnn_fpn_builder,
    resnet_fpn_keras_builder,
    torchvision_fpn_builder,
)
from object_detection.core.feature_extractor import FasterRCNNFeatureExtractor
from object_detection.models import (
    faster_rcnn_inception_resnet_v2_feature_extractor as inception_resnet,
)
from object_detection.models import faster_rcnn_inception_v2_feature_extractor as inception
from object_detection.models import faster_rcnn_mobilenet_v1_feature_extractor as mobilenet
from object_detection.models import faster_rcnn_nas_feature_extractor as nas
from object_detection.models import faster_rcnn_pnas_feature_extractor as pnas
from object_detection.models import faster_rcnn_resnet_keras_feature_extractor as resnet_keras
from object_detection.models import faster_rcnn_resnet_v1_feature_extractor as resnet
from object_detection.models.faster_rcnn_inception_resnet_v2_feature_extractor import (
    FasterRCNNInceptionResnetV2FeatureExtractor,
)
from object_detection.models.faster_rcnn_inception_resnet_v2_keras_feature_extractor import (
    FasterRCNNInceptionResnetV2KerasFeatureExtractor,
)
from object_detection.models.faster_rcnn_inception_v2_feature_extractor import (
    FasterRCNNInceptionV2FeatureExtractor,
)
from object_detection.models.faster_rcnn_mobilenet_v1_feature_extractor import (
    FasterRCNNMobilenetV1FeatureExtractor,
)
from object_detection.models.faster_rcnn_resnet_keras_feature_extractor import (
    FasterRCNNResnetKerasFeatureExtractor,
)
from object_detection.models.faster_rcnn_resnet_v1_feature_extractor import (
    FasterRCNNResnetV1FeatureExtractor,
)
from object_detection.nets import nasnet, pnasnet
from object_detection.nets.drop_path import NO_DROP_PATH
from object_detection.nets.inception_v2 import Width
from object_detection.nets.slim_layers import BatchNorm, l2_regularizer
from object_detection.protos import faster_rcnn_pb2, hyperparams_pb2

Config = faster_rcnn_pb2.FasterRcnnFeatureExtractor


class BackboneSettings(NamedTuple):
    """What the config may change about the layers of a backbone."""

    is_training: bool  # batch norm uses and moves the statistics
    conv_hyperparams: hyperparams_pb2.Hyperparams | None  # None: the config is silent
    batch_norm: hyperparams_pb2.BatchNorm | None  # None: as the network has it
    model_is_training: bool = False  # the model is built for training, even if batch norm is frozen
    dense_unregularized: bool = False  # fault of the original, of the pyramids
    ignore_stride_8: bool = False  # fault of the original: Inception v2 and MobileNet stay at 16
    batch_norm_forgets: bool = False  # fault of Matterport's networks, see slim_layers.BatchNorm

    @property
    def weight_decay_given(self) -> bool:
        return self.conv_hyperparams is not None

    @property
    def weight_decay(self) -> float:
        """The weight of the L2 regularizer; 0 if the config is silent."""
        given = self.conv_hyperparams
        return 0.0 if given is None else hyperparams_builder.weight_decay(given)

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


def _resnet_keras(num_layers: int) -> Callable[[Config, BackboneSettings],
                                               FasterRCNNFeatureExtractor]:
    def create(config: Config, settings: BackboneSettings) -> FasterRCNNFeatureExtractor:
        _check_one_width(config, "ResNet")
        if config.first_stage_features_stride != 16:
            raise ValueError("feature_extractor.first_stage_features_stride: the Keras ResNet has "
                             f"16, got {config.first_stage_features_stride}; set 16, or use "
                             f"type: \"faster_rcnn_resnet{num_layers}\" for a dilated network")
        decay = settings.weight_decay
        return FasterRCNNResnetKerasFeatureExtractor(num_layers, resnet_keras.hyperparams(
            settings.applied_to(resnet.BATCH_NORM), l2_regularizer(decay) if decay else None))
    return create


def _inception_resnet_v2_keras(config: Config,
                               settings: BackboneSettings) -> FasterRCNNFeatureExtractor:
    _check_one_width(config, "Inception-ResNet")
    return FasterRCNNInceptionResnetV2KerasFeatureExtractor(
        config.first_stage_features_stride, settings.applied_to(inception_resnet.BATCH_NORM),
        settings.weight_decay)


def _nas(config: Config, settings: BackboneSettings) -> FasterRCNNFeatureExtractor:
    _check_cells(config, "NASNet")
    return nas.FasterRCNNNASFeatureExtractor(
        settings.applied_to(nas.BATCH_NORM),
        settings.weight_decay if settings.weight_decay_given else nas.WEIGHT_DECAY,
        nasnet.DROP_PATH if settings.model_is_training else NO_DROP_PATH)


def _pnas(config: Config, settings: BackboneSettings) -> FasterRCNNFeatureExtractor:
    _check_cells(config, "PNASNet")
    return pnas.FasterRCNNPNASFeatureExtractor(
        settings.applied_to(nas.BATCH_NORM),
        settings.weight_decay if settings.weight_decay_given else pnas.WEIGHT_DECAY,
        pnasnet.DROP_PATH if settings.model_is_training else NO_DROP_PATH)


def _inception_v2(config: Config, settings: BackboneSettings) -> FasterRCNNFeatureExtractor:
    _check_depth_multiplier(config)
    return FasterRCNNInceptionV2FeatureExtractor(
        _mobile_stride(config, settings), Width(config.depth_multiplier, config.min_depth),
        settings.applied_to(inception.BATCH_NORM), settings.weight_decay)


def _mobilenet_v1(config: Config, settings: BackboneSettings) -> FasterRCNNFeatureExtractor:
    _check_depth_multiplier(config)
    return FasterRCNNMobilenetV1FeatureExtractor(
        _mobile_stride(config, settings), config.depth_multiplier, config.min_depth,
        settings.applied_to(mobilenet.BATCH_NORM), settings.weight_decay)


def _mobile_stride(config: Config, settings: BackboneSettings) -> int:
    return 16 if settings.ignore_stride_8 else config.first_stage_features_stride


def _check_cells(config: Config, network: str) -> None:
    _check_one_width(config, network)
    if config.first_stage_features_stride != 16:
        raise ValueError(f"feature_extractor.first_stage_features_stride: {network} has stride 16, "
                         f"got {config.first_stage_features_stride}; set it to 16")


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
        "faster_rcnn_nas": _nas,
        "faster_rcnn_pnas": _pnas,
        "faster_rcnn_resnet50_keras": _resnet_keras(50),
        "faster_rcnn_resnet101_keras": _resnet_keras(101),
        "faster_rcnn_resnet152_keras": _resnet_keras(152),
        "faster_rcnn_inception_resnet_v2_keras": _inception_resnet_v2_keras,
        "faster_rcnn_resnet50_fpn_keras": resnet_fpn_keras_builder.resnet(50),
        "faster_rcnn_resnet101_fpn_keras": resnet_fpn_keras_builder.resnet(101),
        "faster_rcnn_resnet152_fpn_keras": resnet_fpn_keras_builder.resnet(152),
        "mask_rcnn_resnet50_fpn": mask_rcnn_fpn_builder.resnet(50),
        "mask_rcnn_resnet101_fpn": mask_rcnn_fpn_builder.resnet(101),
        "mask_rcnn_resnet50_fpn_torchvision": torchvision_fpn_builder.resnet50,
}


def build(config: Config, is_training: bool,
          faults: faster_rcnn_pb2.OriginalFaults | None = None) -> FasterRCNNFeatureExtractor:
    """Builds the extractor named by `type`.

    Args:
        faults: of the original, to bring back; None: none.
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
    faults = faults or faster_rcnn_pb2.OriginalFaults()
    settings = _settings(config, is_training, faults.conv_hyperparams_ignored_by_slim)
    return create(config, settings._replace(
        ignore_stride_8=faults.stride_8_ignored,
        dense_unregularized=faults.pyramid_dense_layers_unregularized,
        batch_norm_forgets=faults.batch_norm_forgets_statistics))


def _settings(config: Config, is_training: bool, ignore: bool) -> BackboneSettings:
    train = is_training and config.batch_norm_trainable
    given = config.conv_hyperparams
    if ignore or not config.HasField("conv_hyperparams"):
        return BackboneSettings(train, None, None, is_training)
    override = config.override_base_feature_extractor_hyperparams and given.HasField("batch_norm")
    return BackboneSettings(train, given, given.batch_norm if override else None, is_training)
