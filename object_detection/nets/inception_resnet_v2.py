"""Inception-ResNet v2 with the layout and variable names of tf-slim.

Szegedy et al., Inception-v4, Inception-ResNet and the Impact of Residual Connections on Learning
(arXiv:1602.07261), as slim builds it for detection: SAME padding throughout the layers that see
the image, so that a map of stride s has ceil(side / s) pixels.
"""

from collections.abc import Sequence

import tensorflow as tf

from object_detection.nets import slim_layers as layers
from object_detection.nets.variable_store import variable_scope

# (scope, depth, kernel size) of the convolutions of a branch, in order.
Branch = tuple[tuple[str, int, int | tuple[int, int]], ...]

MIXED_5B: tuple[Branch, ...] = (
    (("Conv2d_1x1", 96, 1),),
    (("Conv2d_0a_1x1", 48, 1), ("Conv2d_0b_5x5", 64, 5)),
    (("Conv2d_0a_1x1", 64, 1), ("Conv2d_0b_3x3", 96, 3), ("Conv2d_0c_3x3", 96, 3)))
BLOCK_35: tuple[Branch, ...] = (
    (("Conv2d_1x1", 32, 1),),
    (("Conv2d_0a_1x1", 32, 1), ("Conv2d_0b_3x3", 32, 3)),
    (("Conv2d_0a_1x1", 32, 1), ("Conv2d_0b_3x3", 48, 3), ("Conv2d_0c_3x3", 64, 3)))
BLOCK_17: tuple[Branch, ...] = (
    (("Conv2d_1x1", 192, 1),),
    (("Conv2d_0a_1x1", 128, 1), ("Conv2d_0b_1x7", 160, (1, 7)), ("Conv2d_0c_7x1", 192, (7, 1))))
BLOCK_8: tuple[Branch, ...] = (
    (("Conv2d_1x1", 192, 1),),
    (("Conv2d_0a_1x1", 192, 1), ("Conv2d_0b_1x3", 224, (1, 3)), ("Conv2d_0c_3x1", 256, (3, 1))))

# In these the last convolution of a branch carries the stride, and a max pooling is a branch too.
MIXED_6A: tuple[Branch, ...] = (
    (("Conv2d_1a_3x3", 384, 3),),
    (("Conv2d_0a_1x1", 256, 1), ("Conv2d_0b_3x3", 256, 3), ("Conv2d_1a_3x3", 384, 3)))
MIXED_7A: tuple[Branch, ...] = (
    (("Conv2d_0a_1x1", 256, 1), ("Conv2d_1a_3x3", 384, 3)),
    (("Conv2d_0a_1x1", 256, 1), ("Conv2d_1a_3x3", 288, 3)),
    (("Conv2d_0a_1x1", 256, 1), ("Conv2d_0b_3x3", 288, 3), ("Conv2d_1a_3x3", 320, 3)))


NUM_BLOCK_35, NUM_BLOCK_17, NUM_BLOCK_8 = 10, 20, 9  # and one more block8 without activation


def arg_scope(batch_norm: layers.BatchNorm, weight_decay: float):  # noqa: ANN201 (slim's scope type)
    """Returns the scope all layers of the network are called in."""
    return layers.arg_scope(
        [layers.conv2d], normalizer=batch_norm,
        weights_regularizer=layers.l2_regularizer(weight_decay) if weight_decay else None)


