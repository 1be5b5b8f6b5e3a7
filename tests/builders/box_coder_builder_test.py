"""Box coders from config text."""

import pytest
from google.protobuf import text_format

from object_detection.box_coders.faster_rcnn_box_coder import FasterRcnnBoxCoder
from object_detection.box_coders.keypoint_box_coder import KeypointBoxCoder
from object_detection.box_coders.mean_stddev_box_coder import MeanStddevBoxCoder
from object_detection.box_coders.square_box_coder import SquareBoxCoder
from object_detection.builders import box_coder_builder
from object_detection.protos import box_coder_pb2


def build(text):
    return box_coder_builder.build(text_format.Parse(text, box_coder_pb2.BoxCoder()))


@pytest.mark.parametrize("text, kind, factors", [
    ("faster_rcnn_box_coder {}", FasterRcnnBoxCoder, (10, 10, 5, 5)),
    ("faster_rcnn_box_coder { y_scale: 1 x_scale: 2 height_scale: 3 width_scale: 4 }",
     FasterRcnnBoxCoder, (1, 2, 3, 4)),
    ("square_box_coder { length_scale: 7 }", SquareBoxCoder, (10, 10, 7)),
    ("keypoint_box_coder { num_keypoints: 3 y_scale: 2 }", KeypointBoxCoder, (2, 10, 5, 5))])
def test_kinds_and_factors(text, kind, factors):
    coder = build(text)
    assert type(coder) is kind and coder.scale_factors == factors


def test_mean_stddev_and_number_of_keypoints():
    coder = build("mean_stddev_box_coder { stddev: 0.5 }")
    assert type(coder) is MeanStddevBoxCoder and coder.stddev == 0.5
    assert build("keypoint_box_coder { num_keypoints: 3 }").code_size == 10


def test_nothing_set_lists_the_choices():
    with pytest.raises(ValueError, match="box_coder: set one of .*square_box_coder.*none of them"):
        build("")
