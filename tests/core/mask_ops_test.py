"""Mask targets of regions: worked values, regions without an object, empty inputs."""

import numpy as np
import pytest
import tensorflow as tf

from object_detection.core import mask_ops

_BOTH = pytest.mark.parametrize("static", [False, True])


def _masks():
    """One image of 5 x 9 pixels: object 0 is the left half, object 1 the two lowest rows."""
    left = np.zeros([5, 9], np.float32)
    left[:, :5] = 1
    low = np.zeros([5, 9], np.float32)
    low[3:] = 1
    return np.stack([left, low])[None]


@_BOTH
@pytest.mark.parametrize("dtype", [tf.float32, tf.uint8])
def test_each_region_reads_its_own_object(static, dtype):
    boxes = tf.constant([[[0.0, 0, 5, 9], [0, 0, 5, 9], [0, 0, 5, 9]]])
    got = tf.function(mask_ops.matched_mask_targets)(
        tf.cast(_masks(), dtype), boxes, tf.constant([[1, 0, -1]]), [5, 3], static)
    assert got.dtype == tf.float32
    np.testing.assert_allclose(got[0, 0, :, 0], [0, 0, 0, 1, 1], atol=1e-5)
    np.testing.assert_allclose(got[0, 1, 0], [1, 1, 0], atol=1e-5)
    np.testing.assert_allclose(got[0, 2], np.zeros([5, 3]))


@_BOTH
def test_second_image_reads_its_own_masks(static):
    masks = tf.concat([tf.zeros([1, 2, 5, 9]), _masks()], axis=0)
    boxes = tf.constant([[[0.0, 0, 5, 9]]] * 2)
    got = mask_ops.matched_mask_targets(masks, boxes, tf.constant([[0], [0]]), [2, 2], static)
    np.testing.assert_allclose(got[:, 0], [[[0, 0]] * 2, [[1, 0]] * 2], atol=1e-5)


@_BOTH
def test_far_edge_of_a_full_mask(static):
    start, end = np.linspace(0, 40, 100), np.full(100, 57.0)
    boxes = tf.constant(np.stack([start, start, end, end], axis=-1)[None], tf.float32)
    got = mask_ops.matched_mask_targets(tf.ones([1, 1, 57, 57]), boxes,
                                        tf.zeros([1, 100], tf.int32), [28, 14], static)
    np.testing.assert_allclose(got, np.ones([1, 100, 28, 14]), rtol=1e-5)


def test_both_ways_agree_on_regions_that_leave_the_image():
    rng = np.random.default_rng(0)
    corner = rng.uniform(-5, 20, [2, 30, 2])
    boxes = tf.constant(np.concatenate([corner, corner + rng.uniform(2, 30, corner.shape)], -1),
                        tf.float32)
    rows = tf.constant(rng.integers(-2, 4, [2, 30]), tf.int32)
    masks = tf.constant(rng.uniform(0, 1, [2, 4, 33, 21]), tf.float32)
    native, static = (mask_ops.matched_mask_targets(masks, boxes, rows, [7, 7], flag)
                      for flag in (False, True))
    np.testing.assert_allclose(native, static, atol=2e-5)


@_BOTH
@pytest.mark.parametrize("objects, regions", [(0, 3), (2, 0), (0, 0)])
def test_no_objects_or_regions(static, objects, regions):
    got = mask_ops.matched_mask_targets(
        tf.zeros([2, objects, 5, 5]), tf.zeros([2, regions, 4]),
        tf.fill([2, regions], -1), [4, 3], static)
    np.testing.assert_array_equal(got, np.zeros([2, regions, 4, 3]))


@pytest.mark.parametrize("objects", [0, 2])
def test_dynamic_number_of_objects(objects):
    run = tf.function(lambda m, b, r: mask_ops.matched_mask_targets(m, b, r, [4, 3]),
                      input_signature=[tf.TensorSpec([None, None, None, None]),
                                       tf.TensorSpec([None, 6, 4]),
                                       tf.TensorSpec([None, 6], tf.int32)])
    got = run(tf.ones([1, objects, 5, 5]), tf.zeros([1, 6, 4]), tf.fill([1, 6], objects - 1))
    np.testing.assert_allclose(got, np.full([1, 6, 4, 3], min(objects, 1)))
    assert run.get_concrete_function().output_shapes == [None, 6, 4, 3]


def test_static_shapes_compile():
    run = tf.function(mask_ops.matched_mask_targets, jit_compile=True)
    got = run(tf.constant(_masks()), tf.constant([[[0.0, 0, 5, 9]]]), tf.constant([[1]]), [5, 3],
              True)
    np.testing.assert_allclose(got[0, 0, :, 0], [0, 0, 0, 1, 1], atol=1e-5)
