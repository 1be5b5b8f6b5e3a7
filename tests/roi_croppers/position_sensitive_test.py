"""Position-sensitive pooling, by hand."""

import numpy as np
import pytest
import tensorflow as tf

from object_detection.roi_croppers.position_sensitive import PositionSensitiveCropper

WHOLE = tf.constant([[[0.0, 0.0, 1.0, 1.0]]])


@pytest.mark.parametrize("use_matmul", [False, True])
@pytest.mark.parametrize("part,expected", [
    (0, 0.0),  # the top left part samples (0.5, 0.5), away from the corner pixel
    (3, 1 / 16)])  # the bottom right one (1.5, 1.5): a quarter of the pixel, one of four parts
def test_each_part_reads_its_own_channels(part, expected, use_matmul):
    corner = np.zeros([1, 3, 3, 4], np.float32)
    corner[0, 2, 2, part] = 1.0
    got = PositionSensitiveCropper((2, 2), (2, 2), use_matmul).crop([tf.constant(corner)], WHOLE)
    np.testing.assert_allclose(got, [[[[expected]]]], atol=1e-6)


def test_channels_of_a_part_lie_together_and_parts_vote_by_their_mean():
    maps = tf.tile(tf.reshape(tf.range(12.0), [1, 1, 1, 12]), [1, 3, 3, 1])  # 6 parts, depth 2
    got = PositionSensitiveCropper((2, 3), (4, 3)).crop([maps], WHOLE)
    np.testing.assert_allclose(got[0, 0, 0], [5.0, 6.0], rtol=1e-6)  # mean of 0, 2, ... 10; plus 1


def test_regions_come_image_by_image():
    maps = tf.concat([tf.zeros([1, 3, 3, 4]), tf.ones([1, 3, 3, 4])], axis=0)
    got = PositionSensitiveCropper((2, 2), (2, 2)).crop([maps], tf.tile(WHOLE, [2, 2, 1]))
    np.testing.assert_allclose(np.ravel(got), [0.0, 0.0, 1.0, 1.0], atol=1e-6)


def test_no_regions():
    got = PositionSensitiveCropper((2, 2), (2, 2)).crop([tf.ones([2, 3, 3, 8])],
                                                        tf.zeros([2, 0, 4]))
    assert got.shape == [0, 1, 1, 2]
