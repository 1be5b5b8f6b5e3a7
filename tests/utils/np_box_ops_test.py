"""Box arithmetic in numpy."""

import numpy as np
import op_cases
import pytest

from object_detection.utils import np_box_ops

FIRST = np.array([[0, 0, 2, 2], [1, 1, 1, 1]], np.float32)
SECOND = np.array([[0, 1, 2, 3], [1, 1, 1, 1]], np.float32)


def test_by_hand():
    np.testing.assert_allclose(np_box_ops.area(FIRST), [4, 0])
    np.testing.assert_allclose(np_box_ops.intersection(FIRST, SECOND), [[2, 0], [0, 0]])
    # Pairs without area give 0, not NaN.
    np.testing.assert_allclose(np_box_ops.iou(FIRST, SECOND), [[1 / 3, 0], [0, 0]])
    np.testing.assert_allclose(np_box_ops.ioa(FIRST, SECOND), [[0.5, 0], [0, 0]])


@pytest.mark.parametrize("compare", [np_box_ops.iou, np_box_ops.ioa, np_box_ops.intersection])
def test_no_boxes(compare):
    assert compare(np.zeros([0, 4]), FIRST).shape == (0, 2)
    assert compare(FIRST, np.zeros([0, 4])).shape == (2, 0)


@pytest.mark.parametrize("case, compare", [("iou", np_box_ops.iou), ("ioa", np_box_ops.ioa)])
def test_as_in_the_original(case, compare):
    inputs, outputs = op_cases.load("boxes", case)
    got = compare(inputs["boxes1"], inputs["boxes2"])
    assert got.dtype == np.float32
    np.testing.assert_allclose(got, outputs["value"], atol=1e-5)
