"""Diagnostics of config texts: each message names the place and what to do."""

import pytest

from object_detection.protos import pipeline_pb2
from object_detection.utils import config_text


def _merge(text):
    pipeline = pipeline_pb2.TrainEvalPipelineConfig()
    return pipeline, config_text.merge(text, pipeline, "a.config")


@pytest.mark.parametrize(("text", "message"), [
    # BR-29: a field at the wrong level, a slip, a field of an older version.
    ('\n label_map_path: "x"', "a.config:2:2: TrainEvalPipelineConfig has no field "
     "'label_map_path'; it belongs in train_input_reader or eval_input_reader"),
    ("train_config { batch_sise: 3 }", "a.config:1:16: train_config (TrainConfig) has no field "
     "'batch_sise'; did you mean 'batch_size'?"),
    ("model { faster_rcnn { first_stage_only: true } }", "number_of_stages: 1"),
    ("train_input_reader { prefetch_buffer_size: 2 }", "num_prefetch_batches"),
    ("train_config {\n batch_size: 2\n model {} }",
     "a.config:3:2: train_config (TrainConfig) has no field 'model'; it belongs in "
     "TrainEvalPipelineConfig"),
    # Wrong types.
    ("train_config { batch_size: 3.5 }",
     "a.config:1:28: train_config.batch_size: want a whole number, got 3.5"),
    ('train_config { batch_size: "3" }', 'want a whole number, got "3"'),
    ("train_config { batch_size: -3 }", "want 0 to 4294967295, got -3"),
    ("train_config { use_bfloat16: yes }", "want true or false, got yes"),
    ("train_config { fine_tune_checkpoint: run1 }", "want a string in quotes, got run1"),
    ("train_config { gradient_clipping_by_norm: ten }", "want a number, got ten"),
    ("train_config: 3", "train_config is a message: want { ... }, got 3"),
    ("train_config [ {} ]", "train_config takes one value, got a list"),
    ("train_input_reader { mask_type: PNG_MASK }", "want one of DEFAULT, NUMERICAL_MASKS, "
     "PNG_MASKS, got PNG_MASK; did you mean PNG_MASKS?"),
    ('train_input_reader { mask_type: "PNG_MASKS" }', "(without quotes)"),
    # Characters.
    ("train_config { fine_tune_checkpoint: \u201cx\u201d }",
     "a.config:1:38: typographic quote \u201c; write a plain \""),
    ("train_config { fine_tune_checkpoint: \"x\u201d }", "ends with a typographic quote"),
    ("train_config { fine_tune_checkpoint: \"x }", "not closed on its line"),
    ("train_config { batch_size = 3 }", "unexpected '='"),
    ("// batch", "comments start with #"),
    # BR-28: \t is a valid escape, so that the original read a tab here.
    (r'train_config { fine_tune_checkpoint: "C:\tmp\x" }', "use forward slashes"),
    (r'train_input_reader { tf_record_input_reader { input_path: "C:\Users\x" } }',
     "use forward slashes"),
    (r'train_config { freeze_variables: "a\.b" }', r"write \\ for a backslash"),
    # Brackets.
    ("train_config {\n batch_size: 3\n", "train_config { of line 1 is not closed: } is missing"),
    ("train_config { }\n }", "a.config:2:2: } closes nothing"),
    ("eval_config { metrics_set: [\"a\"", "the list [ is not closed"),
    ("train_config { batch_size 3 }", "want ':' and a value, got 3"),
    ("train_config < batch_size: 3 }", "want > to close train_config of line 1, got }"),
    # Other families.
    ("model { ssd { num_classes: 3 } }",
     "a.config:1:9: model.ssd: this project builds faster_rcnn models"),
    ("model { center_net { } }", "model.center_net: this project builds faster_rcnn models"),
])
def test_wrong_text_says_where_and_what(text, message):
    with pytest.raises(config_text.ConfigError) as caught:
        _merge(text)
    assert message in str(caught.value)
    assert str(caught.value).startswith("a.config:")


