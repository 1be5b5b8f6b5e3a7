import json
import re

import numpy as np
import PIL.Image
import pytest
import reading_records as reading
import shared_files

from object_detection.dataset_tools import create_pascal_tf_record, record_writer

OBJECT = ("<object><name>{name}</name><difficult>{difficult}</difficult><bndbox><xmin>{box[0]}"
          "</xmin><ymin>{box[1]}</ymin><xmax>{box[2]}</xmax><ymax>{box[3]}</ymax></bndbox></object>")


def _xml(filename="a.jpg", objects=(), size=(40, 20), extra=""):
    body = "".join(OBJECT.format(name=name, box=box, difficult=difficult)
                   for name, box, difficult in objects)
    return (f"<annotation><folder>elsewhere</folder><filename>{filename}</filename>"
            f"<path>/etc/passwd</path><size><width>{size[0]}</width><height>{size[1]}</height>"
            f"<depth>3</depth></size>{extra}{body}</annotation>")


@pytest.fixture
def data_dir(tmp_path):
    for name in ("Annotations", "JPEGImages", "ImageSets/Main"):
        (tmp_path / "data" / name).mkdir(parents=True)
    PIL.Image.new("RGB", (40, 20), "green").save(tmp_path / "data/JPEGImages/a.jpg")
    return tmp_path / "data"


def _convert(data_dir, **options):
    images = create_pascal_tf_record.read_pascal(str(data_dir))
    output = data_dir.parent / "out" / "train.record"
    report = record_writer.write_records(
        images, record_writer.WriterSettings(str(output), **options))
    return report, reading.examples(output)


def test_an_annotation_becomes_an_example(data_dir):
    (data_dir / "Annotations/a.xml").write_text(_xml(objects=[
        (" cat ", (1, 2, 40, 20), 0), ("dog", (0, 0, 10.5, 10), 1)]))
    report, (example,) = _convert(data_dir)
    assert reading.values(example, "image/object/class/text") == [b"cat", b"dog"]
    assert reading.values(example, "image/object/class/label") == [1, 2]
    assert reading.values(example, "image/object/difficult") == [0, 1]
    # No shift by one: 1 / 40, 2 / 20, 40 / 40, 20 / 20.
    np.testing.assert_allclose(reading.values(example, "image/object/bbox/xmin"), [0.025, 0])
    np.testing.assert_allclose(reading.values(example, "image/object/bbox/ymin"), [0.1, 0])
    np.testing.assert_allclose(reading.values(example, "image/object/bbox/xmax"), [1, 0.2625])
    np.testing.assert_allclose(reading.values(example, "image/object/bbox/ymax"), [1, 0.5])
    assert reading.values(example, "image/filename") == [b"a.jpg"]
    assert (report.images_written, report.objects_written) == (1, 2)


def test_xml_without_objects(data_dir):  # BR-08
    (data_dir / "Annotations/a.xml").write_text(_xml())
    (data_dir.parent / "map.pbtxt").write_text("item { id: 1 name: 'cat' }")
    report, (example,) = _convert(data_dir, label_map_path=str(data_dir.parent / "map.pbtxt"))
    assert reading.values(example, "image/object/bbox/xmin") == []
    assert report.images_without_objects == 1


def test_bad_boxes_are_listed_with_file_and_number(data_dir):
    (data_dir / "Annotations/a.xml").write_text(_xml(objects=[
        ("cat", (1, 1, 5, 5), 0), ("cat", (3, 3, 3, 9), 0), ("cat", (9, 1, 5, 5), 0),
        ("cat", (50, 1, 60, 5), 0), ("cat", (30, 1, 44, 5), 0), ("cat", ("x", 1, 4, 5), 0)]))
    report, (example,) = _convert(data_dir)
    assert [(drop["file"], drop["object"], drop["reason"]) for drop in report.dropped_objects] == [
        ("Annotations/a.xml", 1, "zero_size"), ("Annotations/a.xml", 2, "inverted"),
        ("Annotations/a.xml", 3, "outside"), ("Annotations/a.xml", 5, "not_a_number")]
    assert report.notes == {"box_clipped": 1}
    assert reading.values(example, "image/object/bbox/xmax") == [0.125, 1.0]
    assert "mixed up" in report.warnings[0]  # 3 of 6 boxes: BR-05


def test_difficult_objects_can_be_left_out(data_dir):
    (data_dir / "Annotations/a.xml").write_text(_xml(objects=[
        ("cat", (1, 1, 5, 5), 1), ("cat", (1, 1, 5, 9), 0)]))
    report, (example,) = _convert(data_dir, ignore_difficult_instances=True)
    assert len(reading.values(example, "image/object/difficult")) == 1
    assert report.dropped_by_reason() == {"difficult": 1}


def test_unknown_classes_stop_or_are_left_out(data_dir):
    (data_dir / "Annotations/a.xml").write_text(_xml(objects=[
        ("cat", (1, 1, 5, 5), 0), ("kursi", (1, 1, 5, 9), 0)]))
    path = data_dir.parent / "map.pbtxt"
    path.write_text("item { id: 3 name: 'cat' }")
    with pytest.raises(ValueError, match="'kursi' .*Annotations/a.xml object 1"):
        _convert(data_dir, label_map_path=str(path))
    assert not (data_dir.parent / "out" / "train.record").exists()
    report, (example,) = _convert(data_dir, label_map_path=str(path), skip_unknown_classes=True)
    assert reading.values(example, "image/object/class/label") == [3]
    assert report.dropped_by_reason() == {"unknown_class": 1}


