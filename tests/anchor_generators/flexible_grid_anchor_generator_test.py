"""Anchors listed level by level."""

import numpy as np
import pytest

from object_detection.anchor_generators.flexible_grid_anchor_generator import (
    AnchorGrid,
    FlexibleGridAnchorGenerator,
)

GRIDS = [AnchorGrid((8.0, 4.0), (1.0, 4.0), stride=(10, 20), offset=(5, 6)),
         AnchorGrid((2.0,), (1.0,), stride=(1, 1), offset=(0, 0))]


def test_sizes_pair_with_ratios():
    generator = FlexibleGridAnchorGenerator(GRIDS, normalize_coordinates=False)
    assert generator.num_anchors_per_location() == [2, 1]
    first, second = generator.generate([(1, 2), (1, 1)])
    np.testing.assert_allclose(
        first, [[1, 2, 9, 10], [4, 2, 6, 10], [1, 22, 9, 30], [4, 22, 6, 30]])
    np.testing.assert_allclose(second, [[-1, -1, 1, 1]])


def test_normalized_coordinates():
    generator = FlexibleGridAnchorGenerator(GRIDS[1:])
    np.testing.assert_allclose(generator.generate([(1, 1)], 2, 4)[0], [[-0.5, -0.25, 0.5, 0.25]])
    with pytest.raises(ValueError, match="normalize_coordinates is set"):
        generator.generate([(1, 1)])


def test_wrong_settings():
    with pytest.raises(ValueError, match="anchor_grid 0: want as many aspect_ratios"):
        FlexibleGridAnchorGenerator([AnchorGrid((1.0, 2.0), (1.0,), (1, 1), (0, 0))])
    with pytest.raises(ValueError, match="anchor_grid 0: .* must be positive"):
        FlexibleGridAnchorGenerator([AnchorGrid((0.0,), (1.0,), (1, 1), (0, 0))])
