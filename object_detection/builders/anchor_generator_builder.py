"""Builds the generator that an `anchor_generator` block asks for."""

from object_detection.anchor_generators.flexible_grid_anchor_generator import (
    AnchorGrid,
    FlexibleGridAnchorGenerator,
)
from object_detection.anchor_generators.grid_anchor_generator import GridAnchorGenerator
from object_detection.anchor_generators.multiscale_grid_anchor_generator import (
    MultiscaleGridAnchorGenerator,
)
from object_detection.anchor_generators.whole_pixel_anchor_generator import (
    WholePixelAnchorGenerator,
)
from object_detection.core.anchor_generator import AnchorGenerator
from object_detection.protos import (
    anchor_generator_pb2,
    flexible_grid_anchor_generator_pb2,
    grid_anchor_generator_pb2,
    multiscale_anchor_generator_pb2,
)


def build(config: anchor_generator_pb2.AnchorGenerator) -> AnchorGenerator:
    """Builds the generator named by `anchor_generator_oneof`.

    Raises:
        ValueError: if none is set, or one of another family (SSD), or its settings are wrong.
    """
    kind = config.WhichOneof("anchor_generator_oneof")
    if kind not in _BUILDERS:
        raise ValueError(f"anchor_generator: set one of {sorted(_BUILDERS)}, "
                         f"got {kind or 'none of them'}")
    return _BUILDERS[kind](getattr(config, kind))


def _grid(config: grid_anchor_generator_pb2.GridAnchorGenerator) -> GridAnchorGenerator:
    return GridAnchorGenerator(
        scales=tuple(config.scales), aspect_ratios=tuple(config.aspect_ratios),
        base_anchor_size=(config.height, config.width),
        anchor_stride=(config.height_stride, config.width_stride),
        anchor_offset=(config.height_offset, config.width_offset))


def _multiscale(config: multiscale_anchor_generator_pb2.MultiscaleAnchorGenerator,
                ) -> MultiscaleGridAnchorGenerator:
    return MultiscaleGridAnchorGenerator(
        min_level=config.min_level, max_level=config.max_level, anchor_scale=config.anchor_scale,
        aspect_ratios=tuple(config.aspect_ratios), scales_per_octave=config.scales_per_octave,
        normalize_coordinates=config.normalize_coordinates)


def _flexible(config: flexible_grid_anchor_generator_pb2.FlexibleGridAnchorGenerator,
              ) -> FlexibleGridAnchorGenerator:
    grids = [AnchorGrid(tuple(grid.base_sizes), tuple(grid.aspect_ratios),
                        (grid.height_stride, grid.width_stride),
                        (grid.height_offset, grid.width_offset))
             for grid in config.anchor_grid]
    return FlexibleGridAnchorGenerator(grids, config.normalize_coordinates)


def _whole_pixel(
        config: anchor_generator_pb2.WholePixelAnchorGenerator) -> WholePixelAnchorGenerator:
    return WholePixelAnchorGenerator(tuple(config.sizes), tuple(config.aspect_ratios))


_BUILDERS = {
    "grid_anchor_generator": _grid,
    "multiscale_anchor_generator": _multiscale,
    "flexible_grid_anchor_generator": _flexible,
    "whole_pixel_anchor_generator": _whole_pixel,
}
