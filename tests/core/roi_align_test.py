"""RoIAlign: worked values, a plain loop over samples, both ways of computing it, gradients."""

import numpy as np
import pytest
import tensorflow as tf

from object_detection.core import roi_align
from object_detection.core.roi_align import RoiAlign


def _ramp(height, width):
    """A map that holds the row number and the column number."""
    rows, columns = tf.meshgrid(tf.range(height), tf.range(width), indexing="ij")
    return tf.cast(tf.stack([rows, columns], axis=-1)[None], tf.float32)


def _plain(feature_map, box, settings):
    """The operation for one box [4] of one map [h, w, depth], sample by sample."""
    shift = 0.5 if settings.aligned else 0.0
    y1, x1, y2, x2 = (float(value) - shift for value in box)
    high, wide = y2 - y1, x2 - x1
    if not settings.aligned:
        high, wide = max(high, 1.0), max(wide, 1.0)
    n = settings.sampling_ratio
    out = np.zeros([settings.height, settings.width, feature_map.shape[-1]])
    for row in range(settings.height * n):
        for column in range(settings.width * n):
            y = y1 + (row + 0.5) * high / (settings.height * n)
            x = x1 + (column + 0.5) * wide / (settings.width * n)
            out[row // n, column // n] += _sample(feature_map, y, x) / n ** 2
    return out


def _sample(feature_map, y, x):
    height, width, _ = feature_map.shape
    if y < -1 or y > height or x < -1 or x > width:
        return 0.0
    y, x = min(max(y, 0.0), height - 1.0), min(max(x, 0.0), width - 1.0)
    low, left = int(y), int(x)
    down, right = min(low + 1, height - 1), min(left + 1, width - 1)
    v, h = y - low, x - left
    return ((1 - v) * (1 - h) * feature_map[low, left] + (1 - v) * h * feature_map[low, right]
            + v * (1 - h) * feature_map[down, left] + v * h * feature_map[down, right])


@pytest.mark.parametrize("use_matmul", [False, True])
def test_cells_of_a_ramp(use_matmul):
    box = tf.constant([[[2.0, 1.0, 6.0, 5.0]]])
    # Cell centres are at 3 and 5 along y, 2 and 4 along x; aligned, pixel i has its centre at
    # i + 0.5, so the values are half a pixel less. The average of a ramp is its value there.
    for aligned, shift in ((True, 0.5), (False, 0.0)):
        got = roi_align.roi_align(_ramp(8, 8), box, RoiAlign(2, 2, 2, aligned), use_matmul)
        np.testing.assert_allclose(got[0, 0, :, 0, 0], np.array([3, 5]) - shift, atol=1e-6)
        np.testing.assert_allclose(got[0, 0, 0, :, 1], np.array([2, 4]) - shift, atol=1e-6)


@pytest.mark.parametrize("use_matmul", [False, True])
def test_outside_is_the_edge_for_a_pixel_and_then_zero(use_matmul):
    maps = _ramp(4, 4) + 1.0
    # Not aligned, one sample per cell, at y = -2, -1, ..., 5: kept from -1 to 4.
    box = tf.constant([[[-2.5, 1.0, 5.5, 2.0]]])
    got = roi_align.roi_align(maps, box, RoiAlign(8, 1, 1, aligned=False), use_matmul)
    np.testing.assert_allclose(got[0, 0, :, 0, 0], [0, 1, 1, 2, 3, 4, 4, 0], atol=1e-6)


def test_a_region_without_size_is_a_pixel_wide_unless_aligned():
    box = tf.constant([[[2.0, 2.0, 2.0, 2.0]]])
    wide = roi_align.roi_align(_ramp(8, 8), box, RoiAlign(2, 1, 1, aligned=False))
    np.testing.assert_allclose(wide[0, 0, :, 0, 0], [2.25, 2.75], atol=1e-6)
    point = roi_align.roi_align(_ramp(8, 8), box, RoiAlign(2, 1, 1, aligned=True))
    np.testing.assert_allclose(point[0, 0, :, 0, 0], [1.5, 1.5], atol=1e-6)


@pytest.mark.parametrize("aligned", [False, True])
@pytest.mark.parametrize("ratio", [1, 2, 3])
def test_random_regions_equal_the_plain_loop(aligned, ratio):
    random = np.random.RandomState(3)
    maps = random.normal(size=[2, 5, 7, 3]).astype(np.float32)
    boxes = np.sort(random.uniform(-2, 9, size=[2, 6, 2, 2]), axis=2).reshape(2, 6, 4)
    boxes = boxes.astype(np.float32)
    settings = RoiAlign(3, 2, ratio, aligned)
    expected = [[_plain(maps[b], box, settings) for box in boxes[b]] for b in range(2)]
    for use_matmul in (False, True):
        got = roi_align.roi_align(tf.constant(maps), tf.constant(boxes), settings, use_matmul)
        np.testing.assert_allclose(got, expected, atol=1e-5)


def test_levels_are_read_from_their_own_maps():
    maps = [tf.ones([1, 4, 4, 1]), 2.0 * tf.ones([1, 2, 3, 1])]
    boxes = tf.constant([[[0.0, 0.0, 2.0, 2.0]] * 3])
    got = roi_align.multilevel_roi_align(maps, boxes, tf.constant([[1, 0, 2]]), RoiAlign(2, 2))
    np.testing.assert_allclose(got[0, :, 0, 0, 0], [2, 1, 0])


def test_gradient_shares_a_sample_among_its_four_pixels():
    maps = tf.zeros([1, 3, 3, 1])
    box = tf.constant([[[0.25, 0.5, 1.25, 1.5]]])  # one sample at y 0.75, x 1
    expected = [[0, 0.25, 0], [0, 0.75, 0], [0, 0, 0]]
    for use_matmul in (False, True):
        with tf.GradientTape() as tape:
            tape.watch(maps)
            total = tf.reduce_sum(
                roi_align.roi_align(maps, box, RoiAlign(1, 1, 1, aligned=False), use_matmul))
        np.testing.assert_allclose(tape.gradient(total, maps)[0, :, :, 0], expected, atol=1e-6)


def test_no_regions_dynamic_sizes_and_low_precision():
    spec = [tf.TensorSpec([None, None, None, 4], tf.bfloat16), tf.TensorSpec([None, None, 4])]
    for use_matmul in (False, True):
        traced = tf.function(lambda f, b, m=use_matmul: roi_align.roi_align(
            f, b, RoiAlign(2, 3), m), input_signature=spec)
        maps = tf.ones([2, 5, 5, 4], tf.bfloat16)
        assert traced(maps, tf.zeros([2, 0, 4])).shape == [2, 0, 2, 3, 4]
        assert traced(maps, tf.ones([2, 3, 4])).dtype == tf.bfloat16


def test_wrong_settings():
    with pytest.raises(ValueError, match="sampling_ratio of 1 or more, got 2, 2 and 0"):
        RoiAlign(2, 2, 0)


def test_both_ways_to_read_give_the_same_and_the_sparse_one_repeats():
    random = np.random.default_rng(5)
    maps = [tf.constant(random.normal(size=[2, side, side + 3, 4]), tf.float32)
            for side in (16, 8, 4)]
    low = random.uniform(-2.0, 9.0, size=[2, 50, 2])
    boxes = tf.constant(np.concatenate([low, low + random.uniform(0, 9, low.shape)], -1),
                        tf.float32)
    levels = tf.constant(random.integers(-1, 4, size=[2, 50]), tf.int32)
    settings = RoiAlign(3, 2)

    def run(static):
        with tf.GradientTape() as tape:
            tape.watch([*maps, boxes])
            found = roi_align.multilevel_roi_align(maps, boxes, levels, settings, static)
            total = tf.reduce_sum(found ** 2)
        gradients = tape.gradient(total, [*maps, boxes])
        assert gradients.pop() is None  # of the boxes
        return [found, *gradients]

    for value, again, gathered in zip(run(False), run(False), run(True)):
        np.testing.assert_array_equal(value, again)
        np.testing.assert_allclose(value, gathered, atol=1e-4)


def test_boxes_that_are_not_numbers_give_zeros():
    boxes = tf.constant([[[np.nan] * 4, [np.inf] * 4, [0.0, 0.0, 2.0, 2.0]]], tf.float32)
    got = roi_align.roi_align(tf.ones([1, 4, 4, 1]), boxes, RoiAlign(2, 2))
    np.testing.assert_allclose(tf.reduce_sum(got, [2, 3, 4]), [[0, 0, 4]])
