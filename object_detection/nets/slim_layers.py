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

from object_detection.nets import training_scope
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
GLOROT = slim.xavier_initializer()
_ZEROS = tf.zeros_initializer()


def size_scaled_l2_regularizer(scale: float) -> Regularizer:
    """Returns the penalty of Matterport's Mask_RCNN: scale times the mean of squares."""
    return lambda weights: scale * tf.reduce_mean(tf.square(weights))


@dataclasses.dataclass(frozen=True)
class BatchNorm:
    """Settings of a batch norm layer.

    Attributes:
        is_training: normalise by the batch's own statistics and update the moving ones; otherwise
            the moving statistics are used and stay as they are.
        decay: share of the old moving value kept at each update.
        epsilon: added to the variance.
        center, scale: whether there is a `beta`, a `gamma`.
        biased: the layer adds biases before it is normalised, as Keras layers may.
        forgets: faults of Keras 2.2: the first training step replaces the moving statistics by
            those of its batch, whatever they were, and the average starts from there; the variance
            is corrected for the number of rows twice.
        sync: the statistics are those of the whole batch, over all replicas.
    """

    is_training: bool
    decay: float = 0.999
    epsilon: float = 0.001
    center: bool = True
    scale: bool = False
    biased: bool = False
    forgets: bool = False
    sync: bool = False


@dataclasses.dataclass(frozen=True)
class GroupNorm:
    """Settings of a group norm layer: statistics of groups of channels, image by image.

    Wu and He, Group Normalization (arXiv:1803.08494). The defaults are those of tf-slim.
    """

    groups: int = 32
    epsilon: float = 1e-6
    biased: bool = False

    @property
    def is_training(self) -> bool:
        """Nothing can be folded into the layer before, in training or not."""
        return True


Normalizer = BatchNorm | GroupNorm


@slim.add_arg_scope
def conv2d(inputs: tf.Tensor, num_outputs: int, kernel_size: int | Sequence[int],
           stride: int = 1, padding: str = "SAME", rate: int = 1,
           activation_fn: Activation | None = tf.nn.relu, normalizer: BatchNorm | None = None,
           weights_initializer: Initializer = GLOROT,
           weights_regularizer: Regularizer | None = None,
           biases_initializer: Initializer | None = _ZEROS,
           biases_regularizer: Regularizer | None = None,
           scope: str = "Conv") -> tf.Tensor:
    """2-D convolution, then batch norm (or biases), then the activation.

    Args:
        inputs: float [B, h, w, depth]; the convolution runs in this dtype.
        kernel_size: side, or (height, width).
        rate: dilation (atrous rate).
        normalizer: with batch norm there are no biases, unless it is `biased`.
    """
    height, width = _pair(kernel_size)
    with variable_scope(scope):
        weights = variable("weights", [height, width, inputs.shape[-1], num_outputs],
                           weights_initializer, weights_regularizer)
        kernel, offset = _folded(tf.convert_to_tensor(weights), normalizer,
                                 [1, 1, 1, num_outputs], biases_initializer, biases_regularizer)
        outputs = tf.nn.conv2d(inputs, tf.cast(kernel, inputs.dtype), stride, padding,
                               dilations=rate)
        return _finish(outputs, offset, normalizer, activation_fn)


@slim.add_arg_scope
def separable_conv2d(inputs: tf.Tensor, num_outputs: int | None, kernel_size: int | Sequence[int],
                     stride: int = 1, padding: str = "SAME", rate: int = 1,
                     activation_fn: Activation | None = tf.nn.relu,
                     normalizer: BatchNorm | None = None,
                     weights_initializer: Initializer = GLOROT,
                     weights_regularizer: Regularizer | None = None,
                     biases_initializer: Initializer | None = _ZEROS,
                     biases_regularizer: Regularizer | None = None,
                     depthwise_regularizer: Regularizer | None = None,
                     depth_multiplier: int = 1, scope: str = "SeparableConv2d") -> tf.Tensor:
    """`depth_multiplier` filters per channel, then a 1x1 convolution to `num_outputs`.

    The 1x1 convolution is left out when `num_outputs` is None. Only the last of the two
    convolutions is normalised and activated, as in slim. `weights_regularizer` applies to the 1x1
    weights.
    """
    height, width = _pair(kernel_size)
    depth = inputs.shape[-1]
    with variable_scope(scope):
        weights = variable("depthwise_weights", [height, width, depth, depth_multiplier],
                           weights_initializer, depthwise_regularizer)
        kernel, offset = tf.convert_to_tensor(weights), None
        if num_outputs is None:
            kernel, offset = _folded(kernel, normalizer, [1, 1, depth, depth_multiplier],
                                     biases_initializer, biases_regularizer)
        outputs = tf.nn.depthwise_conv2d(
            inputs, tf.cast(kernel, inputs.dtype), [1, stride, stride, 1], padding,
            dilations=[rate, rate])
        if num_outputs is not None:
            weights = variable("pointwise_weights", [1, 1, outputs.shape[-1], num_outputs],
                               weights_initializer, weights_regularizer)
            kernel, offset = _folded(tf.convert_to_tensor(weights), normalizer,
                                     [1, 1, 1, num_outputs], biases_initializer, biases_regularizer)
            outputs = tf.nn.conv2d(outputs, tf.cast(kernel, inputs.dtype), 1, "SAME")
        return _finish(outputs, offset, normalizer, activation_fn)


