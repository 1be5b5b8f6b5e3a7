"""Codes that are differences."""

import golden
import numpy as np
import op_cases
import pytest
import tensorflow as tf

from object_detection.box_coders.mean_stddev_box_coder import MeanStddevBoxCoder


def test_by_hand_and_back():
    coder = MeanStddevBoxCoder(stddev=0.5)
    anchor, box = tf.constant([[0.0, 0.0, 1.0, 1.0]]), tf.constant([[0.5, 0.0, 1.0, 2.0]])
    code = coder.encode(box, anchor)
    np.testing.assert_allclose(code, [[1, 0, 0, 2]])
    np.testing.assert_allclose(coder.decode(code, anchor), box)
    assert coder.encode(tf.zeros([0, 4]), tf.zeros([0, 4])).shape == [0, coder.code_size]


def test_stddev_must_be_positive():
    with pytest.raises(ValueError, match="stddev: want a positive number, got 0"):
        MeanStddevBoxCoder(stddev=0.0)


def test_as_in_the_original():
    inputs, outputs = op_cases.load("box_coders", "mean_stddev")
    coder = MeanStddevBoxCoder(stddev=0.1)
    golden.assert_close(coder.encode(inputs["boxes"], inputs["anchors"]), outputs["encoded"], 1e-5)
    golden.assert_close(coder.decode(inputs["codes"], inputs["anchors"]), outputs["decoded"], 1e-5)