@pytest.mark.parametrize("xml, reason", [
    (_xml("../../secret.jpg"), "unsafe file name"),
    (_xml("/etc/passwd"), "unsafe file name"),
    (_xml("b.jpg"), "no image 'b.jpg'"),
    ("<annotation><filename>a.jpg", "not readable as XML"),
    ("", "not readable as XML"),
    ("<html/>", "root element is <html>"),
    (_xml(extra="<object><name>cat</name></object>"), "object 0 \\(cat\\) has no bndbox"),
    (_xml(size=(20, 40)), "annotation says 20x40, image is 40x20"),
    ('<!DOCTYPE a [<!ENTITY e SYSTEM "file:///etc/passwd">]>' + _xml("&e;"), "DTD or entities"),
])
def test_bad_annotations_are_skipped_with_their_reason(data_dir, xml, reason):
    (data_dir / "Annotations/a.xml").write_text(_xml(objects=[("cat", (1, 1, 5, 5), 0)]))
    (data_dir / "Annotations/z.xml").write_text(xml)
    report, found = _convert(data_dir)
    assert len(found) == 1
    (skipped,) = report.skipped_images
    assert skipped["file"] == "Annotations/z.xml"
    assert re.search(reason, skipped["reason"])


def test_png_called_jpg_and_a_renamed_image(data_dir):
    PIL.Image.new("RGB", (40, 20)).save(data_dir / "JPEGImages/b.jpg", "PNG")
    (data_dir / "Annotations/b.xml").write_text(_xml("old_name.jpg", [("cat", (1, 1, 5, 5), 0)]))
    _, (example,) = _convert(data_dir)
    assert reading.values(example, "image/format") == [b"png"]


def test_sets_and_years(data_dir):
    (data_dir / "Annotations/a.xml").write_text(_xml())
    (data_dir / "ImageSets/Main/train.txt").write_text("a\na\nmissing 1\n../x\n")
    found = create_pascal_tf_record.read_pascal(str(data_dir.parent), "train", "data")
    assert [image.annotation for image in found] == [
        "Annotations/a.xml", "Annotations/missing.xml", "Annotations/../x.xml"]
    assert "not found" in found[1].fault
    assert "unsafe" in found[2].fault
    with pytest.raises(ValueError, match="no image set 'val'.*There is: train"):
        create_pascal_tf_record.read_pascal(str(data_dir), "val")
    with pytest.raises(ValueError, match="--data_dir"):
        create_pascal_tf_record.read_pascal(str(data_dir / "nowhere"))


def test_dict_to_tf_example(data_dir):
    data = {"folder": "elsewhere", "filename": "a.jpg", "size": {"width": "40", "height": "20"},
            "object": [{"name": "cat", "difficult": "0", "bndbox": {
                "xmin": "4", "ymin": "2", "xmax": "20", "ymax": "10"}}]}
    example = create_pascal_tf_record.dict_to_tf_example(data, str(data_dir), {"cat": 5})
    np.testing.assert_allclose(reading.values(example, "image/object/bbox/ymax"), [0.5])
    assert reading.values(example, "image/object/class/label") == [5]
    with pytest.raises(ValueError, match="a.jpg object 0: class 'cat'"):
        create_pascal_tf_record.dict_to_tf_example(data, str(data_dir), {"dog": 1})


# Boxes per set and class from shared/data/bccd/SOURCE.md, less one of no size in train and in val.
@pytest.mark.parametrize("name, images, counts, dropped", [
    ("train", 205, {b"RBC": 2381, b"WBC": 214, b"Platelets": 209}, [("00343", 3)]),
    ("val", 87, {b"RBC": 967, b"WBC": 87, b"Platelets": 83}, [("00338", 12)]),
    ("test", 72, {b"RBC": 805, b"WBC": 71, b"Platelets": 69}, [])])
def test_blood_cells(tmp_path, name, images, counts, dropped):
    found = create_pascal_tf_record.read_pascal(str(shared_files.require("data/bccd")), name)
    report = record_writer.write_records(
        found, record_writer.WriterSettings(str(tmp_path / f"{name}.record")))
    assert (report.images_read, report.images_written) == (images, images)
    assert [(drop["file"], drop["object"], drop["reason"]) for drop in report.dropped_objects] == [
        (f"Annotations/BloodImage_{number}.xml", place, "zero_size") for number, place in dropped]
    written = {}
    for example in reading.examples(tmp_path / f"{name}.record"):
        for text in reading.values(example, "image/object/class/text"):
            written[text] = written.get(text, 0) + 1
    assert written == counts
    saved = json.loads((tmp_path / f"{name}_report.json").read_text())
    assert saved["objects_written"] == sum(counts.values())
    assert saved["dropped_by_reason"] == ({"zero_size": 1} if dropped else {})
