"""BoxList of numpy arrays."""

import numpy as np
import pytest

from object_detection.utils.np_box_list import BoxList


def test_fields():
    boxlist = BoxList(np.array([[0.0, 1.0, 2.0, 3.0]]))
    boxlist.add_field("scores", np.array([0.5]))
    assert boxlist.num_boxes() == 1 and boxlist.get_extra_fields() == ["scores"]
    assert boxlist.get_field("scores") == [0.5]
    assert [side.tolist() for side in boxlist.get_coordinates()] == [[0], [1], [2], [3]]
    assert BoxList(np.zeros([0, 4])).num_boxes() == 0


@pytest.mark.parametrize("data, message", [
    ([[0, 0, 1, 1]], "numpy array, got list"),
    (np.zeros([4]), r"array \[N, 4\]"),
    (np.zeros([1, 4], int), "float32 or float64"),
    (np.array([[0.0, 0, 1, 1], [0, 2, 1, 1]]), "box 1 is .* minimum above")])
def test_what_is_no_box_array_is_refused(data, message):
    with pytest.raises(ValueError, match=message):
        BoxList(data)


def test_wrong_fields_are_refused():
    boxlist = BoxList(np.zeros([2, 4]))
    with pytest.raises(ValueError, match="exists already"):
        boxlist.add_field("boxes", np.zeros([2, 4]))
    with pytest.raises(ValueError, match="want 2 rows"):
        boxlist.add_field("scores", np.zeros([3]))
    with pytest.raises(ValueError, match="no field 'scores'"):
        boxlist.get_field("scores")