@pytest.mark.parametrize("text", [
    "", "# only a comment", "train_config { batch_size: 0x10, num_steps: 5; }",
    "train_config: { gradient_clipping_by_norm: 1.5f keep_checkpoint_every_n_hours: inf }",
    "train_config < batch_size: 3 >", "train_config { bias_grad_multiplier: -2.5e-3 }",
    "eval_config { metrics_set: ['a', \"b\"] metrics_set: 'c' 'd' }",
    "eval_input_reader [ { shuffle: false }, { } ]",
    "eval_config { super_categories { key: \"a\" value: \"b,c\" } }",
    r'train_config { freeze_variables: "a\\.b" fine_tune_checkpoint: "C:\\run" }',
    "train_input_reader { mask_type: 2 }", "\ufefftrain_config { batch_size: 3 }",
])
def test_what_the_original_reads_is_read(text):
    _merge(text)


def test_values_reach_the_message():
    pipeline, findings = _merge("train_config { batch_size: 0x10 optimizer { adam_optimizer {} } }")
    assert pipeline.train_config.batch_size == 16
    assert findings == []


def test_second_value_of_a_field_wins_and_the_first_is_reported():
    pipeline, findings = _merge("train_config {\n  batch_size: 1\n  batch_size: 2\n}")
    assert pipeline.train_config.batch_size == 2
    assert [(one.line, one.field) for one in findings] == [(2, "train_config.batch_size")]
    assert "line 3" in findings[0].text


def test_second_message_is_merged_and_only_its_clashes_are_reported():
    pipeline, findings = _merge(
        "train_config { batch_size: 1 num_steps: 5 }\ntrain_config { batch_size: 2 }")
    assert (pipeline.train_config.batch_size, pipeline.train_config.num_steps) == (2, 5)
    assert [one.field for one in findings] == ["train_config.batch_size"]


def test_last_member_of_a_oneof_wins_and_the_others_are_reported():
    pipeline, findings = _merge(
        "train_config { data_augmentation_options {\n random_horizontal_flip {}\n"
        " random_vertical_flip {}\n rgb_to_gray {} } }")
    option, = pipeline.train_config.data_augmentation_options
    assert option.WhichOneof("preprocessing_step") == "rgb_to_gray"
    assert [one.line for one in findings] == [2, 3]
    assert "one data_augmentation_options block per step" in findings[0].text


def test_blocks_of_a_repeated_message_do_not_clash():
    _, findings = _merge("eval_input_reader { shuffle: true } eval_input_reader { shuffle: true }")
    assert findings == []


def test_ignored_and_deprecated_fields_are_reported_once():
    _, findings = _merge(
        "train_input_reader { queue_capacity: 1 }\neval_input_reader { queue_capacity: 2 }\n"
        "train_config { from_detection_checkpoint: true }")
    assert [one.line for one in findings] == [1, 3]
    assert "fine_tune_checkpoint_type" in findings[1].text


def test_decode_takes_a_byte_order_mark_and_refuses_other_encodings():
    assert config_text.decode(b"\xef\xbb\xbfmodel {}", "f") == "model {}"
    with pytest.raises(config_text.ConfigError, match="f:2: byte 0xc3 is not UTF-8"):
        config_text.decode(b"a\n# \xc3\xa8".replace(b"\xa8", b"\x28"), "f")
    with pytest.raises(config_text.ConfigError, match="UTF-16"):
        config_text.decode("model {}".encode("utf-16"), "f")


def test_missing_file_folder_and_empty_path(tmp_path):
    with pytest.raises(FileNotFoundError, match="no such file"):
        config_text.read_bytes(tmp_path / "x.config")
    with pytest.raises(config_text.ConfigError, match="this is a folder"):
        config_text.read_bytes(tmp_path)
    with pytest.raises(config_text.ConfigError, match="empty"):
        config_text.read_bytes("")