def base(images: tf.Tensor, output_stride: int = 16) -> tf.Tensor:
    """Runs the layers up to the last of the twenty block17, which slim names PreAuxLogits.

    Args:
        images: float [B, H, W, 3].
        output_stride: 8 or 16; at 8, Mixed_6a keeps the resolution and the convolutions behind it
            are dilated by 2.
    Returns:
        float [B, ceil(H / output_stride), ceil(W / output_stride), 1088].
    """
    net = layers.conv2d(images, 32, 3, stride=2, scope="Conv2d_1a_3x3")
    net = layers.conv2d(net, 32, 3, scope="Conv2d_2a_3x3")
    net = layers.conv2d(net, 64, 3, scope="Conv2d_2b_3x3")
    net = layers.max_pool2d(net, 3, stride=2, padding="SAME")
    net = layers.conv2d(net, 80, 1, scope="Conv2d_3b_1x1")
    net = layers.conv2d(net, 192, 3, scope="Conv2d_4a_3x3")
    net = layers.max_pool2d(net, 3, stride=2, padding="SAME")
    net = _mixed_5b(net)
    for number in range(1, NUM_BLOCK_35 + 1):
        net = _residual(net, f"Repeat/block35_{number}", BLOCK_35, scale=0.17)
    dilated = output_stride == 8
    net = _reduce(net, "Mixed_6a", MIXED_6A, stride=1 if dilated else 2, padding="SAME")
    for number in range(1, NUM_BLOCK_17 + 1):
        net = _residual(net, f"Repeat_1/block17_{number}", BLOCK_17, scale=0.1,
                        rate=2 if dilated else 1)
    return net


def tail(features: tf.Tensor, padding: str = "VALID") -> tf.Tensor:
    """Runs Mixed_7a, ten block8 and the last convolution on regions.

    Args:
        features: float [regions, h, w, 1088], h and w at least 3.
        padding: of the strided layers of Mixed_7a; SAME keeps ceil(h / 2) rows, also of few.
    Returns:
        float [regions, (h - 1) // 2, (w - 1) // 2, 1536].
    """
    net = _reduce(features, "Mixed_7a", MIXED_7A, stride=2, padding=padding)
    for number in range(1, NUM_BLOCK_8 + 1):
        net = _residual(net, f"Repeat/block8_{number}", BLOCK_8, scale=0.2)
    net = _residual(net, "Block8", BLOCK_8, scale=1.0, activation_fn=None)
    return layers.conv2d(net, 1536, 1, scope="Conv2d_7b_1x1")


def _mixed_5b(inputs: tf.Tensor) -> tf.Tensor:
    with variable_scope("Mixed_5b"):
        outputs = _branches(inputs, MIXED_5B)
        with variable_scope("Branch_3"):
            pooled = layers.avg_pool2d_same(inputs, 3)
            outputs.append(layers.conv2d(pooled, 64, 1, scope="Conv2d_0b_1x1"))
    return tf.concat(outputs, axis=-1)


def _reduce(inputs: tf.Tensor, name: str, branches: Sequence[Branch], stride: int,
            padding: str) -> tf.Tensor:
    """Module whose branches, and a max pooling besides, end with the stride."""
    with variable_scope(name):
        outputs = _branches(inputs, branches, last_stride=stride, last_padding=padding)
    outputs.append(layers.max_pool2d(inputs, 3, stride=stride, padding=padding))
    return tf.concat(outputs, axis=-1)


def _residual(inputs: tf.Tensor, name: str, branches: Sequence[Branch], scale: float,
              rate: int = 1, activation_fn: layers.Activation | None = tf.nn.relu) -> tf.Tensor:
    """Adds `scale` times the mixed branches to the input, which keeps its shape."""
    with variable_scope(name):
        mixed = tf.concat(_branches(inputs, branches, rate), axis=-1)
        added = layers.conv2d(mixed, inputs.shape[-1], 1, normalizer=None, activation_fn=None,
                              scope="Conv2d_1x1")
    net = inputs + scale * added
    return net if activation_fn is None else activation_fn(net)


def _branches(inputs: tf.Tensor, branches: Sequence[Branch], rate: int = 1, last_stride: int = 1,
              last_padding: str = "SAME") -> list[tf.Tensor]:
    outputs = []
    for number, branch in enumerate(branches):
        net = inputs
        with variable_scope(f"Branch_{number}"):
            for scope, depth, kernel_size in branch[:-1]:
                net = layers.conv2d(net, depth, kernel_size, rate=rate, scope=scope)
            scope, depth, kernel_size = branch[-1]
            net = layers.conv2d(net, depth, kernel_size, stride=last_stride, padding=last_padding,
                                rate=rate, scope=scope)
        outputs.append(net)
    return outputs
