"""Inception v2 backbone for Faster R-CNN: Mixed_4e and below see the image, Mixed_5 the regions."""

import dataclasses

import tensorflow as tf

from object_detection.core import feature_extractor
from object_detection.nets import inception_v2
from object_detection.nets.slim_layers import BatchNorm
from object_detection.nets.variable_store import variable_scope

# As in detection checkpoints; the classification network has no gamma.
BATCH_NORM = BatchNorm(is_training=False, decay=0.9997, epsilon=0.001, scale=True)


@dataclasses.dataclass(frozen=True)
class FasterRCNNInceptionV2FeatureExtractor(feature_extractor.FasterRCNNFeatureExtractor):
    """Inception v2, cut after Mixed_4e.

    Attributes:
        stride: of the first stage's map, 8 (dilated) or 16.
        width: how many channels layers have.
        batch_norm: of every layer; gamma and beta are part of every checkpoint.
        weight_decay: factor of the L2 penalty on convolution weights.
    """

    stride: int = 16
    width: inception_v2.Width = inception_v2.Width()
    batch_norm: BatchNorm = BATCH_NORM
    weight_decay: float = 0.0

    @property
    def min_image_side(self) -> int:
        return 33

    def preprocess(self, images: tf.Tensor) -> tf.Tensor:
        """Maps 0..255 to -1..1."""
        return (2.0 / 255.0) * images - 1.0

    def feature_maps(self, pixels: tf.Tensor) -> list[tf.Tensor]:
        feature_extractor.check_image_side("inception_v2", pixels, self.min_image_side)
        with variable_scope("InceptionV2"), self._layers():
            return [inception_v2.base(pixels, self.width, self.stride)]

    def box_features(self, crops: tf.Tensor) -> tf.Tensor:
        with variable_scope("InceptionV2"), self._layers():
            return inception_v2.tail(crops, self.width)

    def _layers(self):  # noqa: ANN202 (slim's scope type)
        return inception_v2.arg_scope(self.batch_norm, self.weight_decay)
