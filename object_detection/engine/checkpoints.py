"""Checkpoints as TensorFlow 1 wrote them: `model.ckpt-<step>`, tensors by variable name.

`tf.train.load_checkpoint` and TF1 programs read them. A checkpoint is written into a hidden folder
and moved into place, index last, so a process that is killed meanwhile leaves the older ones whole
and nothing half-written under a name that counts.
"""

import re
import time
from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
import tensorflow as tf
from absl import logging

Values = Mapping[str, np.ndarray]

STATE_FILE = "checkpoint"
_PREFIX = "model.ckpt"
_INDEX_FILE = re.compile(r"model\.ckpt-(0|[1-9]\d*)\.index")
_WRITING = ".incomplete"
_OBJECT_GRAPH = "_CHECKPOINTABLE_OBJECT_GRAPH"
# What TensorFlow's reader raises on absent, cut and foreign files.
_READ_ERRORS = (tf.errors.OpError, ValueError, RuntimeError, LookupError, OSError)


class CheckpointError(ValueError):
    """A checkpoint cannot be read, or does not fit the model."""


class CheckpointMismatch(CheckpointError):
    """A checkpoint is whole but was made for another model."""


class Restored(NamedTuple):
    """What a model directory gave back."""

    step: int
    prefix: str
    absent: tuple[str, ...]  # variables of ours that the checkpoint does not hold


def snapshot(variables: Mapping[str, tf.Variable]) -> dict[str, np.ndarray]:
    """Copies values to host memory; under several workers all of them must call this."""
    return {name: np.asarray(variable.read_value()) for name, variable in variables.items()}


def write(prefix: str, values: Values) -> None:
    """Writes one checkpoint file pair, atomically."""
    folder, name = prefix.rsplit("/", 1) if "/" in prefix else (".", prefix)
    scratch = f"{folder}/{_WRITING}"
    tf.io.gfile.makedirs(scratch)
    names = sorted(values)
    # Names may carry shapes of slices; all are whole tensors here.
    tf.raw_ops.SaveV2(prefix=f"{scratch}/{name}", tensor_names=names,
                      shape_and_slices=[""] * len(names), tensors=[values[key] for key in names])
    # The index goes last: without it a data file is invisible to every reader.
    parts = [part for part in file_names(scratch) if part.startswith(f"{name}.")]
    for part in sorted(parts, key=lambda part: part.endswith(".index")):
        tf.io.gfile.rename(f"{scratch}/{part}", f"{folder}/{part}", overwrite=True)
    tf.io.gfile.rmtree(scratch)


def read(prefix: str, names: Sequence[str] | None = None) -> dict[str, np.ndarray]:
    """Returns the tensors of a checkpoint by name, all if `names` is None.

    Raises:
        CheckpointError: if a file is absent or damaged.
    """
    try:
        reader = tf.train.load_checkpoint(prefix)
        wanted = reader.get_variable_to_shape_map() if names is None else names
        return {name: reader.get_tensor(name) for name in wanted}
    except _READ_ERRORS as error:
        raise CheckpointError(f"{prefix}: cannot be read as a checkpoint ({_short(error)})"
                              ) from error


def shapes(prefix: str) -> dict[str, list[int]]:
    """Returns the shape of each tensor in a checkpoint. Raises CheckpointError as `read` does."""
    try:
        return dict(tf.train.load_checkpoint(prefix).get_variable_to_shape_map())
    except _READ_ERRORS as error:
        raise CheckpointError(f"{prefix}: cannot be read as a checkpoint ({_short(error)})"
                              ) from error


def is_object_based(names: Mapping | Sequence[str]) -> bool:
    """Whether the names are those of a TensorFlow 2 object checkpoint."""
    return _OBJECT_GRAPH in names


def available(folder: str) -> list[str]:
    """Returns the prefixes `model.ckpt-<step>` in a folder whose files are there, newest first."""
    names = file_names(folder)
    with_data = {name.rsplit(".data-", 1)[0] for name in names if ".data-" in name}
    steps = [int(match.group(1)) for match in map(_INDEX_FILE.fullmatch, names)
             if match and f"{_PREFIX}-{match.group(1)}" in with_data]
    return [f"{folder}/{_PREFIX}-{step}" for step in sorted(steps, reverse=True)]


def file_names(folder: str) -> list[str]:
    """Returns the names in a folder, sorted; none if there is no such folder."""
    if not tf.io.gfile.isdir(folder):
        return []
    return sorted(name.rstrip("/") for name in tf.io.gfile.listdir(folder))


def step_of(prefix: str) -> int | None:
    """Returns the step in a prefix's name, or None."""
    match = re.search(r"-(\d+)$", prefix)
    return int(match.group(1)) if match else None


def restore_newest(folder: str, variables: Mapping[str, tf.Variable],
                   required: Sequence[str]) -> Restored | None:
    """Sets variables from the newest checkpoint in a folder that can be read whole.

    Args:
        variables: by the names they have in the checkpoint.
        required: names that must be there; others (slots of another optimizer, say) may be absent.
    Returns:
        None if the folder holds no checkpoint.
    Raises:
        CheckpointError: if it belongs to another model, or none of several can be read.
    """
    prefixes = available(folder)
    _refuse_foreign(folder, prefixes)
    failures = []
    for prefix in prefixes:
        try:
            held = shapes(prefix)
            check_fits(prefix, held, variables, required)
            values = read(prefix, [name for name in variables if name in held])
        except CheckpointMismatch:
            raise
        except CheckpointError as error:
            logging.warning("%s; trying the one before", error)
            failures.append(str(error))
            continue
        for name, value in values.items():
            variables[name].assign(value)
        absent = tuple(name for name in variables if name not in values)
        return Restored(step_of(prefix), prefix, absent)
    if failures:
        raise CheckpointError(f"{folder}: none of its {len(failures)} checkpoints can be read, the "
                              f"newest: {failures[0]}; use another model_dir, or delete them")
    return None


