"""Crops: which objects stay, and where their boxes go."""

import numpy as np
import pytest
import tensorflow as tf

from object_detection.core.augment import crops


def record():
    image = tf.reshape(tf.range(10 * 20 * 3, dtype=tf.float32), [10, 20, 3])
    return {
        "image": image,
        "groundtruth_boxes": tf.constant([[0, 0, 1, 0.5], [0, 0.4, 0.5, 0.9], [0, 0.9, 1, 1.0]]),
        "groundtruth_classes": tf.constant([1, 2, 3], tf.int64),
        "groundtruth_instance_masks": tf.ones([3, 10, 20], tf.uint8),
    }


def test_square_crop_keeps_what_is_inside():
    # The window is 10 x 10; with its left at L pixels, boxes move to (x * 20 - L) / 10.
    got = crops.random_crop_to_aspect_ratio(record(), tf.constant([1, 5]), 1.0, 0.3, True)
    assert got["image"].shape == [10, 10, 3]
    left = int(got["image"][0, 0, 0]) // 3
    starts, ends = np.array([0, 8, 18]) - left, np.array([10, 18, 20]) - left
    share = (np.clip(ends, 0, 10) - np.clip(starts, 0, 10)) / (ends - starts)
    kept = share >= 0.3
    np.testing.assert_array_equal(got["groundtruth_classes"], np.array([1, 2, 3])[kept])
    np.testing.assert_allclose(got["groundtruth_boxes"][:, 1],
                               np.clip(starts[kept] / 10, 0, 1), atol=1e-6)
    assert got["groundtruth_instance_masks"].shape == [kept.sum(), 10, 10]


def test_a_crop_that_drops_every_box_leaves_an_empty_record():
    tensors = record()
    tensors["groundtruth_boxes"] = tf.constant([[0, 0.45, 0.01, 0.55]] * 3)
    got = crops.random_crop_to_aspect_ratio(tensors, tf.constant([1, 5]), 0.1, 0.99, True)
    assert got["groundtruth_boxes"].shape[1] == 4
    assert len(got["groundtruth_classes"]) == len(got["groundtruth_instance_masks"])


def test_crop_to_a_size_draws_boxes_around_what_is_left_of_masks():
    tensors = record()
    masks = np.zeros([3, 10, 20], np.uint8)
    masks[0, 2:5, 1:3] = 1
    masks[1, 0, 0] = 1  # out of sight wherever the crop is, but its box reaches inside
    masks[2, 4:8, 4:18] = 1
    tensors["groundtruth_instance_masks"] = tf.constant(masks)
    tensors["groundtruth_boxes"] = tf.constant([[0.2, 0.05, 0.5, 0.15], [0, 0, 1, 1.0],
                                                [0.4, 0.2, 0.8, 0.9]])
    cut = tf.function(lambda t, s: crops.random_crop_to_size(t, s, (6, 8)))
    seen = set()
    for number in range(12):
        got = cut(tensors, tf.constant([4, number]))
        assert got["image"].shape == [6, 8, 3]
        top, left = divmod(int(got["image"][0, 0, 0]) // 3, 20)
        window = masks[:, top:top + 6, left:left + 8]
        kept = window.any(axis=(1, 2))
        np.testing.assert_array_equal(got["groundtruth_classes"], np.array([1, 2, 3])[kept])
        np.testing.assert_array_equal(got["groundtruth_instance_masks"], window[kept])
        for box, mask in zip(got["groundtruth_boxes"].numpy(), window[kept]):
            rows, columns = np.nonzero(mask)
            np.testing.assert_allclose(box, [rows.min() / 6, columns.min() / 8,
                                             (rows.max() + 1) / 6, (columns.max() + 1) / 8])
        seen.add((top, left))
    assert len(seen) > 6


def test_crop_to_a_size_without_masks_cuts_boxes():
    tensors = record()
    del tensors["groundtruth_instance_masks"]
    got = crops.random_crop_to_size(tensors, tf.constant([4, 1]), (10, 20))  # the whole image
    np.testing.assert_allclose(got["groundtruth_boxes"], tensors["groundtruth_boxes"])
    empty = {key: value[:0] if key != "image" else value for key, value in record().items()}
    got = crops.random_crop_to_size(empty, tf.constant([4, 1]), (4, 4))
    assert got["groundtruth_boxes"].shape == [0, 4]


def test_random_crop_covers_an_object_and_an_impossible_one_keeps_the_image():
    for number in range(5):
        got = crops.random_crop_image(record(), tf.constant([2, number]),
                                      crops.CropRule(min_object_covered=0.9, overlap_thresh=0.8))
        assert len(got["groundtruth_boxes"]) >= 1
    rule = crops.CropRule(min_area=0.999, max_area=1.0, min_aspect_ratio=9, max_aspect_ratio=9.1)
    got = crops.random_crop_image(record(), tf.constant([2, 3]), rule)
    np.testing.assert_array_equal(got["image"], record()["image"])


def test_large_scale_jitter_has_a_static_square():
    tensors = {**record()}
    for number in range(4):
        got = crops.random_scale_crop_and_pad_to_square(tensors, tf.constant([3, number]), 16, 0.5,
                                                        2.0)
        assert got["image"].shape == [16, 16, 3]
        assert (got["groundtruth_boxes"].numpy() <= 1).all()
    with pytest.raises(ValueError, match="scale_min"):
        crops.random_scale_crop_and_pad_to_square(tensors, tf.constant([3, 1]), 16, 2.0, 1.0)
