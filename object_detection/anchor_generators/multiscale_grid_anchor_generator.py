"""Anchors for a feature pyramid: each level looks at objects of its own size."""

from collections.abc import Sequence

import tensorflow as tf

from object_detection.anchor_generators import grid_anchor_generator
from object_detection.core import box_ops
from object_detection.core.anchor_generator import AnchorGenerator, Size


class MultiscaleGridAnchorGenerator(AnchorGenerator):
    """Anchors whose base size is `anchor_scale` strides of their level; level L has stride 2^L.

    Lin et al., Focal Loss for Dense Object Detection (arXiv:1708.02002), section 4: each octave is
    split into `scales_per_octave` sizes.
    """

    def __init__(self, min_level: int, max_level: int, anchor_scale: float,
                 aspect_ratios: Sequence[float], scales_per_octave: int,
                 normalize_coordinates: bool = True) -> None:
        """Makes a generator.

        Args:
            min_level, max_level: finest and coarsest level.
            anchor_scale: side of the smallest anchor of a level in strides of the level.
            aspect_ratios: width over height.
            scales_per_octave: sizes between one level and the next.
            normalize_coordinates: return anchors in [0, 1] instead of pixels; the image size must
                then be given.
        Raises:
            ValueError: if min_level is above max_level, or a number is not positive.
        """
        if min_level > max_level:
            raise ValueError(f"MultiscaleGridAnchorGenerator: min_level {min_level} is above "
                             f"max_level {max_level}")
        if scales_per_octave < 1 or anchor_scale <= 0.0:
            raise ValueError("MultiscaleGridAnchorGenerator: want scales_per_octave of 1 or more "
                             f"and a positive anchor_scale, got {scales_per_octave} and "
                             f"{anchor_scale}")
        scales = [2.0 ** (octave / scales_per_octave) for octave in range(scales_per_octave)]
        self._strides = [2.0 ** level for level in range(min_level, max_level + 1)]
        self._sizes = [
            grid_anchor_generator.anchor_sizes(
                scales, aspect_ratios, (stride * anchor_scale, stride * anchor_scale))
            for stride in self._strides]
        self._normalize = normalize_coordinates

    def num_anchors_per_location(self) -> list[int]:
        return [len(heights) for heights, _ in self._sizes]

    def _generate(self, feature_map_shapes: Sequence[tuple[Size, Size]], im_height: Size | None,
                  im_width: Size | None) -> list[tf.Tensor]:
        levels = []
        for shape, stride, (heights, widths) in zip(
                feature_map_shapes, self._strides, self._sizes, strict=True):
            offset = (_first_center(im_height, stride), _first_center(im_width, stride))
            levels.append(grid_anchor_generator.tile_anchors(
                shape, heights, widths, (stride, stride), offset))
        if self._normalize:
            return normalized(levels, im_height, im_width, type(self).__name__)
        return levels


def normalized(levels: list[tf.Tensor], im_height: Size | None, im_width: Size | None,
               generator: str) -> list[tf.Tensor]:
    """Maps anchors in pixels to [0, 1]. Raises ValueError if the image size is not given."""
    if im_height is None or im_width is None:
        raise ValueError(f"{generator}.generate: normalize_coordinates is set, so im_height and "
                         f"im_width are needed, got {im_height} and {im_width}")
    return [box_ops.to_normalized(anchors, im_height, im_width) for anchors in levels]


def _first_center(image_side: Size | None, stride: float) -> float | tf.Tensor:
    """Returns where the centres of the first cells lie, in pixels along one axis.

    Half a stride, if whole cells tile the image; else 0, because a padded convolution then samples
    the image from its edge on. An unknown side counts as tiled.
    """
    if image_side is None:
        return stride / 2.0
    if tf.is_tensor(image_side):
        tiled = tf.equal(image_side % tf.cast(stride, image_side.dtype), 0)
        return tf.where(tiled, stride / 2.0, 0.0)
    return stride / 2.0 if image_side % stride == 0 else 0.0
