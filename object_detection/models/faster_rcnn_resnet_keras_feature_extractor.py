"""Keras's ResNet v1 for Faster R-CNN: stages 1 to 4 see the image, stage 5 sees the regions."""

import dataclasses

import tensorflow as tf

from object_detection.core import feature_extractor
from object_detection.models.faster_rcnn_resnet_v1_feature_extractor import (
    BATCH_NORM,
    subtract_channel_means,
)
from object_detection.models.keras_feature_extractor import KerasFeatureExtractor
from object_detection.nets import keras_graph, resnet_keras
from object_detection.nets import slim_layers as layers
from object_detection.nets.hyperparams import Hyperparams


def hyperparams(batch_norm: layers.BatchNorm = BATCH_NORM,
                regularizer: layers.Regularizer | None = None) -> Hyperparams:
    """Returns the settings of the network's layers, as it was trained for classification."""
    return Hyperparams(initializer=layers.variance_scaling_initializer(factor=1.0),
                       batch_norm=batch_norm, regularizer=regularizer)


@dataclasses.dataclass(frozen=True)
class FasterRCNNResnetKerasFeatureExtractor(KerasFeatureExtractor):
    """ResNet v1 with 50, 101 or 152 layers, cut after stage 4.

    Attributes:
        num_layers: 50, 101 or 152.
        hyperparams: of every layer.
    """

    num_layers: int
    hyperparams: Hyperparams = dataclasses.field(default_factory=hyperparams)

    @property
    def min_image_side(self) -> int:
        return 33

    @property
    def network(self) -> keras_graph.Network:
        return keras_graph.resnet(self.num_layers, last_stage_sees_regions=True)

    def preprocess(self, images: tf.Tensor) -> tf.Tensor:
        return subtract_channel_means(images)

    def feature_maps(self, pixels: tf.Tensor) -> list[tf.Tensor]:
        """Returns the map of stride 16."""
        feature_extractor.check_image_side(f"resnet{self.num_layers}_keras", pixels,
                                           self.min_image_side)
        return resnet_keras.maps(pixels, self.num_layers, self.hyperparams, last_stage=4)[-1:]

    def box_features(self, crops: tf.Tensor) -> tf.Tensor:
        """Runs stage 5 with its stride: [regions, h, w, 1024] to [regions, h / 2, w / 2, 2048]."""
        return resnet_keras.stage(crops, resnet_keras.LAST_STAGE, self.num_layers,
                                  self.hyperparams)
