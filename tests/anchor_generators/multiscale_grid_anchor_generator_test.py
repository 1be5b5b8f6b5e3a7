"""Anchors of a pyramid."""

import numpy as np
import pytest
import tensorflow as tf

from object_detection.anchor_generators.multiscale_grid_anchor_generator import (
    MultiscaleGridAnchorGenerator,
)


def test_sizes_follow_the_stride():
    generator = MultiscaleGridAnchorGenerator(2, 3, 2.0, [1.0], 1, normalize_coordinates=False)
    assert generator.num_anchors_per_location() == [1, 1]
    fine, coarse = generator.generate([(2, 2), (1, 1)], 8, 8)
    # Strides 4 and 8, sides 8 and 16, the first centre half a stride into the image.
    np.testing.assert_allclose(fine[:2], [[-2, -2, 6, 6], [-2, 2, 6, 10]])
    np.testing.assert_allclose(coarse, [[-4, -4, 12, 12]])


def test_an_image_that_cells_do_not_tile_starts_at_its_edge():
    generator = MultiscaleGridAnchorGenerator(2, 2, 2.0, [1.0], 1, normalize_coordinates=False)
    expected = [[-4, -2, 4, 6]]  # 9 rows are not whole cells, 8 columns are
    np.testing.assert_allclose(generator.generate([(1, 1)], 9, 8)[0], expected)
    traced = tf.function(lambda height, width: generator.generate([(1, 1)], height, width)[0])
    np.testing.assert_allclose(traced(tf.constant(9), tf.constant(8)), expected)


def test_octaves_and_normalized_coordinates():
    generator = MultiscaleGridAnchorGenerator(2, 2, 1.0, [1.0], 2)
    (anchors,) = generator.generate([(1, 1)], 4, 4)
    half = np.sqrt(2.0) / 2
    np.testing.assert_allclose(
        anchors, [[0, 0, 1, 1], [0.5 - half, 0.5 - half, 0.5 + half, 0.5 + half]], atol=1e-6)
    with pytest.raises(ValueError, match="im_height and im_width are needed"):
        generator.generate([(1, 1)])


def test_wrong_settings_and_wrong_number_of_maps():
    with pytest.raises(ValueError, match="min_level 4 is above max_level 3"):
        MultiscaleGridAnchorGenerator(4, 3, 1.0, [1.0], 1)
    with pytest.raises(ValueError, match="scales_per_octave"):
        MultiscaleGridAnchorGenerator(3, 4, 1.0, [1.0], 0)
    with pytest.raises(ValueError, match="want 2 feature"):
        MultiscaleGridAnchorGenerator(3, 4, 1.0, [1.0], 1).generate([(1, 1)], 8, 8)
