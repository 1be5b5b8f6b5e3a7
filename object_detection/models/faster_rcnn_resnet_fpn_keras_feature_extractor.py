"""Keras's ResNet v1 with a feature pyramid; two dense layers see the regions."""

import dataclasses

import tensorflow as tf

from object_detection.models.faster_rcnn_resnet_v1_feature_extractor import CHANNEL_MEANS
from object_detection.models.keras_feature_extractor import KerasFeatureExtractor
from object_detection.nets import fpn, fpn_names, keras_graph, keras_names, resnet_keras
from object_detection.nets import slim_layers as layers
from object_detection.nets.hyperparams import Hyperparams
from object_detection.nets.variable_store import variable_scope

DENSE_UNITS = 1024


@dataclasses.dataclass(frozen=True)
class FasterRCNNResnetFpnKerasFeatureExtractor(KerasFeatureExtractor):
    """ResNet v1 with 50, 101 or 152 layers under a pyramid.

    Attributes:
        num_layers: 50, 101 or 152.
        backbone: settings of the ResNet's layers.
        pyramid: levels and layers of the pyramid.
        dense: settings of the two dense layers; their batch norm follows the activation of the
            first.
        pad_to_multiple: images are padded right and below to a multiple of this many pixels.
    """

    num_layers: int
    backbone: Hyperparams
    pyramid: fpn.PyramidSettings
    dense: Hyperparams
    pad_to_multiple: int = 32

    @property
    def min_image_side(self) -> int:
        """Any size: the least padding makes a map of every level."""
        return 1

    @property
    def pyramid_levels(self) -> tuple[int, int]:
        return self.pyramid.min_level, self.pyramid.max_level

    @property
    def network(self) -> keras_graph.Network:
        return keras_graph.resnet(self.num_layers, last_stage_sees_regions=False)

    def variable_name(self, name: str) -> str:
        own = fpn_names.keras_layers(self.pyramid.min_level, self.pyramid.max_level)
        return keras_names.variable_name(name, {**self.network.layers, **own})

    def layer_paths(self) -> dict[str, str]:
        backbone = f"{keras_names.FIRST_EXTRACTOR}/classification_backbone/"
        own = fpn_names.layer_paths(self.pyramid.min_level, self.pyramid.max_level,
                                    self.dense.batch_norm is not None)
        return {**keras_names.numbered(backbone, self.network.first), **own}

    def preprocess(self, images: tf.Tensor) -> tf.Tensor:
        """Subtracts the channel means; images with more than three channels stay as they are."""
        if images.shape[-1] == 3:
            return images - tf.constant(CHANNEL_MEANS, images.dtype)
        return images

    def covered_size(self, size: tf.Tensor) -> tf.Tensor:
        return tf.math.ceil(size / self.pad_to_multiple) * self.pad_to_multiple

    def feature_maps(self, pixels: tf.Tensor) -> list[tf.Tensor]:
        """Returns the levels of the pyramid."""
        maps = resnet_keras.maps(_padded(pixels, self.pad_to_multiple), self.num_layers,
                                 self.backbone)
        with variable_scope(fpn_names.PYRAMID_SCOPE):
            return fpn.pyramid(dict(enumerate(maps, start=resnet_keras.FIRST_STAGE)), self.pyramid)

    def box_features(self, crops: tf.Tensor) -> tf.Tensor:
        """Maps [regions, h, w, depth] to [regions, 1, 1, 1024]."""
        net = tf.reshape(crops, [-1, crops.shape[1] * crops.shape[2] * crops.shape[3]])
        norm = self.dense.batch_norm
        with dataclasses.replace(self.dense, batch_norm=None).arg_scope():
            net = layers.fully_connected(net, DENSE_UNITS, scope="fc6")
            if norm is not None:
                net = layers.batch_norm(net[:, None, None, :], norm, scope="fc6")[:, 0, 0, :]
            net = layers.fully_connected(net, DENSE_UNITS, scope="fc7")
        return net[:, None, None, :]


def _padded(pixels: tf.Tensor, multiple: int) -> tf.Tensor:
    """Adds zeros below and right up to a multiple of `multiple`."""
    dynamic = tf.shape(pixels)
    missing = [-(dynamic[axis] if pixels.shape[axis] is None else pixels.shape[axis]) % multiple
               for axis in (1, 2)]
    return tf.pad(pixels, [[0, 0], [0, missing[0]], [0, missing[1]], [0, 0]])
