"""Greedy matching of pairs."""

import pytest
import tensorflow as tf

from object_detection.matchers.bipartite_matcher import GreedyBipartiteMatcher

# The best pair is (row 1, column 0); row 0 then has to be content with column 1.
SIMILARITY = tf.constant([[0.5, 0.1, 0.08], [0.6, 0.3, 0.2]])


def rows(similarity, valid_rows=None):
    return GreedyBipartiteMatcher().match(similarity, valid_rows).rows.numpy().tolist()


def test_best_pair_first():
    assert rows(SIMILARITY) == [1, 0, -1]


def test_rows_that_are_not_valid_get_nothing():
    assert rows(SIMILARITY, tf.constant([True, False])) == [0, -1, -1]
    assert rows(SIMILARITY, tf.constant([False, False])) == [-1, -1, -1]


def test_more_rows_than_columns():
    assert rows(tf.transpose(SIMILARITY)) == [1, 0]


@pytest.mark.parametrize("shape", [(0, 3), (2, 0), (2, 0, 3)])
def test_empty_sides(shape):
    assert rows(tf.zeros(shape)) == tf.fill([*shape[:-2], shape[-1]], -1).numpy().tolist()


def test_a_batch_compiled_equals_its_images():
    similarity = tf.stack([SIMILARITY, -SIMILARITY])
    compiled = tf.function(lambda values: GreedyBipartiteMatcher().match(values).rows,
                           jit_compile=True)
    assert compiled(similarity).numpy().tolist() == [rows(SIMILARITY), rows(-SIMILARITY)]
