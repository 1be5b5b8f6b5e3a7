"""Codes of squares."""

import golden
import numpy as np
import op_cases
import pytest
import tensorflow as tf

from object_detection.box_coders.square_box_coder import SquareBoxCoder


def test_by_hand_and_back():
    coder = SquareBoxCoder((1, 1, 2))
    anchor = tf.constant([[0.0, 0.0, 2.0, 8.0]])  # side 4, centre (1, 4)
    box = tf.constant([[0.0, 4.0, 8.0, 12.0]])  # side 8, centre (4, 8)
    code = coder.encode(box, anchor)
    np.testing.assert_allclose(code, [[0.75, 1.0, 2 * np.log(2.0)]], rtol=1e-6)
    np.testing.assert_allclose(coder.decode(code, anchor), box, rtol=1e-6, atol=1e-6)


def test_no_boxes_and_empty_boxes():
    coder = SquareBoxCoder()
    assert coder.encode(tf.zeros([0, 4]), tf.zeros([0, 4])).shape == [0, coder.code_size]
    assert np.isfinite(coder.encode(tf.zeros([1, 4]), tf.zeros([1, 4]))).all()


@pytest.mark.parametrize("case, factors", [("square", None), ("square_scaled", (8, 8, 4))])
def test_as_in_the_original(case, factors):
    inputs, outputs = op_cases.load("box_coders", case)
    coder = SquareBoxCoder(factors)
    golden.assert_close(coder.encode(inputs["boxes"], inputs["anchors"]), outputs["encoded"], 1e-5)
    golden.assert_close(coder.decode(inputs["codes"], inputs["anchors"]), outputs["decoded"], 1e-5)
