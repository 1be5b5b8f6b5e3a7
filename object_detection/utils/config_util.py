"""Reads, changes and writes pipeline configs.

The functions on dicts of configs carry the names and keys that scripts for the TensorFlow Object
Detection API use; `load_pipeline` is the short way for new code.
"""

import os
from collections.abc import Mapping, Sequence
from typing import Any

from absl import logging
from google.protobuf import message as message_lib
from google.protobuf import text_format

from object_detection.protos import (
    eval_pb2,
    graph_rewriter_pb2,
    image_resizer_pb2,
    input_reader_pb2,
    model_pb2,
    optimizer_pb2,
    pipeline_pb2,
    train_pb2,
)
from object_detection.utils import config_checks, config_notes, config_override, config_text
from object_detection.utils.config_text import ConfigError, MissingFileError
from object_detection.utils.external_params import (
    merge_external_params_with_configs,
    update_input_reader_config,
)

__all__ = [
    "ConfigError", "MissingFileError", "clear_fine_tune_checkpoint",
    "create_configs_from_pipeline_proto", "create_pipeline_proto_from_configs",
    "get_configs_from_multiple_files", "get_configs_from_pipeline_file", "get_image_resizer_config",
    "get_learning_rate_type", "get_number_of_classes", "get_optimizer_type",
    "get_spatial_image_size", "load_pipeline", "merge_external_params_with_configs",
    "save_pipeline_config", "update_fine_tune_checkpoint_type", "update_input_reader_config",
    "validate",
]

Pipeline = pipeline_pb2.TrainEvalPipelineConfig
Configs = dict[str, Any]
Path = str | os.PathLike
_FILE_NAME = "pipeline.config"

validate = config_checks.validate


def load_pipeline(path: Path, overrides: Sequence[str] = ()) -> Pipeline:
    """Reads a pipeline config, applies overrides and checks the result.

    Values that the text sets twice, and fields that have no effect, are reported as warnings that
    name the line. Warnings of `validate` are logged too.

    Args:
        path: a text-format file, UTF-8.
        overrides: in order, each `train_config.batch_size=2`,
            `eval_input_reader[0].shuffle=false` or text to merge: `train_config { batch_size: 2 }`.
    Raises:
        ConfigError: "file:line:column: ..." where the file is wrong; MissingFileError, a
            FileNotFoundError too, where it is not there.
    """
    pipeline = Pipeline()
    _merge_file(path, pipeline)
    config_override.apply_all(pipeline, overrides)
    try:
        warnings = validate(pipeline)
    except ConfigError as error:
        lines = [f"{os.fspath(path)}: {line}" for line in str(error).split("\n")]
        raise ConfigError("\n".join(lines)) from error
    for warning in warnings:
        logging.warning("%s: %s", os.fspath(path), warning)
    return pipeline


def _merge_file(path: Path, message: message_lib.Message) -> None:
    name = os.fspath(path)
    text = config_text.decode(config_text.read_bytes(name), name)
    if not text.strip():
        raise ConfigError(f"{name}: the file is empty")
    config_text.warn(config_text.merge(text, message, name), name)


def get_configs_from_pipeline_file(
        pipeline_config_path: Path,
        config_override: str | Pipeline | None = None) -> Configs:
    """Reads a pipeline config into a dict of its parts.

    Args:
        pipeline_config_path: a text-format file.
        config_override: text to merge over the file, or a message.
    Returns:
        The dict of `create_configs_from_pipeline_proto`.
    """
    pipeline = Pipeline()
    _merge_file(pipeline_config_path, pipeline)
    if isinstance(config_override, Pipeline):
        pipeline.MergeFrom(config_override)
    elif config_override:
        findings = config_text.merge(config_override, pipeline, "config_override")
        config_text.warn(findings, "config_override")
    return create_configs_from_pipeline_proto(pipeline)


def create_configs_from_pipeline_proto(pipeline_config: Pipeline) -> Configs:
    """Returns the parts of a pipeline config, which stay connected to it.

    Returns:
        `model`, `train_config`, `train_input_config`, `eval_config`, `eval_input_configs` (all),
        `eval_input_config` (the first, if any), and `graph_rewriter_config` if set.
    """
    configs = {
        "model": pipeline_config.model,
        "train_config": pipeline_config.train_config,
        "train_input_config": pipeline_config.train_input_reader,
        "eval_config": pipeline_config.eval_config,
        "eval_input_configs": pipeline_config.eval_input_reader,
    }
    if configs["eval_input_configs"]:
        configs["eval_input_config"] = configs["eval_input_configs"][0]
    if pipeline_config.HasField("graph_rewriter"):
        configs["graph_rewriter_config"] = pipeline_config.graph_rewriter
    return configs


def create_pipeline_proto_from_configs(configs: Mapping[str, Any]) -> Pipeline:
    """Returns a pipeline config from a dict of its parts; parts may be missing."""
    pipeline = Pipeline()
    fields = {"model": "model", "train_config": "train_config", "eval_config": "eval_config",
              "train_input_config": "train_input_reader",
              "graph_rewriter_config": "graph_rewriter"}
    for key, field in fields.items():
        if key in configs:
            getattr(pipeline, field).CopyFrom(configs[key])
    readers = configs.get("eval_input_configs")
    if readers is None and "eval_input_config" in configs:
        readers = [configs["eval_input_config"]]
    pipeline.eval_input_reader.extend(readers or [])
    return pipeline


