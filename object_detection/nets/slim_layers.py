"""Layers in tf-slim style, over the variable store.

The signatures and variable names are those of `tf_slim.layers`, and defaults are set with slim's
`arg_scope`; the bodies are a few TF2 ops each. (slim's own layers reach into Keras internals that
TensorFlow no longer maintains, and its batch norm does not import any more.) This is the only file
that imports tf_slim.

A batch norm that is frozen is folded into the convolution before it: with
s = gamma / sqrt(variance + epsilon), conv(x, w) * s + (beta - mean * s) equals
conv(x, w * s) + (beta - mean * s), which spares a pass over the activations forward and backward;
gradients reach gamma and beta through s.
"""

import dataclasses
import math
from collections.abc import Callable, Sequence

import tensorflow as tf
import tf_slim as slim

from object_detection.nets.variable_store import (
    Initializer,
    Regularizer,
    variable,
    variable_scope,
)

arg_scope = slim.arg_scope
l1_regularizer = slim.l1_regularizer
l2_regularizer = slim.l2_regularizer
variance_scaling_initializer = slim.variance_scaling_initializer
# TensorFlow's own, not Keras's: an instance of those gives the same values at every call.
truncated_normal_initializer = tf.compat.v1.truncated_normal_initializer
random_normal_initializer = tf.compat.v1.random_normal_initializer

Activation = Callable[[tf.Tensor], tf.Tensor]

# What slim calls xavier; and no bias to start with.
_GLOROT = slim.xavier_initializer()
_ZEROS = tf.zeros_initializer()


@dataclasses.dataclass(frozen=True)
class BatchNorm:
    """Settings of a batch norm layer.

    Attributes:
        is_training: normalise by the batch's own statistics and update the moving ones; otherwise
            the moving statistics are used and stay as they are.
        decay: share of the old moving value kept at each update.
        epsilon: added to the variance.
        center, scale: whether there is a `beta`, a `gamma`.
    """

    is_training: bool
    decay: float = 0.999
    epsilon: float = 0.001
    center: bool = True
    scale: bool = False


@slim.add_arg_scope
def conv2d(inputs: tf.Tensor, num_outputs: int, kernel_size: int | Sequence[int],
           stride: int = 1, padding: str = "SAME", rate: int = 1,
           activation_fn: Activation | None = tf.nn.relu, normalizer: BatchNorm | None = None,
           weights_initializer: Initializer = _GLOROT,
           weights_regularizer: Regularizer | None = None,
           biases_initializer: Initializer | None = _ZEROS,
           scope: str = "Conv") -> tf.Tensor:
    """2-D convolution, then batch norm (or biases), then the activation.

    Args:
        inputs: float [B, h, w, depth]; the convolution runs in this dtype.
        kernel_size: side, or (height, width).
        rate: dilation (atrous rate).
        normalizer: with batch norm there are no biases.
    """
    height, width = _pair(kernel_size)
    with variable_scope(scope):
        weights = variable("weights", [height, width, inputs.shape[-1], num_outputs],
                           weights_initializer, weights_regularizer)
        kernel, offset = _folded(tf.convert_to_tensor(weights), normalizer,
                                 [1, 1, 1, num_outputs], biases_initializer)
        outputs = tf.nn.conv2d(inputs, tf.cast(kernel, inputs.dtype), stride, padding,
                               dilations=rate)
        return _finish(outputs, offset, normalizer, activation_fn)


