"""ResNet v1 backbones for Faster R-CNN: blocks 1 to 3 see the image, block 4 sees the regions."""

import dataclasses

import tensorflow as tf

from object_detection.core import feature_extractor
from object_detection.nets import resnet_v1
from object_detection.nets.slim_layers import BatchNorm
from object_detection.nets.variable_store import variable_scope

# Mean of each channel (red, green, blue) over the images that the weights were trained on.
CHANNEL_MEANS = (123.68, 116.779, 103.939)

# As the network was trained for classification.
BATCH_NORM = BatchNorm(is_training=False, decay=0.997, epsilon=1e-5, scale=True)


def subtract_channel_means(images: tf.Tensor) -> tf.Tensor:
    """Centres [..., 3] in 0..255; images with more than three channels stay as they are."""
    if images.shape[-1] == 3:
        return images - tf.constant(CHANNEL_MEANS, images.dtype)
    return images


@dataclasses.dataclass(frozen=True)
class FasterRCNNResnetV1FeatureExtractor(feature_extractor.FasterRCNNFeatureExtractor):
    """ResNet v1 with 50, 101 or 152 layers, cut after block 3.

    Attributes:
        num_layers: 50, 101 or 152.
        stride: of the first stage's map, 8 (dilated) or 16.
        batch_norm: of every layer; gamma and beta are part of every checkpoint.
        weight_decay: factor of the L2 penalty on convolution weights.
    """

    num_layers: int
    stride: int = 16
    batch_norm: BatchNorm = BATCH_NORM
    weight_decay: float = 0.0

    @property
    def min_image_side(self) -> int:
        return 33

    def preprocess(self, images: tf.Tensor) -> tf.Tensor:
        return subtract_channel_means(images)

    def feature_maps(self, pixels: tf.Tensor) -> list[tf.Tensor]:
        feature_extractor.check_image_side(self._name, pixels, self.min_image_side)
        with variable_scope(self._name), self._layers():
            return [resnet_v1.base(pixels, self.num_layers, self.stride)["block3"]]

    def box_features(self, crops: tf.Tensor) -> tf.Tensor:
        with variable_scope(self._name), self._layers():
            return resnet_v1.block4(crops, self.num_layers)

    @property
    def _name(self) -> str:
        return f"resnet_v1_{self.num_layers}"

    def _layers(self):  # noqa: ANN202 (slim's scope type)
        return resnet_v1.arg_scope(self.batch_norm, self.weight_decay)
