"""Head that draws the mask of each region."""

import dataclasses
import math

import tensorflow as tf

from object_detection.nets import slim_layers as layers
from object_detection.nets.hyperparams import Hyperparams


def automatic_depth(num_feature_channels: int, num_classes: int) -> int:
    """Returns the power of two nearest the geometric mean (2:3) of feature depth and classes."""
    logarithm = (2.0 * math.log2(num_feature_channels) + 3.0 * math.log2(num_classes)) / 5.0
    return 2 ** round(logarithm)


@dataclasses.dataclass(frozen=True)
class MaskHead:
    """A few 3x3 convolutions at mask size, then one mask of logits per class.

    Attributes:
        num_classes: foreground classes C.
        mask_height, mask_width: of the drawn mask, which covers the region's box.
        num_conv_layers: convolutions before the last; one fewer when resized first.
        conv_depth: channels of these; 0 chooses by `automatic_depth`.
        class_agnostic: one mask per region instead of one per class.
        convolve_then_upsample: run the convolutions at the size of the features, then enlarge by
            repeating pixels, instead of resizing (bilinear) before them.
    """

    num_classes: int
    hyperparams: Hyperparams
    mask_height: int = 15
    mask_width: int = 15
    num_conv_layers: int = 2
    conv_depth: int = 256
    class_agnostic: bool = False
    convolve_then_upsample: bool = False

    def predict(self, features: tf.Tensor) -> tf.Tensor:
        """Maps float [regions, h, w, depth] to float32 logits [regions, C or 1, height, width]."""
        depth = self.conv_depth or automatic_depth(features.shape[-1], self.num_classes)
        masks = 1 if self.class_agnostic else self.num_classes
        with self.hyperparams.arg_scope():
            net = features if self.convolve_then_upsample else self._resized(features)
            layer = 0
            for layer in range(self.num_conv_layers - 1):
                net = layers.conv2d(net, depth, 3, scope=_name(layer))
            layer = self.num_conv_layers - 1
            if self.convolve_then_upsample:
                height_scale = self.mask_height // net.shape[1]
                width_scale = self.mask_width // net.shape[2]
                net = tf.repeat(tf.repeat(net, height_scale, axis=1), width_scale, axis=2)
                net = layers.conv2d(net, depth, [height_scale, width_scale], scope=_name(layer))
                layer += 1
            net = layers.conv2d(net, masks, 3, activation_fn=None, normalizer=None,
                                scope=_name(layer))
        return tf.transpose(tf.cast(net, tf.float32), [0, 3, 1, 2])

    def _resized(self, features: tf.Tensor) -> tf.Tensor:
        return tf.compat.v1.image.resize_bilinear(
            features, [self.mask_height, self.mask_width], align_corners=True)


def _name(layer: int) -> str:
    """Returns the name slim gives the n-th unnamed convolution: Conv, Conv_1, ..."""
    return f"Conv_{layer}" if layer else "Conv"
