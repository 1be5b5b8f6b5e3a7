"""Builds the backbone of torchvision's detectors."""

import dataclasses
from collections.abc import Sequence

import tensorflow as tf

from object_detection.builders import mask_rcnn_fpn_builder
from object_detection.core.feature_extractor import FasterRCNNFeatureExtractor
from object_detection.models.mask_rcnn_torchvision_feature_extractor import (
    BATCH_NORM,
    TorchvisionFpnFeatureExtractor,
)
from object_detection.nets import resnet_keras
from object_detection.protos import faster_rcnn_pb2

Config = faster_rcnn_pb2.FasterRcnnFeatureExtractor


def resnet50(config: Config, settings: object) -> FasterRCNNFeatureExtractor:
    """Builds ResNet-50 v1.5 with its pyramid, for the table of extractors.

    Args:
        settings: feature_extractor_builder.BackboneSettings.
    """
    width = config.depth_multiplier
    if width <= 0.0:
        raise ValueError(f"feature_extractor.depth_multiplier: want above 0, got {width}")
    plain = mask_rcnn_fpn_builder.layer_settings(config)
    own = dataclasses.replace(plain, batch_norm=settings.applied_to(BATCH_NORM))

    def backbone(pixels: tf.Tensor) -> Sequence[tf.Tensor]:
        return resnet_keras.maps(pixels, 50, own, width=width, layout=resnet_keras.TORCHVISION)
    return TorchvisionFpnFeatureExtractor(
        backbone, mask_rcnn_fpn_builder.pyramid_settings(config, plain),
        pad_to_multiple=max(1, config.pad_to_multiple))