@slim.add_arg_scope
def separable_conv2d(inputs: tf.Tensor, num_outputs: int | None, kernel_size: int | Sequence[int],
                     stride: int = 1, padding: str = "SAME", rate: int = 1,
                     activation_fn: Activation | None = tf.nn.relu,
                     normalizer: BatchNorm | None = None,
                     weights_initializer: Initializer = _GLOROT,
                     weights_regularizer: Regularizer | None = None,
                     biases_initializer: Initializer | None = _ZEROS,
                     depth_multiplier: int = 1, scope: str = "SeparableConv2d") -> tf.Tensor:
    """`depth_multiplier` filters per channel, then a 1x1 convolution to `num_outputs`.

    The 1x1 convolution is left out when `num_outputs` is None. Only the last of the two
    convolutions is normalised and activated, as in slim, and the regularizer applies to the 1x1
    weights.
    """
    height, width = _pair(kernel_size)
    depth = inputs.shape[-1]
    with variable_scope(scope):
        weights = variable("depthwise_weights", [height, width, depth, depth_multiplier],
                           weights_initializer)
        kernel, offset = tf.convert_to_tensor(weights), None
        if num_outputs is None:
            kernel, offset = _folded(kernel, normalizer, [1, 1, depth, depth_multiplier],
                                     biases_initializer)
        outputs = tf.nn.depthwise_conv2d(
            inputs, tf.cast(kernel, inputs.dtype), [1, stride, stride, 1], padding,
            dilations=[rate, rate])
        if num_outputs is not None:
            weights = variable("pointwise_weights", [1, 1, outputs.shape[-1], num_outputs],
                               weights_initializer, weights_regularizer)
            kernel, offset = _folded(tf.convert_to_tensor(weights), normalizer,
                                     [1, 1, 1, num_outputs], biases_initializer)
            outputs = tf.nn.conv2d(outputs, tf.cast(kernel, inputs.dtype), 1, "SAME")
        return _finish(outputs, offset, normalizer, activation_fn)


@slim.add_arg_scope
def fully_connected(inputs: tf.Tensor, num_outputs: int,
                    activation_fn: Activation | None = tf.nn.relu,
                    normalizer: BatchNorm | None = None,
                    weights_initializer: Initializer = _GLOROT,
                    weights_regularizer: Regularizer | None = None,
                    biases_initializer: Initializer | None = _ZEROS,
                    scope: str = "fully_connected") -> tf.Tensor:
    """Dense layer over the last dimension of [rows, depth]."""
    with variable_scope(scope):
        weights = variable("weights", [inputs.shape[-1], num_outputs], weights_initializer,
                           weights_regularizer)
        kernel, offset = _folded(tf.convert_to_tensor(weights), normalizer, [1, num_outputs],
                                 biases_initializer)
        outputs = tf.linalg.matmul(inputs, tf.cast(kernel, inputs.dtype))
        if normalizer is not None and normalizer.is_training:
            outputs = _trained_batch_norm(outputs[:, None, None, :], normalizer)[:, 0, 0, :]
            return outputs if activation_fn is None else activation_fn(outputs)
        return _finish(outputs, offset, normalizer, activation_fn)


@slim.add_arg_scope
def max_pool2d(inputs: tf.Tensor, kernel_size: int | Sequence[int], stride: int = 2,
               padding: str = "VALID") -> tf.Tensor:
    """Largest value of each window of [B, h, w, depth]."""
    return tf.nn.max_pool2d(inputs, kernel_size, stride, padding)


