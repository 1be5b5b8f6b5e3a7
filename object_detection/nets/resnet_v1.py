"""ResNet v1 50, 101 and 152 with the layout and variable names of tf-slim.

He et al., Deep Residual Learning for Image Recognition (arXiv:1512.03385), with slim's two changes:
the stride of a block sits in its last unit (in the 3x3 convolution), and a map finer than stride 32
is had by dilating convolutions instead of striding.
"""

from typing import NamedTuple

import tensorflow as tf

from object_detection.nets import slim_layers as layers
from object_detection.nets.variable_store import variable_scope


class Block(NamedTuple):
    """A run of bottleneck units that share a depth."""

    name: str
    depth: int  # channels of the output; the bottleneck has a quarter of them
    num_units: int
    stride: int  # of the last unit


_UNITS = {50: (3, 4, 6, 3), 101: (3, 4, 23, 3), 152: (3, 8, 36, 3)}


def blocks(num_layers: int) -> tuple[Block, ...]:
    """Returns block1 to block4 of the network with 50, 101 or 152 layers."""
    units = _UNITS[num_layers]
    return (Block("block1", 256, units[0], 2), Block("block2", 512, units[1], 2),
            Block("block3", 1024, units[2], 2), Block("block4", 2048, units[3], 1))


def arg_scope(batch_norm: layers.BatchNorm, weight_decay: float):  # noqa: ANN201 (slim's scope type)
    """Returns the scope all layers of the network are called in."""
    return layers.arg_scope(
        [layers.conv2d], normalizer=batch_norm,
        weights_initializer=layers.variance_scaling_initializer(),
        weights_regularizer=layers.l2_regularizer(weight_decay) if weight_decay else None)


def base(images: tf.Tensor, num_layers: int, output_stride: int) -> dict[str, tf.Tensor]:
    """Runs the stem and blocks 1 to 3.

    Args:
        images: float [B, H, W, 3].
        output_stride: stride of block3, 8 or 16; 8 dilates block3's convolutions by 2.
    Returns:
        maps by name: block1 (stride 8), block2, block3.
    """
    net = layers.conv2d_same(images, 64, 7, stride=2, scope="conv1")
    net = layers.max_pool2d(net, 3, stride=2, padding="SAME")
    maps = {}
    stride, rate = 4, 1
    for block in blocks(num_layers)[:3]:
        with variable_scope(block.name):
            for unit in range(block.num_units):
                unit_stride = block.stride if unit == block.num_units - 1 else 1
                with variable_scope(f"unit_{unit + 1}"):
                    if stride >= output_stride:  # keep the resolution, widen the reach instead
                        net = _bottleneck(net, block.depth, 1, rate)
                        rate *= unit_stride
                    else:
                        net = _bottleneck(net, block.depth, unit_stride, 1)
                        stride *= unit_stride
        maps[block.name] = net
    return maps


def block4(features: tf.Tensor, num_layers: int) -> tf.Tensor:
    """Runs block4 at stride 1: [regions, h, w, 1024] to [regions, h, w, 2048]."""
    block = blocks(num_layers)[3]
    with variable_scope(block.name):
        for unit in range(block.num_units):
            with variable_scope(f"unit_{unit + 1}"):
                features = _bottleneck(features, block.depth, 1, 1)
    return features


def _bottleneck(inputs: tf.Tensor, depth: int, stride: int, rate: int) -> tf.Tensor:
    with variable_scope("bottleneck_v1"):
        if inputs.shape[-1] == depth:
            shortcut = inputs if stride == 1 else inputs[:, ::stride, ::stride, :]
        else:
            shortcut = layers.conv2d(inputs, depth, 1, stride=stride, activation_fn=None,
                                     scope="shortcut")
        net = layers.conv2d(inputs, depth // 4, 1, scope="conv1")
        net = layers.conv2d_same(net, depth // 4, 3, stride=stride, rate=rate, scope="conv2")
        net = layers.conv2d(net, depth, 1, activation_fn=None, scope="conv3")
        return tf.nn.relu(shortcut + net)
