"""MobileNet v1 backbone for Faster R-CNN: pairs 1 to 11 see the image, 12 and 13 the regions."""

import dataclasses

import tensorflow as tf

from object_detection.core import feature_extractor
from object_detection.nets import mobilenet_v1
from object_detection.nets.slim_layers import BatchNorm
from object_detection.nets.variable_store import variable_scope

# As the network was trained for classification.
BATCH_NORM = BatchNorm(is_training=False, decay=0.9997, epsilon=0.001, scale=True)


@dataclasses.dataclass(frozen=True)
class FasterRCNNMobilenetV1FeatureExtractor(feature_extractor.FasterRCNNFeatureExtractor):
    """MobileNet v1, cut after Conv2d_11_pointwise.

    Attributes:
        stride: of the first stage's map, 8 (dilated) or 16.
        depth_multiplier: factor of every layer's number of channels.
        min_depth: smallest number of channels a layer is thinned to.
        batch_norm: of every layer; gamma and beta are part of every checkpoint.
        weight_decay: factor of the L2 penalty on pointwise weights.
    """

    stride: int = 16
    depth_multiplier: float = 1.0
    min_depth: int = 16
    batch_norm: BatchNorm = BATCH_NORM
    weight_decay: float = 0.0

    @property
    def min_image_side(self) -> int:
        return 33

    def preprocess(self, images: tf.Tensor) -> tf.Tensor:
        """Maps 0..255 to -1..1."""
        return (2.0 / 255.0) * images - 1.0

    def feature_maps(self, pixels: tf.Tensor) -> list[tf.Tensor]:
        feature_extractor.check_image_side("mobilenet_v1", pixels, self.min_image_side)
        with variable_scope("MobilenetV1"), self._layers():
            return [mobilenet_v1.base(pixels, self.depth_multiplier, self.min_depth,
                                      output_stride=self.stride)]

    def box_features(self, crops: tf.Tensor) -> tf.Tensor:
        with variable_scope("MobilenetV1"), self._layers():
            return mobilenet_v1.tail(crops, self.depth_multiplier, self.min_depth)

    def _layers(self):  # noqa: ANN202 (slim's scope type)
        return mobilenet_v1.arg_scope(self.batch_norm, self.weight_decay)
