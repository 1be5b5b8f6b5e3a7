"""Backbones of Matterport's Mask_RCNN: a network of four maps, and a feature pyramid on it."""

import dataclasses
from collections.abc import Callable, Mapping, Sequence

import tensorflow as tf

from object_detection.core import feature_extractor
from object_detection.core.feature_extractor import FIRST_STAGE_SCOPE
from object_detection.nets import fpn, matterport_names
from object_detection.nets.slim_layers import BatchNorm
from object_detection.nets.variable_store import variable_scope

# Mean of red, green and blue.
PIXEL_MEAN = (123.7, 116.8, 103.9)
BATCH_NORM = BatchNorm(is_training=False, decay=0.99, epsilon=0.001, scale=True, biased=True)

# Preprocessed pixels [B, H, W, 3] to the maps of strides 4, 8, 16 and 32.
Backbone = Callable[[tf.Tensor], Sequence[tf.Tensor]]

_FINEST = 2  # level of a backbone's first map; level n has stride 2^n
_PYRAMID_SCOPE = "fpn"


@dataclasses.dataclass(frozen=True)
class MaskRCNNFpnFeatureExtractor(feature_extractor.FasterRCNNFeatureExtractor):
    """A pyramid over any backbone, with the variable names of Matterport's `.h5` files.

    Attributes:
        backbone: asks for its variables by name; a layer called `c1` is `c1/kernel` in a file.
        pyramid: levels and layers of the pyramid.
        pixel_mean: subtracted from each channel.
        pad_to_multiple: images are padded right and below to a multiple of this many pixels, so
            that the maps of all levels cover the same part.
    """

    backbone: Backbone
    pyramid: fpn.PyramidSettings
    pixel_mean: tuple[float, ...] = PIXEL_MEAN
    pad_to_multiple: int = 64

    @property
    def min_image_side(self) -> int:
        return 2

    @property
    def pyramid_levels(self) -> tuple[int, int]:
        return self.pyramid.min_level, self.pyramid.max_level

    def preprocess(self, images: tf.Tensor) -> tf.Tensor:
        return images - tf.constant(self.pixel_mean, images.dtype)

    def feature_maps(self, pixels: tf.Tensor) -> list[tf.Tensor]:
        maps = self.backbone_maps(pixels)
        with variable_scope(_PYRAMID_SCOPE):
            return fpn.pyramid(dict(enumerate(maps, _FINEST)), self.pyramid)

    def backbone_maps(self, pixels: tf.Tensor) -> Sequence[tf.Tensor]:
        """Returns the maps of strides 4, 8, 16 and 32 without the pyramid.

        Raises:
            ValueError: if the backbone gives another number of maps.
        """
        maps = self.backbone(_padded(pixels, self.pad_to_multiple))
        if len(maps) != 4:
            raise ValueError("the backbone of a MaskRCNNFpnFeatureExtractor returns the maps of "
                             f"strides 4, 8, 16 and 32, got {len(maps)} maps")
        return maps

    def box_features(self, crops: tf.Tensor) -> tf.Tensor:
        """Returns the crops: the pyramid is all of the network before the heads."""
        return crops

    def covered_size(self, size: tf.Tensor) -> tf.Tensor:
        return tf.math.ceil(size / self.pad_to_multiple) * self.pad_to_multiple

    def variable_name(self, name: str) -> str:
        return matterport_names.variable_name(name)

    def classification_names(self, variables: Mapping[str, tf.Variable]) -> dict[str, tf.Variable]:
        """Returns the backbone's variables under the names of a file of Keras's own networks."""
        inside = f"{FIRST_STAGE_SCOPE}/"
        return {self.variable_name(name): variable for name, variable in variables.items()
                if name.startswith(inside) and not name.startswith(f"{inside}{_PYRAMID_SCOPE}/")}


def _padded(pixels: tf.Tensor, multiple: int) -> tf.Tensor:
    """Pads [B, H, W, channels] with zeros right and below; nothing where that is known to fit."""
    height, width = pixels.shape[1:3]
    if None not in (height, width):
        missing = [-height % multiple, -width % multiple]
        if missing == [0, 0]:
            return pixels
    else:
        missing = tf.unstack(-tf.shape(pixels)[1:3] % multiple)
    return tf.pad(pixels, [[0, 0], [0, missing[0]], [0, missing[1]], [0, 0]])
