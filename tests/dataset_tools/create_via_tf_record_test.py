"""VIA files of both versions, projects and CSV; shapes worked out by hand; faulty annotations."""

import io
import json

import numpy as np
import PIL.Image
import pytest
import reading_records as reading
import shared_files
from pycocotools import mask as mask_api

from object_detection.dataset_tools import create_via_tf_record, record_writer, via_shapes

TRIANGLE = {"name": "polygon", "all_points_x": [0, 8, 0], "all_points_y": [0, 0, 5]}
RECT = {"name": "rect", "x": 2, "y": 1, "width": 3, "height": 2}
BALLOON = create_via_tf_record.ViaSettings(class_name="balloon")
BY_NAME = create_via_tf_record.ViaSettings(class_attribute="name")


@pytest.fixture
def folder(tmp_path):
    for name in ("a.png", "b.png"):
        PIL.Image.new("RGB", (12, 10)).save(tmp_path / name)
    return tmp_path


def region(shape, **attributes):
    return {"shape_attributes": shape, "region_attributes": attributes}


def entry(filename, regions):
    return {f"{filename}123": {"filename": filename, "size": 123, "regions": regions,
                               "file_attributes": {}}}


def read(folder, content, settings=BALLOON, name="via.json"):
    text = content if isinstance(content, str) else json.dumps(content)
    (folder / name).write_text(text, encoding="utf-8")
    return create_via_tf_record.read_via(str(folder / name), str(folder), settings)


def convert(folder, content, settings=BALLOON):
    found = read(folder, content, settings)
    report = record_writer.write_records(
        found.images, record_writer.WriterSettings(str(folder / "x.record"), include_masks=True),
        warnings=found.warnings)
    return report, reading.examples(folder / "x.record")


def masks_of(example):
    return [np.array(PIL.Image.open(io.BytesIO(png)))
            for png in reading.values(example, "image/object/mask")]


@pytest.mark.parametrize("wrap", [lambda images: images, lambda images: {
    "_via_settings": {}, "_via_attributes": {}, "_via_img_metadata": images}])
@pytest.mark.parametrize("regions", [
    [region(RECT, name="cat"), region(TRIANGLE, name=" dog ")],
    {"0": region(RECT, name="cat"), "1": region(TRIANGLE, name=" dog ")}])
def test_both_versions_and_projects(folder, wrap, regions):
    (image,) = read(folder, wrap(entry("a.png", regions)), BY_NAME).images
    assert (image.filename, image.source_id, image.fault) == ("a.png", "a.png", "")
    first, second = image.objects
    assert (first.name, first.box, first.note) == ("cat", (2, 1, 5, 3), "region 0, rect")
    assert (second.name, second.box, second.note) == ("dog", (0, 0, 8, 5), "region 1, polygon")


def test_csv(folder):
    # The second column of the attributes is as VIA writes an attribute without a value.
    shape = json.dumps(RECT).replace('"', '""')
    text = ("#filename,file_size,file_attributes,region_count,region_id,region_shape_attributes,"
            "region_attributes\n"
            f'a.png,1,"{{}}",2,0,"{shape}","{{""name"":""cat"",""kind"":undefined}}"\n'
            f'a.png,1,"{{}}",2,1,"{shape}","{{""name"":""dog""}}"\n'
            'b.png,1,"{}",0,0,"{}","{}"\n')
    first, second = read(folder, text, BY_NAME, "via.csv").images
    assert [(obj.name, obj.box) for obj in first.objects] == [
        ("cat", (2, 1, 5, 3)), ("dog", (2, 1, 5, 3))]
    assert second.fault == "no region is annotated"
    with pytest.raises(ValueError, match=r"via.csv: line 1 lacks .*'region_id'"):
        read(folder, "filename,class\n", BY_NAME, "via.csv")
    with pytest.raises(ValueError, match="via.csv: line 2: not JSON"):
        read(folder, text.replace(shape, "{", 1), BY_NAME, "via.csv")


def test_masks_of_a_rectangle_and_a_triangle(folder):
    report, (example,) = convert(folder, entry("a.png", [region(RECT), region(TRIANGLE)]))
    assert (report.images_written, report.objects_written) == (1, 2)
    rectangle, triangle = masks_of(example)
    expected = np.zeros([10, 12], np.uint8)
    expected[1:3, 2:5] = 1
    np.testing.assert_array_equal(rectangle, expected)
    # Pixels whose centre is inside: 5 * (x + 0.5) + 8 * (y + 0.5) < 40.
    rows = [7, 6, 4, 2, 1]
    expected = np.array([[x < count for x in range(12)] for count in rows + [0] * 5])
    assert np.abs(triangle - expected).sum() <= 2  # COCO's rasteriser follows the outline
    assert reading.values(example, "image/object/class/text") == [b"balloon"] * 2
    np.testing.assert_allclose(reading.values(example, "image/object/bbox/xmax"), [5 / 12, 8 / 12])
    np.testing.assert_allclose(reading.values(example, "image/object/bbox/ymax"), [3 / 10, 5 / 10])


