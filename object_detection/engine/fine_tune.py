"""Starts a model from a checkpoint: finds the files, loads what fits, prints what did not."""

import difflib
import os
from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
import tensorflow as tf

from object_detection.builders.optimizer_builder import LearningRate
from object_detection.core.feature_extractor import FIRST_STAGE_SCOPE
from object_detection.core.model import DetectionModel
from object_detection.engine import checkpoints, weight_files
from object_detection.engine.importers import object_based, table
from object_detection.protos import train_pb2

_SHOWN = 8  # names listed per group
_KINDS = ("classification", "detection", "full", "fine_tune")


class FineTuneReport(NamedTuple):
    """What a checkpoint gave to the model, by variable name."""

    prefix: str
    kind: str
    restored: tuple[str, ...]
    other_shape: tuple[str, ...]  # in both, but of unlike shapes
    absent: tuple[str, ...]  # wanted, not in the checkpoint
    untouched: tuple[str, ...]  # the model's, not wanted for this type
    norm_before: float  # of the restored variables, together
    norm_after: float

    def __str__(self) -> str:
        lines = [f"Started from {self.prefix} (type {self.kind}): {len(self.restored)} variables "
                 f"restored, norm {self.norm_before:.4g} before and {self.norm_after:.4g} after"]
        for title, names in (("other shape, left as initialised", self.other_shape),
                             ("not in the checkpoint, left as initialised", self.absent),
                             ("not part of this type, left as initialised", self.untouched)):
            if names:
                lines.append(f"  {len(names)} {title}:")
                lines += [f"    {name}" for name in names[:_SHOWN]]
                if len(names) > _SHOWN:
                    lines.append(f"    and {len(names) - _SHOWN} more")
        return "\n".join(lines)


def kind_of(config: train_pb2.TrainConfig) -> str:
    """Returns classification, detection, full or fine_tune.

    Raises:
        ValueError: for another word in fine_tune_checkpoint_type.
    """
    kind = config.fine_tune_checkpoint_type
    if not kind:
        return "detection" if config.from_detection_checkpoint else "classification"
    if kind not in _KINDS:
        raise ValueError("train_config.fine_tune_checkpoint_type: want classification, detection, "
                         f"full or fine_tune, got {kind!r}")
    return kind


def resolve(path: str, what: str = "fine_tune_checkpoint") -> str:
    """Returns the checkpoint prefix that a path means; `what` names the setting in messages.

    The path may be a prefix, one of its files, or a directory; of several checkpoints in a
    directory the one named in its state file is taken, or else the newest. A folder `checkpoint` in
    it is where exports of the TF2 Object Detection API and its zoo have theirs.

    Raises:
        CheckpointError: if there is none, with the absolute path tried and what lies beside it.
    """
    path = path.strip()
    for candidate in (path, path.replace("\\", "/")):
        for prefix in (candidate, _without_suffix(candidate)):
            if tf.io.gfile.exists(f"{prefix}.index"):
                return prefix
        if tf.io.gfile.isdir(candidate):
            return _in_directory(candidate.rstrip("/") or "/", what)
        if _without_suffix(candidate) == candidate and tf.io.gfile.exists(candidate):
            return candidate  # the one-file format of TF 0.x and 1.x, as slim's models have it
    raise checkpoints.CheckpointError(_not_found(path, what))


def restore(model: DetectionModel, prefix: str, kind: str,
            load_all_detection_checkpoint_vars: bool = False) -> FineTuneReport:
    """Loads what fits into the model's variables.

    Args:
        prefix: as `resolve` returns it; a name-based checkpoint, or any file that
            `importers.table` knows.
        kind: classification, detection, full or fine_tune; full wants every variable, in its
            shape, and fine_tune takes whatever fits.
    Raises:
        CheckpointError: if nothing fits, if `full` does not fit wholly, or if the file is damaged.
    """
    source = weight_files.open_file(prefix, model)
    held = source.shapes
    wanted = model.restore_map(kind, load_all_detection_checkpoint_vars)
    names = {id(variable): name for name, variable in model.variables_by_name.items()}
    fitting = {key: variable for key, variable in wanted.items()
               if key in held and list(held[key]) == variable.shape.as_list()}
    other_shape = tuple(f"{names[id(variable)]}: {variable.shape.as_list()} in the model, "
                        f"{list(held[key])} in the checkpoint"
                        for key, variable in wanted.items()
                        if key in held and key not in fitting)
    absent = tuple(names[id(variable)] for key, variable in wanted.items() if key not in held)
    if kind == "full" and (other_shape or absent):
        raise checkpoints.CheckpointError(_full_differs(prefix, other_shape, absent))
    if not fitting:
        raise checkpoints.CheckpointError(_nothing_fits(prefix, kind, held, wanted, model))
    values = source.read(list(fitting))
    before = _norm(variable.numpy() for variable in fitting.values())
    for key, variable in fitting.items():
        variable.assign(values[key])
    touched = {id(variable) for variable in wanted.values()}
    return FineTuneReport(
        prefix, kind, tuple(names[id(variable)] for variable in fitting.values()), other_shape,
        absent, tuple(name for key, name in names.items() if key not in touched), before,
        _norm(values.values()))


