"""The keys are a contract: values must stay as users' records and scripts have them."""

import pytest

from object_detection.core import standard_fields


def test_record_keys_of_home_made_scripts():
    keys = standard_fields.TfExampleFields
    assert keys.image_encoded == "image/encoded"
    assert keys.object_bbox_xmin == "image/object/bbox/xmin"
    assert keys.object_class_label == "image/object/class/label"
    assert keys.instance_masks == "image/object/mask"


def test_detection_keys():
    assert standard_fields.DetectionResultFields.detection_boxes == "detection_boxes"
    assert standard_fields.DetectionResultFields.num_detections == "num_detections"


@pytest.mark.parametrize("fields", [
    standard_fields.InputDataFields, standard_fields.DetectionResultFields,
    standard_fields.BoxListFields, standard_fields.PredictionFields,
    standard_fields.TfExampleFields])
def test_no_value_is_used_twice(fields):
    values = [value for name, value in vars(fields).items() if not name.startswith("_")]
    assert len(values) == len(set(values))


def test_input_keys_equal_their_names():
    for name, value in vars(standard_fields.InputDataFields).items():
        if not name.startswith("_"):
            assert name == value
