"""Builds the backbone named in the config."""

from collections.abc import Callable

from object_detection.builders import hyperparams_builder
from object_detection.core.feature_extractor import FasterRCNNFeatureExtractor
from object_detection.models.faster_rcnn_mobilenet_v1_feature_extractor import (
    FasterRCNNMobilenetV1FeatureExtractor,
)
from object_detection.models.faster_rcnn_resnet_v1_feature_extractor import (
    FasterRCNNResnetV1FeatureExtractor,
)
from object_detection.protos import faster_rcnn_pb2

Config = faster_rcnn_pb2.FasterRcnnFeatureExtractor


def _resnet_v1(num_layers: int) -> Callable[[Config, bool, float], FasterRCNNFeatureExtractor]:
    def create(config: Config, train_batch_norm: bool,
               weight_decay: float) -> FasterRCNNFeatureExtractor:
        if config.depth_multiplier != 1.0:
            raise ValueError("feature_extractor.depth_multiplier: ResNet has one width, got "
                             f"{config.depth_multiplier}; remove the field")
        return FasterRCNNResnetV1FeatureExtractor(
            num_layers, config.first_stage_features_stride, train_batch_norm, weight_decay)
    return create


def _mobilenet_v1(config: Config, train_batch_norm: bool,
                  weight_decay: float) -> FasterRCNNFeatureExtractor:
    if config.depth_multiplier <= 0:
        raise ValueError("feature_extractor.depth_multiplier: want above 0, got "
                         f"{config.depth_multiplier}")
    return FasterRCNNMobilenetV1FeatureExtractor(
        config.first_stage_features_stride, config.depth_multiplier, config.min_depth,
        train_batch_norm, weight_decay)


# Users add their own network here: type name to a function of (config, train_batch_norm,
# weight_decay).
FASTER_RCNN_FEATURE_EXTRACTOR_CLASS_MAP: dict[
    str, Callable[[Config, bool, float], FasterRCNNFeatureExtractor]] = {
        "faster_rcnn_resnet50": _resnet_v1(50),
        "faster_rcnn_resnet101": _resnet_v1(101),
        "faster_rcnn_resnet152": _resnet_v1(152),
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
    decay = 0.0
    if config.HasField("conv_hyperparams") and not ignore_conv_hyperparams:
        decay = hyperparams_builder.weight_decay(config.conv_hyperparams)
    return create(config, is_training and config.batch_norm_trainable, decay)
