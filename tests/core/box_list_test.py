"""BoxList: fields come and go, wrong ones are refused."""

import numpy as np
import pytest
import tensorflow as tf

from object_detection.core.box_list import BoxList


def test_fields():
    boxlist = BoxList(tf.constant([[0.0, 1.0, 2.0, 5.0]]))
    boxlist.add_field("scores", tf.constant([0.5]))
    assert boxlist.num_boxes() == 1 and boxlist.num_boxes_static() == 1
    assert boxlist.get_all_fields() == ["boxes", "scores"]
    assert boxlist.get_extra_fields() == ["scores"]
    assert boxlist.has_field("scores") and not boxlist.has_field("classes")
    boxlist.set_field("scores", tf.constant([0.25]))
    assert boxlist.as_tensor_dict(["scores"])["scores"].numpy() == [0.25]


def test_an_unknown_field_names_the_known_ones():
    boxlist = BoxList(tf.zeros([0, 4]))
    with pytest.raises(ValueError, match=r"no field 'scores'; there are \['boxes'\]"):
        boxlist.get_field("scores")
    with pytest.raises(ValueError, match="no field"):
        boxlist.set_field("scores", tf.zeros([0]))


@pytest.mark.parametrize("boxes", [
    tf.zeros([4]), tf.zeros([2, 3]), tf.zeros([2, 4], tf.int32)])
def test_what_is_no_box_tensor_is_refused(boxes):
    with pytest.raises(ValueError, match=r"float tensor \[N, 4\]"):
        BoxList(boxes)


def test_centers_and_transposition():
    boxlist = BoxList(tf.constant([[0.0, 1.0, 2.0, 5.0]]))
    np.testing.assert_allclose(
        tf.stack(boxlist.get_center_coordinates_and_sizes()), [[1], [3], [2], [4]])
    boxlist.transpose_coordinates()
    np.testing.assert_allclose(boxlist.get(), [[1, 0, 5, 2]])
