"""Anchors whose sizes, shapes, strides and offsets are all given level by level."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import tensorflow as tf

from object_detection.anchor_generators import (
    grid_anchor_generator,
    multiscale_grid_anchor_generator,
)
from object_detection.core.anchor_generator import AnchorGenerator, Size


class AnchorGrid(NamedTuple):
    """Anchors of one level; the i-th size goes with the i-th ratio."""

    base_sizes: Sequence[float]  # geometric mean of height and width, in pixels
    aspect_ratios: Sequence[float]  # width over height
    stride: tuple[float, float]  # (y, x) distance of neighbouring cells, in pixels
    offset: tuple[float, float]  # (y, x) centre of the first cell, in pixels


class FlexibleGridAnchorGenerator(AnchorGenerator):
    """Anchors as listed, for any number of levels."""

    def __init__(self, grids: Sequence[AnchorGrid], normalize_coordinates: bool = True) -> None:
        """Makes a generator.

        Args:
            grids: one per level.
            normalize_coordinates: return anchors in [0, 1] instead of pixels; the image size must
                then be given.
        Raises:
            ValueError: if a level has not as many sizes as ratios, or one is not positive.
        """
        self._grids = list(grids)
        self._normalize = normalize_coordinates
        for level, grid in enumerate(self._grids):
            if len(grid.base_sizes) != len(grid.aspect_ratios):
                raise ValueError(f"anchor_grid {level}: want as many aspect_ratios as base_sizes, "
                                 f"got {len(grid.aspect_ratios)} and {len(grid.base_sizes)}")
            if min([*grid.base_sizes, *grid.aspect_ratios], default=1.0) <= 0.0:
                raise ValueError(f"anchor_grid {level}: base_sizes and aspect_ratios must be "
                                 f"positive, got {list(grid.base_sizes)} and "
                                 f"{list(grid.aspect_ratios)}")

    def num_anchors_per_location(self) -> list[int]:
        return [len(grid.base_sizes) for grid in self._grids]

    def _generate(self, feature_map_shapes: Sequence[tuple[Size, Size]], im_height: Size | None,
                  im_width: Size | None) -> list[tf.Tensor]:
        levels = []
        for shape, grid in zip(feature_map_shapes, self._grids, strict=True):
            sizes = np.asarray(grid.base_sizes, np.float32)
            roots = np.sqrt(np.asarray(grid.aspect_ratios, np.float32))
            levels.append(grid_anchor_generator.tile_anchors(
                shape, sizes / roots, sizes * roots, grid.stride, grid.offset))
        if self._normalize:
            return multiscale_grid_anchor_generator.normalized(
                levels, im_height, im_width, type(self).__name__)
        return levels
