"""MobileNet v1 with the layout and variable names of tf-slim.

Howard et al., MobileNets (arXiv:1704.04861), Table 1: a 3x3 convolution, then 13 pairs of a
depthwise 3x3 and a pointwise 1x1 convolution, each with batch norm and a relu capped at 6.
"""

import tensorflow as tf

from object_detection.nets import slim_layers as layers

# Output depth and stride of the pairs 1 to 13, at depth multiplier 1.
_PAIRS = ((64, 1), (128, 2), (128, 1), (256, 2), (256, 1), (512, 2), (512, 1), (512, 1),
          (512, 1), (512, 1), (512, 1), (1024, 2), (1024, 1))


def arg_scope(batch_norm: layers.BatchNorm, weight_decay: float):  # noqa: ANN201 (slim's scope type)
    """Returns the scope all layers of the network are called in."""
    return layers.arg_scope(
        [layers.conv2d, layers.separable_conv2d], normalizer=batch_norm,
        activation_fn=tf.nn.relu6,
        weights_initializer=layers.truncated_normal_initializer(stddev=0.09),
        weights_regularizer=layers.l2_regularizer(weight_decay) if weight_decay else None)


def scaled_depth(depth: int, multiplier: float, min_depth: int) -> int:
    """Returns the number of channels of a layer in a network made thinner or wider."""
    return max(int(depth * multiplier), min_depth)


def base(images: tf.Tensor, depth_multiplier: float = 1.0, min_depth: int = 16,
         last_pair: int = 11, output_stride: int = 16) -> tf.Tensor:
    """Runs the first convolution and the pairs 1 to `last_pair`.

    Args:
        images: float [B, H, W, 3].
        output_stride: 8 or 16; at 8 the layers past stride 8 are dilated by 2 instead of strided.
    Returns:
        float [B, ceil(H / output_stride), ceil(W / output_stride), depth] for 11 pairs.
    """
    net = layers.conv2d(images, scaled_depth(32, depth_multiplier, min_depth), 3, stride=2,
                        scope="Conv2d_0")
    current, rate = 2, 1
    for number, (depth, stride) in enumerate(_PAIRS[:last_pair], 1):
        layer_stride, layer_rate = stride, 1
        if current >= output_stride:
            layer_stride, layer_rate = 1, rate
            rate *= stride
        else:
            current *= stride
        net = layers.separable_conv2d(net, None, 3, stride=layer_stride, rate=layer_rate,
                                      scope=f"Conv2d_{number}_depthwise")
        net = layers.conv2d(net, scaled_depth(depth, depth_multiplier, min_depth), 1,
                            scope=f"Conv2d_{number}_pointwise")
    return net


def tail(features: tf.Tensor, depth_multiplier: float = 1.0, min_depth: int = 16) -> tf.Tensor:
    """Runs the last two pairs on regions, the first at stride 2, as joint separable layers.

    Only the pointwise outputs are normalised here, unlike in `base`; detection checkpoints are
    made so, and their layers are named `Conv2d_12_pointwise` and `Conv2d_13_pointwise`.
    """
    depth = scaled_depth(1024, depth_multiplier, min_depth)
    net = layers.separable_conv2d(features, depth, 3, stride=2, scope="Conv2d_12_pointwise")
    return layers.separable_conv2d(net, depth, 3, scope="Conv2d_13_pointwise")
