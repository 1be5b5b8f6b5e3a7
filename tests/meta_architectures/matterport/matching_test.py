"""Overlaps and matches by hand: crowds, padding, no ground truth."""

import numpy as np
import tensorflow as tf
from meta_architectures.matterport import samples

from object_detection.core.matcher import IGNORED, UNMATCHED
from object_detection.meta_architectures.matterport import matching


def test_matches():
    # Two objects that lie over each other, and a crowd.
    truth = samples.truth([[[0, 0, 10, 10], [0, 0, 10, 4], [19, 19, 21, 21]]], [[2, 1, -1]])
    regions = tf.constant([[
        [0.0, 0, 10, 10], [0, 0, 10, 6],  # the second overlaps both: 6 / 10 and 4 / 6
        [0, 0, 20, 10],  # just a half of the first
        [0, 0, 21, 10],  # 10 / 21 of it
        [20, 20, 30, 30], [40, 40, 50, 50]]])  # on the crowd with 1 / 103, and on nothing
    got = matching.RegionMatcher().match(regions, truth)
    np.testing.assert_array_equal(got.rows, [[0, 1, 0, UNMATCHED, IGNORED, UNMATCHED]])


def test_an_object_on_a_crowd_is_still_matched():
    truth = samples.truth([[[0, 0, 10, 10], [0, 0, 10, 10]]], [[-1, 2]])
    got = matching.RegionMatcher().match(tf.constant([[[0.0, 0, 10, 10]]]), truth)
    np.testing.assert_array_equal(got.rows, [[1]])


def test_rows_that_are_no_objects():
    truth = samples.truth([[[0, 0, 10, 10], [0, 0, 5, 10]]], [[0, -1]])
    got = matching.overlaps(tf.constant([[0.0, 0, 10, 10]]), truth)
    np.testing.assert_array_equal(got.objects, [[[-1], [-1], [-1]]])  # the last row is no box
    np.testing.assert_array_equal(got.touches_crowd, [[True]])
    np.testing.assert_array_equal(got.best(), [[-1]])


def test_no_rows_at_all():
    truth = samples.truth(np.zeros([2, 0, 4]), np.zeros([2, 0], int))
    got = matching.RegionMatcher().match(tf.zeros([2, 3, 4]), truth)
    np.testing.assert_array_equal(got.rows, np.full([2, 3], UNMATCHED))
