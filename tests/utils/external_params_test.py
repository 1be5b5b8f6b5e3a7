"""Named parameters, as hyperparameter searches and the training flags pass them."""

import pytest

from object_detection.protos import pipeline_pb2
from object_detection.utils import config_text, config_util

_CONFIG = """
model { faster_rcnn { num_classes: 3
  second_stage_classification_loss { weighted_sigmoid_focal { } } } }
train_config { batch_size: 4 optimizer { momentum_optimizer { learning_rate { %s } } } }
train_input_reader { label_map_path: "map" tf_record_input_reader { input_path: "a" } }
eval_input_reader { name: "day" label_map_path: "map" tf_record_input_reader { input_path: "b" } }
"""


def _configs(rate="constant_learning_rate { }", more=""):
    pipeline = pipeline_pb2.TrainEvalPipelineConfig()
    config_text.merge(_CONFIG % rate + more, pipeline, "text")
    return config_util.create_configs_from_pipeline_proto(pipeline)


def _merge(configs=None, **params):
    return config_util.merge_external_params_with_configs(
        configs or _configs(), kwargs_dict=params)


@pytest.mark.parametrize(("name", "value", "read", "expected"), [
    ("batch_size", 16.4, lambda c: c["train_config"].batch_size, 16),
    ("batch_size", 0.2, lambda c: c["train_config"].batch_size, 1),
    ("train_steps", 700, lambda c: c["train_config"].num_steps, 700),
    ("num_classes", 5, lambda c: c["model"].faster_rcnn.num_classes, 5),
    ("label_map_path", "new", lambda c: (c["train_input_config"].label_map_path,
                                         c["eval_input_configs"][0].label_map_path),
     ("new", "new")),
    ("mask_type", 2, lambda c: c["eval_input_config"].mask_type, 2),
    ("mask_type", "PNG_MASKS", lambda c: c["train_input_config"].mask_type, 2),
    ("sample_1_of_n_eval_examples", 3,
     lambda c: c["eval_input_config"].sample_1_of_n_examples, 3),
    ("eval_num_epochs", 1, lambda c: c["eval_input_config"].num_epochs, 1),
    ("eval_with_moving_averages", True, lambda c: c["eval_config"].use_moving_averages, True),
    ("retain_original_images_in_eval", False,
     lambda c: c["eval_config"].retain_original_images, False),
    ("use_bfloat16", True, lambda c: c["train_config"].use_bfloat16, True),
    ("momentum_optimizer_value", 0.5, lambda c: c[
        "train_config"].optimizer.momentum_optimizer.momentum_optimizer_value, 0.5),
    ("classification_localization_weight_ratio", 2.0,
     lambda c: (c["model"].faster_rcnn.second_stage_classification_loss_weight,
                c["model"].faster_rcnn.second_stage_localization_loss_weight,
                c["model"].faster_rcnn.first_stage_objectness_loss_weight), (2.0, 1.0, 2.0)),
    ("focal_loss_gamma", 1.5, lambda c: c["model"].faster_rcnn.second_stage_classification_loss
     .weighted_sigmoid_focal.gamma, 1.5),
    ("train_input_path", "x", lambda c: list(
        c["train_input_config"].tf_record_input_reader.input_path), ["x"]),
    ("append_train_input_path", ["x", "y"], lambda c: list(
        c["train_input_config"].tf_record_input_reader.input_path), ["a", "x", "y"]),
    ("eval_input_path", ["x"], lambda c: list(
        c["eval_input_config"].tf_record_input_reader.input_path), ["x"]),
    ("append_eval_input_path", "x", lambda c: list(
        c["eval_input_config"].tf_record_input_reader.input_path), ["b", "x"]),
    ("train_shuffle", False, lambda c: c["train_input_config"].shuffle, False),
    ("eval_shuffle", False, lambda c: c["eval_input_config"].shuffle, False),
    ("sample_from_datasets_weights", [1.0, 2.0], lambda c: list(
        c["train_input_config"].sample_from_datasets_weights), [1.0, 2.0]),
    ("train_config.batch_size", 7, lambda c: c["train_config"].batch_size, 7),
    ("eval_input_configs[0].shuffle", False, lambda c: c["eval_input_config"].shuffle, False),
])
def test_parameter_reaches_its_fields(name, value, read, expected):
    assert read(_merge(**{name: value})) == expected


