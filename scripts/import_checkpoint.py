"""Converts weights of other programs to a checkpoint of this one, and says what fits a model.

Examples:

    python scripts/import_checkpoint.py --input=mask_rcnn_coco.h5 --output=coco/model.ckpt

writes every weight of the file under its name. Compared with a model, and only what fits it:

    python scripts/import_checkpoint.py --input=mask_rcnn_coco.h5 --output=coco/model.ckpt \\
        --pipeline_config_path=configs/mask_rcnn_resnet101_fpn_coco.config

For classes of your own, leave out the layers whose size depends on their number (Matterport's
`exclude`); training then starts these from random values:

    python scripts/import_checkpoint.py --input=mask_rcnn_coco.h5 --output=start/model.ckpt \\
        --pipeline_config_path=mine.config \\
        --exclude=mrcnn_class_logits,mrcnn_bbox_fc,mrcnn_bbox,mrcnn_mask

To train from the result, set train_config.fine_tune_checkpoint to the value of --output. Layers
that are missing or of another shape are listed; the exit status is 1 if nothing fits.
"""

from collections.abc import Sequence

from absl import flags, logging

from object_detection.utils import startup

FLAGS = flags.FLAGS
flags.DEFINE_string("input", None, "File to read.", required=True)
flags.DEFINE_string("output", None, "Checkpoint to write: a folder and the start of its files' "
                    "names. If not given, only the comparison is printed.")
flags.DEFINE_string("pipeline_config_path", None, "Config of the model that the weights are for.")
flags.DEFINE_multi_string("config_override", [],
                          "Change to the config, as text to merge or as field.path=value; may be "
                          "repeated.")
flags.DEFINE_list("exclude", [], "Layers to leave out, by name or pattern, separated by commas.")
flags.DEFINE_string("kind", None, "Format of the file; found from the file if not given.")


def main(argv: Sequence[str]) -> None:
    """Runs the command."""
    del argv  # there is nothing but flags
    # Imported late, so that --help and wrong flags do not wait for TensorFlow.
    from object_detection.engine.importers import convert
    if not FLAGS["verbosity"].present:
        logging.set_verbosity(logging.WARNING)
    print(convert.run(convert.Settings(
        FLAGS.input, FLAGS.output, FLAGS.pipeline_config_path, tuple(FLAGS.config_override),
        tuple(FLAGS.exclude), FLAGS.kind)))


if __name__ == "__main__":
    startup.run_command(main)
