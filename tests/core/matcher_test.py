"""Match: masks and fetching values by row."""

import numpy as np
import pytest
import tensorflow as tf

from object_detection.core.matcher import Match

MATCH = Match(tf.constant([[1, -1, 0], [-2, 1, 1]]))


def test_masks():
    assert MATCH.matched_mask().numpy().tolist() == [[True, False, True], [False, True, True]]
    assert MATCH.unmatched_mask().numpy().tolist() == [[False, True, False], [False] * 3]
    assert MATCH.ignored_mask().numpy().tolist() == [[False] * 3, [True, False, False]]


@pytest.mark.parametrize("use_matmul", [False, True])
def test_gather_of_scalars_and_of_matrices(use_matmul):
    values = tf.constant([[10.0, 11.0], [20.0, 21.0]])
    got = MATCH.gather(values, unmatched=-5.0, ignored=-7.0, use_matmul=use_matmul)
    np.testing.assert_allclose(got, [[11, -5, 10], [-7, 21, 21]])
    wide = tf.tile(values[..., None, None], [1, 1, 2, 3])
    got = MATCH.gather(wide, unmatched=tf.fill([2, 3], -5.0), ignored=-7.0, use_matmul=use_matmul)
    assert got.shape == [2, 3, 2, 3]
    np.testing.assert_allclose(got[..., 1, 2], [[11, -5, 10], [-7, 21, 21]])


@pytest.mark.parametrize("use_matmul", [False, True])
def test_gather_from_no_rows_and_of_integers(use_matmul):
    nothing = Match(tf.constant([-1, -2]))
    got = nothing.gather(tf.zeros([0, 2], tf.int32), tf.constant([3, 4]), 0, use_matmul)
    assert got.dtype == tf.int32 and got.numpy().tolist() == [[3, 4], [0, 0]]