def _rates(configs):
    return configs["train_config"].optimizer.momentum_optimizer.learning_rate


def test_learning_rate_scales_a_manual_schedule():
    configs = _configs("manual_step_learning_rate { initial_learning_rate: 0.5 "
                       "schedule { step: 9 learning_rate: 0.125 } }")
    manual = _rates(_merge(configs, learning_rate=1.0)).manual_step_learning_rate
    assert (manual.initial_learning_rate, manual.schedule[0].learning_rate) == (1.0, 0.25)


def test_learning_rate_scales_the_warm_up_of_a_cosine():
    configs = _configs("cosine_decay_learning_rate { learning_rate_base: 0.5 "
                       "warmup_learning_rate: 0.125 }")
    cosine = _rates(_merge(configs, learning_rate=1.0)).cosine_decay_learning_rate
    assert (cosine.learning_rate_base, cosine.warmup_learning_rate) == (1.0, 0.25)


@pytest.mark.parametrize("kind", ["constant_learning_rate", "exponential_decay_learning_rate"])
def test_learning_rate_of_simple_schedules(kind):
    rate = getattr(_rates(_merge(_configs(f"{kind} {{ }}"), learning_rate=0.5)), kind)
    first = "learning_rate" if kind.startswith("constant") else "initial_learning_rate"
    assert getattr(rate, first) == 0.5


def test_hparams_object_and_mapping():
    class HParams:
        def values(self):
            return {"batch_size": 9}

    for hparams in (HParams(), {"batch_size": 9}):
        merged = config_util.merge_external_params_with_configs(_configs(), hparams)
        assert merged["train_config"].batch_size == 9


def test_empty_values_change_nothing():
    before, after = _configs(), _merge(batch_size=None, label_map_path="")
    assert before["train_config"] == after["train_config"]
    assert before["train_input_config"] == after["train_input_config"]


def test_unknown_parameter_is_a_warning_with_the_nearest_name(monkeypatch):
    caught = []
    monkeypatch.setattr(config_text.logging, "warning", lambda text, *args: caught.append(
        text % args))
    _merge(batchsize=3)
    assert "did you mean 'batch_size'" in caught[0]


@pytest.mark.parametrize(("params", "message"), [
    ({"train_config.bath_size": 3}, "did you mean 'batch_size'"),
    ({"trainconfig.batch_size": 3}, "did you mean 'train_config'"),
    ({"batch_size": 3, "use_bfloat16": "maybe"}, "want true or false, got maybe"),
])
def test_wrong_parameters(params, message):
    with pytest.raises(config_util.ConfigError, match=message):
        _merge(**params)


def test_focal_parameter_needs_a_focal_loss():
    configs = _configs(more="model { faster_rcnn { second_stage_classification_loss { "
                            "weighted_softmax { } } } }")
    with pytest.raises(config_util.ConfigError, match="it is weighted_softmax"):
        _merge(configs, focal_loss_alpha=0.5)


def test_update_input_reader_config_by_name():
    configs = _configs(more="eval_input_reader { name: \"night\" }")
    config_util.update_input_reader_config(
        configs, key_name="eval_input_configs", input_name="night", field_name="num_epochs",
        value=4)
    config_util.update_input_reader_config(
        configs, key_name="eval_input_configs", input_name="night", value=["p"])
    night = configs["eval_input_configs"][1]
    assert (night.num_epochs, list(night.tf_record_input_reader.input_path)) == (4, ["p"])
    with pytest.raises(config_util.ConfigError, match="found 2"):
        config_util.update_input_reader_config(configs, key_name="eval_input_configs", value="p")
    with pytest.raises(config_util.ConfigError, match="want one evaluation input"):
        _merge(configs, eval_input_path="p")
