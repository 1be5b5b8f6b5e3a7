"""ResNet v1 50, 101 and 152 as Keras lays it out.

He et al., Deep Residual Learning for Image Recognition (arXiv:1512.03385). Unlike slim's network
(resnet_v1.py), each stage from the third on has its stride in the first block, in the first 1x1
convolution and in the shortcut, as in the paper. Layer settings come from outside, so the same
network serves whoever trained it with other ones; what later versions of the network changed is a
`Layout`.

Scopes are `conv1` and `conv<stage>/block<number>/{conv1, conv2, conv3, shortcut}`.
"""

import dataclasses

import tensorflow as tf

from object_detection.nets import slim_layers as layers
from object_detection.nets.hyperparams import Hyperparams
from object_detection.nets.variable_store import variable_scope

# Blocks of stages 2 to 5.
NUM_BLOCKS = {50: (3, 4, 6, 3), 101: (3, 4, 23, 3), 152: (3, 8, 36, 3)}
FIRST_STAGE, LAST_STAGE = 2, 5


@dataclasses.dataclass(frozen=True)
class Layout:
    """What differs between the networks of this family.

    Attributes:
        stride_in_3x3: a stage's stride is in the 3x3 convolution of its first block, which then
            sees every pixel: the network is known as version 1.5.
        pool_centred: the windows of the stem's pooling are centred on pixels 0, 2, 4, ...;
            otherwise, where the side is even, on 1, 3, 5, ...
    """

    stride_in_3x3: bool = False
    pool_centred: bool = False


PAPER = Layout()
TORCHVISION = Layout(stride_in_3x3=True, pool_centred=True)


def maps(images: tf.Tensor, num_layers: int, hyperparams: Hyperparams,
         last_stage: int = LAST_STAGE, width: float = 1.0,
         layout: Layout = PAPER) -> list[tf.Tensor]:
    """Runs the stem and stages 2 to `last_stage`.

    Args:
        images: float [B, H, W, 3].
        num_layers: 50, 101 or 152.
        hyperparams: of all layers.
        width: factor of the channels of all layers.
        layout: where the strides are.
    Returns:
        C2, C3, ... of the paper: float [B, ceil(H / stride), ceil(W / stride), 64 * stride], of
        strides 4, 8, 16 and 32.
    """
    net = stem(images, hyperparams, width, layout)
    outputs = []
    for number in range(FIRST_STAGE, last_stage + 1):
        net = stage(net, number, num_layers, hyperparams, width, layout)
        outputs.append(net)
    return outputs


def stem(images: tf.Tensor, hyperparams: Hyperparams, width: float = 1.0,
         layout: Layout = PAPER) -> tf.Tensor:
    """Runs the 7x7 convolution and the pooling: [B, H, W, 3] to [B, H / 4, W / 4, 64]."""
    with hyperparams.arg_scope():
        net = layers.conv2d_same(images, round(64 * width), 7, stride=2, scope="conv1")
    if layout.pool_centred:
        # Zeros are as good as nothing behind a ReLU.
        return layers.max_pool2d(tf.pad(net, [[0, 0], [1, 1], [1, 1], [0, 0]]), 3, stride=2)
    return layers.max_pool2d(net, 3, stride=2, padding="SAME")


def stage(features: tf.Tensor, number: int, num_layers: int, hyperparams: Hyperparams,
          width: float = 1.0, layout: Layout = PAPER) -> tf.Tensor:
    """Runs the blocks of stage `number`, 2 to 5; all but stage 2 halve height and width."""
    depth = 4 * round(16 * 2 ** number * width)
    with variable_scope(f"conv{number}"), hyperparams.arg_scope():
        for block in range(1, NUM_BLOCKS[num_layers][number - FIRST_STAGE] + 1):
            first = block == 1
            stride = 2 if first and number > FIRST_STAGE else 1
            strides = (1, stride) if layout.stride_in_3x3 else (stride, 1)
            with variable_scope(f"block{block}"):
                features = _bottleneck(features, depth, strides, first, hyperparams.activation)
    return features


def _bottleneck(inputs: tf.Tensor, depth: int, strides: tuple[int, int], project: bool,
                activation: layers.Activation | None) -> tf.Tensor:
    shortcut = inputs
    if project:
        shortcut = layers.conv2d(inputs, depth, 1, stride=max(strides), activation_fn=None,
                                 scope="shortcut")
    net = layers.conv2d(inputs, depth // 4, 1, stride=strides[0], scope="conv1")
    net = layers.conv2d_same(net, depth // 4, 3, stride=strides[1], scope="conv2")
    net = layers.conv2d(net, depth, 1, activation_fn=None, scope="conv3")
    net = shortcut + net
    return net if activation is None else activation(net)