def avg_pool2d_same(inputs: tf.Tensor, kernel_size: int, rate: int = 1) -> tf.Tensor:
    """Mean of the pixels around each of [B, h, w, depth], leaving out what is past the border.

    Args:
        kernel_size: odd, so that the window has a middle.
        rate: distance between the pixels of a window (atrous rate).
    """
    if rate == 1:
        return tf.nn.avg_pool2d(inputs, kernel_size, 1, "SAME")

    def mean_with_zeros(values: tf.Tensor) -> tf.Tensor:
        around = [rate * (kernel_size - 1) // 2] * 2
        return tf.nn.pool(tf.pad(values, [[0, 0], around, around, [0, 0]]),
                          [kernel_size, kernel_size], "AVG", dilations=[rate, rate])

    # The zeros are counted; this divides by the share of each window that is inside.
    return mean_with_zeros(inputs) / mean_with_zeros(tf.ones_like(inputs[:1, :, :, :1]))


def conv2d_same(inputs: tf.Tensor, num_outputs: int, kernel_size: int, stride: int,
                rate: int = 1, scope: str = "Conv") -> tf.Tensor:
    """Convolution whose padding does not depend on the input size.

    With a stride, SAME padding puts the extra row on another side for odd and even inputs; here
    the kernel is centred on rows 0, stride, 2 * stride, ... always.
    """
    if stride == 1:
        return conv2d(inputs, num_outputs, kernel_size, rate=rate, scope=scope)
    total = kernel_size + (kernel_size - 1) * (rate - 1) - 1
    before = total // 2
    around = [before, total - before]
    padded = tf.pad(inputs, [[0, 0], around, around, [0, 0]])
    return conv2d(padded, num_outputs, kernel_size, stride=stride, rate=rate, padding="VALID",
                  scope=scope)


def _pair(size: int | Sequence[int]) -> tuple[int, int]:
    return (size, size) if isinstance(size, int) else (size[0], size[1])


def _folded(kernel: tf.Tensor, normalizer: BatchNorm | None, scale_shape: Sequence[int],
            biases_initializer: Initializer | None) -> tuple[tf.Tensor, tf.Tensor | None]:
    """Returns the kernel to convolve with and what to add afterwards (None: nothing)."""
    channels = math.prod(scale_shape)
    if normalizer is None:
        if biases_initializer is None:
            return kernel, None
        return kernel, tf.convert_to_tensor(variable("biases", [channels], biases_initializer))
    if normalizer.is_training:
        return kernel, None
    gamma, beta, mean, variance = _batch_norm_variables(channels, normalizer)
    scale = tf.math.rsqrt(variance + normalizer.epsilon) * gamma
    return kernel * tf.reshape(scale, scale_shape), beta - mean * scale


def _finish(outputs: tf.Tensor, offset: tf.Tensor | None, normalizer: BatchNorm | None,
            activation_fn: Activation | None) -> tf.Tensor:
    if offset is not None:
        outputs = tf.nn.bias_add(outputs, tf.cast(offset, outputs.dtype))
    elif normalizer is not None:
        outputs = _trained_batch_norm(outputs, normalizer)
    return outputs if activation_fn is None else activation_fn(outputs)


def _batch_norm_variables(
        channels: int,
        settings: BatchNorm) -> tuple[tf.Tensor, tf.Tensor, tf.Variable, tf.Variable]:
    """Returns gamma, beta, moving_mean, moving_variance, each [channels]."""
    ones, zeros = tf.ones_initializer(), tf.zeros_initializer()
    with variable_scope("BatchNorm"):
        gamma = variable("gamma", [channels], ones) if settings.scale else tf.ones([channels])
        beta = variable("beta", [channels], zeros) if settings.center else tf.zeros([channels])
        mean = variable("moving_mean", [channels], zeros, trainable=False)
        variance = variable("moving_variance", [channels], ones, trainable=False)
    return gamma, beta, mean, variance


def _trained_batch_norm(inputs: tf.Tensor, settings: BatchNorm) -> tf.Tensor:
    """Normalises [B, h, w, channels] by its own moments and moves the stored ones towards them.

    The stored variance is the unbiased one (n - 1 in the denominator), as cuDNN and TF1 keep it.
    """
    gamma, beta, mean, variance = _batch_norm_variables(inputs.shape[-1], settings)
    outputs, batch_mean, batch_variance = tf.compat.v1.nn.fused_batch_norm(
        inputs, tf.convert_to_tensor(gamma), tf.convert_to_tensor(beta),
        epsilon=settings.epsilon, is_training=True)
    step = 1.0 - settings.decay
    mean.assign_sub(step * (mean - batch_mean))
    variance.assign_sub(step * (variance - batch_variance))
    return outputs
