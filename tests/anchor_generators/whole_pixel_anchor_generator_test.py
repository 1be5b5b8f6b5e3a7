import numpy as np
import pytest
import tensorflow as tf

from object_detection.anchor_generators.whole_pixel_anchor_generator import (
    WholePixelAnchorGenerator,
)


def test_sides_are_rounded_and_middles_are_corners_of_cells():
    generator = WholePixelAnchorGenerator([32], [0.5, 1.0, 2.0])
    assert generator.num_anchors_per_location() == [3]
    anchors, = generator.generate([(1, 2)], im_height=8, im_width=9)
    # Half of 32 * sqrt(1 / 2) is 11.3, half of 32 / sqrt(1 / 2) is 22.6; 9 // 2 cells are 4 apart.
    np.testing.assert_array_equal(anchors, [
        [-11, -23, 11, 23], [-16, -16, 16, 16], [-23, -11, 23, 11],
        [-11, -19, 11, 27], [-16, -12, 16, 20], [-23, -7, 23, 15]])


def test_halves_are_rounded_to_even():
    anchors, = WholePixelAnchorGenerator([5], [1.0]).generate([(1, 1)], 4, 4)
    np.testing.assert_array_equal(anchors, [[-2, -2, 2, 2]])


def test_strides_follow_from_the_sizes():
    generator = WholePixelAnchorGenerator([32, 64], [1.0])

    @tf.function
    def last_corner(height, width):
        levels = generator.generate([(3, 5), (tf.constant(2), tf.constant(3))], height, width)
        return [anchors[-1] for anchors in levels]

    fine, coarse = last_corner(tf.constant(96.0), tf.constant(160.0))
    np.testing.assert_array_equal(fine, [48, 112, 80, 144])  # strides of 32
    # 96 // 2 and 160 // 3, not 64: the map has every second pixel of one of 3 x 5.
    np.testing.assert_array_equal(coarse, [48 - 32, 106 - 32, 48 + 32, 106 + 32])


def test_a_map_without_cells():
    anchors, = WholePixelAnchorGenerator([32], [1.0]).generate([(0, 4)], 96, 128)
    assert anchors.shape == [0, 4]


def test_settings_that_cannot_work():
    with pytest.raises(ValueError, match="positive sizes and aspect_ratios"):
        WholePixelAnchorGenerator([], [1.0])
    with pytest.raises(ValueError, match="positive sizes and aspect_ratios"):
        WholePixelAnchorGenerator([32.0], [0.0])
    with pytest.raises(ValueError, match="give im_height and im_width"):
        WholePixelAnchorGenerator([32], [1.0]).generate([(1, 1)])
