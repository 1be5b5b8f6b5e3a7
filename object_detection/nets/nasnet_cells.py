"""The cells of NASNet-A and PNASNet-5, with the variable names of tf-slim.

A cell takes the outputs of the two cells before it. It adds five states to these two, each the sum
of two operations on earlier states, and concatenates the states that it names as outputs. NASNet-A:
Zoph et al., Learning Transferable Architectures for Scalable Image Recognition (arXiv:1707.07012),
Figure 4; PNASNet-5: Liu et al., Progressive Neural Architecture Search (arXiv:1712.00559),
Figure 1. Convolutions see relu(state) and end with batch norm.
"""

from collections.abc import Callable
from typing import NamedTuple

import tensorflow as tf

from object_detection.nets import drop_path
from object_detection.nets import slim_layers as layers
from object_detection.nets.variable_store import variable_scope

# (state [B, h, w, any depth], depth of the result, stride) to [B, ceil(h / stride), ..., depth].
Operation = Callable[[tf.Tensor, int, int], tf.Tensor]


class Step(NamedTuple):
    """An operation on one state of a cell."""

    state: int  # 0: the cell before, 1: the one before that, 2 and on: the sums
    operation: Operation


class Cell(NamedTuple):
    """What a cell computes."""

    sums: tuple[tuple[Step, Step], ...]
    outputs: tuple[int, ...]  # the states that are concatenated


class Map(NamedTuple):
    """The output of a cell."""

    values: tf.Tensor  # float [B, h, w, depth]
    stride: int  # pixels of the image per pixel of the map


def _separable(size: int) -> Operation:
    """Returns two separable convolutions in a row; the first has the stride."""
    def apply(state: tf.Tensor, depth: int, stride: int) -> tf.Tensor:
        for number, step in ((1, stride), (2, 1)):
            state = layers.separable_conv2d(tf.nn.relu(state), depth, size, stride=step,
                                            scope=f"separable_{size}x{size}_{number}")
        return state
    return apply


def _pooling(pool: Callable[..., tf.Tensor]) -> Operation:
    """Returns a 3x3 pooling, with a convolution behind it if the depth is to change."""
    def apply(state: tf.Tensor, depth: int, stride: int) -> tf.Tensor:
        pooled = pool(state, 3, stride, "SAME")
        if state.shape[-1] == depth:
            return pooled
        return layers.conv2d(pooled, depth, 1, scope="1x1")
    return apply


def _same(state: tf.Tensor, depth: int, stride: int) -> tf.Tensor:
    """Returns the state as it is, or as near as its size and depth allow."""
    if stride == 1 and state.shape[-1] == depth:
        return state
    return layers.conv2d(tf.nn.relu(state), depth, 1, stride=stride, scope="1x1")


_SEP_3, _SEP_5, _SEP_7 = (_separable(size) for size in (3, 5, 7))
_AVG, _MAX = _pooling(tf.nn.avg_pool2d), _pooling(tf.nn.max_pool2d)

NASNET_NORMAL = Cell(
    sums=((Step(0, _SEP_5), Step(1, _SEP_3)),
          (Step(1, _SEP_5), Step(1, _SEP_3)),
          (Step(0, _AVG), Step(1, _same)),
          (Step(1, _AVG), Step(1, _AVG)),
          (Step(0, _SEP_3), Step(0, _same))),
    outputs=(1, 2, 3, 4, 5, 6))
NASNET_REDUCTION = Cell(
    sums=((Step(0, _SEP_5), Step(1, _SEP_7)),
          (Step(0, _MAX), Step(1, _SEP_7)),
          (Step(0, _AVG), Step(1, _SEP_5)),
          (Step(3, _same), Step(2, _AVG)),
          (Step(2, _SEP_3), Step(0, _MAX))),
    outputs=(3, 4, 5, 6))
# PNASNet has one cell; with a stride it reduces.
PNASNET = Cell(
    sums=((Step(1, _SEP_5), Step(1, _MAX)),
          (Step(0, _SEP_7), Step(0, _MAX)),
          (Step(0, _SEP_5), Step(0, _SEP_3)),
          (Step(4, _SEP_3), Step(0, _MAX)),
          (Step(1, _SEP_3), Step(0, _same))),
    outputs=(2, 3, 4, 5, 6))


