"""Puts parameters from outside a config (flags, hyperparameter searches) into a dict of configs."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from absl import logging
from google.protobuf import message as message_lib

from object_detection.utils import config_notes, config_override
from object_detection.utils.config_text import ConfigError

Configs = dict[str, Any]


def merge_external_params_with_configs(configs: Configs, hparams: Any = None,
                                       kwargs_dict: Mapping[str, Any] | None = None) -> Configs:
    """Changes configs by named parameters, by dotted paths, or both.

    Args:
        configs: the dict of `config_util.get_configs_from_pipeline_file`, changed in place.
        hparams: parameters as a mapping, or as an object whose `values()` returns one.
        kwargs_dict: more parameters; `hparams` wins where both name one. A value of None or ""
            leaves the config as it is.
    Returns:
        `configs`.
    Raises:
        ConfigError: for a dotted path, a value or a parameter that the config has no place for.
    """
    params = dict(kwargs_dict or {})
    if hparams is not None:
        params.update(hparams if isinstance(hparams, Mapping) else hparams.values())
    for key, value in params.items():
        if value is None or isinstance(value, str) and not value:
            continue
        logging.info("config parameter %s: %s", key, value)
        if key in _NAMED:
            _NAMED[key](configs, value)
        elif "." in key:
            _set_dotted(configs, key, value)
        else:
            logging.warning("config parameter %s is unknown and changes nothing%s", key,
                            config_override.nearest(key, list(_NAMED)))
    return configs


def _set_dotted(configs: Configs, key: str, value: Any) -> None:
    first, _, rest = key.partition(".")
    name, bracket, index = first.partition("[")
    part = configs.get(name)
    if part is None:
        keys = [known for known in configs if configs[known] is not None]
        raise ConfigError(f"config parameter {key}: there is no {name!r}, only {', '.join(keys)}"
                          f"{config_override.nearest(name, keys)}")
    if not isinstance(part, message_lib.Message):
        position = index.rstrip("]") if bracket else "0"
        if not position.isdigit() or int(position) >= len(part) or (not bracket and len(part) > 1):
            raise ConfigError(f"config parameter {key}: {name} holds {len(part)} messages, say "
                              f"which, as {name}[0]")
        part = part[int(position)]
    config_override.set_path(part, rest, value)


def update_input_reader_config(
        configs: Configs, key_name: str | None = None, input_name: str | None = None,
        field_name: str | None = None, value: Any = None,
        path_updater: Callable[[message_lib.Message, Any], None] | None = None) -> None:
    """Changes one field of an input reader, or its paths.

    Args:
        configs: a dict of configs, changed in place.
        key_name: `train_input_config`, `eval_input_config` or `eval_input_configs`.
        input_name: `name` of the reader meant, if the key holds several.
        field_name: field to set; None changes the input paths.
        value: value of the field, or the paths.
        path_updater: sets `value` as the paths of a reader, in place of the usual way.
    Raises:
        ConfigError: if no reader or several fit, or the field does not take the value.
    """
    readers = configs[key_name]
    if isinstance(readers, message_lib.Message):
        reader = readers
    else:
        fitting = [reader for reader in readers
                   if input_name is None or reader.name == input_name]
        if len(fitting) != 1:
            wanted = f"named {input_name!r}" if input_name else "(give input_name)"
            raise ConfigError(f"{key_name}: want one input reader {wanted}, found {len(fitting)}")
        reader = fitting[0]
    if field_name:
        config_override.set_path(reader, field_name, value)
    else:
        (path_updater or _set_paths)(reader, value)


def _set_paths(reader: message_lib.Message, paths: str | Sequence[str]) -> None:
    reader.tf_record_input_reader.input_path[:] = [paths] if isinstance(paths, str) else paths


def _append_paths(reader: message_lib.Message, paths: str | Sequence[str]) -> None:
    reader.tf_record_input_reader.input_path.extend([paths] if isinstance(paths, str) else paths)


def _eval_readers(configs: Configs) -> Sequence[Any]:
    if configs.get("eval_input_configs") is not None:
        return configs["eval_input_configs"]
    return [configs["eval_input_config"]] if "eval_input_config" in configs else []


def _all_readers(configs: Configs) -> list[Any]:
    train = [configs["train_input_config"]] if "train_input_config" in configs else []
    return train + list(_eval_readers(configs))


def _one_eval_reader(configs: Configs, parameter: str) -> Any:
    readers = _eval_readers(configs)
    if len(readers) != 1:
        raise ConfigError(f"config parameter {parameter}: want one evaluation input, the config "
                          f"has {len(readers)}; use eval_input_configs[0].<field>")
    return readers[0]


def _field_setter(part: str, field: str) -> Callable[[Configs, Any], None]:
    def change(configs: Configs, value: Any) -> None:
        if part not in configs:
            raise ConfigError(f"config parameter for {part}.{field}: the config has no {part}")
        config_override.set_path(configs[part], field, value)
    return change


def _reader_setter(readers: Callable[[Configs], Sequence[Any]],
                   field: str) -> Callable[[Configs, Any], None]:
    def change(configs: Configs, value: Any) -> None:
        for reader in readers(configs):
            config_override.set_path(reader, field, value)
    return change


def _faster_rcnn(configs: Configs) -> Any:
    family = configs["model"].WhichOneof("model")
    if family != "faster_rcnn":
        raise ConfigError(f"model.{family or '<none>'}: {config_notes.FAMILY_ERROR}")
    return configs["model"].faster_rcnn


def _optimizer(configs: Configs) -> tuple[str, Any]:
    optimizer = configs["train_config"].optimizer
    kind = optimizer.WhichOneof("optimizer")
    if kind is None:
        raise ConfigError("train_config.optimizer: no optimizer is set")
    return kind, getattr(optimizer, kind)


def _set_num_classes(configs: Configs, value: int) -> None:
    _faster_rcnn(configs).num_classes = int(value)


def _set_batch_size(configs: Configs, value: float) -> None:
    configs["train_config"].batch_size = max(1, int(round(float(value))))


def _set_train_steps(configs: Configs, value: float) -> None:
    configs["train_config"].num_steps = int(round(float(value)))


def _set_learning_rate(configs: Configs, value: float) -> None:
    """Sets the rate that a schedule starts from and scales its other rates alike."""
    rate, value = _optimizer(configs)[1].learning_rate, float(value)
    kind = rate.WhichOneof("learning_rate")
    if kind == "constant_learning_rate":
        rate.constant_learning_rate.learning_rate = value
    elif kind == "exponential_decay_learning_rate":
        rate.exponential_decay_learning_rate.initial_learning_rate = value
    elif kind == "manual_step_learning_rate":
        manual = rate.manual_step_learning_rate
        factor = value / manual.initial_learning_rate
        manual.initial_learning_rate = value
        for entry in manual.schedule:
            entry.learning_rate *= factor
    elif kind == "cosine_decay_learning_rate":
        cosine = rate.cosine_decay_learning_rate
        cosine.warmup_learning_rate *= value / cosine.learning_rate_base
        cosine.learning_rate_base = value
    else:
        raise ConfigError("config parameter learning_rate: the optimizer has no schedule")


def _set_momentum(configs: Configs, value: float) -> None:
    kind, optimizer = _optimizer(configs)
    if kind == "adam_optimizer":
        raise ConfigError("config parameter momentum_optimizer_value: adam_optimizer has none")
    optimizer.momentum_optimizer_value = float(value)


def _set_loss_ratio(configs: Configs, value: float) -> None:
    model = _faster_rcnn(configs)
    model.first_stage_localization_loss_weight = model.second_stage_localization_loss_weight = 1.0
    model.first_stage_objectness_loss_weight = float(value)
    model.second_stage_classification_loss_weight = float(value)


def _focal_setter(field: str) -> Callable[[Configs, Any], None]:
    def change(configs: Configs, value: Any) -> None:
        loss = _faster_rcnn(configs).second_stage_classification_loss
        kind = loss.WhichOneof("classification_loss")
        if kind != "weighted_sigmoid_focal":
            raise ConfigError(f"config parameter focal_loss_{field}: the classification loss must "
                              f"be weighted_sigmoid_focal, it is {kind or 'not set'}")
        setattr(loss.weighted_sigmoid_focal, field, float(value))
    return change


def _eval_paths(parameter: str,
                update: Callable[[Any, Any], None]) -> Callable[[Configs, Any], None]:
    def change(configs: Configs, value: Any) -> None:
        update(_one_eval_reader(configs, parameter), value)
    return change


def _train_paths(update: Callable[[Any, Any], None]) -> Callable[[Configs, Any], None]:
    def change(configs: Configs, value: Any) -> None:
        update(configs["train_input_config"], value)
    return change


_NAMED: dict[str, Callable[[Configs, Any], None]] = {
    "learning_rate": _set_learning_rate,
    "batch_size": _set_batch_size,
    "momentum_optimizer_value": _set_momentum,
    "classification_localization_weight_ratio": _set_loss_ratio,
    "focal_loss_gamma": _focal_setter("gamma"),
    "focal_loss_alpha": _focal_setter("alpha"),
    "train_steps": _set_train_steps,
    "label_map_path": _reader_setter(_all_readers, "label_map_path"),
    "mask_type": _reader_setter(_all_readers, "mask_type"),
    "sample_1_of_n_eval_examples": _reader_setter(_eval_readers, "sample_1_of_n_examples"),
    "eval_num_epochs": _reader_setter(_eval_readers, "num_epochs"),
    "eval_with_moving_averages": _field_setter("eval_config", "use_moving_averages"),
    "retain_original_images_in_eval": _field_setter("eval_config", "retain_original_images"),
    "retain_original_image_additional_channels_in_eval": _field_setter(
        "eval_config", "retain_original_image_additional_channels"),
    "use_bfloat16": _field_setter("train_config", "use_bfloat16"),
    "num_classes": _set_num_classes,
    "sample_from_datasets_weights": _field_setter(
        "train_input_config", "sample_from_datasets_weights"),
    "train_input_path": _train_paths(_set_paths),
    "append_train_input_path": _train_paths(_append_paths),
    "eval_input_path": _eval_paths("eval_input_path", _set_paths),
    "append_eval_input_path": _eval_paths("append_eval_input_path", _append_paths),
    "train_shuffle": _field_setter("train_input_config", "shuffle"),
    "eval_shuffle": _reader_setter(_eval_readers, "shuffle"),
}
