"""AutoAugment: pixels against Pillow, moves and boxes by hand, policies as a whole."""

import numpy as np
import PIL.Image
import PIL.ImageEnhance
import PIL.ImageOps
import pytest
import tensorflow as tf

from object_detection.core.augment import autoaugment, autoaugment_moves, autoaugment_pixels
from object_detection.core.augment.autoaugment_policies import POLICIES

SEED = tf.constant([5, 6])


def photo(height=24, width=30):
    random = np.random.default_rng(3)
    return random.integers(20, 220, [height, width, 3]).astype(np.uint8)


def record():
    """One object whose box, mask and pixels agree: the block of value 200."""
    image = np.full([20, 30, 3], 50.0, np.float32)
    image[6:10, 12:20] = 200.0
    mask = (image[None, ..., 0] == 200.0).astype(np.uint8)
    return {"image": tf.constant(image), "groundtruth_instance_masks": tf.constant(mask),
            "groundtruth_boxes": tf.constant([[0.3, 0.4, 0.5, 20 / 30]]),
            "groundtruth_classes": tf.constant([2], tf.int64),
            "groundtruth_keypoints": tf.constant([[[0.3, 0.4], [0.5, 20 / 30]]])}


def pixel_box(tensors):
    height, width = tensors["image"].shape[:2]
    return tensors["groundtruth_boxes"].numpy()[0] * [height, width, height, width]


@pytest.mark.parametrize("name, expected, worst", [
    ("autocontrast", lambda image: PIL.ImageOps.autocontrast(image), 1),
    ("equalize", lambda image: PIL.ImageOps.equalize(image), 0),
    ("posterize 3", lambda image: PIL.ImageOps.posterize(image, 3), 0),
    ("solarize 100", lambda image: PIL.ImageOps.solarize(image, 100), 0),
    ("brightness 0.46", lambda image: PIL.ImageEnhance.Brightness(image).enhance(0.46), 1),
    ("brightness 1.54", lambda image: PIL.ImageEnhance.Brightness(image).enhance(1.54), 1),
    ("contrast 1.9", lambda image: PIL.ImageEnhance.Contrast(image).enhance(1.9), 2),
    ("color 0.1", lambda image: PIL.ImageEnhance.Color(image).enhance(0.1), 2),
    ("sharpness 1.9", lambda image: PIL.ImageEnhance.Sharpness(image).enhance(1.9), 2)])
def test_pixels_as_pillow_makes_them(name, expected, worst):
    name, *argument = name.split()
    given = [float(value) if "." in value else int(value) for value in argument]
    got = getattr(autoaugment_pixels, name)(tf.cast(photo(), tf.float32), *given)
    wanted = np.asarray(expected(PIL.Image.fromarray(photo())), np.float32)
    assert np.abs(got - wanted).max() <= worst


def test_pixels_by_hand():
    row = tf.constant([[[0.0] * 3, [100.0] * 3, [127.0] * 3, [128.0] * 3, [255.0] * 3]])
    np.testing.assert_array_equal(autoaugment_pixels.solarize_add(row, 60)[0, :, 0],
                                  [60, 160, 187, 128, 255])
    np.testing.assert_array_equal(autoaugment_pixels.posterize(row, 0)[0, :, 0],
                                  [0, 0, 0, 128, 128])  # one bit stays
    flat = tf.fill([4, 4, 3], 90.0)
    for name in ("autocontrast", "equalize"):
        np.testing.assert_array_equal(getattr(autoaugment_pixels, name)(flat), flat)


def test_cutout_is_a_square_cut_at_the_border():
    for number in range(6):
        got = autoaugment_pixels.cutout(tf.zeros([20, 30, 3]), tf.constant([number, 1]), 4)
        rows, columns = np.nonzero(got.numpy()[..., 0])
        assert np.unique(got).tolist() == [0.0, 128.0]
        for lines, side in ((rows, 20), (columns, 30)):
            length = lines.max() - lines.min() + 1
            assert length == 8 or (lines.min() == 0 or lines.max() == side - 1)


