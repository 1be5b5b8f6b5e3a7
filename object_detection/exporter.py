"""Exports a trained detector: a SavedModel, its weights alone, and its config."""

import dataclasses
import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

import tensorflow as tf

from object_detection.builders import model_builder
from object_detection.core.model import DetectionModel
from object_detection.engine import checkpoints
from object_detection.protos import pipeline_pb2
from object_detection.serving import detection_module, given_boxes_module, weights
from object_detection.serving.detection_module import DetectionModule
from object_detection.serving.given_boxes_module import GivenBoxesModule
from object_detection.utils import config_util

SAVED_MODEL_FOLDER = "saved_model"
CHECKPOINT_NAME = "model.ckpt"


INPUT_TYPES = (*detection_module.INPUT_TYPES, given_boxes_module.INPUT_TYPE)


@dataclasses.dataclass(frozen=True)
class ExportSettings:
    """What the SavedModel takes and gives.

    Attributes:
        input_type: one of INPUT_TYPES; serving/detection_module.py says what each takes and what
            comes out, for image_and_boxes_tensor serving/given_boxes_module.py.
        input_shape: sizes [B, H, W, 3] of image tensors, None where any size goes. All but the
            last go if absent.
        full_image_masks: masks are of the whole images instead of cut to boxes.
    """

    input_type: str = "image_tensor"
    input_shape: Sequence[int | None] | None = None
    full_image_masks: bool = False


def export_inference_graph(
        input_type: str, pipeline_config: pipeline_pb2.TrainEvalPipelineConfig,
        trained_checkpoint_prefix: str, output_directory: str,
        input_shape: Sequence[int | None] | None = None, full_image_masks: bool = False) -> None:
    """Writes `saved_model/`, `model.ckpt.*` with its `checkpoint` file, and `pipeline.config`.

    The checkpoint holds the exported weights by name and nothing else; fine-tuning can start from
    it. With `eval_config.use_moving_averages` the averages are exported. Either all of it is
    written or nothing.

    Args:
        trained_checkpoint_prefix: a checkpoint of any kind that `serving.weights` reads, or a
            folder, of which the latest is taken.
        output_directory: must be absent or empty.
        input_type, input_shape, full_image_masks: see ExportSettings.
    Raises:
        ValueError: if an argument is wrong, no checkpoint is found, or it does not hold every
            variable of the model in the model's shape.
    """
    export(pipeline_config, trained_checkpoint_prefix, output_directory,
           ExportSettings(input_type, input_shape, full_image_masks))


def export(pipeline_config: pipeline_pb2.TrainEvalPipelineConfig, trained_checkpoint: str,
           output_directory: str, settings: ExportSettings,
           write_weights: Callable[[DetectionModel, str], None] | None = None) -> None:
    """As `export_inference_graph`.

    Args:
        write_weights: writes the weights of a model into a folder; by name if None.
    """
    _check_input(settings)
    output_directory = os.fspath(output_directory).rstrip("/")
    _check_free(output_directory)
    prefix = _resolve(os.fspath(trained_checkpoint))
    model = model_builder.build(pipeline_config.model, is_training=False)
    weights.restore(model, prefix, pipeline_config.eval_config.use_moving_averages)
    module = _module(model, settings)
    with _written_whole(output_directory) as folder:
        tf.saved_model.save(module.servable(), f"{folder}/{SAVED_MODEL_FOLDER}",
                            signatures=module.signatures())
        (write_weights or _write_by_name)(model, folder)
        config_util.save_pipeline_config(pipeline_config, folder)


def _check_input(settings: ExportSettings) -> None:
    if settings.input_type not in INPUT_TYPES:
        raise ValueError(f"input_type: want one of {sorted(INPUT_TYPES)}, got "
                         f"{settings.input_type!r}")
    if settings.input_type == given_boxes_module.INPUT_TYPE:
        given_boxes_module.input_specs(settings.input_shape)
    else:
        detection_module.input_spec(settings.input_type, settings.input_shape)


def _module(model: DetectionModel,
            settings: ExportSettings) -> DetectionModule | GivenBoxesModule:
    if settings.input_type == given_boxes_module.INPUT_TYPE:
        return GivenBoxesModule(model, settings.input_shape, settings.full_image_masks)
    return DetectionModule(model, settings.input_type, settings.input_shape,
                           settings.full_image_masks)


def _write_by_name(model: DetectionModel, folder: str) -> None:
    checkpoints.write(f"{folder}/{CHECKPOINT_NAME}",
                      checkpoints.snapshot(model.variables_by_name))
    with tf.io.gfile.GFile(f"{folder}/{checkpoints.STATE_FILE}", "w") as file:
        file.write(f'model_checkpoint_path: "{CHECKPOINT_NAME}"\n'
                   f'all_model_checkpoint_paths: "{CHECKPOINT_NAME}"\n')


def _resolve(path: str) -> str:
    if not path.strip():
        raise ValueError("trained checkpoint: is empty; give a checkpoint "
                         "(.../model.ckpt-1234) or the folder that training wrote")
    try:
        return weights.resolve(path)
    except checkpoints.CheckpointError as error:
        raise ValueError(f"trained checkpoint: {error}") from error


def _check_free(folder: str) -> None:
    if not folder:
        raise ValueError("output_directory: is empty; name a folder to write to")
    if not tf.io.gfile.exists(folder):
        return
    if not tf.io.gfile.isdir(folder):
        raise ValueError(f"output_directory {folder!r}: is a file; name a folder to write to")
    names = tf.io.gfile.listdir(folder)
    if names:
        raise ValueError(f"output_directory {folder!r}: is not empty (it holds {names[0]!r}); "
                         "name a new folder, or delete this one first")


@contextmanager
def _written_whole(folder: str) -> Iterator[str]:
    """Gives a scratch folder beside `folder`, which takes its place if all goes well."""
    scratch = f"{folder}.incomplete-{os.getpid()}"
    try:
        tf.io.gfile.makedirs(scratch)
        yield scratch
        if tf.io.gfile.exists(f"{scratch}/.incomplete"):
            tf.io.gfile.rmtree(f"{scratch}/.incomplete")
        if tf.io.gfile.exists(folder):
            tf.io.gfile.rmtree(folder)  # empty, or it had been refused
        tf.io.gfile.rename(scratch, folder)
    except tf.errors.OpError as error:
        raise ValueError(f"output_directory {folder!r}: cannot be written ({error.message})"
                         ) from error
    finally:
        if tf.io.gfile.exists(scratch):
            tf.io.gfile.rmtree(scratch)
