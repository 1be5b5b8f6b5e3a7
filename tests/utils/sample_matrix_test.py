"""Samples as a sparse product and as a gather: by hand, and none at all."""

import numpy as np
import pytest
import tensorflow as tf

from object_detection.utils import map_samples, sample_matrix


def _axis(positions, size):
    return map_samples.around(tf.constant([[positions]]), tf.constant([[size]]), margin=0.0)


# Two images of 2 x 2 pixels; the second one is ten times the first.
PIXELS = tf.constant([[[1.0], [2.0], [3.0], [4.0]], [[10.0], [20.0], [30.0], [40.0]]])


@pytest.fixture(params=[map_samples.read, sample_matrix.read])
def read(request):
    return request.param


def _both(axis):
    """Repeats the samples of one region for two images."""
    return map_samples.AxisSamples(*(tf.repeat(value, 2, axis=0) for value in axis))


def test_samples_lie_between_pixels(read):
    rows, columns = _both(_axis([0.0, 0.5], 2)), _both(_axis([0.25, 2.0], 2))
    got = read(PIXELS, tf.zeros([2, 1], tf.int32), tf.fill([2, 1], 2), rows, columns)
    # Columns: 3/4 of the left and 1/4 of the right; outside. Rows: the first; half of each.
    expected = [[1.25, 0.0], [2.25, 0.0]]
    np.testing.assert_allclose(got[..., 0], [[expected], [np.multiply(expected, 10.0)]])


def test_cells_average_their_samples(read):
    rows, columns = _both(_axis([0.0, 1.0], 2)), _both(_axis([0.0, 0.5], 2))
    got = read(PIXELS, tf.zeros([2, 1], tf.int32), tf.fill([2, 1], 2), rows, columns, per_cell=2)
    # (1 + 1.5 + 3 + 3.5) / 4
    np.testing.assert_allclose(tf.reshape(got, [-1]), [2.25, 22.5])


def test_a_region_without_a_map_is_zero(read):
    axis = _both(_axis([0.0], 2))
    got = read(PIXELS, tf.constant([[-1], [0]]), tf.fill([2, 1], 2), axis, axis)
    np.testing.assert_allclose(tf.reshape(got, [-1]), [0.0, 10.0])


def test_no_regions(read):
    none = map_samples.AxisSamples(*(value[:, :0] for value in _both(_axis([0.0, 1.0], 2))))
    got = read(PIXELS, tf.zeros([2, 0], tf.int32), tf.zeros([2, 0], tf.int32), none, none)
    assert got.shape == [2, 0, 2, 2, 1]


def test_gradient_goes_back_by_the_same_shares():
    got = sample_matrix.transposed_product(
        tf.constant([[0, 1], [1, 1]]), tf.constant([[0.25, 0.75], [0.5, 0.5]]),
        tf.constant([[8.0, 0.0], [2.0, 1.0]]), tf.constant(3))
    np.testing.assert_allclose(got, [[2.0, 0.0], [8.0, 1.0], [0.0, 0.0]])


def test_gradient_of_no_samples_is_zero():
    got = sample_matrix.transposed_product(tf.zeros([0, 4], tf.int32), tf.zeros([0, 4]),
                                           tf.zeros([0, 5]), tf.constant(3))
    np.testing.assert_array_equal(got, np.zeros([3, 5]))