@pytest.mark.parametrize("matrix, box", [
    (autoaugment_moves.translation_y(3.0, None), [3, 12, 7, 20]),
    (autoaugment_moves.translation_x(-5.0, None), [6, 17, 10, 25]),
    (autoaugment_moves.translation_x(15.0, None), [6, 0, 10, 5]),  # cut at the border
    # A half turn about (10, 15): rows 6..10 become 10..14, columns 12..20 become 10..18.
    (autoaugment_moves.rotation(180.0, tf.constant([20.0, 30.0])), [10, 10, 14, 18])])
def test_boxes_masks_and_pixels_move_together(matrix, box):
    got = autoaugment_moves.moved(record(), matrix)
    np.testing.assert_allclose(pixel_box(got), box, atol=1e-4)
    mask = got["groundtruth_instance_masks"].numpy()[0]
    np.testing.assert_array_equal(got["image"].numpy()[..., 0] == 200.0, mask == 1)
    rows, columns = np.nonzero(mask)
    np.testing.assert_array_equal(
        [rows.min(), columns.min(), rows.max() + 1, columns.max() + 1], box)


@pytest.mark.parametrize("matrix", [
    autoaugment_moves.shear_x(0.3, None), autoaugment_moves.shear_y(-0.2, None),
    autoaugment_moves.rotation(30.0, tf.constant([20.0, 30.0]))])
def test_slanted_boxes_hold_their_pixels(matrix):
    got = autoaugment_moves.moved(record(), matrix)
    top, left, bottom, right = pixel_box(got)
    mask = got["groundtruth_instance_masks"].numpy()[0]
    np.testing.assert_array_equal(got["image"].numpy()[..., 0] == 200.0, mask == 1)
    rows, columns = np.nonzero(mask)
    assert abs(mask.sum() - 32) <= 6
    for side, line in ((top, rows.min()), (left, columns.min()), (bottom, rows.max() + 1),
                       (right, columns.max() + 1)):
        assert abs(side - line) <= 1.5
    points = got["groundtruth_keypoints"].numpy()[0] * [20, 30]  # two opposite corners
    assert (points >= [top - 1e-3, left - 1e-3]).all()
    assert (points <= [bottom + 1e-3, right + 1e-3]).all()


def test_shear_by_hand():
    # Column x of row y comes from x + 0.5 * y: the first row stays, row 2 moves left by one.
    image = tf.tile(tf.range(6, dtype=tf.float32)[tf.newaxis, :, tf.newaxis], [3, 1, 3])
    got = autoaugment_moves.moved({"image": image}, autoaugment_moves.shear_x(0.5, None))["image"]
    np.testing.assert_array_equal(got[0, :, 0], [0, 1, 2, 3, 4, 5])
    np.testing.assert_array_equal(got[2, :, 0], [1, 2, 3, 4, 5, 128])


def test_objects_that_leave_the_image_are_dropped():
    got = autoaugment_moves.moved(record(), autoaugment_moves.translation_x(25.0, None))
    assert got["groundtruth_boxes"].shape == [0, 4]
    assert got["groundtruth_classes"].shape == [0]
    assert got["groundtruth_instance_masks"].shape == [0, 20, 30]
    again = autoaugment_moves.moved(got, autoaugment_moves.translation_x(1.0, None))
    assert again["groundtruth_instance_masks"].shape == [0, 20, 30]


