"""Similarities by hand."""

import numpy as np
import pytest
import tensorflow as tf

from object_detection.core import region_similarity_calculator as similarities

FIRST = tf.constant([[0.0, 0.0, 2.0, 2.0], [0.0, 0.0, 2.0, 1.0]])
SECOND = tf.constant([[0.0, 1.0, 2.0, 3.0]])


@pytest.mark.parametrize("similarity, expected", [
    (similarities.IouSimilarity(), [[1 / 3], [0.0]]),
    (similarities.IoaSimilarity(), [[0.5], [0.0]]),
    (similarities.NegSqDistSimilarity(), [[-2.0], [-5.0]]),
    (similarities.ThresholdedIouSimilarity(0.3), [[0.7], [0.0]]),
    (similarities.ThresholdedIouSimilarity(0.4), [[0.0], [0.0]])])
def test_values(similarity, expected):
    got = similarity.compare(FIRST, SECOND, tf.constant([0.7, 0.2]))
    np.testing.assert_allclose(got, expected, rtol=1e-6)
    assert similarity.compare(tf.zeros([0, 4]), SECOND, tf.zeros([0])).shape == [0, 1]


def test_thresholded_iou_says_that_it_needs_scores():
    with pytest.raises(ValueError, match="scores1"):
        similarities.ThresholdedIouSimilarity(0.3).compare(FIRST, SECOND)
