"""Inception-ResNet v2 backbone for Faster R-CNN: Mixed_7a and what follows see the regions."""

import dataclasses
from collections.abc import Mapping

import tensorflow as tf

from object_detection.core import feature_extractor
from object_detection.nets import inception_resnet_v2
from object_detection.nets.slim_layers import BatchNorm
from object_detection.nets.variable_store import variable_scope

# As the network was trained for classification: without a gamma.
BATCH_NORM = BatchNorm(is_training=False, decay=0.9997, epsilon=0.001)

_SCOPE = "InceptionResnetV2"


@dataclasses.dataclass(frozen=True)
class FasterRCNNInceptionResnetV2FeatureExtractor(feature_extractor.FasterRCNNFeatureExtractor):
    """Inception-ResNet v2, cut after the last block17.

    Attributes:
        stride: of the first stage's map, 8 (dilated) or 16.
        batch_norm: of every layer that has no biases; beta is part of every checkpoint.
        weight_decay: factor of the L2 penalty on convolution weights.
    """

    stride: int = 16
    batch_norm: BatchNorm = BATCH_NORM
    weight_decay: float = 0.0

    @property
    def min_image_side(self) -> int:
        return 33

    def preprocess(self, images: tf.Tensor) -> tf.Tensor:
        """Maps 0..255 to -1..1."""
        return (2.0 / 255.0) * images - 1.0

    def feature_maps(self, pixels: tf.Tensor) -> list[tf.Tensor]:
        feature_extractor.check_image_side("inception_resnet_v2", pixels, self.min_image_side)
        with variable_scope(_SCOPE), self._layers():
            return [inception_resnet_v2.base(pixels, self.stride)]

    def box_features(self, crops: tf.Tensor) -> tf.Tensor:
        for size in crops.shape[1:3]:
            if size is not None and size < 3:
                raise ValueError(
                    "inception_resnet_v2: pooled crops must be at least 3 pixels high and wide, "
                    f"got {size}; raise initial_crop_size or lower maxpool_stride")
        with variable_scope(_SCOPE), self._layers():
            return inception_resnet_v2.tail(crops)

    def classification_names(self, variables: Mapping[str, tf.Variable]) -> dict[str, tf.Variable]:
        """Returns the backbone's variables by their names in a classification checkpoint.

        The run of block8 is the network's third, `Repeat_2`, there; in the second stage, which has
        no other, it is named `Repeat`.
        """
        tail = f"{feature_extractor.SECOND_STAGE_SCOPE}/{_SCOPE}/"
        renamed = {f"{tail}Repeat_2/{name.removeprefix(f'{tail}Repeat/')}"
                   if name.startswith(f"{tail}Repeat/") else name: variable
                   for name, variable in variables.items()}
        return super().classification_names(renamed)

    def _layers(self):  # noqa: ANN202 (slim's scope type)
        return inception_resnet_v2.arg_scope(self.batch_norm, self.weight_decay)
