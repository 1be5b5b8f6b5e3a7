r"""Converts COCO instance annotations (JSON) to TFRecord files, with masks if wanted.

Examples:

    # any data set in COCO form
    python scripts/create_coco_tf_record.py --image_dir=images --annotations_file=train.json \
        --include_masks --output_path=records/train.record --num_shards=10

    # COCO itself, with the flags of the Object Detection API: writes coco_train.record (100
    # shards), coco_val.record and coco_testdev.record (50 each)
    python scripts/create_coco_tf_record.py --include_masks --output_dir=records \
        --train_image_dir=train2017 --train_annotations_file=instances_train2017.json \
        --val_image_dir=val2017 --val_annotations_file=instances_val2017.json \
        --test_image_dir=test2017 --testdev_annotations_file=image_info_test-dev2017.json

A report of what was written and left out is printed, and kept as JSON beside the records.
"""

from collections.abc import Sequence

from absl import app, flags

from object_detection.utils import startup

FLAGS = flags.FLAGS
flags.DEFINE_string("image_dir", "", "Folder of the images.")
flags.DEFINE_string("annotations_file", "", "COCO JSON file.")
flags.DEFINE_string("output_path", "", "Record file to write; with shards, their base name.")
for _split, _file in (("train", "train"), ("val", "val"), ("test", "testdev")):
    flags.DEFINE_string(f"{_split}_image_dir", "", f"Folder of the {_split} images.")
    flags.DEFINE_string(f"{_file}_annotations_file", "", f"COCO JSON file of the {_file} set.")
flags.DEFINE_string("output_dir", "", "Folder for the records of the train, val and testdev sets.")
flags.DEFINE_bool("include_masks", False, "Write instance masks, as PNG. Objects without a usable "
                  "segmentation are then left out.")
flags.DEFINE_string("label_map_path", "", "Label map. Empty: label_map.pbtxt beside the output, "
                    "which is made from the categories if absent.")
flags.DEFINE_bool("skip_unknown_classes", False, "Leave out objects whose category is not in the "
                  "label map, instead of stopping.")
flags.DEFINE_integer("num_shards", 0, "Number of output files. 0: one, or with --output_dir 100 "
                     "for train and 50 for the others.", lower_bound=0)
flags.DEFINE_integer("num_workers", 1, "Number of processes.", lower_bound=1)

# Prefix of the flags for images and annotations, name of the output, number of shards.
_SETS = (("train", "train", "coco_train.record", 100), ("val", "val", "coco_val.record", 50),
         ("test", "testdev", "coco_testdev.record", 50))


def main(argv: Sequence[str]) -> None:
    """Runs the command."""
    del argv  # there is nothing but flags
    from object_detection.dataset_tools import create_coco_tf_record, record_writer
    jobs = []
    if FLAGS.annotations_file:
        jobs.append((FLAGS.annotations_file, FLAGS.image_dir, FLAGS.output_path,
                     FLAGS.num_shards or 1))
    for images, annotations, name, shards in _SETS:
        annotations_file = FLAGS[f"{annotations}_annotations_file"].value
        if annotations_file:
            output_path = f"{FLAGS.output_dir}/{name}" if FLAGS.output_dir else ""
            jobs.append((annotations_file, FLAGS[f"{images}_image_dir"].value, output_path,
                         FLAGS.num_shards or shards))
    if not jobs or not all(image_dir and output for _, image_dir, output, _ in jobs):
        raise app.UsageError(
            "want --annotations_file, --image_dir and --output_path, or --output_dir with pairs "
            "like --train_annotations_file and --train_image_dir")
    for annotations_file, image_dir, output_path, num_shards in jobs:
        settings = record_writer.WriterSettings(
            output_path, FLAGS.label_map_path, num_shards, FLAGS.num_workers,
            include_masks=FLAGS.include_masks, skip_unknown_classes=FLAGS.skip_unknown_classes)
        coco = create_coco_tf_record.read_coco(annotations_file, image_dir)
        report = record_writer.write_records(coco.images, settings, coco.category_ids,
                                             coco.warnings)
        print(report.to_text())


if __name__ == "__main__":
    startup.run_command(main)
