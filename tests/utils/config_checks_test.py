"""Contradictions inside a config, each with the values of both fields."""

import pytest

from object_detection.protos import pipeline_pb2
from object_detection.utils import config_checks, config_text

_GOOD = """
model { faster_rcnn { num_classes: 3 number_of_stages: 2
  image_resizer { fixed_shape_resizer { height: 32 width: 32 } }
  feature_extractor { type: "faster_rcnn_resnet50" }
  second_stage_box_predictor { mask_rcnn_box_predictor { } } } }
"""
_RATE = "train_config { num_steps: 300 optimizer { adam_optimizer { learning_rate { %s } } } }"
_HEAD = "model { faster_rcnn { second_stage_box_predictor { %s } } }"


def _validate(text):
    pipeline = pipeline_pb2.TrainEvalPipelineConfig()
    config_text.merge(_GOOD + text, pipeline, "text")
    return config_checks.validate(pipeline)


def test_a_good_config_has_no_errors_and_no_warnings():
    assert _validate("") == []


def test_an_empty_config_is_left_to_the_builders():
    assert config_checks.validate(pipeline_pb2.TrainEvalPipelineConfig()) == []


@pytest.mark.parametrize(("text", "message"), [
    # BR-25
    ("model { faster_rcnn { first_stage_max_proposals: 50 } }",
     "second_stage_batch_size is 64, above first_stage_max_proposals, which is 50"),
    # BR-27
    (_RATE % "cosine_decay_learning_rate { total_steps: 100 warmup_steps: 200 }",
     "warmup_steps is 200, above total_steps, which is 100"),
    (_RATE % "cosine_decay_learning_rate { total_steps: 300 warmup_steps: 10 "
     "learning_rate_base: 0.1 warmup_learning_rate: 0.2 }",
     "warmup_learning_rate is 0.2, above learning_rate_base, which is 0.1"),
    # BR-26
    (_RATE % "manual_step_learning_rate { schedule { step: 900 } schedule { step: 300 } }",
     "steps must rise, got 900 and then 300"),
    ("model { faster_rcnn { number_of_stages: 4 } }", "want 1, 2 or 3, got 4"),
    ("model { faster_rcnn { num_classes: 0 } }", "num_classes: want 1 or more, got 0"),
    ("model { faster_rcnn { number_of_stages: 3 } }", "predict_instance_masks is false"),
    (_HEAD % "mask_rcnn_box_predictor { predict_instance_masks: true }", "conv_hyperparams"),
    (_HEAD % "mask_rcnn_box_predictor { predict_keypoints: true }", "predict_keypoints"),
    (_HEAD % "rfcn_box_predictor { crop_height: 10 }",
     "crop_height is 10, want a multiple of num_spatial_bins_height, which is 3"),
    ("model { faster_rcnn { image_resizer { keep_aspect_ratio_resizer { min_dimension: 9 "
     "max_dimension: 5 } } } }", "min_dimension 9 and max_dimension 5"),
    ("model { faster_rcnn { second_stage_post_processing { batch_non_max_suppression { "
     "max_detections_per_class: 200 } } } }",
     "max_detections_per_class is 200, above max_total_detections, which is 100"),
    ('train_config { fine_tune_checkpoint_type: "half" }',
     "want one of classification, detection, full, fine_tune, got 'half'"),
    ("train_config { batch_size: 0 }", "batch_size: want 1 or more, got 0"),
    ('train_input_reader { sample_from_datasets_weights: [1, 2] tf_record_input_reader { '
     'input_path: "a" } }', "2 values for 1 input_path"),
])
def test_contradictions_are_errors(text, message):
    with pytest.raises(config_text.ConfigError) as caught:
        _validate(text)
    assert message in str(caught.value)


def test_all_errors_are_listed():
    with pytest.raises(config_text.ConfigError) as caught:
        _validate("model { faster_rcnn { num_classes: 0 } } train_config { batch_size: 0 }")
    assert len(str(caught.value).split("\n")) == 2


def test_a_schedule_that_starts_at_step_0_is_accepted():
    assert _validate(_RATE % "manual_step_learning_rate { schedule { step: 0 } }") == []


@pytest.mark.parametrize(("text", "message"), [
    (_RATE % "cosine_decay_learning_rate { total_steps: 300000 warmup_steps: 10 }",
     "total_steps is 300000, but train_config.num_steps is 300"),
    (_RATE % "cosine_decay_learning_rate { total_steps: 100 warmup_steps: 10 }",
     "the rate is zero from step 100 on"),
    (_HEAD % "mask_rcnn_box_predictor { predict_instance_masks: true conv_hyperparams {} }"
     + "train_input_reader { }", "train_input_reader.load_instance_masks is false"),
    ("eval_config { use_moving_averages: true } "
     "train_config { optimizer { use_moving_average: false } }", "no averages to evaluate"),
    ('model { faster_rcnn { feature_extractor { type: "faster_rcnn_resnet50" conv_hyperparams { '
     "activation: SWISH } } } }", "activation will have no effect; faster_rcnn_resnet50 has its"),
    ('model { faster_rcnn { feature_extractor { type: "faster_rcnn_resnet50" conv_hyperparams { '
     "batch_norm { decay: 0.9 } } } } }", "set override_base_feature_extractor_hyperparams: true"),
])
def test_doubtful_settings_are_warnings(text, message):
    warning, = _validate(text)
    assert message in warning


def test_one_stage_needs_no_second_stage():
    assert _validate("model { faster_rcnn { number_of_stages: 1 first_stage_max_proposals: 5 } }"
                     ) == []


def test_a_message_of_another_family_is_refused():
    pipeline = pipeline_pb2.TrainEvalPipelineConfig()
    pipeline.model.ssd.SetInParent()
    with pytest.raises(config_text.ConfigError, match="model.ssd: this project builds faster_rcnn"):
        config_checks.validate(pipeline)
