"""Suppression settings, score converters and calibration from their text protos."""

import numpy as np
import pytest
import tensorflow as tf
from google.protobuf import text_format

from object_detection.builders import post_processing_builder
from object_detection.core.nms import NmsSettings
from object_detection.protos import faster_rcnn_pb2, post_processing_pb2


def _build(text, faults=None):
    return post_processing_builder.build(
        text_format.Parse(text, post_processing_pb2.PostProcessing()), faults)


def test_defaults():
    settings, converter = _build("")
    # Floats of a proto have single precision.
    assert settings == NmsSettings(0.0, float(np.float32(0.6)), 100, 100,
                                   change_coordinate_frame=True)
    assert converter.kind == "identity" and converter.logit_scale == 1.0


def test_every_field():
    settings, _ = _build("""batch_non_max_suppression { score_threshold: 0.25 iou_threshold: 0.5
        max_detections_per_class: 7 max_total_detections: 9 soft_nms_sigma: 0.75
        use_class_agnostic_nms: true max_classes_per_detection: 1 use_static_shapes: true
        use_combined_nms: true use_partitioned_nms: true change_coordinate_frame: false
        use_hard_nms: true use_cpu_nms: true }""")
    assert settings == NmsSettings(0.25, 0.5, 7, 9, 0.75, True, 1, False, True, True, True, True,
                                   True)


def test_value_that_cannot_work():
    with pytest.raises(ValueError, match="iou_threshold"):
        _build("batch_non_max_suppression { iou_threshold: 1.5 }")


@pytest.mark.parametrize("text, expected", [
    ("", [0.0, np.log(4.0)]), ("logit_scale: 2.0", [0.0, np.log(2.0)]),
    ("score_converter: SOFTMAX logit_scale: 2.0", [1 / 3, 2 / 3]),
    ("score_converter: SIGMOID", [1 / 2, 4 / 5]),
    ("score_converter: SOFTMAX", [1 / 5, 4 / 5]),
    ("score_converter: SIGMOID logit_scale: 0.5", [1 / 2, 16 / 17]),
    ("score_converter: SIGMOID calibration_config { temperature_scaling_calibration "
     "{ scaler: 0.5 } }", [1 / 2, 16 / 17]),
    ("score_converter: SIGMOID calibration_config { sigmoid_calibration { sigmoid_parameters "
     "{ a: -2.0 } } }", [1 / 2, 16 / 17]),
    ("score_converter: SIGMOID calibration_config { class_id_sigmoid_calibrations "
     "{ class_id_sigmoid_parameters_map { key: 0 value { b: 1000.0 } } } }", [0, 4 / 5]),
    ("score_converter: SIGMOID calibration_config { function_approximation { x_y_pairs "
     "{ x_y_pair { x: 0.0 y: 0.0 } x_y_pair { x: 1.0 y: 0.5 } } } }", [1 / 4, 2 / 5]),
    ("score_converter: SIGMOID calibration_config { class_id_function_approximations "
     "{ class_id_xy_pairs_map { key: 1 value { x_y_pair { x: 0.0 y: 0.0 } x_y_pair "
     "{ x: 1.0 y: 0.5 } } } } }", [1 / 2, 2 / 5])])
def test_scores_of_background_and_one_class(text, expected):
    _, converter = _build(text)
    np.testing.assert_allclose(converter(tf.math.log([[1.0, 4.0]])), [expected], rtol=1e-5)


@pytest.mark.parametrize("divides_scores, expected", [
    (False, [1 / 17, 16 / 17]),  # logits 0 and log 4 over 0.5: odds of 16
    (True, [2 / 5, 8 / 5])])  # what is no probability, as the original has it
def test_a_temperature_belongs_to_the_logits(divides_scores, expected):
    _, converter = _build(
        "score_converter: SOFTMAX calibration_config { temperature_scaling_calibration "
        "{ scaler: 0.5 } }",
        faster_rcnn_pb2.OriginalFaults(temperature_divides_scores=divides_scores))
    np.testing.assert_allclose(converter(tf.math.log([[1.0, 4.0]])), [expected], rtol=1e-5)


@pytest.mark.parametrize("text, message", [
    ("calibration_config {}", "function_approximation"),
    ("calibration_config { temperature_scaling_calibration {} }", "scaler.*above 0"),
    ("calibration_config { function_approximation {} }", "rising x")])
def test_calibration_that_cannot_work(text, message):
    with pytest.raises(ValueError, match=message):
        _build(text)
