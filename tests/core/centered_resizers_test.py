"""Matterport's image modes: its recorded results, and sizes worked out by hand."""

import numpy as np
import pytest
import shared_files
import tensorflow as tf

from object_detection.core import centered_resizers, resizers


def _arrays(topic):
    folder = shared_files.find("fixtures/matterport/utils")
    return {} if folder is None else dict(np.load(folder / f"{topic}.npz"))


IMAGES, MASKS = _arrays("resize_image"), _arrays("resize_mask")
CASES = sorted({key.split("/")[0] for key in IMAGES}) or [
    pytest.param("none", marks=pytest.mark.skip("shared/fixtures is not beside this checkout"))]


def resizer_of(case):
    given = {key.split("/")[-1]: value for key, value in IMAGES.items()
             if key.startswith(f"{case}/in/")}
    mode = given["mode"].item()
    if mode == "none":
        return resizers.IdentityResizer()
    settings = {"min_dimension": given["min_dim"].item(),
                "min_scale": float(given.get("min_scale", 0.0)),
                "keep_fractions": given["image"].dtype == np.float32}
    if mode == "square":
        return centered_resizers.CenteredSquareResizer(max_dimension=given["max_dim"].item(),
                                                       **settings)
    if mode == "pad64":
        return centered_resizers.CenteredPadToMultipleResizer(**settings)
    return centered_resizers.RandomCropResizer(**settings).for_training()


@pytest.mark.parametrize("static", [True, False])
@pytest.mark.parametrize("case", CASES)
def test_same_pixels_masks_and_window_as_the_original(case, static):
    resizer = resizer_of(case)
    image = tf.cast(IMAGES[f"{case}/in/image"], tf.float32)
    masks = tf.constant(np.moveaxis(MASKS[f"{case}/in/mask"], -1, 0))

    def resize(image, masks):
        return tuple(resizer(image, masks))

    if not static:
        resize = tf.function(resize, input_signature=[
            tf.TensorSpec([None, None, image.shape[-1]]), tf.TensorSpec([None] * 3, tf.bool)])
    got_image, got_masks, true_shape = resize(image, masks)
    expected = IMAGES[f"{case}/out/image"]
    expected_masks = np.moveaxis(MASKS[f"{case}/out/mask"], -1, 0)
    if resizer.crop_size:  # the crop itself is random
        top, left, height, width = IMAGES[f"{case}/out/crop"]
        assert resizer.crop_size == (height, width)
        got_image = got_image[top:top + height, left:left + width]
        got_masks = got_masks[:, top:top + height, left:left + width]
    else:
        window = resizer.window(true_shape[tf.newaxis], *got_image.shape[:2])
        np.testing.assert_array_equal(window[0], IMAGES[f"{case}/out/window"])
    assert got_image.shape == expected.shape
    # scikit-image is one ulp below some whole numbers and drops the fraction.
    difference = np.abs(got_image - expected.astype(np.float32))
    assert difference.max() <= (1e-3 if expected.dtype == np.float32 else 1)
    assert expected.dtype == np.float32 or (difference > 0).mean() < 0.03
    np.testing.assert_array_equal(got_masks, expected_masks)


@pytest.mark.parametrize("size, expected", [
    ((20, 30), (40, 60)),  # the short side becomes 40
    ((20, 60), (27, 80)),  # 60 * 2 > 80: 20 * 80 / 60 = 26.67
    ((60, 50), (60, 50)),  # large enough, and fits
    ((90, 300), (24, 80)),
    ((1, 1000), (1, 80)),  # no side vanishes
    ((25, 25), (40, 40))])
def test_square_sizes(size, expected):
    resizer = centered_resizers.CenteredSquareResizer(min_dimension=40, max_dimension=80)
    assert resizer.scaled_size(size) == expected
    dynamic = resizer.scaled_size(tuple(tf.constant(side) for side in size))
    assert tuple(side.numpy() for side in dynamic) == expected
    assert resizer.fixed_size == (80, 80)


def test_a_side_halfway_between_two_is_rounded_to_the_even_one():
    resizer = centered_resizers.CenteredPadToMultipleResizer(min_scale=1.5)
    assert resizer.scaled_size((3, 5)) == (4, 8)  # 4.5 and 7.5
    assert resizer.padded_size((4, 65)) == (64, 128)


def test_windows_of_a_batch_padded_further():
    resizer = centered_resizers.CenteredPadToMultipleResizer(multiple=8)
    # The first image has a frame of 8 x 16, the second of 16 x 8; the batch has 16 x 16.
    windows = resizer.window(tf.constant([[5, 9, 3], [16, 3, 3]]), 16, 16)
    np.testing.assert_array_equal(windows, [[1, 3, 6, 12], [0, 2, 16, 5]])
    top_left = resizers.PadToMultipleResizer(multiple=8)
    np.testing.assert_array_equal(top_left.window(tf.constant([[5, 9, 3]]), 16, 16), [[0, 0, 5, 9]])


def test_enlarged_pixels():
    image = tf.constant([[[10.0], [20.0]]])
    resizer = centered_resizers.CenteredPadToMultipleResizer(min_scale=2.0, multiple=1,
                                                             keep_fractions=True)
    # Centres at -0.25, 0.25, 0.75 and 1.25 of a row that is black at -1 and 2; 0.75 * 10 = 7.5 is
    # raised to the image's least value. Rows likewise: 0.75 of everything.
    np.testing.assert_allclose(resizer(image).image[0, :, 0],
                               [10.0, 10.0, 0.75 * 17.5, 0.75 * 0.75 * 20])


def test_a_batch_is_resized_like_its_images_and_shapes_stay_static():
    resizer = centered_resizers.CenteredSquareResizer(min_dimension=8, max_dimension=16)
    images = tf.random.stateless_uniform([3, 10, 5, 3], [1, 2], maxval=255.0)
    batch, true_shapes = resizer.resize_batch(images)
    np.testing.assert_array_equal(true_shapes, [[16, 8, 3]] * 3)
    for image, expected in zip(images, batch):
        np.testing.assert_array_equal(resizer(image).image, expected)
    traced = tf.function(lambda image: resizer(image).image).get_concrete_function(
        tf.TensorSpec([None, None, 3], tf.uint8))
    assert traced.output_shapes == [16, 16, 3]
    assert resizer(images[0], tf.zeros([0, 10, 5], tf.uint8)).masks.shape == [0, 16, 16]


def test_the_crop_resizer_shows_the_whole_image_outside_of_training():
    resizer = centered_resizers.RandomCropResizer(min_dimension=32)
    assert resizer.crop_size is None and resizer.for_training().crop_size == (32, 32)
    assert resizer(tf.zeros([40, 70, 3])).image.shape == [64, 128, 3]
    assert resizer.for_training()(tf.zeros([16, 30, 3])).image.shape == [32, 60, 3]


@pytest.mark.parametrize("kind, settings, message", [
    ("CenteredSquareResizer", {"max_dimension": 100}, "at least min_dimension"),
    ("CenteredSquareResizer", {"min_scale": -1.0}, "0 or more"),
    ("CenteredPadToMultipleResizer", {"multiple": 0}, "multiple of at least 1"),
    ("CenteredPadToMultipleResizer", {"to_gray": True}, "keep all channels"),
    ("RandomCropResizer", {"min_dimension": 0}, "random_crop_resizer.min_dimension")])
def test_settings_that_cannot_work(kind, settings, message):
    with pytest.raises(ValueError, match=message):
        getattr(centered_resizers, kind)(**settings)