def check_fits(prefix: str, held: Mapping[str, Sequence[int]],
               variables: Mapping[str, tf.Variable], required: Sequence[str]) -> None:
    """Raises CheckpointMismatch, naming the first differences, unless a checkpoint fits."""
    differences = []
    for name, variable in variables.items():
        wanted = variable.shape.as_list()
        if name in held and list(held[name]) != wanted:
            differences.append(f"{name}: the model has shape {wanted}, the checkpoint "
                               f"{list(held[name])}")
    needed = set(required)
    differences += [f"{name}: not in the checkpoint" for name in variables
                    if name in needed and name not in held]
    if differences:
        shown = "\n  ".join(differences[:6])
        more = f"\n  and {len(differences) - 6} more" if len(differences) > 6 else ""
        raise CheckpointMismatch(
            f"{prefix} was made for another model ({len(differences)} of {len(variables)} "
            f"variables differ):\n  {shown}{more}\nUse an empty model_dir for this config, or the "
            "config that the checkpoint was trained with")


class CheckpointFolder:
    """Writes the checkpoints of one training and keeps the newest few.

    Checkpoints that are not in the state file, or that were kept for good, are never deleted.
    """

    def __init__(self, folder: str, keep: int = 5, keep_every_n_hours: float = 10000.0) -> None:
        """Takes `keep`, the number of newest ones (0: all).

        Raises:
            ValueError: if the folder cannot be created or written to.
        """
        self.folder = folder.rstrip("/") or "/"
        self._keep = keep
        self._hours = keep_every_n_hours
        self._kept_at = time.time()
        ensure_writable(self.folder)
        scratch = f"{self.folder}/{_WRITING}"
        if tf.io.gfile.exists(scratch):
            tf.io.gfile.rmtree(scratch)
        listed = _listed(self.folder)
        self._managed = [prefix for prefix in reversed(available(self.folder))
                         if prefix.rsplit("/", 1)[1] in listed]

    def save(self, step: int, values: Values) -> str:
        """Writes `model.ckpt-<step>`, drops the oldest beyond the limit; returns the prefix."""
        prefix = f"{self.folder}/{_PREFIX}-{step}"
        write(prefix, values)
        if prefix in self._managed:
            self._managed.remove(prefix)
        self._managed.append(prefix)
        dropped = []
        while self._keep and len(self._managed) > self._keep:
            oldest = self._managed.pop(0)
            if time.time() - self._kept_at >= self._hours * 3600:
                self._kept_at = time.time()
            else:
                dropped.append(oldest)
        self._write_state()
        for oldest in dropped:
            delete(oldest)
        return prefix

    def _write_state(self) -> None:
        names = [prefix.rsplit("/", 1)[1] for prefix in self._managed]
        lines = [f'model_checkpoint_path: "{names[-1]}"']
        lines += [f'all_model_checkpoint_paths: "{name}"' for name in names]
        path = f"{self.folder}/{STATE_FILE}"
        with tf.io.gfile.GFile(f"{path}.tmp", "w") as file:
            file.write("\n".join(lines) + "\n")
        tf.io.gfile.rename(f"{path}.tmp", path, overwrite=True)


def delete(prefix: str) -> None:
    """Removes a checkpoint's files, the index first so that no half of it is ever found."""
    folder, name = prefix.rsplit("/", 1)
    own = [part for part in file_names(folder)
           if part in (f"{name}.index", f"{name}.meta") or part.startswith(f"{name}.data-")]
    for part in sorted(own, key=lambda part: not part.endswith(".index")):
        tf.io.gfile.remove(f"{folder}/{part}")


def ensure_writable(folder: str) -> None:
    """Creates a folder and tries a file in it.

    Raises:
        ValueError: if either fails, or TensorFlow could not read checkpoints from the folder.
    """
    special = sorted(set(folder) & set("*?["))
    if special:
        raise ValueError(f"model_dir {folder!r}: TensorFlow takes {' '.join(special)} in the path "
                         "of a checkpoint for a pattern and would not find it; use another name")
    probe = f"{folder}/.write-test"
    try:
        tf.io.gfile.makedirs(folder)
        with tf.io.gfile.GFile(probe, "w") as file:
            file.write("")
        tf.io.gfile.remove(probe)
    except (tf.errors.OpError, OSError) as error:
        raise ValueError(f"model_dir {folder!r}: cannot be written to ({_short(error)})"
                         ) from error


def _listed(folder: str) -> set[str]:
    """Returns the checkpoint names in the state file; none if it is absent or unreadable."""
    path = f"{folder}/{STATE_FILE}"
    if not tf.io.gfile.exists(path):
        return set()
    with tf.io.gfile.GFile(path) as file:
        found = re.findall(r'all_model_checkpoint_paths:\s*"([^"]*)"', file.read())
    return {name.rsplit("/", 1)[-1] for name in found}


def _refuse_foreign(folder: str, prefixes: Sequence[str]) -> None:
    others = [name for name in file_names(folder) if re.fullmatch(r"ckpt-\d+\.index", name)]
    if others and not prefixes:
        raise CheckpointError(
            f"{folder}: holds {others[0]}, a TensorFlow 2 object checkpoint of another program, "
            "which training cannot go on from; use an empty model_dir")


def _short(error: Exception) -> str:
    text = getattr(error, "message", None) or str(error)
    return text.strip().splitlines()[0][:200] if text.strip() else type(error).__name__