@slim.add_arg_scope
def fully_connected(inputs: tf.Tensor, num_outputs: int,
                    activation_fn: Activation | None = tf.nn.relu,
                    normalizer: BatchNorm | None = None,
                    weights_initializer: Initializer = GLOROT,
                    weights_regularizer: Regularizer | None = None,
                    biases_initializer: Initializer | None = _ZEROS,
                    biases_regularizer: Regularizer | None = None,
                    scope: str = "fully_connected") -> tf.Tensor:
    """Dense layer over the last dimension of [rows, depth]."""
    with variable_scope(scope):
        weights = variable("weights", [inputs.shape[-1], num_outputs], weights_initializer,
                           weights_regularizer)
        kernel, offset = _folded(tf.convert_to_tensor(weights), normalizer, [1, num_outputs],
                                 biases_initializer, biases_regularizer)
        outputs = tf.linalg.matmul(inputs, tf.cast(kernel, inputs.dtype))
        if normalizer is not None and normalizer.is_training:
            outputs = _finish(outputs[:, None, None, :], offset, normalizer, activation_fn)
            return outputs[:, 0, 0, :]
        return _finish(outputs, offset, normalizer, activation_fn)


@slim.add_arg_scope
def batch_norm(inputs: tf.Tensor, normalizer: BatchNorm, scope: str) -> tf.Tensor:
    """Batch norm of [B, h, w, depth] that no single layer made; else pass it to that layer."""
    with variable_scope(scope):
        if _at_present(normalizer, inputs.shape[-1]).is_training:
            return _trained_batch_norm(inputs, normalizer)
        gamma, beta, mean, variance = _batch_norm_variables(inputs.shape[-1], normalizer)
        scale = tf.math.rsqrt(variance + normalizer.epsilon) * gamma
        return inputs * tf.cast(scale, inputs.dtype) + tf.cast(beta - mean * scale, inputs.dtype)


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
            biases_initializer: Initializer | None,
            biases_regularizer: Regularizer | None) -> tuple[tf.Tensor, tf.Tensor | None]:
    """Returns the kernel to convolve with and what to add afterwards (None: nothing)."""
    channels = math.prod(scale_shape)
    biases = None
    if biases_initializer is not None and (normalizer is None or normalizer.biased):
        biases = tf.convert_to_tensor(variable("biases", [channels], biases_initializer,
                                               biases_regularizer))
    normalizer = _at_present(normalizer, channels)
    if normalizer is None or normalizer.is_training:
        return kernel, biases
    gamma, beta, mean, variance = _batch_norm_variables(channels, normalizer)
    scale = tf.math.rsqrt(variance + normalizer.epsilon) * gamma
    centre = mean if biases is None else mean - biases
    return kernel * tf.reshape(scale, scale_shape), beta - centre * scale


def _finish(outputs: tf.Tensor, offset: tf.Tensor | None, normalizer: BatchNorm | None,
            activation_fn: Activation | None) -> tf.Tensor:
    if offset is not None:
        outputs = tf.nn.bias_add(outputs, tf.cast(offset, outputs.dtype))
    if isinstance(normalizer, GroupNorm):
        outputs = _group_norm(outputs, normalizer)
    elif normalizer is not None and _at_present(normalizer, outputs.shape[-1]).is_training:
        outputs = _trained_batch_norm(outputs, normalizer)
    return outputs if activation_fn is None else activation_fn(outputs)


