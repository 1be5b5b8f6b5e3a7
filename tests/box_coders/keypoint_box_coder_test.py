"""Codes of boxes with keypoints."""

import golden
import numpy as np
import op_cases
import pytest
import tensorflow as tf

from object_detection.box_coders.keypoint_box_coder import KeypointBoxCoder


def test_by_hand_and_back():
    coder = KeypointBoxCoder(1, (10, 10, 5, 5))
    anchor = tf.constant([[0.0, 0.0, 10.0, 20.0]])
    keypoints = tf.constant([[[10.0, 0.0]]])  # half a side below and left of the centre
    code = coder.encode(anchor, anchor, keypoints)
    assert coder.code_size == 6
    np.testing.assert_allclose(code, [[0, 0, 0, 0, 5, -5]], atol=1e-6)
    np.testing.assert_allclose(coder.decode_keypoints(code, anchor), keypoints)
    np.testing.assert_allclose(coder.decode(code, anchor), anchor)


def test_keypoints_are_asked_for():
    with pytest.raises(ValueError, match="without keypoints"):
        KeypointBoxCoder(2).encode(tf.zeros([1, 4]), tf.zeros([1, 4]))


def test_no_boxes():
    coder = KeypointBoxCoder(2)
    code = coder.encode(tf.zeros([0, 4]), tf.zeros([0, 4]), tf.zeros([0, 2, 2]))
    assert code.shape == [0, 8]
    assert coder.decode_keypoints(code, tf.zeros([0, 4])).shape == [0, 2, 2]


@pytest.mark.parametrize("case, factors", [
    ("keypoint", None), ("keypoint_scaled", (10, 10, 5, 5))])
def test_as_in_the_original(case, factors):
    inputs, outputs = op_cases.load("box_coders", case)
    coder = KeypointBoxCoder(3, factors)
    anchors, codes = inputs["anchors"], inputs["codes"]
    golden.assert_close(coder.encode(inputs["boxes"], anchors, inputs["keypoints"]),
                        outputs["encoded"], 1e-5)
    golden.assert_close(coder.decode(codes, anchors), outputs["decoded_boxes"], 1e-5)
    golden.assert_close(
        coder.decode_keypoints(codes, anchors), outputs["decoded_keypoints"], 1e-5)
