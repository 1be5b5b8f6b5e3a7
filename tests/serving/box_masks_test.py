import numpy as np
import pytest
import tensorflow as tf
from pycocotools import mask as mask_api

from object_detection.serving import box_masks


def full(placed, height, width):
    image = np.zeros([height, width], np.uint8)
    rows, columns = placed.pixels.shape
    image[placed.top:placed.top + rows, placed.left:placed.left + columns] = placed.pixels
    return image


def reference(mask, box, height, width):
    """The whole image cut out of the mask's frame, as the OD API does it."""
    ymin, xmin, ymax, xmax = box
    frame = [[-ymin / (ymax - ymin), -xmin / (xmax - xmin),
              (1 - ymin) / (ymax - ymin), (1 - xmin) / (xmax - xmin)]]
    cut = tf.image.crop_and_resize(mask[None, ..., None], tf.constant(frame, tf.float32), [0],
                                   [height, width], extrapolation_value=0)
    return (cut.numpy()[0, ..., 0] > 0.5).astype(np.uint8)


def test_a_mask_of_ones_fills_its_box():
    # Corners are aligned: pixel i of 11 stands at i / 10, so 0.2 to 0.4 are the pixels 2, 3, 4.
    placed = box_masks.place(np.ones([3, 3]), np.array([0.2, 0.5, 0.4, 0.5001]), 11, 11)
    assert (placed.top, placed.left) == (2, 5)
    np.testing.assert_array_equal(placed.pixels, [[1], [1], [1]])


@pytest.mark.parametrize("box", [[0.1, 0.2, 0.7, 0.9], [0.0, 0.0, 1.0, 1.0],
                                 [-0.3, 0.5, 0.4, 1.4], [0.31, 0.33, 0.36, 0.4]])
def test_pixels_are_those_of_the_original(box):
    mask = np.random.default_rng(1).random([5, 7]).astype(np.float32)
    placed = box_masks.place(mask, np.array(box), 33, 45)
    np.testing.assert_array_equal(full(placed, 33, 45), reference(mask, box, 33, 45))


@pytest.mark.parametrize("box", [[0.5, 0.5, 0.5, 0.5], [0.6, 0.5, 0.2, 0.9], [1.5, 1.5, 2, 2],
                                 [0.51, 0.51, 0.52, 0.52]])
def test_a_box_without_pixels_has_an_empty_mask(box):
    placed = box_masks.place(np.ones([4, 4]), np.array(box), 10, 10)
    assert not full(placed, 10, 10).any()
    assert mask_api.area(box_masks.encode(placed, 10, 10)) == 0


def test_an_image_of_one_pixel():
    placed = box_masks.place(np.ones([4, 4]), np.array([0.0, 0.0, 1.0, 1.0]), 1, 1)
    np.testing.assert_array_equal(full(placed, 1, 1), [[1]])


def test_run_lengths_decode_to_the_same_mask():
    placed = box_masks.PlacedMask(np.array([[1, 0], [1, 1]], np.uint8), 3, 1)
    encoded = box_masks.encode(placed, 6, 5)
    assert encoded["size"] == [6, 5] and isinstance(encoded["counts"], str)
    np.testing.assert_array_equal(mask_api.decode(encoded), full(placed, 6, 5))