def save_pipeline_config(pipeline_config: Pipeline, directory: Path) -> None:
    """Writes `<directory>/pipeline.config`, making the directory if needed."""
    folder = os.fspath(directory)
    if config_text.is_remote(folder):
        import tensorflow as tf
        tf.io.gfile.makedirs(folder)
    else:
        os.makedirs(folder, exist_ok=True)
    _write(pipeline_config, os.path.join(folder, _FILE_NAME))


def _write(pipeline: Pipeline, path: str) -> None:
    text = text_format.MessageToString(pipeline, as_utf8=True)
    if config_text.is_remote(path):
        import tensorflow as tf
        with tf.io.gfile.GFile(path, "w") as file:
            file.write(text)
        return
    temporary = f"{path}.{os.getpid()}.tmp"  # so that a reader never meets half a file
    with open(temporary, "w", encoding="utf-8") as file:
        file.write(text)
    os.replace(temporary, path)


def clear_fine_tune_checkpoint(pipeline_config_path: Path,
                               new_pipeline_config_path: Path) -> None:
    """Copies a config without `fine_tune_checkpoint` and `load_all_detection_checkpoint_vars`."""
    pipeline = Pipeline()
    _merge_file(pipeline_config_path, pipeline)
    pipeline.train_config.ClearField("fine_tune_checkpoint")
    pipeline.train_config.ClearField("load_all_detection_checkpoint_vars")
    _write(pipeline, os.fspath(new_pipeline_config_path))


def update_fine_tune_checkpoint_type(train_config: train_pb2.TrainConfig) -> None:
    """Fills `fine_tune_checkpoint_type`, if empty, from the older `from_detection_checkpoint`."""
    if not train_config.fine_tune_checkpoint_type:
        old = train_config.from_detection_checkpoint
        train_config.fine_tune_checkpoint_type = "detection" if old else "classification"


def get_configs_from_multiple_files(
        model_config_path: Path = "", train_config_path: Path = "",
        train_input_config_path: Path = "", eval_config_path: Path = "",
        eval_input_config_path: Path = "", graph_rewriter_config_path: Path = "") -> Configs:
    """Reads a dict of configs from one file per part; parts without a path are left out."""
    parts = (
        ("model", model_config_path, model_pb2.DetectionModel),
        ("train_config", train_config_path, train_pb2.TrainConfig),
        ("train_input_config", train_input_config_path, input_reader_pb2.InputReader),
        ("eval_config", eval_config_path, eval_pb2.EvalConfig),
        ("eval_input_configs", eval_input_config_path, input_reader_pb2.InputReader),
        ("graph_rewriter_config", graph_rewriter_config_path, graph_rewriter_pb2.GraphRewriter))
    configs: Configs = {}
    for key, path, kind in parts:
        if not path:
            continue
        part = kind()
        _merge_file(path, part)
        configs[key] = part
    if "eval_input_configs" in configs:
        configs["eval_input_config"] = configs["eval_input_configs"]
        configs["eval_input_configs"] = [configs["eval_input_config"]]
    return configs


def _faster_rcnn(model_config: model_pb2.DetectionModel) -> Any:
    family = model_config.WhichOneof("model")
    if family != "faster_rcnn":
        raise ConfigError(f"model.{family or '<none>'}: {config_notes.FAMILY_ERROR}")
    return model_config.faster_rcnn


def get_image_resizer_config(
        model_config: model_pb2.DetectionModel) -> image_resizer_pb2.ImageResizer:
    """Returns the image resizer of a model. Raises ConfigError for other families."""
    return _faster_rcnn(model_config).image_resizer


def get_number_of_classes(model_config: model_pb2.DetectionModel) -> int:
    """Returns the number of classes, background not counted. Raises ConfigError likewise."""
    return _faster_rcnn(model_config).num_classes


def get_spatial_image_size(image_resizer_config: image_resizer_pb2.ImageResizer) -> list[int]:
    """Returns [height, width] of resized images in pixels, -1 where it depends on the image.

    Raises:
        ConfigError: if no resizer is set.
    """
    kind = image_resizer_config.WhichOneof("image_resizer_oneof")
    if kind is None:
        raise ConfigError("image_resizer: no resizer is set")
    if kind == "fixed_shape_resizer":
        fixed = image_resizer_config.fixed_shape_resizer
        return [fixed.height, fixed.width]
    keep = image_resizer_config.keep_aspect_ratio_resizer
    if kind == "keep_aspect_ratio_resizer" and keep.pad_to_max_dimension:
        return [keep.max_dimension] * 2
    if kind == "centered_square_resizer":
        return [image_resizer_config.centered_square_resizer.max_dimension] * 2
    return [-1, -1]


def get_optimizer_type(train_config: train_pb2.TrainConfig) -> str | None:
    """Returns the name of the optimizer that is set, for example `momentum_optimizer`."""
    return train_config.optimizer.WhichOneof("optimizer")


def get_learning_rate_type(
        optimizer_config: optimizer_pb2.MomentumOptimizer | optimizer_pb2.RMSPropOptimizer
        | optimizer_pb2.AdamOptimizer) -> str | None:
    """Returns the name of the schedule of an optimizer, as `manual_step_learning_rate`."""
    return optimizer_config.learning_rate.WhichOneof("learning_rate")
