"""TensorFlow 2 object-based checkpoints: of the Object Detection API, its model zoo, and notebooks.

A tensor's key is the path to it through the attributes of objects,
`model/_mask_rcnn_box_predictor/.../kernel/.ATTRIBUTES/VARIABLE_VALUE`. What paths the variables of
a model have is known to the model (`object_paths`), by rule.

The zoo's and the exporter's `ckpt-0` hold `model/...`; the training loop's `ckpt-<n>` also `step`
and the optimizer's slots; a classification checkpoint `feature_extractor/...`.
"""

import re
from collections.abc import Callable, Mapping

import numpy as np
import tensorflow as tf

from object_detection.core.model import DetectionModel
from object_detection.engine import checkpoints

Values = dict[str, np.ndarray]

VALUE_SUFFIX = "/.ATTRIBUTES/VARIABLE_VALUE"
_SLOT = "/.OPTIMIZER_SLOT/optimizer/"
_MODEL = "model/"
_STEP = "step"
_PREFIX = re.compile(r"ckpt-(\d+)\.index")

# Keras's name of an optimizer's slot to the one in TF1, per set of slots that is there.
_SLOT_NAMES = {
    frozenset(["momentum"]): {"momentum": "Momentum"},
    frozenset(["rms"]): {"rms": "RMSProp"},
    frozenset(["rms", "momentum"]): {"rms": "RMSProp", "momentum": "RMSProp_1"},
    frozenset(["m", "v"]): {"m": "Adam", "v": "Adam_1"},
}


def is_object_based(prefix: str) -> bool:
    """Whether a path is the prefix of an object-based checkpoint."""
    return tf.io.gfile.exists(f"{prefix}.index") and checkpoints.is_object_based(
        checkpoints.shapes(prefix))


def read(prefix: str) -> Values:
    """Returns the tensors by path; slots of an optimizer and the object graph are left out."""
    keys = [key for key in checkpoints.shapes(prefix)
            if key.endswith(VALUE_SUFFIX) and _SLOT not in key]
    values = checkpoints.read(prefix, keys)
    return {key.removesuffix(VALUE_SUFFIX): value for key, value in values.items()}


def rename(values: Mapping[str, np.ndarray], model: DetectionModel) -> Values:
    """Gives the variables below `model/` the names that they have in the model.

    Others keep their paths, among them those of classification checkpoints, which `restore_map`
    knows.
    """
    names = {f"{_MODEL}{path}": name for name, path in model.object_paths().items()}
    return {names.get(path, path): value for path, value in values.items()}


def newest_run(folder: str) -> str | None:
    """Returns the prefix of the newest `ckpt-<n>` in a model directory, or None."""
    numbers = [int(match.group(1)) for match in map(_PREFIX.fullmatch,
                                                    checkpoints.file_names(folder)) if match]
    return f"{folder}/ckpt-{max(numbers)}" if numbers else None


def step_of(prefix: str) -> int:
    """Returns the step that a training loop kept in a checkpoint, 0 if there is none."""
    key = f"{_STEP}{VALUE_SUFFIX}"
    if key not in checkpoints.shapes(prefix):
        return 0
    return int(checkpoints.read(prefix, [key])[key])


def training_state(prefix: str, model: DetectionModel,
                   learning_rate: Callable[[int], float]) -> Values:
    """Returns what the original's training loop saved, as this project's checkpoints hold it.

    Keras's momentum adds up steps, v = momentum * v - rate * gradient, and ours gradients; v is
    divided by minus the rate of the next step, so that this makes the step that Keras would.

    Args:
        learning_rate: of a step, counted from 0.
    Returns:
        weights, `global_step`, and slots as `<variable>/<name in TF1>`.
    Raises:
        CheckpointError: if it was not written by a training loop.
    """
    found = rename(read(prefix), model)
    if _STEP not in found:
        raise checkpoints.CheckpointError(
            f"{prefix}: holds weights, but no step to go on from; name it in "
            "train_config.fine_tune_checkpoint (type full) and use an empty model_dir")
    step = int(found[_STEP])
    state = {name: found[name] for name in model.variables_by_name if name in found}
    state["global_step"] = np.int64(step)
    rate = learning_rate(step)
    for name, slots in _slots(prefix, model).items():
        kinds = _SLOT_NAMES.get(frozenset(slots), {})
        for kind, own in kinds.items():
            value = slots[kind]
            if own == "Momentum":
                value = -value / rate if rate else np.zeros_like(value)
            state[f"{name}/{own}"] = value
    iterations = int(found.get("optimizer/iter", step))
    for own, key in (("beta1_power", "optimizer/beta_1"), ("beta2_power", "optimizer/beta_2")):
        if key in found:  # TF1 keeps the power that the next step divides by
            state[own] = np.float32(found[key] ** (iterations + 1))
    return state


def _slots(prefix: str, model: DetectionModel) -> dict[str, dict[str, np.ndarray]]:
    """Returns the slots of each variable by Keras's name of the slot."""
    names = {f"{_MODEL}{path}": name for name, path in model.object_paths().items()}
    keys = [key for key in checkpoints.shapes(prefix) if _SLOT in key]
    found: dict[str, dict[str, np.ndarray]] = {}
    for key, value in checkpoints.read(prefix, keys).items():
        path, _, slot = key.removesuffix(VALUE_SUFFIX).partition(_SLOT)
        if path in names:
            found.setdefault(names[path], {})[slot] = value
    return found
