"""Weights of a whole model from any kind of file, for evaluation, export and detection."""

from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from object_detection.core.model import DetectionModel
from object_detection.engine import checkpoints
from object_detection.engine.importers import object_based, table


class WeightFile(NamedTuple):
    """What a file holds, by the names that the model's variables have in checkpoints."""

    shapes: Mapping[str, Sequence[int]]
    read: Callable[[Sequence[str]], Mapping[str, np.ndarray]]


def open_file(path: str, model: DetectionModel) -> WeightFile:
    """Looks into a checkpoint by name, or any file that `importers.table` knows.

    Args:
        path: as `fine_tune.resolve` returns it.
    Raises:
        CheckpointError: if the file is absent or damaged.
    """
    kind = table.foreign_kind(path)
    if kind is None:
        held = checkpoints.shapes(path)
        return WeightFile(held, lambda names: checkpoints.read(path, names))
    values = table.read(path, model, kind)
    return WeightFile({name: value.shape for name, value in values.items()},
                      lambda names: {name: values[name] for name in names})


def step_of(path: str) -> int:
    """Returns the training step of the weights in a file, 0 if it does not say.

    TF2 programs number checkpoints as they are saved, and keep the step inside.
    """
    if object_based.is_object_based(path):
        return object_based.step_of(path)
    return checkpoints.step_of(path) or 0
