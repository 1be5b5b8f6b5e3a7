"""Pixel values by hand."""

import numpy as np
import tensorflow as tf

from object_detection.core.augment import color

SEED = tf.constant([5, 6])


def image(*pixel):
    return {"image": tf.tile(tf.constant(pixel, tf.float32)[None, None], [6, 6, 1])}


def test_brightness_contrast_gamma():
    got = color.random_adjust_brightness(image(100, 0, 250), SEED, 0.1)["image"].numpy()[0, 0]
    delta = got[0] - 100
    assert 0 < abs(delta) <= 25.5
    np.testing.assert_allclose(got, np.clip([100 + delta, delta, 250 + delta], 0, 255), atol=1e-4)
    flat = color.random_adjust_contrast(image(100, 10, 250), SEED, 0.5, 0.6)["image"]
    np.testing.assert_allclose(flat[0, 0], [100, 10, 250], atol=1e-4)  # equals its mean
    got = color.adjust_gamma(image(127.5, 255, 0), SEED, 2.0, 1.0)["image"]
    np.testing.assert_allclose(got[0, 0], [63.75, 255, 0], atol=1e-4)


def test_gray_with_three_channels():
    got = color.random_rgb_to_gray(image(100, 0, 0), SEED, 1.0)["image"]
    np.testing.assert_allclose(got[0, 0], [29.89, 29.89, 29.89], atol=0.01)


def test_black_patches_are_squares_and_never_without_chance():
    got = color.random_black_patches(image(9, 9, 9), SEED, 1, 1.0, 0.5)["image"].numpy()[..., 0]
    rows, columns = np.nonzero(got == 0)
    assert len(rows) == 9 and np.ptp(rows) == np.ptp(columns) == 2
    got = color.random_black_patches(image(9, 9, 9), SEED, 5, 0.0, 0.5)["image"].numpy()
    assert got.min() == 9


def test_an_order_of_colour_steps_differs_from_the_other():
    results = [color.random_distort_color(image(100, 40, 200), SEED, order)["image"].numpy()
               for order in (0, 1)]
    assert results[0].std() > 0 and np.isfinite(results[1]).all()
