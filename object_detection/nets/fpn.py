"""Feature pyramid: maps of several strides, each with the context of the coarser ones.

Lin et al., Feature Pyramid Networks for Object Detection (arXiv:1612.03144). Level n has stride
2^n. Scopes are `lateral_<level>`, `smooth_<level>` and `coarse_<level>`.
"""

import dataclasses
import enum
from collections.abc import Mapping

import tensorflow as tf

from object_detection.nets import slim_layers as layers
from object_detection.nets.hyperparams import Hyperparams


class Coarse(enum.Enum):
    """Where the levels past the backbone come from."""

    CONVOLUTION = "convolution"    # 3x3 with stride 2, layer settings as for smoothing
    SECOND_PIXEL = "second_pixel"  # every second pixel of the level before: a max pool of size 1


@dataclasses.dataclass(frozen=True)
class PyramidSettings:
    """What differs between the pyramids in use.

    Attributes:
        min_level, max_level: levels of the result.
        depth: channels of every level.
        lateral: settings of the 1x1 convolutions of the backbone's maps.
        smoothing: settings of the 3x3 convolutions after the sums.
        smooth_coarsest: the backbone's coarsest level, where nothing is added, is smoothed as well.
        add_smoothed: finer levels add what smoothing made of the coarser one; in the paper, what it
            was made from.
        coarse: how levels past the backbone are made, from the result for its coarsest level.
    Raises:
        ValueError: if there is no level.
    """

    min_level: int
    max_level: int
    depth: int
    lateral: Hyperparams
    smoothing: Hyperparams
    smooth_coarsest: bool = True
    add_smoothed: bool = False
    coarse: Coarse = Coarse.SECOND_PIXEL

    def __post_init__(self) -> None:
        if self.min_level > self.max_level:
            raise ValueError(f"fpn: min_level {self.min_level} is above max_level "
                             f"{self.max_level}")


def pyramid(backbone: Mapping[int, tf.Tensor], settings: PyramidSettings) -> list[tf.Tensor]:
    """Builds the pyramid.

    Args:
        backbone: float [B, h, w, channels] by level. Each level has half the height and width of
            the one before, rounded up, so that any image size works.
        settings: the layers.
    Returns:
        float [B, h, w, depth] for each level, finest first; the sizes are those of the backbone,
        halved and rounded up past it.
    Raises:
        ValueError: if the backbone lacks a level.
    """
    top = min(settings.max_level, max(backbone))
    wanted = range(settings.min_level, top + 1)
    missing = [level for level in wanted if level not in backbone]
    if missing or not wanted:
        raise ValueError(f"fpn.min_level: want one of the backbone's levels, {min(backbone)} to "
                         f"{max(backbone)}, got {settings.min_level}")
    outputs, above = [], None
    for level in reversed(wanted):
        with settings.lateral.arg_scope():
            net = layers.conv2d(backbone[level], settings.depth, 1, scope=f"lateral_{level}")
        net = above = net if above is None else net + _doubled(above, tf.shape(net), net.shape)
        if level < top or settings.smooth_coarsest:
            with settings.smoothing.arg_scope():
                net = layers.conv2d(above, settings.depth, 3, scope=f"smooth_{level}")
        if settings.add_smoothed:
            above = net
        outputs.insert(0, net)
    for level in range(top + 1, settings.max_level + 1):
        outputs.append(_coarser(outputs[-1], level, settings))
    return outputs


def _doubled(coarse: tf.Tensor, shape: tf.Tensor, static: tf.TensorShape) -> tf.Tensor:
    """Repeats each pixel in a 2x2 block and cuts the result to the size of the finer map."""
    doubled = tf.repeat(tf.repeat(coarse, 2, axis=1), 2, axis=2)
    return tf.ensure_shape(doubled[:, :shape[1], :shape[2]], static)


def _coarser(features: tf.Tensor, level: int, settings: PyramidSettings) -> tf.Tensor:
    if settings.coarse is Coarse.SECOND_PIXEL:
        return features[:, ::2, ::2]
    with settings.smoothing.arg_scope():
        return layers.conv2d(features, settings.depth, 3, stride=2, scope=f"coarse_{level}")
