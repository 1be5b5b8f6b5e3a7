"""Inception v2 with the layout and variable names of tf-slim.

Ioffe and Szegedy, Batch Normalization (arXiv:1502.03167), Figure 5, with slim's change: the first
convolution is a separable one. A module runs up to four branches on one map and concatenates their
channels.
"""

import dataclasses
from typing import NamedTuple

import tensorflow as tf

from object_detection.nets import slim_layers as layers
from object_detection.nets.variable_store import variable_scope


class Module(NamedTuple):
    """Output depths of a module that keeps the resolution, at depth multiplier 1."""

    name: str
    single: int  # Branch_0, a 1x1 convolution
    short: tuple[int, int]  # Branch_1: 1x1, 3x3
    long: tuple[int, int]  # Branch_2: 1x1, then two 3x3 of one depth
    pooled: int  # Branch_3: 3x3 pooling, 1x1


class Reduction(NamedTuple):
    """Output depths of a module that halves the resolution; its Branch_2 is a max pooling."""

    name: str
    short: tuple[int, int]  # Branch_0: 1x1, 3x3 with the stride
    long: tuple[int, int]  # Branch_1: 1x1, 3x3, 3x3 with the stride


_MODULES_3 = (Module("Mixed_3b", 64, (64, 64), (64, 96), 32),
              Module("Mixed_3c", 64, (64, 96), (64, 96), 64))
_REDUCTION_4 = Reduction("Mixed_4a", (128, 160), (64, 96))
_MODULES_4 = (Module("Mixed_4b", 224, (64, 96), (96, 128), 128),
              Module("Mixed_4c", 192, (96, 128), (96, 128), 128),
              Module("Mixed_4d", 160, (128, 160), (128, 160), 96),
              Module("Mixed_4e", 96, (128, 192), (160, 192), 96))
_REDUCTION_5 = Reduction("Mixed_5a", (128, 192), (192, 256))
_MODULE_5B = Module("Mixed_5b", 352, (192, 320), (160, 224), 128)
_MODULE_5C = Module("Mixed_5c", 352, (192, 320), (192, 224), 128)

# Of the first layer, per channel of the image.
_MOST_FILTERS_PER_CHANNEL = 8


@dataclasses.dataclass(frozen=True)
class Width:
    """How many channels layers have.

    Attributes:
        multiplier: factor of every layer's number of channels.
        min_depth: smallest number of channels a layer is thinned to.
    """

    multiplier: float = 1.0
    min_depth: int = 16

    def of(self, depth: int) -> int:
        """Returns the number of channels of a layer that has `depth` at multiplier 1."""
        return max(int(depth * self.multiplier), self.min_depth)


def arg_scope(batch_norm: layers.BatchNorm, weight_decay: float):  # noqa: ANN201 (slim's scope type)
    """Returns the scope all layers of the network are called in."""
    return layers.arg_scope(
        [layers.conv2d, layers.separable_conv2d], normalizer=batch_norm,
        weights_regularizer=layers.l2_regularizer(weight_decay) if weight_decay else None)


