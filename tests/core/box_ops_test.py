"""Box arithmetic: values by hand, empty sets, batches, and the original's numbers."""

import golden
import numpy as np
import op_cases
import pytest
import tensorflow as tf

from object_detection.core import box_ops

TOLERANCE = 1e-5


def boxes(*rows):
    return tf.constant(rows, tf.float32, shape=[len(rows), 4])


@pytest.mark.parametrize("first, second, expected", [
    ([0, 0, 2, 2], [0, 1, 2, 3], 1 / 3),  # shared 2, union 6
    ([0, 0, 2, 2], [2, 2, 4, 4], 0.0),  # a common corner is no overlap
    ([0, 0, 4, 4], [1, 1, 3, 3], 0.25),
    ([1, 1, 1, 1], [1, 1, 1, 1], 0.0)])  # 0/0 must not be NaN
def test_iou_of_a_pair(first, second, expected):
    np.testing.assert_allclose(box_ops.iou(boxes(first), boxes(second)), [[expected]], rtol=1e-6)
    np.testing.assert_allclose(
        box_ops.matched_iou(boxes(first), boxes(second)), [expected], rtol=1e-6)


def test_ioa_divides_by_the_second_area_and_is_finite_for_an_empty_box():
    got = box_ops.ioa(boxes([0, 0, 4, 4]), boxes([2, 2, 6, 6], [1, 1, 1, 3], [1, 1, 2, 2]))
    np.testing.assert_allclose(got, [[0.25, 0.0, 1.0]])


@pytest.mark.parametrize("compare", [
    box_ops.iou, box_ops.ioa, box_ops.sq_dist, box_ops.intersection])
def test_no_boxes_give_an_empty_matrix(compare):
    assert compare(tf.zeros([0, 4]), tf.zeros([3, 4])).shape == [0, 3]
    assert compare(tf.zeros([2, 3, 4]), tf.zeros([0, 4])).shape == [2, 3, 0]


def test_a_batch_against_one_set_equals_one_by_one():
    first = tf.random.stateless_uniform([2, 3, 4], [1, 2])
    second = tf.random.stateless_uniform([5, 4], [3, 4])
    got = box_ops.iou(first, second)
    for image in range(2):
        np.testing.assert_allclose(got[image], box_ops.iou(first[image], second), rtol=1e-6)


def test_windows_hold_for_their_own_batch_entry():
    same = tf.tile(boxes([-1, 1, 5, 9])[None], [2, 1, 1])
    windows = boxes([0, 0, 4, 4], [0, 2, 10, 10])
    np.testing.assert_allclose(box_ops.clip_to_window(same, windows),
                               [[[0, 1, 4, 4]], [[0, 2, 5, 9]]])


def test_inside_counts_touching_and_overlap_does_not():
    window = tf.constant([0.0, 0.0, 10.0, 10.0])
    candidates = boxes([0, 0, 10, 10], [-1, 0, 5, 5], [10, 0, 12, 5], [3, 3, 4, 4])
    assert box_ops.inside_window_mask(candidates, window).numpy().tolist() == [
        True, False, False, True]
    assert box_ops.overlaps_window_mask(candidates, window).numpy().tolist() == [
        True, True, False, True]


def test_sizes_of_images_broadcast_over_a_batch():
    pixels = tf.tile(boxes([10, 20, 30, 40])[None], [2, 1, 1])
    height, width = tf.constant([[100], [50]]), tf.constant([[100.0], [200.0]])
    normalized = box_ops.to_normalized(pixels, height, width)
    np.testing.assert_allclose(
        normalized, [[[0.1, 0.2, 0.3, 0.4]], [[0.2, 0.1, 0.6, 0.2]]], rtol=1e-6)
    np.testing.assert_allclose(box_ops.to_absolute(normalized, height, width), pixels, rtol=1e-6)


def test_change_coordinate_frame_by_hand():
    got = box_ops.change_coordinate_frame(boxes([2, 4, 6, 8]), tf.constant([2.0, 0.0, 10.0, 16.0]))
    np.testing.assert_allclose(got, [[0, 0.25, 0.5, 0.5]])


def test_center_size_and_back():
    original = boxes([0, 2, 4, 10], [1, 1, 1, 1])
    y, x, height, width = box_ops.center_size(original)
    np.testing.assert_allclose([y, x, height, width], [[2, 1], [6, 1], [4, 0], [8, 0]])
    np.testing.assert_allclose(box_ops.from_center_size(y, x, height, width), original)


@pytest.mark.parametrize("case, function", [
    ("iou", box_ops.iou), ("ioa", box_ops.ioa),
    ("neg_sq_dist", lambda first, second: -box_ops.sq_dist(first, second))])
def test_pairs_as_in_the_original(case, function):
    inputs, outputs = op_cases.load("boxes", case)
    golden.assert_close(function(inputs["boxes1"], inputs["boxes2"]), outputs["value"], TOLERANCE)


def test_matched_iou_as_in_the_original():
    inputs, outputs = op_cases.load("boxes", "matched_iou")
    first, second = inputs["boxes1"], inputs["boxes2"]
    golden.assert_close(box_ops.matched_iou(first, second), outputs["iou"], TOLERANCE)
    golden.assert_close(box_ops.area(first), outputs["area"], TOLERANCE)
    golden.assert_close(box_ops.intersection(first, second), outputs["intersection"], TOLERANCE)


@pytest.mark.parametrize("case, function", [
    ("clip_keep", box_ops.clip_to_window),
    ("change_coordinate_frame", box_ops.change_coordinate_frame)])
def test_windows_as_in_the_original(case, function):
    inputs, outputs = op_cases.load("boxes", case)
    golden.assert_close(function(inputs["boxes"], inputs["window"]), outputs["boxes"], TOLERANCE)
