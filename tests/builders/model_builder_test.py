"""Models from configs: what builds, and what is refused with the field's name."""

import re

import pytest
import shared_files
import small_detector
from google.protobuf import text_format

from object_detection.builders import feature_extractor_builder, model_builder
from object_detection.protos import faster_rcnn_pb2, model_pb2


def test_variables_have_their_tf1_names():
    model = model_builder.build(small_detector.config(), is_training=False)
    for name in ("FirstStageFeatureExtractor/MobilenetV1/Conv2d_0/weights", "Conv/biases",
                 "FirstStageBoxPredictor/ClassPredictor/weights",
                 "SecondStageBoxPredictor/BoxEncodingPredictor/biases"):
        assert name in model.variables_by_name


def test_a_built_model_stays_as_it_is_when_built_again():
    model = model_builder.build(small_detector.config(), is_training=False)
    before = model.variables_by_name
    model.build()
    assert all(variable is before[name] for name, variable in model.variables_by_name.items())


@pytest.mark.parametrize("changes,message", [
    ("number_of_stages: 4", "number_of_stages: want 1, 2 or 3, got 4"),
    ("num_classes: 0", "num_classes: want at least 1, got 0"),
    ("second_stage_batch_size: 9", "second_stage_batch_size: 9 is more than.*8"),
    ("initial_crop_size: 0", "initial_crop_size: want at least 1"),
    ("context_config {}", "context_config: Context R-CNN is not built"),
    ('feature_extractor { type: "faster_rcnn_vgg" }', "'faster_rcnn_vgg' is not built; choose"),
    ("feature_extractor { first_stage_features_stride: 4 }", "want 8 or 16, got 4"),
    ("first_stage_anchor_generator { multiscale_anchor_generator {} }",
     "normalize_coordinates: false")])
def test_settings_that_cannot_work_name_their_field(changes, message):
    with pytest.raises(ValueError, match=message):
        model_builder.build(small_detector.config(changes=changes), is_training=False)


def test_three_stages_need_a_mask_head():
    config = small_detector.config(3)
    config.faster_rcnn.second_stage_box_predictor.mask_rcnn_box_predictor.ClearField(
        "predict_instance_masks")
    with pytest.raises(ValueError, match="predict_instance_masks: true"):
        model_builder.build(config, is_training=False)


@pytest.mark.parametrize("text,message", [
    ("", "the config has no model"),
    ("ssd {}", re.escape("model.ssd: this project builds faster_rcnn models"))])
def test_other_models_are_refused(text, message):
    with pytest.raises(ValueError, match=message):
        model_builder.build(text_format.Parse(text, model_pb2.DetectionModel()), False)


def extractor(text, **faults):
    config = text_format.Parse('type: "faster_rcnn_mobilenet_v1" batch_norm_trainable: true '
                               + text, faster_rcnn_pb2.FasterRcnnFeatureExtractor())
    return feature_extractor_builder.build(config, is_training=True,
                                           faults=faster_rcnn_pb2.OriginalFaults(**faults))


def test_weight_decay_and_batch_norm_of_the_backbone():
    hyperparams = ("conv_hyperparams { regularizer { l2_regularizer { weight: 0.5 } } "
                   "batch_norm { decay: 0.9 epsilon: 0.5 } } ")
    assert extractor("").weight_decay == 0.0
    assert extractor(hyperparams).weight_decay == 0.5
    assert extractor(hyperparams, conv_hyperparams_ignored_by_slim=True).weight_decay == 0.0
    assert extractor(hyperparams).batch_norm.decay == 0.9997  # the network's own
    overridden = extractor(hyperparams + "override_base_feature_extractor_hyperparams: true")
    assert overridden.batch_norm.decay == pytest.approx(0.9)
    assert overridden.batch_norm.is_training


@pytest.mark.parametrize("case", ["faster_rcnn_resnet50", "faster_rcnn_mobilenet_v1",
                                  "mask_rcnn_resnet50", "rfcn_resnet101",
                                  "faster_rcnn_inception_v2"])
def test_names_shapes_and_trainable_flags_equal_the_original(case):
    import json

    from object_detection.protos import pipeline_pb2
    folder = shared_files.require(f"fixtures/tf1/{case}")
    pipeline = text_format.Parse((folder / "pipeline.config").read_text(),
                                 pipeline_pb2.TrainEvalPipelineConfig())
    model = model_builder.build(pipeline.model, is_training=False)
    expected = {name: (shape, trainable) for name, shape, trainable
                in json.loads((folder / "variables.json").read_text())
                if not ("FirstStageFeatureExtractor" in name and "/block4/" in name)}
    got = {name: (variable.shape.as_list(), variable.trainable)
           for name, variable in model.variables_by_name.items()}
    assert got == expected
