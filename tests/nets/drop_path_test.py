"""Drop path: the schedule by hand, and what is dropped."""

import numpy as np
import pytest
import tensorflow as tf

from object_detection.nets import drop_path
from object_detection.nets.drop_path import NO_DROP_PATH, DropPath

SCHEDULE = DropPath(last_keep_prob=0.6, num_cells=4, steps=1000)


@pytest.mark.parametrize("cell,step,expected", [
    (3, 0, 1.0),
    (3, 500, 0.8),  # half of the way from 1 to 0.6
    (1, 500, 0.9),  # and half as deep
    (3, 1000, 0.6),
    (3, 5000, 0.6)])
def test_the_probability_falls_with_depth_and_steps(cell, step, expected):
    with drop_path.training_step(tf.constant(step, tf.int64)):
        np.testing.assert_allclose(SCHEDULE.keep_prob(cell), expected, rtol=1e-6)


def test_nothing_is_dropped_without_a_step_or_a_probability():
    assert SCHEDULE.keep_prob(3) is None
    with drop_path.training_step(tf.constant(1000)):
        assert NO_DROP_PATH.keep_prob(0) is None
        with drop_path.training_step(tf.constant(0)):
            pass
        np.testing.assert_allclose(SCHEDULE.keep_prob(3), 0.6, rtol=1e-6)  # the outer step again
    assert SCHEDULE.keep_prob(3) is None


def test_whole_examples_are_dropped_and_the_others_scaled():
    tf.random.set_seed(1)
    values = tf.fill([400, 1, 2, 3], 2.0)
    got = drop_path.drop(values, 0.8).numpy().reshape(400, -1)
    dropped = (got == 0).all(axis=1)
    np.testing.assert_allclose(got[~dropped], 2.5)  # 2 / 0.8
    assert 40 < dropped.sum() < 120  # 80 expected, standard deviation 8


def test_a_probability_of_one_and_an_empty_batch_change_nothing():
    values = tf.random.stateless_normal([50, 2, 2, 1], [1, 2])
    for keep_prob in (None, 1.0, tf.constant(1.0)):
        np.testing.assert_array_equal(drop_path.drop(values, keep_prob), values)
    assert drop_path.drop(tf.zeros([0, 2, 2, 1]), 0.5).shape == [0, 2, 2, 1]


def test_the_batch_may_be_unknown_when_tracing():
    @tf.function(input_signature=[tf.TensorSpec([None, 1, 1, 1])])
    def run(values):
        return drop_path.drop(values, 0.5)

    assert set(run(tf.ones([64, 1, 1, 1])).numpy().ravel()) == {0.0, 2.0}
