"""Puts the weights of a training checkpoint into a model, for export and inference."""

import tensorflow as tf

from object_detection.core.model import DetectionModel
from object_detection.engine import checkpoints, fine_tune
from object_detection.engine.checkpoints import CheckpointError

AVERAGE_SUFFIX = "/ExponentialMovingAverage"


def resolve(path: str) -> str:
    """Returns the checkpoint prefix that `path` (a prefix, a file of it, or a folder) means.

    Of a folder the latest checkpoint is taken.

    Raises:
        CheckpointError: if there is none, saying what lies beside it.
    """
    try:
        return fine_tune.resolve(path)
    except CheckpointError as error:
        raise CheckpointError(str(error).removeprefix("fine_tune_checkpoint: ")) from error


def restore(model: DetectionModel, prefix: str, use_moving_averages: bool = False) -> None:
    """Sets every variable of a built model from a checkpoint, by name.

    Args:
        prefix: as `resolve` returns it.
        use_moving_averages: take the moving average of each variable that has one.
    Raises:
        CheckpointError: if a variable is missing or has another shape; then nothing is changed.
    """
    held = checkpoints.shapes(prefix)
    if checkpoints.is_object_based(held):
        raise CheckpointError(
            f"{prefix}: a TensorFlow 2 object checkpoint, which has no variable names; want one "
            "that model_main.py wrote (model.ckpt-<step>), or a TF1 one")
    sources = _sources(model.variables_by_name, held, use_moving_averages)
    differences = _differences(model.variables_by_name, sources, held)
    if differences:
        shown = "; ".join(differences[:3])
        more = f"; and {len(differences) - 3} more" if len(differences) > 3 else ""
        raise CheckpointError(
            f"{prefix}: does not cover the model, {len(differences)} of "
            f"{len(model.variables_by_name)} variables differ: {shown}{more}. Use the pipeline "
            "config that the checkpoint was trained with")
    values = checkpoints.read(prefix, list(sources.values()))
    for name, variable in model.variables_by_name.items():
        variable.assign(values[sources[name]])


def _sources(variables: dict[str, tf.Variable], held: dict[str, list[int]],
             use_moving_averages: bool) -> dict[str, str]:
    """Returns the name in the checkpoint of each variable."""
    averaged = {name for name in variables
                if use_moving_averages and name + AVERAGE_SUFFIX in held}
    if use_moving_averages and not averaged:
        raise CheckpointError(
            "eval_config.use_moving_averages: the checkpoint holds no moving averages; train with "
            "optimizer.use_moving_average: true, or set this to false")
    return {name: name + AVERAGE_SUFFIX if name in averaged else name for name in variables}


def _differences(variables: dict[str, tf.Variable], sources: dict[str, str],
                 held: dict[str, list[int]]) -> list[str]:
    found = []
    for name, variable in variables.items():
        if sources[name] not in held:
            found.append(f"{name} is not in it")
        elif list(held[sources[name]]) != variable.shape.as_list():
            found.append(f"{name} has shape {held[sources[name]]} instead of "
                         f"{variable.shape.as_list()}")
    return found
