"""The gradient of crops: by hand, against matrix products, the same in every run."""

import numpy as np
import pytest
import tensorflow as tf

from object_detection.core import crops
from object_detection.utils import crop_gradient


def _gradient(run, features, boxes, weights):
    features = tf.convert_to_tensor(features)
    with tf.GradientTape() as tape:
        tape.watch(features)
        total = tf.reduce_sum(run(features, boxes) * weights)
    return tape.gradient(total, features)


def _overlapping(count, rng):
    low = rng.uniform(0.0, 0.5, [2, count, 2])
    return tf.constant(np.concatenate([low, low + rng.uniform(0.05, 0.5, low.shape)], -1),
                       tf.float32)


def test_of_one_sample_by_hand():
    # The sample of this crop lies at (0.5, 1.25): weights 1/2, 1/2 by 3/4, 1/4.
    box = tf.constant([[0.25, 0.3125, 0.25, 0.3125]])
    got = crop_gradient.image_gradient(tf.constant([[[[8.0]]]]), box, tf.constant([0]),
                                       tf.constant([1, 3, 5, 1]))
    np.testing.assert_allclose(got[0, :, :, 0], [[0, 3, 1, 0, 0], [0, 3, 1, 0, 0], [0] * 5],
                               atol=1e-6)


def test_overlapping_boxes_add_up_and_images_stay_apart():
    whole = tf.constant([[0.0, 0.0, 1.0, 1.0]] * 3)
    got = crop_gradient.image_gradient(tf.ones([3, 2, 2, 1]), whole, tf.constant([0, 0, 1]),
                                       tf.constant([2, 2, 2, 1]))
    np.testing.assert_allclose(got[..., 0], [[[2, 2], [2, 2]], [[1, 1], [1, 1]]])


def test_samples_outside_the_map_give_nothing():
    box = tf.constant([[-1.0, 0.0, 1.0, 0.0]])  # rows -1, 0 and 1 of a map of two rows
    got = crop_gradient.image_gradient(tf.ones([1, 3, 1, 1]), box, tf.constant([0]),
                                       tf.constant([1, 2, 1, 1]))
    np.testing.assert_allclose(got[0, :, 0, 0], [1, 1])


@pytest.mark.parametrize("size", [[7, 7], [3, 14], [1, 1]])
def test_equals_that_of_matrix_products(size):
    rng = np.random.default_rng(0)
    features, boxes = rng.normal(size=[2, 12, 17, 5]).astype(np.float32), _overlapping(40, rng)
    weights = rng.normal(size=[2, 40, *size, 5]).astype(np.float32)
    got = _gradient(tf.function(lambda f, b: crops.crop_and_resize(f, b, size)),
                    features, boxes, weights)
    wanted = _gradient(lambda f, b: crops.matmul_crop_and_resize(f, b, size),
                       features, boxes, weights)
    np.testing.assert_allclose(got, wanted, rtol=0, atol=1e-4 * np.abs(wanted).max())


def test_is_the_same_in_every_run_whatever_the_threads():
    rng = np.random.default_rng(1)
    boxes = tf.reshape(_overlapping(100, rng), [-1, 4])
    upstream = tf.constant(rng.normal(size=[200, 14, 14, 32]), tf.float32)
    run = tf.function(lambda: crop_gradient.image_gradient(
        upstream, boxes, tf.zeros([200], tf.int32), tf.constant([1, 38, 64, 32])))
    first = run().numpy()
    for _ in range(20):
        np.testing.assert_array_equal(run(), first)


def test_far_edge_rounded_off_the_map_is_blank_both_ways():
    # The kernel puts the last row of some of these boxes just outside a map of 38 rows.
    start = np.linspace(0, 0.9, 50, dtype=np.float32)
    end = np.full(50, 1.0 + 1e-7, np.float32)
    boxes = tf.constant(np.stack([start, start, end, np.ones_like(end)], -1))
    owner, features = tf.zeros([50], tf.int32), tf.ones([1, 38, 4, 1])
    with tf.GradientTape() as tape:
        tape.watch(features)
        cut = crop_gradient.crop_bilinear(features, boxes, owner, [14, 2])
    assert np.any(cut.numpy() == 0.0)
    # Each sample inside hands a weight of 1 to the map in all.
    np.testing.assert_allclose(tf.reduce_sum(tape.gradient(cut, features)), tf.reduce_sum(cut),
                               rtol=1e-5)


def test_gradient_of_the_boxes_is_that_of_the_kernel():
    rng = np.random.default_rng(2)
    features, boxes = tf.constant(rng.normal(size=[2, 9, 9, 3]), tf.float32), _overlapping(4, rng)
    flat, owner = tf.reshape(boxes, [-1, 4]), tf.repeat(tf.range(2), 4)
    gradients = []
    for run in (crop_gradient.crop_bilinear, tf.image.crop_and_resize):
        with tf.GradientTape() as tape:
            tape.watch(flat)
            total = tf.reduce_sum(run(features, flat, owner, [5, 5]))
        gradients.append(tape.gradient(total, flat))
    np.testing.assert_allclose(*gradients, rtol=1e-6)


def test_low_precision_no_boxes_and_dynamic_shapes():
    @tf.function(input_signature=[tf.TensorSpec([None, None, None, 3], tf.bfloat16),
                                  tf.TensorSpec([None, None, 4])])
    def gradient(features, boxes):
        return _gradient(lambda f, b: tf.cast(crops.crop_and_resize(f, b, [2, 2]), tf.float32),
                         features, boxes, 1.0)

    got = gradient(tf.ones([2, 4, 4, 3], tf.bfloat16), tf.zeros([2, 0, 4]))
    assert got.dtype == tf.bfloat16 and got.shape == [2, 4, 4, 3] and not np.any(got)
    got = gradient(tf.ones([1, 4, 4, 3], tf.bfloat16), tf.constant([[[0.0, 0, 1, 1]]]))
    np.testing.assert_allclose(tf.reduce_sum(tf.cast(got, tf.float32)), 12.0, rtol=1e-5)
