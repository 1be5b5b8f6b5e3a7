"""Pipeline configs of the OD API and of its users, and the functions that scripts call."""

import json

import numpy as np
import pytest
import shared_files

from object_detection.protos import pipeline_pb2, train_pb2
from object_detection.utils import config_text, config_util

_CONFIG = """
model { faster_rcnn {
  num_classes: 3
  image_resizer { keep_aspect_ratio_resizer { min_dimension: 60 max_dimension: 100 } }
  feature_extractor { type: "faster_rcnn_resnet50" }
  second_stage_box_predictor { mask_rcnn_box_predictor { } } } }
train_config { batch_size: 4 fine_tune_checkpoint: "x/model.ckpt"
  optimizer { momentum_optimizer { learning_rate { constant_learning_rate { } } } } }
train_input_reader { label_map_path: "map" tf_record_input_reader { input_path: "a" } }
eval_input_reader { label_map_path: "map" shuffle: false }
"""


@pytest.fixture(name="path")
def _path(tmp_path):
    path = tmp_path / "pipeline.config"
    path.write_text(_CONFIG)
    return path


@pytest.fixture(name="warnings")
def _warnings(monkeypatch):
    caught = []
    monkeypatch.setattr(config_text.logging, "warning", lambda text, *args: caught.append(
        text % args))
    return caught


def _plain(message):
    """The set fields of a message as dicts, lists and scalars."""
    result = {}
    for field, value in message.ListFields():
        if field.message_type is not None and field.message_type.GetOptions().map_entry:
            result[field.name] = {str(key): value[key] for key in value}
        elif field.message_type is not None:
            result[field.name] = ([_plain(one) for one in value] if field.is_repeated
                                  else _plain(value))
        elif field.enum_type is not None:
            names = field.enum_type.values_by_number
            result[field.name] = ([names[one].name for one in value] if field.is_repeated
                                  else names[value].name)
        else:
            result[field.name] = list(value) if field.is_repeated else value
    return result


def _same(got, want):
    if isinstance(want, dict):
        return isinstance(got, dict) and got.keys() == want.keys() and all(
            _same(got[key], want[key]) for key in want)
    if isinstance(want, list):
        return len(got) == len(want) and all(map(_same, got, want))
    if isinstance(want, float):
        return np.float32(got) == np.float32(want)
    return got == want


@pytest.mark.parametrize(("folder", "count"), [("upstream_configs", 44), ("user_configs", 7)])
def test_public_configs_give_the_message_that_the_original_reads(folder, count, warnings):
    root = shared_files.require(f"fixtures/{folder}")
    configs = json.loads((root / "expected.json").read_text())["configs"]
    assert len(configs) == count
    for name, want in configs.items():
        if name.endswith("_unsupported.config"):
            family = f"model.{want['family']}: this project builds faster_rcnn models"
            with pytest.raises(config_util.ConfigError, match=family):
                config_util.load_pipeline(root / name)
            continue
        warnings.clear()
        pipeline = config_util.load_pipeline(root / name)
        assert _same(_plain(pipeline), want["message"]), name
        dropped = [one for one in warnings if "has no effect" in one]
        assert bool(dropped) == (not want["strict"]), (name, dropped)


def test_the_camera_trap_config_reports_each_dropped_augmentation(warnings):
    path = shared_files.require("fixtures/user_configs/camera_traps_megadetector_v4_aug.config")
    config_util.load_pipeline(path)
    assert len([one for one in warnings if "has no effect" in one]) == 9  # ten steps, one is kept


def test_overrides_are_applied_in_order_before_the_checks(path):
    pipeline = config_util.load_pipeline(path, [
        "train_config.batch_size=2", "model.faster_rcnn.num_classes=7",
        "train_config { batch_size: 3 num_steps: 9 }",
        "eval_input_reader[0].label_map_path=other"])
    assert pipeline.train_config.batch_size == 3
    assert pipeline.train_config.num_steps == 9
    assert pipeline.model.faster_rcnn.num_classes == 7
    assert pipeline.eval_input_reader[0].label_map_path == "other"


def test_contradiction_is_reported_with_the_file(path):
    with pytest.raises(config_util.ConfigError, match=r"pipeline.config: .*64.*300.*|is 64.*is 50"):
        config_util.load_pipeline(path, ["model.faster_rcnn.first_stage_max_proposals=50"])


def test_missing_and_empty_files(tmp_path):
    with pytest.raises(config_util.MissingFileError, match="no such file"):
        config_util.load_pipeline(tmp_path / "none.config")
    (tmp_path / "empty.config").write_text(" \n")
    with pytest.raises(config_util.ConfigError, match="the file is empty"):
        config_util.load_pipeline(tmp_path / "empty.config")


