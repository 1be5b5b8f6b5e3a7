"""Settings shared by the layers of one network part."""

import dataclasses

import tensorflow as tf

from object_detection.nets import slim_layers as layers


@dataclasses.dataclass(frozen=True)
class Hyperparams:
    """How the layers of a part are initialised, normalised, activated and regularized.

    Attributes:
        activation: applied after each layer that does not set its own; None: linear.
        batch_norm: None: layers have biases instead.
        regularizer: adds a penalty on each weight; None: none.
    """

    initializer: layers.Initializer
    activation: layers.Activation | None = tf.nn.relu
    batch_norm: layers.BatchNorm | None = None
    regularizer: layers.Regularizer | None = None

    def arg_scope(self):  # noqa: ANN201 (slim's scope type)
        """Returns the slim scope that gives these settings to convolutions and dense layers."""
        return layers.arg_scope(
            [layers.conv2d, layers.separable_conv2d, layers.fully_connected],
            activation_fn=self.activation, normalizer=self.batch_norm,
            weights_initializer=self.initializer, weights_regularizer=self.regularizer)
