"""Keras's Inception-ResNet v2 for Faster R-CNN: mixed_7a and what follows see the regions."""

import dataclasses

import tensorflow as tf

from object_detection.core import feature_extractor
from object_detection.models.faster_rcnn_inception_resnet_v2_feature_extractor import BATCH_NORM
from object_detection.models.keras_feature_extractor import KerasFeatureExtractor
from object_detection.nets import inception_resnet_v2, keras_graph
from object_detection.nets.slim_layers import BatchNorm


@dataclasses.dataclass(frozen=True)
class FasterRCNNInceptionResnetV2KerasFeatureExtractor(KerasFeatureExtractor):
    """Inception-ResNet v2, cut after the last block17.

    Attributes:
        stride: of the first stage's map, 8 (dilated) or 16; the second stage is the same for both.
        batch_norm: of every layer that has no biases.
        weight_decay: factor of the L2 penalty on convolution weights.
    """

    stride: int = 16
    batch_norm: BatchNorm = BATCH_NORM
    weight_decay: float = 0.0

    @property
    def min_image_side(self) -> int:
        return 33

    @property
    def network(self) -> keras_graph.Network:
        return keras_graph.inception_resnet()

    def preprocess(self, images: tf.Tensor) -> tf.Tensor:
        """Maps 0..255 to -1..1."""
        return (2.0 / 255.0) * images - 1.0

    def feature_maps(self, pixels: tf.Tensor) -> list[tf.Tensor]:
        feature_extractor.check_image_side("inception_resnet_v2_keras", pixels,
                                           self.min_image_side)
        with self._layers():
            return [inception_resnet_v2.base(pixels, self.stride)]

    def box_features(self, crops: tf.Tensor) -> tf.Tensor:
        """Runs the last blocks: [regions, h, w, 1088] to [regions, h / 2, w / 2, 1536]."""
        with self._layers():
            return inception_resnet_v2.tail(crops, padding="SAME")

    def _layers(self):  # noqa: ANN202 (slim's scope type)
        return inception_resnet_v2.arg_scope(self.batch_norm, self.weight_decay)
