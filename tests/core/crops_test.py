"""Crops: the original's numbers, worked values, the far edge, levels, empty inputs."""

import json

import numpy as np
import pytest
import shared_files
import tensorflow as tf

from object_detection.core import crops


def _case(name):
    folder = shared_files.require("fixtures/tf1/ops")
    params = json.loads((folder / "params.json").read_text())["crops"][name]
    data = np.load(folder / "crops.npz")
    inputs = {k.rsplit("/", 1)[1]: tf.constant(data[k]) for k in data.files
              if k.startswith(f"{name}/in/")}
    return params, inputs, data[f"{name}/out/crops"]


def _check(got, expected):
    np.testing.assert_allclose(got, expected, rtol=0, atol=1e-5 * np.abs(expected).max())


@pytest.mark.parametrize("original", [False, True])
@pytest.mark.parametrize("size", ["7x7", "3x5", "1x1"])
def test_native_crop_equals_the_original(size, original):
    params, inputs, expected = _case(f"native_{size}")
    _check(tf.function(crops.crop_and_resize)(
        inputs["image"], inputs["boxes"], params["crop_size"], original), expected)


@pytest.mark.parametrize("name", ["7x7", "3x5", "1x1", "extrapolation"])
def test_matmul_crop_equals_the_original(name):
    params, inputs, expected = _case(f"matmul_{name}")
    _check(tf.function(crops.matmul_crop_and_resize, jit_compile=True)(
        inputs["image"], inputs["boxes"], params["crop_size"],
        params["extrapolation_value"]), expected)


@pytest.mark.parametrize("static", [False, True])
def test_multilevel_crop_equals_the_original(static):
    params, inputs, expected = _case("multilevel_native")
    run = tf.function(crops.multilevel_crop_and_resize, jit_compile=static)
    _check(run([inputs["image_0"], inputs["image_1"]], inputs["boxes"], inputs["levels"],
               params["crop_size"], static), expected)


@pytest.mark.parametrize("use_matmul", [False, True])
@pytest.mark.parametrize("name", [
    "position_sensitive_pool_6x6", "position_sensitive_pool_4x6", "position_sensitive_keep_6x6",
    "position_sensitive_keep_4x6", "batch_position_sensitive"])
def test_position_sensitive_crop_equals_the_original(name, use_matmul):
    params, inputs, expected = _case(name)
    image, boxes = inputs["image"], inputs["boxes"]
    if image.shape.rank == 3:
        image, boxes, expected = image[None], boxes[None], expected[None]
    got = tf.function(crops.position_sensitive_crop)(
        image, boxes, params["crop_size"], params["num_spatial_bins"], params["global_pool"],
        use_matmul)
    # Outside the map the two ways differ; the original took matmul for boxes that leave it.
    inside = np.all((boxes >= 0) & (boxes <= 1), axis=-1) | use_matmul
    _check(got[inside], expected[inside])


def _ramp(height, width):
    """A map that holds the row number and the column number."""
    rows, columns = tf.meshgrid(tf.range(height), tf.range(width), indexing="ij")
    return tf.cast(tf.stack([rows, columns], axis=-1)[None], tf.float32)


def test_samples_span_the_box_from_corner_to_corner():
    got = crops.crop_and_resize(_ramp(5, 9), tf.constant([[[0.25, 0.0, 0.75, 0.5]]]), [3, 2])
    np.testing.assert_allclose(got[0, 0, :, 0, 0], [1, 2, 3], atol=1e-5)
    np.testing.assert_allclose(got[0, 0, 0, :, 1], [0, 4], atol=1e-5)


def _full_boxes():
    """Boxes that end at the far edge, start anywhere, and differ from 1 by a rounding or two."""
    start = np.linspace(0, 0.9, 200, dtype=np.float32)
    end = np.float32(1) + np.array([-1, 0, 1, 2], np.float32)[np.arange(200) % 4] * np.float32(1e-7)
    return tf.constant(np.stack([start, start, end, end], axis=-1)[None])


@pytest.mark.parametrize("run", [
    crops.crop_and_resize, crops.matmul_crop_and_resize,
    lambda f, b, s: crops.multilevel_crop_and_resize([f], b, tf.zeros([1, 200], tf.int32), s, True)
])
@pytest.mark.parametrize("size", [7, 14, 15])
def test_far_edge_is_read_whatever_the_rounding(run, size):
    for extent in (12, 38, 63, 1025):
        got = run(_ramp(extent, 4)[..., :1], _full_boxes(), [size, 2])
        np.testing.assert_allclose(got[0, :, -1, 0, 0], np.full(200, extent - 1.0), rtol=2e-6)


def test_flag_brings_the_blank_far_edge_back():
    got = crops.crop_and_resize(_ramp(38, 4), _full_boxes(), [14, 2], original_far_edge=True)
    assert np.any(got[0, :, -1, 0, 0].numpy() == 0.0)


def test_samples_far_outside_are_zero():
    got = crops.crop_and_resize(_ramp(5, 5) + 1.0, tf.constant([[[-0.5, 0.0, 0.5, 1.5]]]), [3, 3])
    np.testing.assert_allclose(got[0, 0, :, :, 0], [[0, 0, 0], [1, 1, 0], [3, 3, 0]], atol=1e-5)


def test_unknown_level_gives_zeros():
    for static in (False, True):
        got = crops.multilevel_crop_and_resize(
            [tf.ones([1, 3, 3, 2])], tf.constant([[[0.0, 0, 1, 1]] * 2]), tf.constant([[0, 3]]),
            [2, 2], static)
        np.testing.assert_allclose(tf.reduce_sum(got, [2, 3, 4]), [[8, 0]], atol=1e-5)


def test_low_precision_maps_keep_their_type():
    maps = tf.ones([1, 3, 3, 2], tf.bfloat16)
    boxes = tf.constant([[[0.0, 0, 1, 1]]])
    for got in (crops.crop_and_resize(maps, boxes, [2, 2]),
                crops.matmul_crop_and_resize(maps, boxes, [2, 2]),
                crops.multilevel_crop_and_resize([maps], boxes, [[0]], [2, 2])):
        assert got.dtype == tf.bfloat16


def test_no_boxes_and_dynamic_sizes():
    spec = [tf.TensorSpec([None, None, None, 4]), tf.TensorSpec([None, None, 4])]
    for run in (lambda f, b: crops.crop_and_resize(f, b, [2, 3]),
                lambda f, b: crops.matmul_crop_and_resize(f, b, [2, 3]),
                lambda f, b: crops.multilevel_crop_and_resize(
                    [f], b, tf.zeros(tf.shape(b)[:2], tf.int32), [2, 3]),
                lambda f, b: crops.position_sensitive_crop(f, b, [2, 4], [2, 2], True)):
        traced = tf.function(run, input_signature=spec)
        assert traced(tf.ones([2, 5, 5, 4]), tf.zeros([2, 0, 4])).shape[:2] == [2, 0]
        assert traced(tf.ones([2, 5, 5, 4]), tf.zeros([2, 3, 4])).shape[:2] == [2, 3]


def test_position_sensitive_errors():
    with pytest.raises(ValueError, match="multiple of num_spatial_bins"):
        crops.position_sensitive_crop(tf.ones([1, 5, 5, 4]), tf.zeros([1, 1, 4]), [3, 4], [2, 2],
                                      True)
    with pytest.raises(ValueError, match="channels"):
        crops.position_sensitive_crop(tf.ones([1, 5, 5, 5]), tf.zeros([1, 1, 4]), [2, 2], [2, 2],
                                      True)
