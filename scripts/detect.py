"""Detects objects in image files: draws them, and writes a COCO results file.

Examples:

    python scripts/detect.py --saved_model_dir=exported --output_dir=found photos/ more/*.jpg

runs an exported model (its label map is found through its pipeline.config, or is given with
--label_map_path). From a checkpoint, without exporting:

    python scripts/detect.py --pipeline_config_path=run1/pipeline.config --checkpoint=run1 \\
        --output_dir=found photos/

The checkpoint may also be one of the TF2 Object Detection API (zoo/checkpoint/ckpt-0) or, for a
Matterport config, a Keras .h5 file.

For scoring with pycocotools, keep low scores and take the ids of the annotation file:

    python scripts/detect.py --saved_model_dir=exported --output_dir=found --min_score=0 \\
        --coco_annotations=instances_val2017.json val2017/

Arguments are image files, folders and (quoted) globs. Images are turned upright as their EXIF says,
and boxes refer to the upright picture. Drawings go to OUTPUT_DIR/drawn, results to
OUTPUT_DIR/detections.json. A file that cannot be read is reported and skipped; the exit status is 1
if there was any.
"""

import sys
from collections.abc import Sequence

from absl import app, flags, logging

from object_detection.utils import startup

FLAGS = flags.FLAGS
flags.DEFINE_string("saved_model_dir", None, "Export to run: its folder, or its saved_model.")
flags.DEFINE_string("pipeline_config_path", None, "Config to build the model from; with "
                    "--checkpoint, instead of --saved_model_dir.")
flags.DEFINE_string("checkpoint", None, "Checkpoint or Keras .h5 file to load, or a folder "
                    "(its latest).")
flags.DEFINE_multi_string("config_override", [],
                          "Change to the config, as text to merge or as field.path=value; may be "
                          "repeated.")
flags.DEFINE_string("output_dir", None, "Folder to write to; made if absent.", required=True)
flags.DEFINE_string("label_map_path", None, "Class names; by default those the config names.")
flags.DEFINE_string("coco_annotations", None,
                    "COCO annotation file to take image ids from; by default the file names.")
flags.DEFINE_float("min_score", 0.5, "Detections at or below it are neither drawn nor written.",
                   lower_bound=0.0, upper_bound=1.0)
flags.DEFINE_integer("max_boxes", 100, "Detections per image, at most.", lower_bound=1)
flags.DEFINE_integer("batch_size", 1, "Images of equal size to run at a time.", lower_bound=1)


def main(argv: Sequence[str]) -> None:
    """Runs the command."""
    # Imported late, so that --help and wrong flags do not wait for TensorFlow.
    startup.load_tensorflow()
    import tensorflow as tf

    from object_detection.serving import image_io, run_detection
    tf.get_logger().setLevel("ERROR")  # warnings of this project go through absl
    if not FLAGS["verbosity"].present:
        logging.set_verbosity(logging.WARNING)
    try:
        _check_flags()
        paths = image_io.find_images(argv[1:])
        detector, config_path = _detector()
        categories = run_detection.load_categories(FLAGS.label_map_path, config_path)
        if categories is None:
            print("no label map: classes are shown by number; --label_map_path gives names")
        settings = run_detection.RunSettings(FLAGS.output_dir, FLAGS.min_score, FLAGS.max_boxes,
                                             FLAGS.batch_size)
        summary = run_detection.run(detector, paths, settings, categories, _image_ids(paths))
    except (ValueError, OSError) as error:
        print(f"detect.py: error: {error}", file=sys.stderr)
        sys.exit(1)
    print(summary.text())
    if summary.failures:
        print(f"detect.py: error: {len(summary.failures)} of {len(paths)} images failed",
              file=sys.stderr)
        sys.exit(1)


def _check_flags() -> None:
    from_checkpoint = FLAGS.pipeline_config_path or FLAGS.checkpoint
    if bool(FLAGS.saved_model_dir) == bool(from_checkpoint):
        raise ValueError("give either --saved_model_dir, or --pipeline_config_path and "
                         "--checkpoint")
    if from_checkpoint and not (FLAGS.pipeline_config_path and FLAGS.checkpoint):
        raise ValueError("--pipeline_config_path and --checkpoint go together")
    if FLAGS.config_override and not from_checkpoint:
        raise ValueError("--config_override changes the config of a checkpoint; a SavedModel is "
                         "what it was exported as")


def _detector() -> tuple:
    """Returns the detector and the path of its pipeline config, if there is one."""
    from object_detection.serving import detector
    if FLAGS.saved_model_dir:
        return (detector.Detector.from_saved_model(FLAGS.saved_model_dir),
                detector.find_config(FLAGS.saved_model_dir))
    return (detector.Detector.from_checkpoint(FLAGS.pipeline_config_path, FLAGS.checkpoint,
                                              FLAGS.config_override), FLAGS.pipeline_config_path)


def _image_ids(paths: Sequence[str]) -> dict[str, int | str] | None:
    from object_detection.serving import coco_results
    if FLAGS.coco_annotations is None:
        return None
    return coco_results.ids_from_annotations(paths, FLAGS.coco_annotations)


if __name__ == "__main__":
    app.run(main)
