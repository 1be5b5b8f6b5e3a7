"""Reads state_dicts of torchvision's detectors: `.pth` files of PyTorch, or `.npz` files of NumPy.

A `.npz` file has the tensors by their names in the state_dict, so that a machine without PyTorch
can read them:

    state = torch.load("model.pth", map_location="cpu", weights_only=True)
    numpy.savez("model.npz", **{name: value.numpy() for name, value in state.items()})
"""

import os
import pickle
import re
import zipfile
from collections.abc import Mapping

import numpy as np

from object_detection.core.model import DetectionModel
from object_detection.engine.checkpoints import CheckpointError

_PYTORCH = (".pth", ".pt")
_NUMPY = ".npz"
_COUNTER = "num_batches_tracked"  # of batch norm; nothing reads it

# Names of files written before torchvision 0.13, and what is in their place since then.
_OLD_NAMES = (
    (re.compile(r"(rpn\.head\.conv)\.(weight|bias)"), r"\1.0.0.\2"),
    (re.compile(r"(backbone\.fpn\.(?:inner|layer)_blocks\.\d+)\.(weight|bias)"), r"\1.0.\2"))
_OLD_MASK_NAME = re.compile(r"(roi_heads\.mask_head)\.mask_fcn(\d+)\.(weight|bias)")
# Layers that encode boxes as x, y, width, height; the rows of four channels belong together.
_BOX_LAYERS = ("rpn/head/bbox_pred/", "roi_heads/box_predictor/bbox_pred/")
_TO_Y_FIRST = [1, 0, 3, 2]


def is_state_dict(path: str) -> bool:
    """Whether a local file has a name that these files have."""
    return path.endswith((*_PYTORCH, _NUMPY)) and os.path.isfile(path)


def read(path: str) -> dict[str, np.ndarray]:
    """Returns the tensors by name, as in the file, without the counters of batch norm.

    Raises:
        CheckpointError: if the file cannot be read, holds no tensors, or needs PyTorch and it is
            not installed.
    """
    found = _read_numpy(path) if path.endswith(_NUMPY) else _read_pytorch(path)
    values = {name: value for name, value in found.items()
              if name.rpartition(".")[2] != _COUNTER}
    if not values:
        raise CheckpointError(f"{path}: holds no tensors by name")
    return values


def rename(values: Mapping[str, np.ndarray], model: DetectionModel) -> dict[str, np.ndarray]:
    """Returns the tensors by the names and in the layouts of a model's variables."""
    shapes = {name: variable.shape.as_list()
              for name, variable in model.variables_by_name.items()}
    renamed = {}
    for name, value in values.items():
        own = variable_name(name)
        renamed[own] = variable_value(own, value, shapes.get(own))
    return renamed


def variable_name(name: str) -> str:
    """Returns the model's name for one in a state_dict, also of an old version."""
    for pattern, new in _OLD_NAMES:
        name = pattern.sub(new, name) if pattern.fullmatch(name) else name
    mask = _OLD_MASK_NAME.fullmatch(name)
    if mask:
        name = f"{mask.group(1)}.{int(mask.group(2)) - 1}.0.{mask.group(3)}"
    return name.replace(".", "/")


def variable_value(name: str, value: np.ndarray, shape: list[int] | None = None) -> np.ndarray:
    """Returns a tensor in TensorFlow's layout.

    Convolutions are [out, in, height, width] in PyTorch, transposed ones [in, out, height, width],
    and dense layers [out, in]. A dense layer over all of a crop reads channel after channel there;
    here it is a convolution of the crop's size.

    Args:
        name: as `variable_name` returns it.
        shape: of the model's variable; None: the model has none of this name.
    """
    if name.startswith(_BOX_LAYERS):
        value = value.reshape(-1, 4, *value.shape[1:])[:, _TO_Y_FIRST].reshape(value.shape)
    if value.ndim == 2 and shape is not None and len(shape) == 4:
        height, width, channels, _ = shape
        if value.shape[1] != height * width * channels:
            return value.T
        value = value.reshape(-1, channels, height, width)
    if value.ndim == 4:
        return value.transpose(2, 3, 1, 0)
    return value.T if value.ndim == 2 else value


def _read_numpy(path: str) -> dict[str, np.ndarray]:
    try:
        with np.load(path) as file:
            return {name: file[name] for name in file.files}
    except (OSError, ValueError, zipfile.BadZipFile) as error:
        raise CheckpointError(f"{path}: cannot be read as a .npz file ({error})") from error


def _read_pytorch(path: str) -> dict[str, np.ndarray]:
    try:
        import torch
    except ImportError as error:
        raise CheckpointError(
            f"{path}: reading it needs PyTorch, which is not installed (pip install torch). Or "
            "convert it where PyTorch is: numpy.savez('model.npz', **{name: value.numpy() for "
            "name, value in torch.load(path, map_location='cpu').items()})") from error
    try:
        state = torch.load(path, map_location="cpu", weights_only=True)
    except (OSError, RuntimeError, ValueError, EOFError, pickle.UnpicklingError) as error:
        reason = str(error).splitlines()[0] if str(error) else type(error).__name__
        raise CheckpointError(f"{path}: PyTorch cannot read it as weights ({reason})") from error
    if isinstance(state, Mapping) and isinstance(state.get("model"), Mapping):
        state = state["model"]  # as the training scripts of torchvision save it
    if not isinstance(state, Mapping):
        raise CheckpointError(f"{path}: holds a {type(state).__name__}; want a state_dict")
    tensors = {name: value for name, value in state.items() if isinstance(value, torch.Tensor)}
    return {name: (value.float() if value.is_floating_point() else value).numpy()
            for name, value in tensors.items()}