def _at_present(normalizer: Normalizer | None, channels: int) -> Normalizer | None:
    """Returns the normalizer, not in training where its variables are not trained at present."""
    if not isinstance(normalizer, BatchNorm) or not training_scope.is_declared():
        return normalizer
    gamma, beta, _, _ = _batch_norm_variables(channels, normalizer)
    own = [value for value in (gamma, beta) if not isinstance(value, tf.Tensor)]
    if training_scope.are_frozen(own):
        return dataclasses.replace(normalizer, is_training=False)
    return normalizer


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


def _debiased_step(step: float) -> tf.Tensor:
    """Returns the share of the present batch in an average of all batches seen so far.

    An average that starts at 0 and is divided by 1 - decay^t after t steps moves by just this.
    """
    with variable_scope("BatchNorm"):
        count = variable("local_step", [], tf.zeros_initializer(), trainable=False)
    count.assign_add(1.0)
    return step / (1.0 - tf.pow(1.0 - step, count.read_value()))


def _trained_batch_norm(inputs: tf.Tensor, settings: BatchNorm) -> tf.Tensor:
    """Normalises [B, h, w, channels] by its own moments and moves the stored ones towards them.

    The stored variance is the unbiased one (n - 1 in the denominator), as cuDNN and TF1 keep it.
    """
    gamma, beta, mean, variance = _batch_norm_variables(inputs.shape[-1], settings)
    context = tf.distribute.get_replica_context()  # None while the network is built
    if settings.sync and context is not None and context.num_replicas_in_sync > 1:
        batch_mean, batch_variance, unbiased = _moments_of_replicas(inputs, context)
        outputs = tf.nn.batch_normalization(
            tf.cast(inputs, tf.float32), batch_mean, batch_variance, tf.convert_to_tensor(beta),
            tf.convert_to_tensor(gamma), settings.epsilon)
        outputs, batch_variance = tf.cast(outputs, inputs.dtype), unbiased
    else:
        outputs, batch_mean, batch_variance = tf.compat.v1.nn.fused_batch_norm(
            inputs, tf.convert_to_tensor(gamma), tf.convert_to_tensor(beta),
            epsilon=settings.epsilon, is_training=True)
    step = 1.0 - settings.decay
    if settings.forgets:
        step = _debiased_step(step)
        rows = tf.cast(tf.size(inputs) // inputs.shape[-1], tf.float32)
        batch_variance *= rows / (rows - 1.0 - settings.epsilon)
    mean.assign_sub(step * (mean - batch_mean))
    variance.assign_sub(step * (variance - batch_variance))
    return outputs


def _moments_of_replicas(
        inputs: tf.Tensor,
        context: tf.distribute.ReplicaContext) -> tuple[tf.Tensor, tf.Tensor, tf.Tensor]:
    """Returns mean, variance and unbiased variance [channels] over the pixels of all replicas."""
    values = tf.cast(inputs, tf.float32)
    rows = tf.cast(tf.reduce_prod(tf.shape(values)[:3]), tf.float32)
    total, count = context.all_reduce(
        tf.distribute.ReduceOp.SUM, [tf.reduce_sum(values, axis=[0, 1, 2]), rows])
    mean = total / count
    squared = context.all_reduce(
        tf.distribute.ReduceOp.SUM, tf.reduce_sum(tf.square(values - mean), axis=[0, 1, 2]))
    return mean, squared / count, squared / tf.maximum(count - 1.0, 1.0)


def _group_norm(inputs: tf.Tensor, settings: GroupNorm) -> tf.Tensor:
    """Normalises float [B, h, w, channels] by the moments of each image's groups of channels.

    Raises:
        ValueError: if the channels cannot be shared out among the groups.
    """
    channels = inputs.shape[-1]
    if channels % settings.groups:
        raise ValueError(f"group_norm: {channels} channels cannot be shared out among "
                         f"{settings.groups} groups; use a depth that is a multiple of it, or "
                         "batch_norm")
    with variable_scope("GroupNorm"):
        gamma = variable("gamma", [channels], tf.ones_initializer())
        beta = variable("beta", [channels], _ZEROS)
    shape = tf.shape(inputs)
    values = tf.cast(inputs, tf.float32)
    grouped = tf.reshape(values, tf.concat(
        [shape[:3], [settings.groups, channels // settings.groups]], axis=0))
    mean, variance = tf.nn.moments(grouped, axes=[1, 2, 4], keepdims=True)
    grouped = (grouped - mean) * tf.math.rsqrt(variance + settings.epsilon)
    outputs = tf.ensure_shape(tf.reshape(grouped, shape), inputs.shape) * gamma + beta
    return tf.cast(outputs, inputs.dtype)
