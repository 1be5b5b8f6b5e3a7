"""The kinds of weight files that can be imported, and how one gets into a model.

A new format is one file beside this one and one row in IMPORTERS.
"""

import fnmatch
from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

import numpy as np
import tensorflow as tf

from object_detection.core.model import DetectionModel
from object_detection.engine import checkpoints
from object_detection.engine.importers import keras_h5, object_based, torchvision_state_dict

Values = dict[str, np.ndarray]


class Importer(NamedTuple):
    """One format.

    Attributes:
        title: for messages.
        accepts: whether a path is a file of this format.
        read: the tensors of a path, by the names that `rename` wants.
        rename: the same tensors by the names of a model's variables; what has no counterpart keeps
            its name. None: the names are equal already.
    """

    title: str
    accepts: Callable[[str], bool]
    read: Callable[[str], Values]
    rename: Callable[[Values, DetectionModel], Values] | None = None


class ImportReport(NamedTuple):
    """What a file gave to the model, by variable name."""

    path: str
    restored: tuple[str, ...]
    other_shape: tuple[tuple[str, tuple[int, ...], tuple[int, ...]], ...]  # name, model's, file's
    absent: tuple[str, ...]  # the model's, not in the file
    unused: tuple[str, ...]  # the file's, not in the model
    excluded: tuple[str, ...]  # in both, left out on request

    def __str__(self) -> str:
        lines = [f"{self.path}: {len(self.restored)} of the model's variables restored"]
        if self.other_shape:
            lines += [f"  {len(self.other_shape)} of another shape, left as they were:"]
            width = max(len(name) for name, _, _ in self.other_shape)
            lines += [f"    {name:{width}}  model {list(own)}, file {list(held)}"
                      for name, own, held in self.other_shape]
        for title, names in (("excluded, left as they were", self.excluded),
                             ("not in the file, left as they were", self.absent),
                             ("in the file, not in the model", self.unused)):
            if names:
                lines += [f"  {len(names)} {title}:", *(f"    {row}" for row in _by_layer(names))]
        return "\n".join(lines)


IMPORTERS: dict[str, Importer] = {
    "keras_h5": Importer("Keras HDF5 file, Matterport's weights among them", keras_h5.is_h5,
                         keras_h5.read_h5),
    "object_based": Importer(
        "TensorFlow 2 object checkpoint, of the Object Detection API or its model zoo",
        object_based.is_object_based, object_based.read, object_based.rename),
    "torchvision": Importer(
        "state_dict of torchvision's detectors, .pth or .npz",
        torchvision_state_dict.is_state_dict, torchvision_state_dict.read,
        torchvision_state_dict.rename),
    "checkpoint": Importer("checkpoint by variable names, as this program and TF1 write",
                           lambda path: tf.io.gfile.exists(f"{path}.index"), checkpoints.read),
}


def kind_of(path: str) -> str:
    """Returns the key of the importer that accepts a path.

    Raises:
        CheckpointError: if none does.
    """
    for kind, importer in IMPORTERS.items():
        if importer.accepts(path):
            return kind
    known = "; ".join(f"{kind}: {importer.title}" for kind, importer in IMPORTERS.items())
    what = "is of no known kind" if tf.io.gfile.exists(path) else "does not exist"
    raise checkpoints.CheckpointError(f"{path} {what}; what can be imported: {known}")


def foreign_kind(path: str) -> str | None:
    """Returns the key of the importer that accepts a path; None for checkpoints by name.

    These are read by `checkpoints`, whole or in part, also in the one-file format of old.
    """
    return next((kind for kind, importer in IMPORTERS.items()
                 if kind != "checkpoint" and importer.accepts(path)), None)


def read(path: str, model: DetectionModel | None = None, kind: str | None = None) -> Values:
    """Returns the tensors of a file, by the names of the model's variables.

    Args:
        model: None: by the names in the file, for formats that need no renaming.
        kind: key of IMPORTERS; None: found from the file.
    Raises:
        CheckpointError: if the file cannot be read, or needs a model and none is given.
    """
    importer = IMPORTERS[kind or kind_of(path)]
    values = importer.read(path)
    if importer.rename is None:
        return values
    if model is None:
        raise checkpoints.CheckpointError(f"{path}: names of this kind ({importer.title}) depend "
                                          "on the model; give its pipeline config")
    return importer.rename(values, model)


def load(model: DetectionModel, path: str, exclude: Sequence[str] = (),
         kind: str | None = None) -> ImportReport:
    """Sets the model's variables from a file, by name, where the shapes agree.

    Args:
        exclude: layers (`mrcnn_mask`), whole names or patterns (`mrcnn_*`) to leave as they are.
        kind: key of IMPORTERS; None: found from the file.
    Raises:
        CheckpointError: if the file cannot be read or nothing in it fits.
    """
    return assign(model.variables_by_name, read(path, model, kind), path, exclude)


def assign(variables: Mapping[str, tf.Variable], values: Mapping[str, np.ndarray], path: str,
           exclude: Sequence[str] = ()) -> ImportReport:
    """As `load`, from tensors that have been read; `path` is for messages."""
    restored, other_shape, excluded = [], [], []
    for name, variable in variables.items():
        if name not in values:
            continue
        own, held = tuple(variable.shape.as_list()), tuple(values[name].shape)
        if is_excluded(name, exclude):
            excluded.append(name)
        elif own != held:
            other_shape.append((name, own, held))
        else:
            restored.append(name)
    if not restored:
        raise checkpoints.CheckpointError(
            f"{path}: nothing in it fits the model, which has names like "
            f"{next(iter(variables), '')!r}; the file has {next(iter(values), '')!r}. It belongs "
            "to another network: check feature_extractor.type")
    for name in restored:
        variables[name].assign(values[name])
    absent = tuple(name for name in variables if name not in values)
    unused = tuple(name for name in values if name not in variables)
    return ImportReport(path, tuple(restored), tuple(other_shape), absent, unused, tuple(excluded))


def is_excluded(name: str, exclude: Sequence[str]) -> bool:
    """Whether a variable belongs to an excluded layer or matches an excluded pattern."""
    layer = name.rpartition("/")[0]
    return any(pattern in (name, layer) or fnmatch.fnmatchcase(name, pattern)
               or fnmatch.fnmatchcase(layer, pattern) for pattern in exclude)


def _by_layer(names: Sequence[str]) -> list[str]:
    """Returns one row per layer with its variables."""
    layers: dict[str, list[str]] = {}
    for name in names:
        layer, _, last = name.rpartition("/")
        layers.setdefault(layer, []).append(last)
    return [f"{layer}/ {' '.join(rest)}" if layer else " ".join(rest)
            for layer, rest in layers.items()]
