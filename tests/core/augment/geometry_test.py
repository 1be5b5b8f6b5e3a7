"""Moved pixels and the boxes over them."""

import numpy as np
import tensorflow as tf

from object_detection.core.augment import geometry

SEED = tf.constant([5, 6])


def record():
    """One object whose box, mask and pixels agree: the block of value 200."""
    image = np.full([8, 10, 3], 50.0, np.float32)
    image[2:4, 5:10] = 200.0
    mask = (image[None, ..., 0] == 200.0).astype(np.uint8)
    return {"image": tf.constant(image), "groundtruth_instance_masks": tf.constant(mask),
            "groundtruth_boxes": tf.constant([[0.25, 0.5, 0.5, 1.0]]),
            "groundtruth_keypoints": tf.constant([[[0.25, 0.5], [0.5, 1.0]]])}


def check_agreement(tensors):
    """Box corners must be those of the block of value 200, and so must the mask's."""
    image, mask = tensors["image"].numpy()[..., 0], tensors["groundtruth_instance_masks"].numpy()[0]
    for pixels in (image > 199, mask == 1):
        rows, columns = np.nonzero(pixels)
        height, width = pixels.shape
        np.testing.assert_allclose(tensors["groundtruth_boxes"][0], [
            rows.min() / height, columns.min() / width, (rows.max() + 1) / height,
            (columns.max() + 1) / width], atol=1e-6)


def test_box_mask_and_pixels_move_together():
    for function in (geometry.random_horizontal_flip, geometry.random_vertical_flip,
                     geometry.random_rotation90):
        got = function(record(), SEED, (), 1.0)
        check_agreement(got)
        points = got["groundtruth_keypoints"].numpy()[0]
        box = got["groundtruth_boxes"].numpy()[0]
        assert sorted(points[:, 0]) == [box[0], box[2]]
        assert sorted(points[:, 1]) == [box[1], box[3]]
        np.testing.assert_array_equal(function(record(), SEED, (), 0.0)["image"],
                                      record()["image"])


def test_flips_rename_keypoints():
    got = geometry.random_horizontal_flip(record(), SEED, (1, 0), 1.0)
    np.testing.assert_allclose(got["groundtruth_keypoints"][0], [[0.5, 0.0], [0.25, 0.5]])


def test_padding_keeps_the_object_and_uses_the_mean_colour():
    for number in range(4):
        got = geometry.random_pad_image(record(), tf.constant([number, 1]), 0, 0, 0, 0, ())
        height, width = got["image"].shape[:2]
        assert 8 <= height <= 16 and 10 <= width <= 20
        check_agreement(got)
        got = geometry.random_absolute_pad_image(record(), tf.constant([number, 1]), 3, 2, (1.0,))
        assert 8 <= got["image"].shape[0] <= 11 and 10 <= got["image"].shape[1] <= 12
        check_agreement(got)
    padded = geometry.pad_to(record(), tf.constant([9, 11]), tf.constant([0, 1]), ())
    np.testing.assert_allclose(padded["image"][8, 0], [68.75] * 3)  # 50 + 150 * 10 / 80


def test_scaling_keeps_normalized_boxes():
    got = geometry.resize_image(record(), SEED, 16, 20, "NEAREST_NEIGHBOR")
    check_agreement(got)
    got = geometry.random_image_scale(record(), SEED, 2.0, 2.0)
    assert got["image"].shape == [16, 20, 3]


def test_concatenation_doubles_objects():
    got = geometry.random_self_concat_image(record(), SEED, 1.0, 0.0)
    assert got["image"].shape == [16, 10, 3]
    np.testing.assert_allclose(got["groundtruth_boxes"],
                               [[0.125, 0.5, 0.25, 1.0], [0.625, 0.5, 0.75, 1.0]])
    assert got["groundtruth_instance_masks"].shape == [2, 16, 10]
