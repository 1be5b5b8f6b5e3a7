"""Builds the backbones of Matterport's Mask_RCNN, and lets users bring one of their own.

A backbone is a function of pixels and layer settings that returns the maps of strides 4, 8, 16 and
32. Registered under a type name, it serves in a config like the built-in ones:

    def tiny(pixels, hyperparams):
        maps = []
        with hyperparams.arg_scope():
            for number, depth in enumerate([16, 32, 64, 128, 256], start=1):
                pixels = slim_layers.conv2d(pixels, depth, 3, stride=2, scope=f"tiny_c{number}")
                maps.append(pixels)
        return maps[1:]

    feature_extractor_builder.FASTER_RCNN_FEATURE_EXTRACTOR_CLASS_MAP["tiny_fpn"] = (
        mask_rcnn_fpn_builder.from_backbone(tiny))

Its layers are `tiny_c1/kernel`, ... in `.h5` files.
"""

import dataclasses
from collections.abc import Callable, Sequence

import tensorflow as tf

from object_detection.builders import hyperparams_builder
from object_detection.core.feature_extractor import FasterRCNNFeatureExtractor
from object_detection.models.mask_rcnn_resnet_fpn_feature_extractor import (
    BATCH_NORM,
    MaskRCNNFpnFeatureExtractor,
)
from object_detection.nets import fpn, resnet_keras
from object_detection.nets import slim_layers as layers
from object_detection.nets.hyperparams import Hyperparams
from object_detection.protos import faster_rcnn_pb2

Config = faster_rcnn_pb2.FasterRcnnFeatureExtractor
# Pixels and settings of layers without batch norm to maps.
BackboneFunction = Callable[[tf.Tensor, Hyperparams], Sequence[tf.Tensor]]

LEVELS = (2, 6)  # finest and coarsest, where the config has no `fpn`
DEPTH = 256


def resnet(num_layers: int) -> Callable[..., FasterRCNNFeatureExtractor]:
    """Returns the builder of ResNet with 50 or 101 layers, for the table of extractors."""
    def create(config: Config, settings: object) -> FasterRCNNFeatureExtractor:
        width = config.depth_multiplier
        if width <= 0.0:
            raise ValueError(f"feature_extractor.depth_multiplier: want above 0, got {width}")

        def backbone(pixels: tf.Tensor, hyperparams: Hyperparams) -> Sequence[tf.Tensor]:
            return resnet_keras.maps(pixels, num_layers, hyperparams, width=width)
        return from_backbone(backbone, batch_norm=True)(config, settings)
    return create


def from_backbone(function: BackboneFunction,
                  batch_norm: bool = False) -> Callable[..., FasterRCNNFeatureExtractor]:
    """Returns the builder of an extractor on a backbone, for the table of extractors.

    Args:
        function: makes the backbone's layers.
        batch_norm: the settings that `function` is called with have a batch norm, which is trained
            if feature_extractor.batch_norm_trainable is true.
    """
    def create(config: Config, settings: object) -> FasterRCNNFeatureExtractor:
        hyperparams = layer_settings(config)
        own = hyperparams
        if batch_norm:
            norm = dataclasses.replace(settings.applied_to(BATCH_NORM),
                                       forgets=settings.batch_norm_forgets)
            own = dataclasses.replace(hyperparams, batch_norm=norm)
        return MaskRCNNFpnFeatureExtractor(
            lambda pixels: function(pixels, own), pyramid_settings(config, hyperparams),
            pad_to_multiple=max(1, config.pad_to_multiple))
    return create


def layer_settings(config: Config) -> Hyperparams:
    """Returns the settings of layers without batch norm: Keras's, or those of conv_hyperparams."""
    if not config.HasField("conv_hyperparams"):
        return Hyperparams(initializer=layers.GLOROT)
    given = hyperparams_builder.build(config.conv_hyperparams, is_training=False)
    return dataclasses.replace(given, batch_norm=None)


def pyramid_settings(config: Config, hyperparams: Hyperparams) -> fpn.PyramidSettings:
    """Returns the settings of the pyramid: linear layers, and the coarsest level a max pool."""
    linear = dataclasses.replace(hyperparams, activation=None)
    (finest, coarsest), depth = LEVELS, DEPTH
    if config.HasField("fpn"):
        finest, coarsest = config.fpn.min_level, config.fpn.max_level
        depth = config.fpn.additional_layer_depth
    return fpn.PyramidSettings(finest, coarsest, depth, lateral=linear, smoothing=linear)
