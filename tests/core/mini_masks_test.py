"""Mini-masks: worked values, the original's arrays, odd boxes, no objects."""

import numpy as np
import pytest
import shared_files
import tensorflow as tf

from object_detection.core import mini_masks


@pytest.mark.parametrize("size", ["56x56", "28x40"])
def test_as_the_original(size):
    arrays = np.load(shared_files.require("fixtures/matterport/utils/masks.npz"))
    case = f"minimize_mask_{size}"
    got = mini_masks.minimize(arrays[f"{case}/in/mask"].transpose(2, 0, 1),
                              arrays[f"{case}/in/bbox"], arrays[f"{case}/in/mini_shape"])
    np.testing.assert_array_equal(got.numpy().astype(bool),
                                  arrays[f"{case}/out/mini_mask"].transpose(2, 0, 1))

    case = f"expand_mask_{size}"
    height, width, _ = arrays[f"{case}/in/image_shape"]
    got = mini_masks.expand(arrays[f"{case}/in/mini_mask"].transpose(2, 0, 1),
                            arrays[f"{case}/in/bbox"], height, width)
    wrong = got.numpy().astype(bool) != arrays[f"{case}/out/mask"].transpose(2, 0, 1)
    # Pixels of just one half fall where the noise of the original's transformation puts them.
    assert wrong.sum(axis=(1, 2)).max() <= 6


def test_half_of_a_box():
    # The left half of a 4 x 4 box at (2, 3) of a 10 x 12 image.
    mask = np.zeros([1, 10, 12])
    mask[0, 2:6, 3:5] = 1
    box = np.array([[2, 3, 6, 7]])
    mini = tf.function(mini_masks.minimize)(mask, box, [2, 4])
    assert mini.dtype == tf.uint8
    np.testing.assert_array_equal(mini, [[[1, 1, 0, 0]] * 2])
    np.testing.assert_array_equal(tf.function(mini_masks.expand)(mini, box, 10, 12), mask)


def test_only_the_inside_of_the_box_counts():
    # The neighbour at the right is another part of the object, outside of the box.
    mask = np.ones([1, 4, 4])
    mask[0, :, 2] = 0
    mini = mini_masks.minimize(mask, [[0, 0, 4, 2]], [2, 2])
    np.testing.assert_array_equal(mini, [[[1, 1]] * 2])


def test_a_box_without_area_is_blank():
    assert mini_masks.minimize(np.ones([1, 4, 4]), [[2, 2, 2, 2]], [3, 3]).numpy().sum() == 0
    assert mini_masks.expand(np.ones([1, 3, 3]), [[2, 2, 2, 2]], 4, 4).numpy().sum() == 0


def test_no_objects():
    assert mini_masks.minimize(np.zeros([0, 9, 9]), np.zeros([0, 4]), [5, 6]).shape == [0, 5, 6]
    assert mini_masks.expand(np.zeros([0, 5, 6]), np.zeros([0, 4]), 9, 8).shape == [0, 9, 8]
