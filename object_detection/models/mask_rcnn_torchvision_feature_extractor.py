"""Backbone of torchvision's detectors: ResNet, and a feature pyramid on it."""

import dataclasses
from collections.abc import Mapping

import tensorflow as tf

from object_detection.core.feature_extractor import FIRST_STAGE_SCOPE
from object_detection.models.mask_rcnn_resnet_fpn_feature_extractor import (
    MaskRCNNFpnFeatureExtractor,
)
from object_detection.nets import torchvision_names
from object_detection.nets.slim_layers import BatchNorm

BATCH_NORM = BatchNorm(is_training=False, decay=0.9, epsilon=1e-5, scale=True)

_BODY = "backbone/body/"


@dataclasses.dataclass(frozen=True)
class TorchvisionFpnFeatureExtractor(MaskRCNNFpnFeatureExtractor):
    """A pyramid with the variable names of torchvision's state_dicts.

    Attributes:
        pixel_mean, pixel_std: of red, green and blue in [0, 1]; the mean is subtracted, and the
            rest divided by the standard deviation.
    """

    pixel_mean: tuple[float, ...] = (0.485, 0.456, 0.406)
    pad_to_multiple: int = 32
    pixel_std: tuple[float, ...] = (0.229, 0.224, 0.225)

    def preprocess(self, images: tf.Tensor) -> tf.Tensor:
        mean = tf.constant(self.pixel_mean, images.dtype)
        return (images / 255.0 - mean) / tf.constant(self.pixel_std, images.dtype)

    def variable_name(self, name: str) -> str:
        return torchvision_names.variable_name(name)

    def classification_names(self, variables: Mapping[str, tf.Variable]) -> dict[str, tf.Variable]:
        """Returns the backbone's variables under the names of a state_dict of `resnet50`."""
        inside = {self.variable_name(name): variable for name, variable in variables.items()
                  if name.startswith(f"{FIRST_STAGE_SCOPE}/")}
        return {name.removeprefix(_BODY): variable for name, variable in inside.items()
                if name.startswith(_BODY)}
