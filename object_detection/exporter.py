"""Exports a trained detector: a SavedModel, its weights alone, and its config."""

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import tensorflow as tf

from object_detection.builders import model_builder
from object_detection.engine import checkpoints
from object_detection.protos import pipeline_pb2
from object_detection.serving import weights
from object_detection.serving.detection_module import DetectionModule, input_spec
from object_detection.utils import config_util

SAVED_MODEL_FOLDER = "saved_model"
CHECKPOINT_NAME = "model.ckpt"


def export_inference_graph(
        input_type: str, pipeline_config: pipeline_pb2.TrainEvalPipelineConfig,
        trained_checkpoint_prefix: str, output_directory: str,
        input_shape: Sequence[int | None] | None = None) -> None:
    """Writes `saved_model/`, `model.ckpt.*` with its `checkpoint` file, and `pipeline.config`.

    The checkpoint holds the exported weights by TF1 name and nothing else; fine-tuning can start
    from it. With `eval_config.use_moving_averages` the averages are exported. Either all of it is
    written or nothing.

    Args:
        input_type: image_tensor, float_image_tensor, encoded_image_string_tensor or tf_example;
            serving/detection_module.py says what each takes and what comes out.
        trained_checkpoint_prefix: a checkpoint, or a folder, of which the latest is taken.
        output_directory: must be absent or empty.
        input_shape: sizes [B, H, W, 3] of image tensors, None where any size goes. All but the
            last go if absent.
    Raises:
        ValueError: if an argument is wrong, no checkpoint is found, or it does not hold every
            variable of the model in the model's shape.
    """
    input_spec(input_type, input_shape)
    output_directory = os.fspath(output_directory).rstrip("/")
    _check_free(output_directory)
    prefix = _resolve(os.fspath(trained_checkpoint_prefix))
    model = model_builder.build(pipeline_config.model, is_training=False)
    weights.restore(model, prefix, pipeline_config.eval_config.use_moving_averages)
    module = DetectionModule(model, input_type, input_shape)
    with _written_whole(output_directory) as folder:
        tf.saved_model.save(module.servable(), f"{folder}/{SAVED_MODEL_FOLDER}",
                            signatures=module.signatures())
        checkpoints.write(f"{folder}/{CHECKPOINT_NAME}",
                          checkpoints.snapshot(model.variables_by_name))
        with tf.io.gfile.GFile(f"{folder}/{checkpoints.STATE_FILE}", "w") as file:
            file.write(f'model_checkpoint_path: "{CHECKPOINT_NAME}"\n'
                       f'all_model_checkpoint_paths: "{CHECKPOINT_NAME}"\n')
        config_util.save_pipeline_config(pipeline_config, folder)


def _resolve(path: str) -> str:
    if not path.strip():
        raise ValueError("trained_checkpoint_prefix: is empty; give a checkpoint "
                         "(.../model.ckpt-1234) or the folder that training wrote")
    try:
        return weights.resolve(path)
    except checkpoints.CheckpointError as error:
        raise ValueError(f"trained_checkpoint_prefix: {error}") from error


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
