"""Anchors of a grid."""

import numpy as np
import pytest
import tensorflow as tf

from object_detection.anchor_generators.grid_anchor_generator import GridAnchorGenerator


def test_scales_change_faster_than_ratios_and_cells_go_row_by_row():
    generator = GridAnchorGenerator(scales=(1, 2), aspect_ratios=(1, 4), base_anchor_size=(10, 10),
                                    anchor_stride=(100, 50), anchor_offset=(3, 5))
    assert generator.num_anchors_per_location() == [4]
    (anchors,) = generator.generate([(2, 2)])
    assert anchors.shape == [16, 4] and anchors.dtype == tf.float32
    # Ratio 4 makes an anchor of 10 x 10 half as high and twice as wide.
    np.testing.assert_allclose(anchors[:4], [
        [-2, 0, 8, 10], [-7, -5, 13, 15], [0.5, -5, 5.5, 15], [-2, -15, 8, 25]])
    np.testing.assert_allclose(anchors[4:8], anchors[:4] + [0, 50, 0, 50])
    np.testing.assert_allclose(anchors[8:], anchors[:8] + [100, 0, 100, 0])


def test_an_empty_map_and_a_map_of_unknown_size():
    generator = GridAnchorGenerator()
    assert generator.generate([(0, 3)])[0].shape == [0, 4]
    traced = tf.function(lambda height: generator.generate([(height, 2)])[0])
    np.testing.assert_allclose(traced(tf.constant(3)), generator.generate([(3, 2)])[0])


def test_wrong_settings_and_wrong_number_of_maps():
    with pytest.raises(ValueError, match="scales: want one or more positive"):
        GridAnchorGenerator(scales=())
    with pytest.raises(ValueError, match="aspect_ratios: want"):
        GridAnchorGenerator(aspect_ratios=(1.0, 0.0))
    with pytest.raises(ValueError, match=r"want 1 feature map\(s\).*got 2"):
        GridAnchorGenerator().generate([(1, 1), (2, 2)])
