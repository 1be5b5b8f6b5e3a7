"""Puts the weights of a trained model into a model, for export and inference."""

from collections.abc import Mapping, Sequence

import tensorflow as tf

from object_detection.core.model import DetectionModel
from object_detection.engine import fine_tune, weight_files
from object_detection.engine.checkpoints import CheckpointError

AVERAGE_SUFFIX = "/ExponentialMovingAverage"
_SHOWN = 3  # differences listed in an error


def resolve(path: str) -> str:
    """Returns the checkpoint prefix or file that a path means.

    It may be a prefix, a file of it, a Keras `.h5` file, or a folder, of which the latest is taken.

    Raises:
        CheckpointError: if there is none, saying what lies beside it.
    """
    try:
        return fine_tune.resolve(path)
    except CheckpointError as error:
        raise CheckpointError(str(error).removeprefix("fine_tune_checkpoint: ")) from error


def restore(model: DetectionModel, prefix: str, use_moving_averages: bool = False) -> None:
    """Sets every variable of a built model from a file of weights.

    Args:
        prefix: as `resolve` returns it: a checkpoint by name (this program, TF1), an object-based
            one (the TF2 Object Detection API, its zoo, notebooks), or a Keras `.h5` file.
        use_moving_averages: take the moving average of each variable that has one.
    Raises:
        CheckpointError: if a variable is missing or has another shape; then nothing is changed.
    """
    file = weight_files.open_file(prefix, model)
    variables = model.variables_by_name
    sources = _sources(variables, file.shapes, use_moving_averages)
    differences = _differences(variables, sources, file.shapes)
    if differences:
        raise CheckpointError(_does_not_cover(prefix, differences, variables, file.shapes))
    values = file.read(list(sources.values()))
    for name, variable in variables.items():
        variable.assign(values[sources[name]])


def _sources(variables: Mapping[str, tf.Variable], held: Mapping[str, Sequence[int]],
             use_moving_averages: bool) -> dict[str, str]:
    """Returns the name in the checkpoint of each variable."""
    averaged = {name for name in variables
                if use_moving_averages and name + AVERAGE_SUFFIX in held}
    if use_moving_averages and not averaged:
        raise CheckpointError(
            "eval_config.use_moving_averages: the checkpoint holds no moving averages; train with "
            "optimizer.use_moving_average: true, or set this to false")
    return {name: name + AVERAGE_SUFFIX if name in averaged else name for name in variables}


def _differences(variables: Mapping[str, tf.Variable], sources: Mapping[str, str],
                 held: Mapping[str, Sequence[int]]) -> list[str]:
    found = []
    for name, variable in variables.items():
        if sources[name] not in held:
            found.append(f"{name} is not in it")
        elif list(held[sources[name]]) != variable.shape.as_list():
            found.append(f"{name} has shape {list(held[sources[name]])} instead of "
                         f"{variable.shape.as_list()}")
    return found


def _does_not_cover(prefix: str, differences: Sequence[str], variables: Mapping[str, tf.Variable],
                    held: Mapping[str, Sequence[int]]) -> str:
    text = (f"{prefix}: does not cover the model, {len(differences)} of {len(variables)} variables "
            f"differ: {'; '.join(differences[:_SHOWN])}")
    if len(differences) > _SHOWN:
        text += f"; and {len(differences) - _SHOWN} more"
    if not set(variables) & set(held):
        text += f". It holds names like {next(iter(held), 'none')!r}"
    return f"{text}. Use the pipeline config that the checkpoint was trained with"