_INITIALIZER = layers.variance_scaling_initializer(mode="FAN_OUT")


def arg_scope(batch_norm: layers.BatchNorm, weight_decay: float):  # noqa: ANN201 (slim's scope type)
    """Returns the scope all layers of a network of cells are called in.

    Unlike in slim's other networks, the depthwise weights decay too.
    """
    penalty = layers.l2_regularizer(weight_decay) if weight_decay else None
    with layers.arg_scope([layers.separable_conv2d], depthwise_regularizer=penalty), \
            layers.arg_scope([layers.batch_norm], normalizer=batch_norm), \
            layers.arg_scope([layers.conv2d, layers.separable_conv2d], normalizer=batch_norm,
                             activation_fn=None, biases_initializer=None,
                             weights_initializer=_INITIALIZER,
                             weights_regularizer=penalty) as scope:
        return layers.arg_scope(scope)


def variable_name(asked: str) -> str:
    """Returns the name in checkpoints of a variable that a network of cells asks for.

    There a batch norm lies beside its convolution, under a name of its own.
    """
    layer, found, part = asked.rpartition("/BatchNorm/")
    if not found:
        return asked
    scope, _, name = layer.rpartition("/")
    if name == "1x1":
        name = "bn_1" if "/comb_iter_" in scope else "beginning_bn"
    elif name.startswith("separable_"):
        name = f"bn_sep_{name.removeprefix('separable_')}"
    elif not name.endswith("_bn"):
        name = f"{name.removesuffix('_1x1')}_bn"  # conv0, prev_1x1
    return f"{scope}/{name}/{part}"


def run(cell: Cell, scope: str, net: Map, previous: Map | None, filters: int, stride: int = 1,
        keep_prob: tf.Tensor | None = None) -> Map:
    """Runs a cell.

    Args:
        net, previous: outputs of the cell before and of the one before that, which may have half
            the stride. The first cell has no previous one; it sees `net` in its place.
        filters: depth of each state; an even number.
        stride: 1, or 2 to halve the resolution.
        keep_prob: of each operation, see drop_path.
    Returns:
        Depth is `filters` times the number of the cell's outputs.
    """
    with variable_scope(scope):
        second = net.values if previous is None else _matched(previous, net.stride, filters)
        states = [layers.conv2d(tf.nn.relu(net.values), filters, 1, scope="1x1"), second]
        for number, steps in enumerate(cell.sums):
            with variable_scope(f"comb_iter_{number}"):
                left, right = (_apply(step, side, states, filters, stride, keep_prob)
                               for side, step in zip(("left", "right"), steps))
                states.append(left + right)
    outputs = tf.concat([states[index] for index in cell.outputs], axis=-1)
    return Map(outputs, net.stride * stride)


def _apply(step: Step, side: str, states: list[tf.Tensor], filters: int, stride: int,
           keep_prob: tf.Tensor | None) -> tf.Tensor:
    with variable_scope(side):
        result = step.operation(states[step.state], filters, stride if step.state < 2 else 1)
    return result if step.operation is _same else drop_path.drop(result, keep_prob)


def _matched(previous: Map, stride: int, filters: int) -> tf.Tensor:
    """Brings the map of two cells ago to the resolution and depth of a cell's states."""
    values = tf.nn.relu(previous.values)
    if previous.stride == stride:
        return layers.conv2d(values, filters, 1, scope="prev_1x1")
    return _factorized_reduction(values, filters)


def _factorized_reduction(values: tf.Tensor, filters: int) -> tf.Tensor:
    """Halves the resolution: half of the depth from pixels 0, 2, ..., half from pixels 1, 3, ...

    Of an odd number of pixels, the last of the second half is past the border: zeros.
    """
    shifted = tf.pad(values, [[0, 0], [0, 1], [0, 1], [0, 0]])[:, 1::2, 1::2]
    halves = [layers.conv2d(pixels, filters // 2, 1, normalizer=None, scope=scope)
              for scope, pixels in (("path1_conv", values[:, ::2, ::2]), ("path2_conv", shifted))]
    return layers.batch_norm(tf.concat(halves, axis=-1), scope="final_path_bn")