def base(images: tf.Tensor, width: Width = Width(), output_stride: int = 16) -> tf.Tensor:
    """Runs the layers up to Mixed_4e.

    As in slim, the weights of the first layer, a separable one, do not decay.

    Args:
        images: float [B, H, W, 3].
        output_stride: 8 or 16; at 8, Mixed_4a keeps the resolution and the windows behind it reach
            twice as far, so that each pixel at stride 16 has its equal at stride 8.
    Returns:
        float [B, ceil(H / output_stride), ceil(W / output_stride), 576 at multiplier 1].
    """
    depth = width.of(64)
    filters = min(max(depth // 3, 1), _MOST_FILTERS_PER_CHANNEL)
    net = layers.separable_conv2d(
        images, depth, 7, stride=2, depth_multiplier=filters, weights_initializer=_normal(1.0),
        weights_regularizer=None, scope="Conv2d_1a_7x7")
    net = layers.max_pool2d(net, 3, stride=2, padding="SAME")
    net = layers.conv2d(net, width.of(64), 1, weights_initializer=_normal(0.1),
                        scope="Conv2d_2b_1x1")
    net = layers.conv2d(net, width.of(192), 3, scope="Conv2d_2c_3x3")
    net = layers.max_pool2d(net, 3, stride=2, padding="SAME")
    for module in _MODULES_3:
        net = _mixed(net, module, width)
    dilated = output_stride == 8
    net = _reduce(net, _REDUCTION_4, width, stride=1 if dilated else 2)
    for module in _MODULES_4:
        net = _mixed(net, module, width, rate=2 if dilated else 1)
    return net


def tail(features: tf.Tensor, width: Width = Width()) -> tf.Tensor:
    """Runs Mixed_5a to Mixed_5c: [regions, h, w, depth] to [regions, ceil(h / 2), ceil(w / 2), …].

    Mixed_5c is the one module that takes the largest value where the others take the mean.
    """
    net = _reduce(features, _REDUCTION_5, width, stride=2)
    net = _mixed(net, _MODULE_5B, width)
    return _mixed(net, _MODULE_5C, width, largest=True)


def _mixed(inputs: tf.Tensor, module: Module, width: Width, rate: int = 1,
           largest: bool = False) -> tf.Tensor:
    with variable_scope(module.name):
        with variable_scope("Branch_0"):
            single = layers.conv2d(inputs, width.of(module.single), 1, scope="Conv2d_0a_1x1")
        with variable_scope("Branch_1"):
            short = _narrowed(inputs, width.of(module.short[0]))
            short = layers.conv2d(short, width.of(module.short[1]), 3, rate=rate,
                                  scope="Conv2d_0b_3x3")
        with variable_scope("Branch_2"):
            long = _narrowed(inputs, width.of(module.long[0]))
            for scope in ("Conv2d_0b_3x3", "Conv2d_0c_3x3"):
                long = layers.conv2d(long, width.of(module.long[1]), 3, rate=rate, scope=scope)
        with variable_scope("Branch_3"):
            if largest:
                pooled = layers.max_pool2d(inputs, 3, stride=1, padding="SAME")
            else:
                pooled = layers.avg_pool2d_same(inputs, 3, rate)
            pooled = layers.conv2d(pooled, width.of(module.pooled), 1,
                                   weights_initializer=_normal(0.1), scope="Conv2d_0b_1x1")
    return tf.concat([single, short, long, pooled], axis=-1)


def _reduce(inputs: tf.Tensor, module: Reduction, width: Width, stride: int) -> tf.Tensor:
    with variable_scope(module.name):
        with variable_scope("Branch_0"):
            short = _narrowed(inputs, width.of(module.short[0]))
            short = layers.conv2d(short, width.of(module.short[1]), 3, stride=stride,
                                  scope="Conv2d_1a_3x3")
        with variable_scope("Branch_1"):
            long = _narrowed(inputs, width.of(module.long[0]))
            long = layers.conv2d(long, width.of(module.long[1]), 3, scope="Conv2d_0b_3x3")
            long = layers.conv2d(long, width.of(module.long[1]), 3, stride=stride,
                                 scope="Conv2d_1a_3x3")
        pooled = layers.max_pool2d(inputs, 3, stride=stride, padding="SAME")
    return tf.concat([short, long, pooled], axis=-1)


def _narrowed(inputs: tf.Tensor, depth: int) -> tf.Tensor:
    """The 1x1 convolution in front of a branch's 3x3 ones."""
    return layers.conv2d(inputs, depth, 1, weights_initializer=_normal(0.09),
                         scope="Conv2d_0a_1x1")


def _normal(stddev: float) -> layers.Initializer:
    return layers.truncated_normal_initializer(stddev=stddev)
