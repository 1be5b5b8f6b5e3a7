r"""Converts boxes in a CSV file, one per line, to TFRecord files.

Examples:

    # header: filename,width,height,class,xmin,ymin,xmax,ymax, in any order
    python scripts/create_csv_tf_record.py --csv_path=train_labels.csv --image_dir=images \
        --label_map_path=object-detection.pbtxt --output_path=train.record

    # the class in another column, and only the images of a list
    python scripts/create_csv_tf_record.py --csv_path=all_boxes.csv --class_column=cell_type \
        --image_dir=JPEGImages --image_list=ImageSets/Main/train.txt --output_path=train.record

A report of what was written and left out is printed, and kept as train_report.json.
"""

from collections.abc import Sequence

from absl import flags

from object_detection.utils import startup

FLAGS = flags.FLAGS
flags.DEFINE_string("csv_path", None, "CSV file with a header line.", required=True)
flags.DEFINE_string("image_dir", None, "Folder of the images.", required=True)
flags.DEFINE_string("class_column", "class", "Name of the column with the class.")
flags.DEFINE_string("image_list", "", "File with the images to take, one a line. Empty: all.")
flags.DEFINE_string("output_path", None, "Record file to write; with shards, their base name.",
                    required=True)
flags.DEFINE_string("label_map_path", "", "Label map. Empty: label_map.pbtxt beside the output, "
                    "which is made if absent.")
flags.DEFINE_bool("skip_unknown_classes", False, "Leave out objects whose class is not in the "
                  "label map, instead of stopping.")
flags.DEFINE_integer("num_shards", 1, "Number of output files.", lower_bound=1)
flags.DEFINE_integer("num_workers", 1, "Number of processes.", lower_bound=1)


def main(argv: Sequence[str]) -> None:
    """Runs the command."""
    del argv  # there is nothing but flags
    from object_detection.dataset_tools import create_csv_tf_record, record_writer
    images = create_csv_tf_record.read_csv(FLAGS.csv_path, FLAGS.image_dir, FLAGS.class_column,
                                           FLAGS.image_list)
    report = record_writer.write_records(images, record_writer.WriterSettings(
        FLAGS.output_path, FLAGS.label_map_path, FLAGS.num_shards, FLAGS.num_workers,
        skip_unknown_classes=FLAGS.skip_unknown_classes))
    print(report.to_text())


if __name__ == "__main__":
    startup.run_command(main)
