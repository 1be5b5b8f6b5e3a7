"""Reads weights from HDF5 files of Keras: `save_weights`, and whole models.

The layout: the attribute `layer_names` of the root (of the group `model_weights`, if the file holds
a whole model) lists groups, one per layer; the attribute `weight_names` of each lists its data
sets. A model used as a layer (`rpn_model`) is one group with the weights of all its layers.
"""

import re
from collections.abc import Sequence

import h5py
import numpy as np

from object_detection.engine.checkpoints import CheckpointError

# The last part of the names that Keras 1 gave weights. What it called a deviation is a variance.
_OLD_KINDS = {"W": "kernel", "b": "bias", "gamma": "gamma", "beta": "beta",
              "running_mean": "moving_mean", "running_std": "moving_variance"}
_OLD_NAME = re.compile(rf"(?:.*_)?({'|'.join(_OLD_KINDS)})(?:_\d+)?")
_SIGNATURE = b"\x89HDF\r\n\x1a\n"


def is_h5(path: str) -> bool:
    """Whether a local file starts as HDF5 files do."""
    try:
        with open(path, "rb") as file:
            return file.read(len(_SIGNATURE)) == _SIGNATURE
    except OSError:
        return False


def read_h5(path: str) -> dict[str, np.ndarray]:
    """Returns all weights by `<layer>/<kind>`, for example `conv1/kernel` or `bn_conv1/gamma`.

    The layer is that of the group, whatever number TensorFlow put behind a variable's own name when
    several models were built in one process; inside a model used as a layer, it is the variable's.

    Raises:
        CheckpointError: if the file is absent, no HDF5, damaged, or not laid out by Keras.
    """
    try:
        with h5py.File(path, "r") as file:
            return _weights(file, path)
    except (OSError, KeyError, RuntimeError, TypeError, AttributeError) as error:
        reason = str(error).splitlines()[0] if str(error) else type(error).__name__
        raise CheckpointError(f"{path}: cannot be read as a Keras .h5 file ({reason})") from error


def _weights(file: h5py.File, path: str) -> dict[str, np.ndarray]:
    root = file["model_weights"] if "model_weights" in file else file
    layers = _names(root, "layer_names")
    if layers is None:
        remedy = ""
        if "layers" in root or "_layer_checkpoint_dependencies" in root:
            remedy = ("; it is a .weights.h5 file of Keras 3, which numbers weights instead of "
                      "naming them: save it from Keras 2, or as a TensorFlow checkpoint")
        raise CheckpointError(f"{path}: has no attribute layer_names, so Keras did not write it as "
                              f"save_weights or save do{remedy}")
    values: dict[str, np.ndarray] = {}
    for layer in layers:
        for stored in _names(root[layer], "weight_names") or ():
            name = weight_name(layer, stored)
            if name in values:
                raise CheckpointError(f"{path}: two weights are called {name} (the second is "
                                      f"{stored} of layer {layer})")
            values[name] = np.asarray(root[layer][stored])
    if not values:
        raise CheckpointError(f"{path}: holds {len(layers)} layers and no weights")
    return values


def weight_name(layer: str, stored: str) -> str:
    """Returns `<layer>/<kind>` for a data set of a layer's group."""
    own, slash, kind = stored.split(":")[0].rpartition("/")
    if not slash:
        old = _OLD_NAME.fullmatch(kind)
        return f"{layer}/{_OLD_KINDS[old.group(1)] if old else kind}"
    inner = own.rpartition("/")[2]
    numbered = re.fullmatch(rf"{re.escape(layer)}(_\d+)?", inner)
    return f"{layer if numbered else inner}/{kind}"


def _names(group: h5py.Group, attribute: str) -> Sequence[str] | None:
    """Reads a list of names; Keras splits one that is too long for HDF5 into numbered parts."""
    parts = [group.attrs[attribute]] if attribute in group.attrs else []
    while f"{attribute}{len(parts)}" in group.attrs:
        parts.append(group.attrs[f"{attribute}{len(parts)}"])
    if not parts:
        return None
    return [name.decode() if isinstance(name, bytes) else str(name)
            for part in parts for name in part]
