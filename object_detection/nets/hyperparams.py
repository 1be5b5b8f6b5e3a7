"""Settings shared by the layers of one network part."""

import contextlib
import dataclasses
from collections.abc import Iterator

import tensorflow as tf

from object_detection.nets import slim_layers as layers


@dataclasses.dataclass(frozen=True)
class Hyperparams:
    """How the layers of a part are initialised, normalised, activated and regularized.

    Attributes:
        activation: applied after each layer that does not set its own; None: linear.
        batch_norm: normalizes each layer, also by groups; None: layers have biases instead.
        regularizer: adds a penalty on each weight; None: none.
        biases_regularizer: the same for biases.
        depthwise_regularizer: the same for the first half of separable convolutions.
    """

    initializer: layers.Initializer
    activation: layers.Activation | None = tf.nn.relu
    batch_norm: layers.Normalizer | None = None
    regularizer: layers.Regularizer | None = None
    biases_regularizer: layers.Regularizer | None = None
    depthwise_regularizer: layers.Regularizer | None = None

    @property
    def moves_statistics(self) -> bool:
        """Whether the layers change variables whenever they run."""
        return isinstance(self.batch_norm, layers.BatchNorm) and self.batch_norm.is_training

    @contextlib.contextmanager
    def arg_scope(self) -> Iterator[None]:
        """Gives these settings to convolutions and dense layers."""
        kinds = [layers.conv2d, layers.separable_conv2d, layers.fully_connected]
        with layers.arg_scope(
                kinds, activation_fn=self.activation, normalizer=self.batch_norm,
                weights_initializer=self.initializer, weights_regularizer=self.regularizer,
                biases_regularizer=self.biases_regularizer), layers.arg_scope(
                    [layers.separable_conv2d], depthwise_regularizer=self.depthwise_regularizer):
            yield