def test_dict_of_configs_goes_back_to_the_same_message(path):
    configs = config_util.get_configs_from_pipeline_file(path)
    assert sorted(configs) == ["eval_config", "eval_input_config", "eval_input_configs", "model",
                               "train_config", "train_input_config"]
    assert configs["eval_input_config"] is configs["eval_input_configs"][0]
    again = config_util.create_pipeline_proto_from_configs(configs)
    assert again.model == configs["model"]
    assert again.eval_input_reader[0].label_map_path == "map"


def test_config_override_text_is_merged(path):
    configs = config_util.get_configs_from_pipeline_file(
        path, config_override="train_config { batch_size: 1 }")
    assert configs["train_config"].batch_size == 1
    assert configs["train_config"].fine_tune_checkpoint == "x/model.ckpt"
    with pytest.raises(config_util.ConfigError, match="config_override:1:16"):
        config_util.get_configs_from_pipeline_file(path, config_override="train_config { bath: 1 }")


def test_saved_config_reads_back_equal(path, tmp_path):
    pipeline = config_util.load_pipeline(path)
    config_util.save_pipeline_config(pipeline, tmp_path / "new" / "run")
    assert config_util.load_pipeline(tmp_path / "new" / "run" / "pipeline.config") == pipeline


def test_text_that_is_not_ascii_is_saved_as_it_is(tmp_path):
    pipeline = pipeline_pb2.TrainEvalPipelineConfig()
    pipeline.train_input_reader.label_map_path = "標籤.pbtxt"
    config_util.save_pipeline_config(pipeline, tmp_path)
    assert "標籤" in (tmp_path / "pipeline.config").read_text(encoding="utf-8")


def test_clear_fine_tune_checkpoint(path, tmp_path):
    config_util.clear_fine_tune_checkpoint(path, tmp_path / "new.config")
    train = config_util.load_pipeline(tmp_path / "new.config").train_config
    assert not train.HasField("fine_tune_checkpoint")
    assert train.batch_size == 4


@pytest.mark.parametrize(("text", "expected"), [
    ("from_detection_checkpoint: true", "detection"), ("", "classification"),
    ('fine_tune_checkpoint_type: "full" from_detection_checkpoint: true', "full")])
def test_update_fine_tune_checkpoint_type(text, expected):
    config = train_pb2.TrainConfig()
    config_text.merge(text, config, "text")
    config_util.update_fine_tune_checkpoint_type(config)
    assert config.fine_tune_checkpoint_type == expected


def test_configs_from_separate_files(tmp_path):
    (tmp_path / "train").write_text("batch_size: 5")
    (tmp_path / "eval_input").write_text("shuffle: false")
    configs = config_util.get_configs_from_multiple_files(
        train_config_path=tmp_path / "train", eval_input_config_path=str(tmp_path / "eval_input"))
    assert sorted(configs) == ["eval_input_config", "eval_input_configs", "train_config"]
    assert configs["train_config"].batch_size == 5
    assert not config_util.create_pipeline_proto_from_configs(configs).eval_input_reader[0].shuffle


@pytest.mark.parametrize(("text", "expected"), [
    ("fixed_shape_resizer { height: 30 width: 40 }", [30, 40]),
    ("keep_aspect_ratio_resizer { max_dimension: 90 pad_to_max_dimension: true }", [90, 90]),
    ("centered_square_resizer { max_dimension: 832 }", [832, 832]),
    ("keep_aspect_ratio_resizer { }", [-1, -1]), ("identity_resizer { }", [-1, -1])])
def test_spatial_image_size(text, expected):
    pipeline = pipeline_pb2.TrainEvalPipelineConfig()
    config_text.merge(f"model {{ faster_rcnn {{ image_resizer {{ {text} }} }} }}", pipeline, "t")
    resizer = config_util.get_image_resizer_config(pipeline.model)
    assert config_util.get_spatial_image_size(resizer) == expected


def test_small_questions_about_a_config(path):
    pipeline = config_util.load_pipeline(path)
    assert config_util.get_number_of_classes(pipeline.model) == 3
    assert config_util.get_optimizer_type(pipeline.train_config) == "momentum_optimizer"
    optimizer = pipeline.train_config.optimizer.momentum_optimizer
    assert config_util.get_learning_rate_type(optimizer) == "constant_learning_rate"
    pipeline.model.ssd.SetInParent()
    with pytest.raises(config_util.ConfigError, match="model.ssd: this project builds"):
        config_util.get_number_of_classes(pipeline.model)
