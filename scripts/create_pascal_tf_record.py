r"""Converts a folder in PASCAL VOC form (JPEGImages, Annotations, ImageSets) to TFRecord files.

Examples:

    # VOCdevkit/VOC2012, images of the training set
    python scripts/create_pascal_tf_record.py --data_dir=VOCdevkit --year=VOC2012 --set=train \
        --label_map_path=pascal_label_map.pbtxt --output_path=pascal_train.record

    # a folder of your own; the label map is made from the data, beside the output
    python scripts/create_pascal_tf_record.py --data_dir=cells --set=train \
        --output_path=records/train.record

A report of what was written and left out is printed, and kept as records/train_report.json.
"""

from collections.abc import Sequence

from absl import flags

from object_detection.utils import startup

FLAGS = flags.FLAGS
flags.DEFINE_string("data_dir", None, "Folder of the data set (of VOCdevkit, with --year).",
                    required=True)
flags.DEFINE_string("set", "", "Image set of ImageSets/Main: train, val, trainval, test or any "
                    "other list there. Empty: every XML file.")
flags.DEFINE_string("annotations_dir", "Annotations", "Name of the folder of XML files.")
flags.DEFINE_string("year", "", "VOC2007, VOC2012 or merged (both), as folders of --data_dir. "
                    "Empty: --data_dir itself is the data set.")
flags.DEFINE_string("output_path", None, "Record file to write; with shards, their base name.",
                    required=True)
flags.DEFINE_string("label_map_path", "", "Label map. Empty: label_map.pbtxt beside the output, "
                    "which is made if absent.")
flags.DEFINE_bool("ignore_difficult_instances", False, "Leave out objects marked difficult.")
flags.DEFINE_bool("skip_unknown_classes", False, "Leave out objects whose class is not in the "
                  "label map, instead of stopping.")
flags.DEFINE_integer("num_shards", 1, "Number of output files.", lower_bound=1)
flags.DEFINE_integer("num_workers", 1, "Number of processes.", lower_bound=1)


def main(argv: Sequence[str]) -> None:
    """Runs the command."""
    del argv  # there is nothing but flags
    from object_detection.dataset_tools import create_pascal_tf_record, record_writer
    images = create_pascal_tf_record.read_pascal(
        FLAGS.data_dir, FLAGS.set, FLAGS.year, FLAGS.annotations_dir)
    report = record_writer.write_records(images, record_writer.WriterSettings(
        FLAGS.output_path, FLAGS.label_map_path, FLAGS.num_shards, FLAGS.num_workers,
        ignore_difficult_instances=FLAGS.ignore_difficult_instances,
        skip_unknown_classes=FLAGS.skip_unknown_classes))
    print(report.to_text())


if __name__ == "__main__":
    startup.run_command(main)
