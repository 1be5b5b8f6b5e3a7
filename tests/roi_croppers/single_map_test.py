"""Crop, resize and pool from one map, by hand."""

import numpy as np
import pytest
import tensorflow as tf

from object_detection.roi_croppers.single_map import SingleMapCropper

MAP = tf.reshape(tf.range(16.0), [1, 4, 4, 1])
WHOLE = tf.constant([[[0.0, 0.0, 1.0, 1.0]]])


@pytest.mark.parametrize("use_matmul", [False, True])
def test_a_box_over_the_whole_map_gives_the_map(use_matmul):
    got = SingleMapCropper(4, use_matmul=use_matmul).crop([MAP], WHOLE)
    np.testing.assert_allclose(got, MAP, atol=1e-5)


def test_the_pool_keeps_the_largest():
    got = SingleMapCropper(4, pool_size=2, pool_stride=2).crop([MAP], WHOLE)
    np.testing.assert_allclose(got[0, :, :, 0], [[5, 7], [13, 15]], rtol=1e-5)


def test_regions_come_image_by_image():
    maps = tf.concat([MAP, MAP + 100.0], axis=0)
    got = SingleMapCropper(1).crop([maps], tf.tile(WHOLE, [2, 3, 1]))
    assert got.shape == [6, 1, 1, 1]
    np.testing.assert_allclose(np.ravel(got), [7.5] * 3 + [107.5] * 3, rtol=1e-5)


def test_no_regions():
    assert SingleMapCropper(4).crop([MAP], tf.zeros([1, 0, 4])).shape == [0, 4, 4, 1]
