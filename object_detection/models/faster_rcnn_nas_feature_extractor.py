"""NASNet-A large backbone for Faster R-CNN: the third block of cells sees the regions."""

import abc
import dataclasses
from collections.abc import Mapping

import tensorflow as tf

from object_detection.core import feature_extractor
from object_detection.nets import nasnet, nasnet_cells
from object_detection.nets.drop_path import NO_DROP_PATH, DropPath
from object_detection.nets.slim_layers import BatchNorm

# As the network was trained for classification.
BATCH_NORM = BatchNorm(is_training=False, decay=0.9997, epsilon=0.001, scale=True)
WEIGHT_DECAY = 5e-5

# The map has 2x2 pixels then.
_MIN_IMAGE_SIDE = 33


@dataclasses.dataclass(frozen=True)
class CellsFeatureExtractor(feature_extractor.FasterRCNNFeatureExtractor, abc.ABC):
    """What the networks of cells share.

    Regions are cropped from the maps of the last two cells before the cut, side by side; behind the
    crop they are taken apart again. The stride is 16 always.

    Attributes:
        batch_norm: behind every convolution; gamma and beta are part of every checkpoint.
        weight_decay: factor of the L2 penalty on all weights of convolutions.
        drop_path: what is left out in training.
    """

    batch_norm: BatchNorm = BATCH_NORM
    weight_decay: float = 0.0
    drop_path: DropPath = NO_DROP_PATH

    @property
    def min_image_side(self) -> int:
        return _MIN_IMAGE_SIDE

    def preprocess(self, images: tf.Tensor) -> tf.Tensor:
        """Maps 0..255 to -1..1."""
        return (2.0 / 255.0) * images - 1.0

    def variable_name(self, name: str) -> str:
        """Returns the name in checkpoints: batch norm beside its convolution, not in its scope."""
        return nasnet_cells.variable_name(name)

    def classification_names(self, variables: Mapping[str, tf.Variable]) -> dict[str, tf.Variable]:
        """Returns the backbone's variables by their names in a classification checkpoint.

        The published ones hold the moving averages of the variables and not the variables.
        """
        names = super().classification_names(variables)
        return {f"{name}/ExponentialMovingAverage": variable for name, variable in names.items()}

    def _layers(self):  # noqa: ANN202 (slim's scope type)
        return nasnet_cells.arg_scope(self.batch_norm, self.weight_decay)


@dataclasses.dataclass(frozen=True)
class FasterRCNNNASFeatureExtractor(CellsFeatureExtractor):
    """NASNet-A large, cut before the second reduction cell.

    Attributes:
        filters: of a state of the first block's cells.
    """

    weight_decay: float = WEIGHT_DECAY
    filters: int = nasnet.FILTERS

    def feature_maps(self, pixels: tf.Tensor) -> list[tf.Tensor]:
        feature_extractor.check_image_side("nasnet", pixels, self.min_image_side)
        with self._layers():
            return [nasnet.base(pixels, self.filters, self.drop_path)]

    def box_features(self, crops: tf.Tensor) -> tf.Tensor:
        with self._layers():
            return nasnet.tail(crops, self.filters, self.drop_path)
