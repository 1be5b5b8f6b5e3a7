"""PNASNet-5 large backbone for Faster R-CNN: the third block of cells sees the regions."""

import dataclasses

import tensorflow as tf

from object_detection.core import feature_extractor
from object_detection.models.faster_rcnn_nas_feature_extractor import CellsFeatureExtractor
from object_detection.nets import pnasnet

# As the network was trained for classification.
WEIGHT_DECAY = 4e-5


@dataclasses.dataclass(frozen=True)
class FasterRCNNPNASFeatureExtractor(CellsFeatureExtractor):
    """PNASNet-5 large, cut before the second cell that reduces.

    Attributes:
        filters: of a state of the first block's cells.
    """

    weight_decay: float = WEIGHT_DECAY
    filters: int = pnasnet.FILTERS

    def feature_maps(self, pixels: tf.Tensor) -> list[tf.Tensor]:
        feature_extractor.check_image_side("pnasnet", pixels, self.min_image_side)
        with self._layers():
            return [pnasnet.base(pixels, self.filters, self.drop_path)]

    def box_features(self, crops: tf.Tensor) -> tf.Tensor:
        with self._layers():
            return pnasnet.tail(crops, self.filters, self.drop_path)
