"""Masks, boxes and dicts of annotations: the original's numbers, worked values, empty inputs."""

import json

import numpy as np
import pytest
import shared_files
import tensorflow as tf

from object_detection.utils import ops


def _case(name):
    folder = shared_files.require("fixtures/tf1/ops")
    params = json.loads((folder / "params.json").read_text())["crops"][name]
    data = np.load(folder / "crops.npz")
    inputs = [tf.constant(data[k]) for k in data.files if k.startswith(f"{name}/in/")]
    (output,) = [data[k] for k in data.files if k.startswith(f"{name}/out/")]
    return params, inputs, output


@pytest.mark.parametrize("name, function", [
    ("reframe_masks", ops.reframe_box_masks_to_image_masks),
    ("nearest_upsampling", ops.nearest_neighbor_upsampling),
    ("normalized_to_image", ops.normalized_to_image_coordinates),
    ("batch_position_sensitive", ops.batch_position_sensitive_crop_regions),
    ("position_sensitive_pool_4x6", ops.position_sensitive_crop_regions),
    ("position_sensitive_keep_6x6", ops.position_sensitive_crop_regions)])
def test_equals_the_original(name, function):
    params, inputs, expected = _case(name)
    got = tf.function(function)(*inputs, **params)
    np.testing.assert_allclose(got, expected, rtol=0, atol=1e-5 * np.abs(expected).max())


def test_full_box_fills_the_image_to_its_last_row_and_column():
    for height, width in ((57, 83), (100, 38)):
        got = ops.reframe_box_masks_to_image_masks(
            tf.ones([2, 15, 15]), tf.constant([[0.0, 0, 1, 1], [0.3, 0.1, 1, 1]]), height, width)
        np.testing.assert_allclose(got[0], np.ones([height, width]), rtol=1e-5)
        np.testing.assert_allclose(got[1, -1, -1], 1.0, rtol=1e-5)


def test_mask_types():
    masks = tf.constant([[[0, 1], [0, 1]]], tf.uint8)
    boxes = tf.constant([[0.0, 0, 1, 1]])
    got = ops.reframe_box_masks_to_image_masks(masks.numpy(), boxes.numpy(), 4, 4)
    assert got.dtype == tf.uint8
    np.testing.assert_array_equal(got[0], [[0, 0, 1, 1]] * 4)
    got = ops.reframe_box_masks_to_image_masks(tf.cast(masks, tf.float32), boxes, 2, 3)
    np.testing.assert_allclose(got[0], [[0, 0.5, 1]] * 2, atol=1e-5)
    got = ops.reframe_box_masks_to_image_masks(tf.cast(masks, tf.float32), boxes, 4, 4, "nearest")
    np.testing.assert_allclose(got[0], [[0, 0, 1, 1]] * 4)


@pytest.mark.parametrize("dtype", [tf.uint8, tf.float32])
def test_no_masks(dtype):
    run = tf.function(ops.reframe_box_masks_to_image_masks)
    got = run(tf.zeros([0, 15, 15], dtype), tf.zeros([0, 4]), tf.constant(5), tf.constant(6))
    assert got.shape == [0, 5, 6] and got.dtype == dtype


def test_upsampling_repeats_and_names_what_is_missing():
    got = ops.nearest_neighbor_upsampling(tf.constant([[[[1.0], [2.0]]]]), scale=2)
    np.testing.assert_array_equal(got[0, :, :, 0], [[1, 1, 2, 2]] * 2)
    with pytest.raises(ValueError, match="height_scale and width_scale"):
        ops.nearest_neighbor_upsampling(tf.ones([1, 1, 1, 1]), height_scale=2)


def _annotations():
    return {"image": tf.ones([4, 4, 3]),
            "groundtruth_boxes": tf.constant([[0.0, 0, 1, 1], [0, 0, 1, np.nan], [0, 0, 2, 2]]),
            "groundtruth_classes": tf.constant([5, 6, 7], tf.int64),
            "groundtruth_instance_masks": tf.reshape(tf.range(12.0), [3, 2, 2]),
            "groundtruth_area": tf.zeros([0]),
            "groundtruth_is_crowd": tf.constant([True, False, False])}


@pytest.mark.parametrize("wrap", [lambda f: f, tf.function])
def test_crowds_and_broken_boxes_are_dropped_with_all_that_belongs_to_them(wrap):
    got = wrap(ops.filter_groundtruth_with_crowd_boxes)(_annotations())
    np.testing.assert_array_equal(got["groundtruth_classes"], [6, 7])
    np.testing.assert_array_equal(got["groundtruth_instance_masks"][:, 0, 0], [4, 8])
    assert got["groundtruth_area"].shape == [0] and got["image"].shape == [4, 4, 3]
    got = wrap(ops.filter_groundtruth_with_nan_box_coordinates)(_annotations())
    np.testing.assert_array_equal(got["groundtruth_classes"], [5, 7])


def test_records_that_do_not_name_crowds_keep_all_objects():
    annotations = _annotations()
    annotations["groundtruth_is_crowd"] = tf.zeros([0], tf.bool)
    got = ops.filter_groundtruth_with_crowd_boxes(annotations)
    np.testing.assert_array_equal(got["groundtruth_classes"], [5, 6, 7])
    del annotations["groundtruth_is_crowd"]
    assert ops.filter_groundtruth_with_crowd_boxes(annotations) is annotations
    with pytest.raises(ValueError, match="groundtruth_boxes is missing"):
        ops.retain_groundtruth({}, tf.constant([0]))


def test_no_objects():
    empty = {key: value[:0] for key, value in _annotations().items() if key != "image"}
    got = ops.filter_groundtruth_with_crowd_boxes(empty)
    assert got["groundtruth_boxes"].shape == [0, 4]


def test_labels_of_one_box_are_merged():
    boxes = tf.constant([[0.25, 0.25, 0.75, 0.75], [0, 0, 0.5, 0.75], [0.25, 0.25, 0.75, 0.75]])
    merged, classes, confidences, rows = tf.function(ops.merge_boxes_with_multiple_labels)(
        boxes, tf.constant([0, 4, 2], tf.int64), tf.constant([0.8, 0.2, 0.1]), 5)
    np.testing.assert_allclose(merged, boxes.numpy()[:2])
    np.testing.assert_array_equal(classes, [[1, 0, 1, 0, 0], [0, 0, 0, 0, 1]])
    np.testing.assert_allclose(confidences, [[0.8, 0, 0.1, 0, 0], [0, 0, 0, 0, 0.2]])
    np.testing.assert_array_equal(rows, [0, 1])
    assert classes.dtype == tf.int64


def test_no_labels_to_merge():
    merged, classes, confidences, rows = ops.merge_boxes_with_multiple_labels(
        tf.zeros([0, 4]), tf.zeros([0], tf.int64), tf.zeros([0]), 5)
    assert merged.shape == [0, 4] and classes.shape == [0, 5]
    assert confidences.shape == [0, 5] and rows.shape == [0]
