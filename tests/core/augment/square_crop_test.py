"""Square crops, and the SSD crops with padding."""

import numpy as np
import pytest
import tensorflow as tf

from object_detection.core.augment import crops


def record(height=10, width=20):
    """Pixels number themselves from 1; the object is rows 2..5, columns 8..15 (box and mask)."""
    numbers = 1.0 + np.arange(height * width, dtype=np.float32).reshape(height, width)
    mask = np.zeros([1, height, width], np.uint8)
    mask[0, 2:6, 8:16] = 1
    return {
        "image": tf.constant(np.repeat(numbers[..., None], 3, axis=-1)),
        "groundtruth_boxes": tf.constant([[2 / height, 8 / width, 6 / height, 16 / width]]),
        "groundtruth_classes": tf.constant([4], tf.int64),
        "groundtruth_instance_masks": tf.constant(mask),
    }


def box_of(mask):
    """The normalized box around a mask."""
    rows, columns = np.nonzero(mask)
    sides = np.array(mask.shape * 2, np.float32)
    return np.array([rows.min(), columns.min(), rows.max() + 1, columns.max() + 1]) / sides


def window_of(image, width):
    """Top and left of the crop in the original image, from its first pixel that is not black."""
    rows, columns = np.nonzero(image[..., 0])
    number = int(image[rows[0], columns[0], 0]) - 1
    return number // width - rows[0], number % width - columns[0]


@pytest.mark.parametrize("size, most, expected", [
    ((256, 600), 128, (128, 128)),  # 128 is half of 256, and less than half of 600
    ((255, 100), 128, (64, 32)),  # 128 > 127.5; 64 > 50
    ((10, 20), 128, (4, 8)),
    ((1, 2), 5, (0, 0))])  # 5 // 16 and 5 // 8
def test_the_distance_from_the_border_is_halved_until_it_fits(size, most, expected):
    np.testing.assert_array_equal(
        crops._distance_from_border(most, tf.constant(size)), expected)


@pytest.mark.parametrize("scale, side", [(1.0, 20), (1.3, 26), (0.45, 9)])
def test_square_of_the_longer_side(scale, side):
    function = tf.function(lambda t, s: crops.random_square_crop_by_scale(
        t, s, 128, scale, scale, 1))
    places = set()
    for number in range(8):
        got = function(record(), tf.constant([number, 3]))
        assert got["image"].shape == [side, side, 3]
        top, left = window_of(got["image"].numpy(), 20)
        places.add((top, left))
        assert 4 <= top + side // 2 <= 6 and 8 <= left + side // 2 <= 12
        mask = got["groundtruth_instance_masks"].numpy()[0]
        np.testing.assert_allclose(got["groundtruth_boxes"][0], box_of(mask), atol=1e-6)
        # Every pixel inside the image is there, the last row and column too; the rest is black.
        visible = (min(10, top + side) - max(0, top)) * (min(20, left + side) - max(0, left))
        assert np.count_nonzero(got["image"].numpy()[..., 0]) == visible
    assert len(places) > 3


def test_square_crop_drops_objects_outside_and_an_empty_record_stays_empty():
    tensors = record()
    tensors["groundtruth_boxes"] = tf.constant([[0.0, 0.0, 0.1, 0.05]])  # the corner pixel
    got = crops.random_square_crop_by_scale(tensors, tf.constant([1, 1]), 128, 0.2, 0.2, 1)
    assert got["groundtruth_boxes"].shape == [0, 4]
    assert got["groundtruth_instance_masks"].shape == [0, 4, 4]
    got = crops.random_square_crop_by_scale(got, tf.constant([1, 1]), 128, 0.6, 1.3, 8)
    assert got["groundtruth_classes"].shape == [0]


def test_square_crop_takes_the_listed_scales():
    sides = {crops.random_square_crop_by_scale(
        record(), tf.constant([number, 9]), 4, 0.5, 1.5, 3)["image"].shape[0]
             for number in range(20)}
    assert sides == {10, 20, 30}  # 0.5, 1 and 1.5 times 20