@pytest.mark.parametrize("shape", [
    TRIANGLE, {"name": "polygon", "all_points_x": [1, 9, 6, 2.5], "all_points_y": [1, 3, 8.5, 9]},
    {"name": "polyline", "all_points_x": [1, 9, 6], "all_points_y": [1, 3, 8]}])
def test_masks_equal_those_of_pycocotools(folder, shape):
    _, (example,) = convert(folder, entry("a.png", [region(shape)]))
    flat = [float(v) for point in zip(shape["all_points_x"], shape["all_points_y"]) for v in point]
    expected = mask_api.decode(mask_api.frPyObjects([flat], 10, 12))[..., 0]
    np.testing.assert_array_equal(masks_of(example)[0], expected)
    assert expected.sum() > 10


def test_round_shapes():
    circle = via_shapes.outline({"name": "circle", "cx": 10, "cy": 20, "r": 5})
    np.testing.assert_allclose(via_shapes.box_around(circle), [5, 15, 15, 25])
    xs, ys = np.array(circle).reshape(-1, 2).T
    np.testing.assert_allclose(np.hypot(xs - 10, ys - 20), 5.0)
    flat = via_shapes.outline({"name": "ellipse", "cx": 10, "cy": 20, "rx": 6, "ry": 2})
    np.testing.assert_allclose(via_shapes.box_around(flat), [4, 18, 16, 22])
    upright = via_shapes.outline({"name": "ellipse", "cx": 10, "cy": 20, "rx": 6, "ry": 2,
                                  "theta": np.pi / 2})
    np.testing.assert_allclose(via_shapes.box_around(upright), [8, 14, 12, 26])


def test_a_repeated_first_point_is_no_corner():
    closed = {"name": "polygon", "all_points_x": [0, 8, 0, 0], "all_points_y": [0, 0, 5, 0]}
    assert via_shapes.outline(closed) == via_shapes.outline(TRIANGLE) == [0, 0, 8, 0, 0, 5]


@pytest.mark.parametrize("shape, reason", [
    ({"name": "polygon", "all_points_x": [1, 5], "all_points_y": [1, 5]}, "too_few_points"),
    ({"name": "polygon", "all_points_x": [1, 5, 1], "all_points_y": [1, 5, 1]}, "too_few_points"),
    ({"name": "polygon", "all_points_x": [1, 5, 3], "all_points_y": [1, 5]}, "bad_shape"),
    ({"name": "polygon", "all_points_x": [1, 5, "x"], "all_points_y": [1, 5, 2]}, "bad_shape"),
    ({"name": "polygon"}, "bad_shape"),
    ({"name": "rect", "x": 1, "y": 1, "width": -2, "height": 2}, "bad_shape"),
    ({"name": "circle", "cx": 1, "cy": 1, "r": float("nan")}, "bad_shape"),
    ({"name": "point", "cx": 1, "cy": 1}, "unknown_shape"),
    ({}, "unknown_shape"),
    ({"name": "rect", "x": 1, "y": 1, "width": 0, "height": 2}, "zero_size"),
    ({"name": "rect", "x": 20, "y": 1, "width": 3, "height": 2}, "outside")])
def test_faulty_shapes_are_dropped_and_reported(folder, shape, reason):
    report, (example,) = convert(folder, entry("a.png", [region(shape), region(RECT)]))
    (drop,) = report.dropped_objects
    assert (drop["file"], drop["object"], drop["reason"]) == ("a.png", 0, reason)
    assert "region 0" in drop["detail"]
    assert len(masks_of(example)) == 1


def test_a_polygon_over_the_edge_is_cut(folder):
    shape = {"name": "polygon", "all_points_x": [10, 14, 14, 10], "all_points_y": [-3, -3, 2, 2]}
    report, (example,) = convert(folder, entry("a.png", [region(shape)]))
    assert report.notes == {"box_clipped": 1}
    np.testing.assert_allclose(reading.values(example, "image/object/bbox/xmax"), [1.0])
    np.testing.assert_allclose(reading.values(example, "image/object/bbox/ymin"), [0.0])
    (mask,) = masks_of(example)
    assert mask.sum() == 4 and mask[:2, 10:].all()


