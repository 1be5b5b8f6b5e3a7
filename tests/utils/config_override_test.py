"""Changes of single values by dotted path."""

import pytest

from object_detection.protos import pipeline_pb2
from object_detection.utils import config_override
from object_detection.utils.config_text import ConfigError


def _apply(*overrides):
    pipeline = pipeline_pb2.TrainEvalPipelineConfig()
    pipeline.eval_input_reader.add().label_map_path = "first"
    config_override.apply_all(pipeline, overrides)
    return pipeline


@pytest.mark.parametrize(("override", "read", "expected"), [
    ("train_config.batch_size=2", lambda p: p.train_config.batch_size, 2),
    ("train_config.batch_size = 2 ", lambda p: p.train_config.batch_size, 2),
    ("train_config.use_bfloat16=true", lambda p: p.train_config.use_bfloat16, True),
    ("train_config.use_bfloat16=False", lambda p: p.train_config.use_bfloat16, False),
    ("train_config.gradient_clipping_by_norm=1e1",
     lambda p: p.train_config.gradient_clipping_by_norm, 10.0),
    ("train_config.fine_tune_checkpoint=a=b/c", lambda p: p.train_config.fine_tune_checkpoint,
     "a=b/c"),
    ("train_config.fine_tune_checkpoint='a b'", lambda p: p.train_config.fine_tune_checkpoint,
     "a b"),
    ("train_config.fine_tune_checkpoint=", lambda p: p.train_config.fine_tune_checkpoint, ""),
    ("train_input_reader.mask_type=PNG_MASKS", lambda p: p.train_input_reader.mask_type, 2),
    ("train_input_config.shuffle=false", lambda p: p.train_input_reader.shuffle, False),
    ("eval_input_reader.label_map_path=x", lambda p: p.eval_input_reader[0].label_map_path, "x"),
    ("eval_input_reader[1].label_map_path=x", lambda p: p.eval_input_reader[1].label_map_path,
     "x"),
    ("eval_config.metrics_set=[a, b]", lambda p: list(p.eval_config.metrics_set), ["a", "b"]),
    ("eval_config.metrics_set=a", lambda p: list(p.eval_config.metrics_set), ["a"]),
    ("eval_config.metrics_set=[]", lambda p: list(p.eval_config.metrics_set), []),
    ("model.faster_rcnn.image_resizer={ identity_resizer {} }",
     lambda p: p.model.faster_rcnn.image_resizer.WhichOneof("image_resizer_oneof"),
     "identity_resizer"),
    ("train_config { batch_size: 5 }", lambda p: p.train_config.batch_size, 5),
])
def test_override_reaches_its_field(override, read, expected):
    assert read(_apply(override)) == expected


@pytest.mark.parametrize(("override", "message"), [
    ("train_config.batch_sise=2", "did you mean 'batch_size'"),
    ("train_confg.batch_size=2", "did you mean 'train_config'"),
    ("train_config.batch_size=two", "override train_config.batch_size: want a whole number"),
    ("train_config.batch_size=2.5", "want a whole number, got 2.5"),
    ("train_config.batch_size=-1", "want 0 to 4294967295, got -1"),
    ("train_config.batch_size.x=2", "is a value and has no fields"),
    ("train_config[0].batch_size=2", "there is one train_config, it takes no [0]"),
    ("train_config.batch_size[0]=2", "is one value"),
    ("eval_input_reader[5].shuffle=true", "there are only 1 eval_input_reader"),
    ("train_input_reader.mask_type=PNG", "want one of DEFAULT, NUMERICAL_MASKS, PNG_MASKS"),
    ("train_config.use_bfloat16=maybe", "want true or false, got maybe"),
    ("train_config..x=1", "want name or name[index]"),
    ("batch_size", "override 1:1:1: TrainEvalPipelineConfig has no field 'batch_size'; it belongs "
     "in train_config"),
])
def test_wrong_override_names_itself_and_the_remedy(override, message):
    with pytest.raises(ConfigError) as caught:
        _apply(override)
    assert message in str(caught.value)


def test_several_readers_need_an_index():
    with pytest.raises(ConfigError, match=r"say which: eval_input_reader\[0\] to .*\[1\]"):
        _apply("eval_input_reader[1].shuffle=true", "eval_input_reader.shuffle=true")


def test_no_overrides_change_nothing():
    assert _apply() == _apply("")


def test_python_values_are_taken_as_they_are():
    pipeline = _apply()
    config_override.set_path(pipeline, "train_config.batch_size", 3.0)
    config_override.set_path(pipeline, "train_config.use_bfloat16", True)
    config_override.set_path(pipeline, "train_input_reader.sample_from_datasets_weights", [1, 2.5])
    assert pipeline.train_config.batch_size == 3
    assert pipeline.train_config.use_bfloat16
    assert list(pipeline.train_input_reader.sample_from_datasets_weights) == [1.0, 2.5]
