r"""Converts annotations of the VGG Image Annotator (VIA) to TFRecord files, with masks.

Examples:

    # folders train and val with a via_region_data.json each, as in Mask R-CNN's balloon sample:
    # every region is a balloon; writes records/train.record and records/val.record
    python scripts/create_via_tf_record.py --data_dir=balloon --class_name=balloon \
        --output_dir=records

    # one file, the class in the region attribute "name", images in another folder
    python scripts/create_via_tf_record.py --annotations_file=project.json --image_dir=images \
        --class_attribute=name --output_path=records/train.record --num_shards=10

Polygons, closed polylines, rectangles, circles and ellipses become masks and boxes. A report of
what was written and left out is printed, and kept as JSON beside the records.
"""

import os
from collections.abc import Sequence

from absl import app, flags

from object_detection.utils import startup

FLAGS = flags.FLAGS
flags.DEFINE_string("annotations_file", "", "VIA file: exported JSON or CSV, or a VIA project.")
flags.DEFINE_string("image_dir", "", "Folder of the images. Empty: that of annotations_file.")
flags.DEFINE_string("output_path", "", "Record file to write; with shards, their base name.")
flags.DEFINE_string("data_dir", "", "Folder with the folders of the sets, instead of the above.")
flags.DEFINE_list("sets", ["train", "val"], "Names of these folders.")
flags.DEFINE_string("annotations_name", "via_region_data.json", "VIA file in each of them.")
flags.DEFINE_string("output_dir", "", "Folder for the records of the sets.")
flags.DEFINE_string("class_attribute", "", "Region attribute that holds the class.")
flags.DEFINE_string("class_name", "", "The class of all regions, instead of an attribute.")
flags.DEFINE_bool("include_masks", True, "Write instance masks, as PNG.")
flags.DEFINE_bool("include_empty_images", False, "Write images without a region as images "
                  "without objects. VIA lists images that nobody has annotated, too.")
flags.DEFINE_string("label_map_path", "", "Label map. Empty: label_map.pbtxt beside the output, "
                    "which is made if absent.")
flags.DEFINE_bool("skip_unknown_classes", False, "Leave out objects whose class is not in the "
                  "label map, instead of stopping.")
flags.DEFINE_integer("num_shards", 1, "Number of output files.", lower_bound=1)
flags.DEFINE_integer("num_workers", 1, "Number of processes.", lower_bound=1)


def main(argv: Sequence[str]) -> None:
    """Runs the command."""
    del argv  # there is nothing but flags
    if bool(FLAGS.data_dir) == bool(FLAGS.annotations_file):
        raise app.UsageError("want either --annotations_file or --data_dir")
    if not (FLAGS.output_dir if FLAGS.data_dir else FLAGS.output_path):
        raise app.UsageError("want --output_path with --annotations_file, --output_dir with "
                             "--data_dir")
    from object_detection.dataset_tools import class_names, create_via_tf_record, record_writer
    via = create_via_tf_record.ViaSettings(FLAGS.class_attribute, FLAGS.class_name,
                                           FLAGS.include_empty_images)
    jobs = {FLAGS.output_path: (FLAGS.annotations_file,
                                FLAGS.image_dir or os.path.dirname(FLAGS.annotations_file))}
    if FLAGS.data_dir:
        jobs = {os.path.join(FLAGS.output_dir, f"{name}.record"):
                (os.path.join(FLAGS.data_dir, name, FLAGS.annotations_name),
                 os.path.join(FLAGS.data_dir, name)) for name in FLAGS.sets}
        for annotations, _ in jobs.values():
            if not os.path.isfile(annotations):
                raise ValueError(
                    f"{annotations}: no such file; --data_dir wants one in the folder of each set, "
                    f"{', '.join(FLAGS.sets)}. Name the sets that there are (--sets=train), or the "
                    "file (--annotations_name)")
    found = {output: create_via_tf_record.read_via(*paths, via) for output, paths in jobs.items()}
    names = class_names.number_names(
        obj.name for one in found.values() for image in one.images for obj in image.objects
        if not obj.fault)
    for output, one in found.items():
        settings = record_writer.WriterSettings(
            output, FLAGS.label_map_path, FLAGS.num_shards, FLAGS.num_workers,
            include_masks=FLAGS.include_masks, skip_unknown_classes=FLAGS.skip_unknown_classes)
        report = record_writer.write_records(one.images, settings, names, one.warnings)
        print(report.to_text())


if __name__ == "__main__":
    startup.run_command(main)
