"""Padding and clipping of tensors."""

import numpy as np
import pytest
import tensorflow as tf

from object_detection.utils import shape_utils


def test_pad_and_clip_of_different_dimensions():
    tensor = tf.constant([[1, 2, 3], [4, 5, 6]])
    got = shape_utils.pad_or_clip_nd(tensor, [3, 2])
    np.testing.assert_array_equal(got, [[1, 2], [4, 5], [0, 0]])
    assert shape_utils.pad_or_clip_nd(tensor, [None, 4]).shape == [2, 4]


@pytest.mark.parametrize("rows", [0, 2, 5])
def test_dynamic_input_gets_a_static_shape(rows):
    traced = tf.function(lambda x: shape_utils.pad_or_clip_nd(x, [3, None]),
                         input_signature=[tf.TensorSpec([None, 4])])
    assert traced.get_concrete_function().output_shapes == [3, 4]
    got = traced(tf.ones([rows, 4]))
    assert np.sum(got) == 4 * min(rows, 3)


def test_size_that_is_a_tensor():
    got = tf.function(shape_utils.pad_or_clip_nd)(tf.ones([2]), [tf.constant(3)])
    np.testing.assert_array_equal(got, [1, 1, 0])


def test_strings_are_padded_with_empty_ones():
    np.testing.assert_array_equal(
        shape_utils.pad_or_clip_nd(tf.constant(["a"]), [2]), [b"a", b""])


def test_wrong_rank_is_an_error():
    with pytest.raises(ValueError, match="1 sizes for a tensor of 2"):
        shape_utils.pad_or_clip_nd(tf.ones([2, 2]), [3])


def test_first_dimension():
    tensor = tf.constant([[1], [2]])
    np.testing.assert_array_equal(shape_utils.pad_tensor(tensor, 3), [[1], [2], [0]])
    np.testing.assert_array_equal(shape_utils.clip_tensor(tensor, 1), [[1]])
    np.testing.assert_array_equal(shape_utils.pad_or_clip_tensor(tensor, 1), [[1]])
    np.testing.assert_array_equal(shape_utils.pad_or_clip_tensor(tensor, 3), [[1], [2], [0]])


def test_combined_shape_prefers_ints():
    seen = []
    tf.function(lambda x: seen.append(shape_utils.combined_static_and_dynamic_shape(x)),
                input_signature=[tf.TensorSpec([None, 4])]).get_concrete_function()
    assert tf.is_tensor(seen[0][0]) and seen[0][1] == 4