@pytest.mark.parametrize("value, name, fault", [
    ("cat", "cat", ""), (3, "3", ""), ({"cat": True, "dog": False}, "cat", ""),
    ({"cat": True, "dog": True}, "cat + dog", "several_classes"), ({}, "", "no_class"),
    ("", "", "no_class"), (None, "", "no_class")])
def test_classes_of_attributes(folder, value, name, fault):
    regions = [region(RECT, name=value), region(RECT, name="dog")]
    (image,) = read(folder, entry("a.png", regions), BY_NAME).images
    assert (image.objects[0].name, image.objects[0].fault) == (name, fault)
    if fault:
        report, _ = convert(folder, entry("a.png", regions), BY_NAME)
        assert report.dropped_by_reason() == {fault: 1}
        assert 'name: "dog"' in (folder / "label_map.pbtxt").read_text()


def test_an_attribute_that_no_region_has_is_refused_with_those_there_are(folder):
    content = entry("a.png", [region(RECT, colour="red", kind="cat")])
    with pytest.raises(ValueError, match=r"no region has an attribute 'name'; there are "
                                         r"\['colour', 'kind'\]. Set --class_attribute"):
        read(folder, content, BY_NAME)
    for settings in ({}, {"class_attribute": "a", "class_name": "b"}):
        with pytest.raises(ValueError, match="either --class_attribute.*or --class_name"):
            create_via_tf_record.ViaSettings(**settings)


def test_images_that_are_missing_or_without_regions(folder):
    content = entry("gone.png", [region(RECT)]) | entry("b.png", []) | entry("a.png", [
        region(RECT)]) | entry("../a.png", [region(RECT)])
    report, examples = convert(folder, content)
    skipped = {item["file"]: item["reason"] for item in report.skipped_images}
    assert sorted(skipped) == ["../a.png", "b.png", "gone.png"]
    assert "no image 'gone.png'" in skipped["gone.png"]
    assert "unsafe file name" in skipped["../a.png"]
    assert skipped["b.png"] == "no region is annotated"
    assert "1 of 4 images have no region" in report.warnings[0]
    assert len(examples) == 1
    report, examples = convert(folder, content, create_via_tf_record.ViaSettings(
        class_name="balloon", include_empty_images=True))
    assert report.images_without_objects == 1 and len(examples) == 2 and not report.warnings


@pytest.mark.parametrize("content, message", [
    ("{", "not JSON"), ("[]", "no VIA annotations"), ({}, "no VIA annotations"),
    ({"images": [], "annotations": []}, "entry 'images' has no 'filename'"),
    ({"region": {}, "file": {}}, "attribute definitions"),
    ({"a": {"filename": "a.png", "regions": 3}}, "neither a list nor an object"),
    ({"a": {"filename": "a.png", "regions": [{"box": 1}]}}, "region 0 has no 'shape_attributes'")])
def test_files_that_are_not_via(folder, content, message):
    with pytest.raises(ValueError, match=message):
        read(folder, content)


@pytest.mark.parametrize("name, objects", [
    ("via_region_data.json", 12), ("car-damage-val.json", 12), ("via_region_data.csv", 12),
    ("val_multiclass.json", 24)])
def test_car_damage_with_blank_images(tmp_path, name, objects):
    data = shared_files.require("data/car_damage_via_annotations/val")
    found = create_via_tf_record.read_via(str(data / name), str(tmp_path), BY_NAME)
    for image in found.images:
        PIL.Image.new("L", (1024, 1024)).save(tmp_path / image.filename)
    found = create_via_tf_record.read_via(str(data / name), str(tmp_path), BY_NAME)
    report = record_writer.write_records(found.images, record_writer.WriterSettings(
        str(tmp_path / "val.record"), include_masks=True))
    assert (report.images_written, report.objects_written) == (8, objects)
    assert not report.dropped_objects and not report.skipped_images
    examples = reading.examples(tmp_path / "val.record")
    for box_side, axis, edge in (("ymin", 1, 0), ("xmax", 0, 1)):
        for example in examples:
            for side, mask in zip(reading.values(example, f"image/object/bbox/{box_side}"),
                                  masks_of(example)):
                lines = np.nonzero(mask.any(axis=axis))[0]
                assert abs(side * 1024 - (lines[-1] + 1 if edge else lines[0])) <= 2