def run_of_another_program(folder: str) -> str | None:
    """Returns the newest checkpoint of a TF2 Object Detection API training, if it has no other."""
    return None if checkpoints.available(folder) else object_based.newest_run(folder)


def resume_other(prefix: str, model: DetectionModel, state: Mapping[str, tf.Variable],
                 learning_rate: LearningRate) -> checkpoints.Restored:
    """Sets the state of a training from a checkpoint of the TF2 Object Detection API.

    Args:
        prefix: as `run_of_another_program` returns it.
        state: all that a checkpoint holds, by name.
        learning_rate: the optimizer's, for slots that have the rate in them.
    Raises:
        CheckpointError: if it belongs to another model, or is none of a training.
    """
    values = object_based.training_state(prefix, model, lambda step: float(learning_rate(step)))
    checkpoints.check_fits(prefix, {name: np.shape(value) for name, value in values.items()},
                           state, list(model.variables_by_name))
    for name, variable in state.items():
        if name in values:
            variable.assign(values[name])
    return checkpoints.Restored(int(values["global_step"]), prefix,
                                tuple(name for name in state if name not in values))


def _norm(arrays: Sequence[np.ndarray]) -> float:
    return float(np.sqrt(sum(float(np.square(array, dtype=np.float64).sum()) for array in arrays)))


def _without_suffix(path: str) -> str:
    stem, dot, last = path.rpartition(".")
    return stem if dot and (last in ("index", "meta") or last.startswith("data-")) else path


def _in_directory(folder: str, what: str) -> str:
    inner = f"{folder}/{checkpoints.STATE_FILE}"
    if tf.io.gfile.isdir(inner):
        return _in_directory(inner, what)
    named = tf.train.latest_checkpoint(folder)
    if named and tf.io.gfile.exists(f"{named}.index"):
        return named
    prefixes = _prefixes_in(folder)
    if not prefixes:
        raise checkpoints.CheckpointError(
            f"{what}: no checkpoint (no .index file) in the directory "
            f"{_absolute(folder)}; give the prefix, for example .../model.ckpt")
    # Matterport numbers its files in the name, mask_rcnn_shapes_0010.h5.
    return max(prefixes, key=lambda prefix: (checkpoints.step_of(prefix) or -1, prefix))


def _prefixes_in(folder: str) -> list[str]:
    names = checkpoints.file_names(folder)
    return [f"{folder}/{name.removesuffix('.index')}" for name in names
            if name.endswith((".index", ".ckpt", ".h5"))]


def _absolute(path: str) -> str:
    return path if "://" in path else os.path.abspath(path)


def _not_found(path: str, what: str) -> str:
    tried = _absolute(path)
    folder = os.path.dirname(tried)
    text = f"{what}: no checkpoint at {tried} (no file {tried}.index)"
    if not tf.io.gfile.isdir(folder):
        parent = folder
        while parent and not tf.io.gfile.isdir(parent) and os.path.dirname(parent) != parent:
            parent = os.path.dirname(parent)
        return (f"{text}; the directory {folder} does not exist, {parent} does; give the "
                "prefix of a checkpoint, or remove the field to start from random weights")
    beside = _prefixes_in(folder)
    if not beside:
        return f"{text}; there is no checkpoint in {folder}"
    near = difflib.get_close_matches(tried, beside, n=5, cutoff=0.0)
    return f"{text}; checkpoints beside it: {', '.join(near)}"


def _full_differs(prefix: str, other_shape: Sequence[str], absent: Sequence[str]) -> str:
    rows = [*other_shape, *(f"{name}: not in the checkpoint" for name in absent)]
    shown = "\n  ".join(rows[:_SHOWN])
    more = f"\n  and {len(rows) - _SHOWN} more" if len(rows) > _SHOWN else ""
    return (f"{prefix} does not fit the whole model, which fine_tune_checkpoint_type: full wants:\n"
            f"  {shown}{more}\nFor another number of classes use fine_tune, which leaves these out")


def _nothing_fits(prefix: str, kind: str, held: Mapping[str, Sequence[int]],
                  wanted: Mapping[str, tf.Variable], model: DetectionModel) -> str:
    text = (f"{prefix}: no variable fits fine_tune_checkpoint_type: {kind}. The model wants names "
            f"like {next(iter(wanted), '')!r}, the checkpoint holds {next(iter(held), '')!r}")
    foreign = table.foreign_kind(prefix)
    if foreign == "object_based":
        fit = [other for other in _KINDS if not held.keys().isdisjoint(model.restore_map(other))]
        return f"{text}. {f'Use {fit[0]}' if fit else 'Check feature_extractor.type'}"
    if foreign is not None:
        return f"{text}. Check feature_extractor.type"
    is_detector = any(name.startswith(FIRST_STAGE_SCOPE + "/") for name in held)
    if is_detector and kind == "classification":
        return f"{text}. It is a detection checkpoint: use detection"
    if not is_detector and kind != "classification":
        return f"{text}. It looks like a classification checkpoint: use classification"
    return f"{text}. It belongs to another network: check feature_extractor.type"
