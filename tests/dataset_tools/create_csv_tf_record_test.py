import csv

import numpy as np
import PIL.Image
import pytest
import reading_records as reading
import shared_files

from object_detection.dataset_tools import create_csv_tf_record, record_writer


@pytest.fixture
def folder(tmp_path):
    PIL.Image.new("RGB", (8, 4)).save(tmp_path / "a.png")
    PIL.Image.new("RGB", (8, 4)).save(tmp_path / "b.png")
    return tmp_path


def _read(folder, text, **options):
    (folder / "boxes.csv").write_text(text, encoding="utf-8")
    return create_csv_tf_record.read_csv(str(folder / "boxes.csv"), str(folder), **options)


@pytest.mark.parametrize("text", [
    "filename,width,height,class,xmin,ymin,xmax,ymax\na.png,8,4,cat,2,1,4,3\n",
    "\ufeffymax;ymin;xmax;xmin;class;filename\r\n3;1;4;2; cat ;a.png\r\n"])
def test_columns_in_any_order(folder, text):
    (image,) = _read(folder, text)
    (obj,) = image.objects
    assert (obj.name, obj.box, obj.note) == ("cat", (2, 1, 4, 3), "line 2")


def test_lines_of_one_image_belong_together(folder):
    images = _read(folder, "filename,class,xmin,ymin,xmax,ymax\n"
                           "a.png,cat,2,1,4,3\nb.png,,,,,\na.png,20,0,0,x,3\n")
    report = record_writer.write_records(
        images, record_writer.WriterSettings(str(folder / "x.record")))
    first, second = reading.examples(folder / "x.record")
    assert reading.values(first, "image/object/class/text") == [b"cat"]
    assert reading.values(second, "image/object/class/text") == []
    (drop,) = report.dropped_objects
    assert (drop["file"], drop["object"], drop["reason"]) == ("a.png", 1, "not_a_number")
    assert "line 4" in drop["detail"]


def test_image_list(folder):
    text = "filename,class,xmin,ymin,xmax,ymax\na.png,cat,2,1,4,3\nb.png,cat,2,1,4,3\n"
    (folder / "list.txt").write_text("b\n")
    (image,) = _read(folder, text, image_list=str(folder / "list.txt"))
    assert image.filename == "b.png"
    (folder / "list.txt").write_text("b\nc\n")
    with pytest.raises(ValueError, match="1 of 2 images.*'c'"):
        _read(folder, text, image_list=str(folder / "list.txt"))


def test_missing_columns_are_named(folder):
    with pytest.raises(ValueError, match=r"boxes.csv: line 1 lacks .*'class'.*--class_column"):
        _read(folder, "filename,label,xmin,ymin,xmax,ymax\n")
    with pytest.raises(ValueError, match="line 1 lacks"):
        _read(folder, "")
    with pytest.raises(ValueError, match="line 2 has no filename"):
        _read(folder, "filename,class,xmin,ymin,xmax,ymax\n,cat,1,1,2,2\n")


def test_paths_outside_the_folder_are_faults(folder):
    (image,) = _read(folder, "filename,class,xmin,ymin,xmax,ymax\n../a.png,cat,1,1,2,2\n")
    assert "unsafe" in image.fault


def test_raccoons_with_blank_images(tmp_path):
    data = shared_files.require("data/raccoon_annotations")
    with open(data / "test_labels.csv", newline="", encoding="utf-8") as file:
        for row in csv.DictReader(file):
            PIL.Image.new("L", (int(row["width"]), int(row["height"]))).save(
                tmp_path / row["filename"])
    images = create_csv_tf_record.read_csv(str(data / "test_labels.csv"), str(tmp_path))
    report = record_writer.write_records(images, record_writer.WriterSettings(
        str(tmp_path / "test.record"), str(data / "object-detection.pbtxt")))
    assert (report.images_written, report.objects_written) == (40, 44)
    assert not report.dropped_objects and not report.notes
    example = reading.examples(tmp_path / "test.record")[0]
    np.testing.assert_allclose(reading.values(example, "image/object/bbox/xmax"), [271 / 275])
    assert reading.values(example, "image/object/class/text") == [b"raccoon"]


def test_blood_cells_from_csv_equal_those_from_xml(tmp_path):
    data = shared_files.require("data/bccd")
    images = create_csv_tf_record.read_csv(
        str(data / "all_boxes.csv"), str(data / "JPEGImages"), "cell_type",
        str(data / "ImageSets/Main/val.txt"))
    report = record_writer.write_records(images, record_writer.WriterSettings(
        str(tmp_path / "val.record")))
    assert (report.images_written, report.objects_written) == (87, 1137)
    (drop,) = report.dropped_objects
    assert (drop["file"], drop["object"]) == ("BloodImage_00338.jpg", 12)
