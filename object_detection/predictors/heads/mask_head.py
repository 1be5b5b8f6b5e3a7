"""Head that draws the mask of each region."""

import dataclasses
import math
from collections.abc import Callable

import tensorflow as tf

from object_detection.nets import keras_names
from object_detection.nets import slim_layers as layers
from object_detection.nets.hyperparams import Hyperparams


def automatic_depth(num_feature_channels: int, num_classes: int) -> int:
    """Returns the power of two nearest the geometric mean (2:3) of feature depth and classes."""
    logarithm = (2.0 * math.log2(num_feature_channels) + 3.0 * math.log2(num_classes)) / 5.0
    return 2 ** round(logarithm)


def _slim_scopes(num_convolutions: int, upsampled: bool) -> list[str]:
    """Returns the names slim gives to unnamed convolutions: Conv, Conv_1, ..."""
    names = ["Conv", *(f"Conv_{number}" for number in range(1, num_convolutions + upsampled))]
    return names


@dataclasses.dataclass(frozen=True)
class MaskLayout:
    """What differs between the mask heads of one family of checkpoints and another.

    Attributes:
        scopes: names the convolutions in order, from their number (with the last one, without the
            one behind an enlargement) and whether features are enlarged between them.
        upsampled_kernel_size: of the convolution behind the enlargement; None: as many pixels as
            one pixel is repeated to.
    """

    scopes: Callable[[int, bool], list[str]]
    upsampled_kernel_size: int | None = None


SLIM_LAYOUT = MaskLayout(_slim_scopes)
KERAS_LAYOUT = MaskLayout(keras_names.mask_layers, upsampled_kernel_size=3)


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
        layout: names of the layers.
    """

    num_classes: int
    hyperparams: Hyperparams
    mask_height: int = 15
    mask_width: int = 15
    num_conv_layers: int = 2
    conv_depth: int = 256
    class_agnostic: bool = False
    convolve_then_upsample: bool = False
    layout: MaskLayout = SLIM_LAYOUT

    def predict(self, features: tf.Tensor) -> tf.Tensor:
        """Maps float [regions, h, w, depth] to float32 logits [regions, C or 1, height, width]."""
        depth = self.conv_depth or automatic_depth(features.shape[-1], self.num_classes)
        masks = 1 if self.class_agnostic else self.num_classes
        *repeated, last = self.layout.scopes(self.num_conv_layers, self.convolve_then_upsample)
        with self.hyperparams.arg_scope():
            net = features if self.convolve_then_upsample else self._resized(features)
            for scope in repeated[:self.num_conv_layers - 1]:
                net = layers.conv2d(net, depth, 3, scope=scope)
            if self.convolve_then_upsample:
                net = self._enlarged(net, depth, repeated[-1])
            net = layers.conv2d(net, masks, 3, activation_fn=None, normalizer=None, scope=last)
        return tf.transpose(tf.cast(net, tf.float32), [0, 3, 1, 2])

    def _enlarged(self, features: tf.Tensor, depth: int, scope: str) -> tf.Tensor:
        height, width = self.mask_height // features.shape[1], self.mask_width // features.shape[2]
        if min(height, width) < 1:
            raise ValueError(
                f"mask_rcnn_box_predictor: masks of {self.mask_height} x {self.mask_width} are "
                f"smaller than the features of {features.shape[1]} x {features.shape[2]} that "
                "convolve_then_upsample_masks enlarges; raise mask_height and mask_width")
        repeated = tf.repeat(tf.repeat(features, height, axis=1), width, axis=2)
        return layers.conv2d(repeated, depth,
                             self.layout.upsampled_kernel_size or [height, width], scope=scope)

    def _resized(self, features: tf.Tensor) -> tf.Tensor:
        return tf.compat.v1.image.resize_bilinear(
            features, [self.mask_height, self.mask_width], align_corners=True)
