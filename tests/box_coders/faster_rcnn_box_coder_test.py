"""Codes of Faster R-CNN."""

import golden
import numpy as np
import op_cases
import pytest
import tensorflow as tf

from object_detection.box_coders.faster_rcnn_box_coder import FasterRcnnBoxCoder

ANCHOR = tf.constant([[0.0, 0.0, 10.0, 20.0]])
BOX = tf.constant([[5.0, 0.0, 15.0, 40.0]])
CODE = [[0.5, 0.5, 0.0, np.log(2.0)]]  # centre (5, 10) to (10, 20), twice as wide


def test_by_hand_and_back():
    coder = FasterRcnnBoxCoder()
    np.testing.assert_allclose(coder.encode(BOX, ANCHOR), CODE, atol=1e-6)
    np.testing.assert_allclose(coder.decode(tf.constant(CODE, tf.float32), ANCHOR), BOX, rtol=1e-6)


def test_scale_factors_multiply_codes():
    coder = FasterRcnnBoxCoder((10, 10, 5, 5))
    np.testing.assert_allclose(
        coder.encode(BOX, ANCHOR), np.multiply(CODE, [10, 10, 5, 5]), rtol=1e-6)


def test_decoding_bounds_how_much_a_box_grows():
    coder = FasterRcnnBoxCoder((1, 1, 5, 5), max_log_ratio=np.log(4.0))
    codes = tf.constant([[0.0, 0.0, 50.0, -5.0]])  # exp(10) times as high, 1 / e as wide
    half = 10.0 / np.e
    np.testing.assert_allclose(coder.decode(codes, ANCHOR),
                               [[5.0 - 20.0, 10.0 - half, 5.0 + 20.0, 10.0 + half]], rtol=1e-6)


def test_anchors_broadcast_over_images_and_classes():
    codes = tf.random.stateless_uniform([2, 3, 5, 4], [1, 2])
    anchors = tf.constant([[0.0, 0.0, 2.0, 2.0], [1.0, 1.0, 4.0, 3.0], [0.0, 0.0, 1.0, 9.0]])
    coder = FasterRcnnBoxCoder()
    decoded = coder.decode(codes, anchors[:, None, :])
    assert decoded.shape == [2, 3, 5, 4]
    np.testing.assert_allclose(coder.encode(decoded, anchors[:, None, :]), codes, atol=1e-5)


def test_no_boxes_and_empty_boxes():
    coder = FasterRcnnBoxCoder()
    assert coder.encode(tf.zeros([0, 4]), tf.zeros([0, 4])).shape == [0, coder.code_size]
    assert np.isfinite(coder.encode(tf.zeros([1, 4]), tf.zeros([1, 4]))).all()


@pytest.mark.parametrize("case, factors", [
    ("faster_rcnn", None), ("faster_rcnn_scaled", (10, 10, 5, 5))])
def test_as_in_the_original(case, factors):
    inputs, outputs = op_cases.load("box_coders", case)
    coder = FasterRcnnBoxCoder(factors)
    golden.assert_close(coder.encode(inputs["boxes"], inputs["anchors"]), outputs["encoded"], 1e-5)
    golden.assert_close(coder.decode(inputs["codes"], inputs["anchors"]), outputs["decoded"], 1e-5)


def test_every_case_of_the_original_belongs_to_a_coder():
    names = ("faster_rcnn", "keypoint", "square")
    assert op_cases.cases("box_coders") == {
        "mean_stddev", *names, *(f"{name}_scaled" for name in names)}
