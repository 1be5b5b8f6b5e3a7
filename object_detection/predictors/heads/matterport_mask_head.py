"""Mask head of Matterport's Mask_RCNN: convolutions, an enlargement, and a mask per class."""

import dataclasses

import tensorflow as tf

from object_detection.nets import slim_layers as layers
from object_detection.nets.hyperparams import Hyperparams
from object_detection.nets.variable_store import variable, variable_scope

_ZEROS = tf.zeros_initializer()


@dataclasses.dataclass(frozen=True)
class MatterportMaskHead:
    """Draws masks of twice the side of the crops.

    Attributes:
        num_classes: foreground classes C. The last layer has a mask for background as well, which
            nobody reads.
        hyperparams: of the convolutions, with batch norm; the last two layers have none.
        num_conv_layers: 3x3 convolutions before the enlargement.
        conv_depth: their channels.
    """

    num_classes: int
    hyperparams: Hyperparams
    num_conv_layers: int = 4
    conv_depth: int = 256

    def predict(self, features: tf.Tensor) -> tf.Tensor:
        """Maps float [regions, h, w, depth] to float32 logits [regions, C, 2 * h, 2 * w]."""
        net = features
        with self.hyperparams.arg_scope():
            for number in range(1, self.num_conv_layers + 1):
                net = layers.conv2d(net, self.conv_depth, 3, scope=f"mrcnn_mask_conv{number}")
            net = self._doubled(net)
            net = layers.conv2d(net, self.num_classes + 1, 1, activation_fn=None, normalizer=None,
                                scope="mrcnn_mask")
        return tf.transpose(tf.cast(net[..., 1:], tf.float32), [0, 3, 1, 2])

    def _doubled(self, features: tf.Tensor) -> tf.Tensor:
        """Transposed convolution: each pixel becomes a block of 2 x 2."""
        depth = self.conv_depth
        with variable_scope("mrcnn_mask_deconv"):
            weights = variable("weights", [2, 2, depth, features.shape[-1]],
                               self.hyperparams.initializer, self.hyperparams.regularizer)
            biases = variable("biases", [depth], _ZEROS, self.hyperparams.biases_regularizer)
        shape = tf.shape(features)
        outputs = tf.nn.conv2d_transpose(
            features, tf.cast(weights, features.dtype),
            [shape[0], 2 * shape[1], 2 * shape[2], depth], strides=2, padding="VALID")
        return tf.nn.relu(tf.nn.bias_add(outputs, tf.cast(biases, outputs.dtype)))