@pytest.mark.parametrize("settings", [(0, 0.6, 1.3, 8), (128, 0.0, 1.3, 8), (128, 1.3, 0.6, 8),
                                      (128, 0.6, 1.3, 0)])
def test_square_crop_refuses_bad_settings(settings):
    with pytest.raises(ValueError, match="random_square_crop_by_scale: want max_border"):
        crops.random_square_crop_by_scale(record(), tf.constant([1, 1]), *settings)


KEEP = crops.CropRule(random_coef=1.0)  # nothing is cropped, so that the padding shows alone


@pytest.mark.parametrize("aspect_ratio, low, high, sizes", [
    (1.0, (1.0, 1.0), (1.0, 1.0), {(20, 20)}),
    (0.5, (1.0, 1.0), (1.0, 1.0), {(40, 20)}),
    (4.0, (1.0, 1.0), (1.0, 1.0), {(10, 40)}),
    (1.0, (1.5, 1.5), (1.5, 1.5), {(30, 30)}),
    # The height may grow by 3 and the width by 1.5, but the ratio of sides stays 2.
    (2.0, (1.5, 1.5), (3.0, 1.5), {(15, 30)}),
    # A canvas of half the size does not hold the image.
    (2.0, (0.5, 0.5), (0.5, 0.5), {(10, 20)})])
def test_padding_to_an_aspect_ratio(aspect_ratio, low, high, sizes):
    got = crops.ssd_random_crop_pad_fixed_aspect_ratio(
        record(), tf.constant([2, 5]), [KEEP], aspect_ratio, low, high)
    assert tuple(got["image"].shape[:2]) in sizes
    np.testing.assert_array_equal(got["image"][:10, :20], record()["image"])
    assert np.count_nonzero(got["image"]) == 600
    np.testing.assert_allclose(
        got["groundtruth_boxes"][0], box_of(got["groundtruth_instance_masks"].numpy()[0]),
        atol=1e-6)


def test_padding_to_an_aspect_ratio_draws_its_size():
    sizes = {tuple(crops.ssd_random_crop_pad_fixed_aspect_ratio(
        record(), tf.constant([number, 5]), [KEEP], 1.0, (), ())["image"].shape[:2])
        for number in range(10)}
    assert len(sizes) > 3
    assert all(height == width and 20 <= height <= 40 for height, width in sizes)


def test_ssd_crop_and_pad_by_a_rule():
    rule = crops.CropPadRule(KEEP, (1.5, 2.0), (1.5, 2.0), (7.0, 8.0, 9.0))
    got = crops.ssd_random_crop_pad(record(), tf.constant([3, 4]), [rule])
    assert got["image"].shape == [15, 40, 3]
    mask = got["groundtruth_instance_masks"].numpy()[0]
    assert mask.sum() == 32
    np.testing.assert_allclose(got["groundtruth_boxes"][0], box_of(mask), atol=1e-6)
    padding = np.all(got["image"].numpy() == [7.0, 8.0, 9.0], axis=-1)
    assert padding.sum() == 15 * 40 - 200


def test_ssd_crop_and_pad_without_rules_and_with_bad_ones():
    assert [rule.rule.overlap_thresh for rule in crops.SSD_PAD_RULES] == [
        0.1, 0.3, 0.5, 0.7, 0.9, 1.0]
    for number in range(4):
        got = crops.ssd_random_crop_pad(record(), tf.constant([number, 4]), ())
        height, width = got["image"].shape[:2]
        assert 10 <= height <= 20 and 20 <= width <= 40
    with pytest.raises(ValueError, match="two values .height, width. in min_padded_size_ratio"):
        crops.ssd_random_crop_pad(record(), tf.constant([3, 4]),
                                  [crops.CropPadRule(KEEP, (1.0, 1.0, 1.0))])
    with pytest.raises(ValueError, match="aspect_ratio: want a positive value, got 0"):
        crops.ssd_random_crop_pad_fixed_aspect_ratio(record(), tf.constant([1, 1]), (), 0.0, (), ())