def test_operations_inside_boxes_leave_the_rest_alone():
    before = record()
    matrix = autoaugment_moves.translation_x(3.0, None)
    got = autoaugment_moves.inside_boxes(
        before, SEED, 1.0, lambda tensors, seed: autoaugment_moves.moved(tensors, matrix))
    # The box is columns 12 to 20, and 20 itself, which the box touches; three columns are filled.
    expected = before["image"].numpy().copy()
    expected[6:11, 12:18] = expected[6:11, 15:21]
    expected[6:11, 18:21] = 128.0
    np.testing.assert_array_equal(got["image"], expected)
    np.testing.assert_array_equal(got["groundtruth_instance_masks"][0], expected[..., 0] == 200)
    np.testing.assert_array_equal(got["groundtruth_boxes"], before["groundtruth_boxes"])
    none = autoaugment_moves.inside_boxes(before, SEED, 0.0, None)
    np.testing.assert_array_equal(none["image"], before["image"])
    empty = {key: value[:0] if key != "image" else value for key, value in before.items()}
    got = autoaugment_moves.inside_boxes(empty, SEED, 1.0, lambda t, s: t)
    np.testing.assert_array_equal(got["image"], before["image"])


def test_cutout_in_a_box_fills_at_most_its_share():
    for number in range(6):
        got = autoaugment_moves.cutout_in_one_box(record(), tf.constant([number, 2]), 0.75)
        rows, columns = np.nonzero(got["image"].numpy()[..., 0] == 128.0)
        # Half of 0.75 * 5 rows is 1, of 0.75 * 9 columns 3; the middle is in the box.
        assert len(set(rows)) == 2 and len(set(columns)) == 6
        assert 5 <= rows.min() and rows.max() <= 10 and 9 <= columns.min() <= 17
    empty = {"image": record()["image"], "groundtruth_boxes": tf.zeros([0, 4])}
    got = autoaugment_moves.cutout_in_one_box(empty, SEED, 0.75)
    np.testing.assert_array_equal(got["image"], empty["image"])


@pytest.mark.parametrize("name, count", [("v0", 5), ("v1", 20), ("v2", 15), ("v3", 15),
                                         ("test", 1)])
def test_policies(name, count):
    assert len(POLICIES[name]) == count
    for policy in POLICIES[name]:
        assert len(policy) in (2, 3)
        for operation, probability, level in policy:
            assert operation in autoaugment._OPERATIONS or operation in autoaugment._IN_BOXES
            assert 0 <= probability <= 1 and 0 <= level <= 10


@pytest.mark.parametrize("name", sorted(POLICIES))
def test_every_sub_policy_keeps_a_record_sound(name):
    image = tf.cast(photo(40, 60), tf.float32)
    tensors = record()
    tensors["image"] = image
    tensors["groundtruth_instance_masks"] = tf.image.resize(
        tf.cast(tensors["groundtruth_instance_masks"], tf.float32)[..., None], [40, 60])[..., 0]
    for number, policy in enumerate(POLICIES[name]):
        got = autoaugment._apply(tensors, tf.constant([number, 4]), policy)
        count = len(got["groundtruth_boxes"])
        assert got["image"].shape == [40, 60, 3] and np.isfinite(got["image"]).all()
        assert 0 <= got["image"].numpy().min() and got["image"].numpy().max() <= 255
        assert got["groundtruth_instance_masks"].shape == [count, 40, 60]
        assert len(got["groundtruth_classes"]) == count


@pytest.mark.parametrize("name", sorted(autoaugment._OPERATIONS | autoaugment._IN_BOXES))
def test_every_operation_at_its_highest_level(name):
    got = autoaugment._apply(record(), SEED, ((name, 1.0, 10.0),))
    assert got["image"].shape == [20, 30, 3] and np.isfinite(got["image"]).all()
    if name in autoaugment._IN_BOXES:
        np.testing.assert_array_equal(got["groundtruth_boxes"], record()["groundtruth_boxes"])


def test_unknown_policies_and_gray_images_are_refused():
    with pytest.raises(ValueError, match="want one of .*'v3'.*, got 'v9'"):
        autoaugment.autoaugment_image(record(), SEED, "v9")
    with pytest.raises(ValueError, match="wants images with 3 channels, got 1"):
        autoaugment.autoaugment_image({"image": tf.zeros([4, 4, 1])}, SEED, "v0")
