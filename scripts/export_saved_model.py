"""Exports a trained detector as a SavedModel, with its weights and its pipeline config.

Examples:

    python scripts/export_saved_model.py --pipeline_config_path=run1/pipeline.config \\
        --trained_checkpoint_dir=run1 --output_directory=exported

exports the latest checkpoint of run1. Another one, for images of one size, four at a time:

    python scripts/export_saved_model.py --pipeline_config_path=run1/pipeline.config \\
        --trained_checkpoint_prefix=run1/model.ckpt-20000 --input_shape=4,600,800,3 \\
        --output_directory=exported_fixed

The SavedModel takes its input as `input_tensor` (signature serving_default) or as `inputs`
(signature serving_default_tf1, the name in TF1 exports), and is callable after
tf.saved_model.load. object_detection/serving/detection_module.py lists the outputs.

With --full_image_masks, detection_masks are of the whole images instead of cut to the boxes. With
--input_type=image_and_boxes_tensor the SavedModel draws masks in boxes that are given to it; see
object_detection/serving/given_boxes_module.py.

The checkpoint may be one by name (this program, TF1), an object-based one (the TF2 Object Detection
API and its zoo) or, for a Matterport config, a Keras .h5 file.
"""

import sys
from collections.abc import Sequence

from absl import app, flags, logging

from object_detection.utils import startup

FLAGS = flags.FLAGS
flags.DEFINE_enum(
    "input_type", "image_tensor",
    ["image_tensor", "float_image_tensor", "encoded_image_string_tensor", "tf_example",
     "image_and_boxes_tensor"],
    "What the SavedModel takes: uint8 images, float32 images in 0..255, encoded image files, "
    "serialized tf.train.Example with image/encoded, or uint8 images with boxes and classes to "
    "draw masks for.")
flags.DEFINE_string("pipeline_config_path", None, "The config that training ran with.",
                    required=True)
flags.DEFINE_string("trained_checkpoint_prefix", None,
                    "Checkpoint, such as run1/model.ckpt-20000 or zoo/checkpoint/ckpt-0, a Keras "
                    ".h5 file, or a folder (its latest).")
flags.DEFINE_string("trained_checkpoint_dir", None,
                    "Folder of checkpoints, of which the latest is taken; instead of the prefix.")
flags.DEFINE_string("output_directory", None, "Folder to write to; must be absent or empty.",
                    required=True)
flags.DEFINE_string("input_shape", None,
                    "Batch, height, width, 3 of image tensors, such as 1,600,800,3; -1 for any. "
                    "Any batch and size if not given.")
flags.DEFINE_boolean("full_image_masks", False,
                     "Give detection_masks of the whole images instead of masks cut to boxes.")
flags.DEFINE_multi_string("config_override", [],
                          "Change to the config, as text to merge or as field.path=value; may be "
                          "repeated.")


def main(argv: Sequence[str]) -> None:
    """Runs the command."""
    if len(argv) > 1:
        raise app.UsageError(f"unexpected argument {argv[1]!r}: every option is a --flag")
    # Imported late, so that --help and wrong flags do not wait for TensorFlow.
    startup.load_tensorflow()
    import tensorflow as tf

    from object_detection import exporter
    from object_detection.utils import config_util
    tf.get_logger().setLevel("ERROR")  # warnings of this project go through absl
    if not FLAGS["verbosity"].present:
        logging.set_verbosity(logging.WARNING)
    try:
        if bool(FLAGS.trained_checkpoint_prefix) == bool(FLAGS.trained_checkpoint_dir):
            raise ValueError("give one of --trained_checkpoint_prefix and "
                             "--trained_checkpoint_dir")
        pipeline = config_util.load_pipeline(FLAGS.pipeline_config_path, FLAGS.config_override)
        exporter.export_inference_graph(
            FLAGS.input_type, pipeline,
            FLAGS.trained_checkpoint_prefix or FLAGS.trained_checkpoint_dir,
            FLAGS.output_directory, _shape(FLAGS.input_shape), FLAGS.full_image_masks)
    except (ValueError, OSError) as error:
        print(f"export_saved_model.py: error: {error}", file=sys.stderr)
        sys.exit(1)
    print(f"exported to {FLAGS.output_directory}: saved_model/, model.ckpt, pipeline.config")


def _shape(text: str | None) -> list[int | None] | None:
    if text is None:
        return None
    try:
        sizes = [int(size) for size in text.split(",")]
    except ValueError as error:
        raise ValueError(f"--input_shape: want numbers such as 1,600,800,3, got {text!r}"
                         ) from error
    return [None if size == -1 else size for size in sizes]


if __name__ == "__main__":
    app.run(main)
