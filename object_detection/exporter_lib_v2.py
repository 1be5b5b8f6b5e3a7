"""The exporter as the TF2 Object Detection API calls it, with that program's files."""

import tensorflow as tf

from object_detection import exporter
from object_detection.core.model import DetectionModel
from object_detection.protos import pipeline_pb2

CHECKPOINT_FOLDER = "checkpoint"


def export_inference_graph(
        input_type: str, pipeline_config: pipeline_pb2.TrainEvalPipelineConfig,
        trained_checkpoint_dir: str, output_directory: str, use_side_inputs: bool = False,
        side_input_shapes: str = "", side_input_types: str = "",
        side_input_names: str = "") -> None:
    """Writes `saved_model/`, `checkpoint/ckpt-0` and `pipeline.config`.

    The checkpoint is object-based; `tf.train.Checkpoint(model=model).restore` reads it.

    Args:
        trained_checkpoint_dir: folder of checkpoints, of which the latest is taken, or one
            checkpoint; of any kind that `exporter.export_inference_graph` takes.
        output_directory: must be absent or empty.
        use_side_inputs, side_input_shapes, side_input_types, side_input_names: must be left as they
            are; detectors here take images only.
        input_type: one of `exporter.INPUT_TYPES`.
    Raises:
        ValueError: as `exporter.export_inference_graph`, and for side inputs.
    """
    if use_side_inputs or side_input_shapes or side_input_types or side_input_names:
        raise ValueError("use_side_inputs: two-stage detectors take nothing but images; leave "
                         "use_side_inputs and the side_input_* arguments out")
    exporter.export(pipeline_config, trained_checkpoint_dir, output_directory,
                    exporter.ExportSettings(input_type), _write_objects)


def _write_objects(model: DetectionModel, folder: str) -> None:
    manager = tf.train.CheckpointManager(tf.train.Checkpoint(model=model),
                                         f"{folder}/{CHECKPOINT_FOLDER}", max_to_keep=1)
    manager.save(checkpoint_number=0)
