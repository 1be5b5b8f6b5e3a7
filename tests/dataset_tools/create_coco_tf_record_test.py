import json

import numpy as np
import PIL.Image
import pytest
import reading_records as reading
import shared_files

from object_detection.core.standard_fields import InputDataFields as Fields
from object_detection.dataset_tools import coco_masks, create_coco_tf_record, record_writer

CATEGORIES = [{"id": 2, "name": "cat"}, {"id": 7, "name": "person"}]
SQUARE = [[2, 1, 4, 1, 4, 3, 2, 3]]


def _annotation(number, box, category=2, **fields):
    return {"id": number, "image_id": 5, "category_id": category, "bbox": box, "area": 4.0,
            "iscrowd": 0, "segmentation": SQUARE} | fields


@pytest.fixture
def image_dir(tmp_path):
    PIL.Image.new("RGB", (8, 4)).save(tmp_path / "a.png")
    return tmp_path


def _read(image_dir, annotations, categories=CATEGORIES, file_name="a.png", **fields):
    path = image_dir / "instances.json"
    path.write_text(json.dumps({
        "images": [{"id": 5, "file_name": file_name, "width": 8, "height": 4}],
        "annotations": annotations, "categories": categories} | fields))
    return create_coco_tf_record.read_coco(str(path), str(image_dir))


def _convert(image_dir, coco, **options):
    report = record_writer.write_records(
        coco.images, record_writer.WriterSettings(str(image_dir / "x.record"), **options),
        coco.category_ids, coco.warnings)
    return report, reading.examples(image_dir / "x.record")


def test_an_image_becomes_an_example(image_dir):
    coco = _read(image_dir, [_annotation(1, [2, 1, 2, 2]),
                             _annotation(2, [0, 0, 8, 4], 7, iscrowd=1,
                                         segmentation={"size": [4, 8], "counts": [0, 32]})])
    report, (example,) = _convert(image_dir, coco, include_masks=True)
    assert reading.values(example, "image/source_id") == [b"5"]
    assert reading.values(example, "image/object/class/text") == [b"cat", b"person"]
    assert reading.values(example, "image/object/class/label") == [2, 7]
    assert reading.values(example, "image/object/is_crowd") == [0, 1]
    assert reading.values(example, "image/object/area") == [4, 4]
    np.testing.assert_allclose(reading.values(example, "image/object/bbox/xmin"), [0.25, 0])
    np.testing.assert_allclose(reading.values(example, "image/object/bbox/ymax"), [0.75, 1])
    (item,) = reading.decoded(image_dir / "x.record", load_instance_masks=True,
                              instance_mask_type=2, label_map_proto_file=report.label_map_path)
    expected = np.zeros([2, 4, 8])
    expected[0, 1:3, 2:4] = 1
    expected[1] = 1
    np.testing.assert_array_equal(item[Fields.groundtruth_instance_masks], expected)
    np.testing.assert_array_equal(item[Fields.groundtruth_classes], [2, 7])


def test_objects_without_a_usable_mask_are_left_out_only_if_masks_are_written(image_dir):
    coco = _read(image_dir, [
        _annotation(1, [2, 1, 2, 2], segmentation=[]),
        _annotation(2, [2, 1, 2, 2], segmentation={"size": [4, 8], "counts": [32]}),
        _annotation(3, [2, 1, 2, 2], segmentation={"size": [8, 4], "counts": [32]}),
        _annotation(4, [2, 1, 2, 2])])
    report, _ = _convert(image_dir, coco, include_masks=True)
    assert [(drop["object"], drop["reason"]) for drop in report.dropped_objects] == [
        (0, "no_mask"), (1, "empty_mask"), (2, "mask_size")]
    assert "annotation id 2" in report.dropped_objects[1]["detail"]
    report, _ = _convert(image_dir, coco)
    assert report.objects_written == 4


def test_corners_read_as_sizes_are_suspicious(image_dir):  # BR-05, the other way round
    coco = _read(image_dir, [_annotation(1, [2, 1, 0, 0]), _annotation(2, [2, 1, -1, 3])])
    report, _ = _convert(image_dir, coco)
    assert report.dropped_by_reason() == {"zero_size": 1, "inverted": 1}
    assert "mixed up" in report.warnings[0]


def test_ids_from_zero_are_numbered_anew(image_dir):
    coco = _read(image_dir, [_annotation(1, [2, 1, 2, 2], 0)],
                 [{"id": 0, "name": "cat"}, {"id": 1, "name": "dog"}])
    assert coco.category_ids == {"cat": 1, "dog": 2}
    report, (example,) = _convert(image_dir, coco)
    assert reading.values(example, "image/object/class/label") == [1]
    assert "numbered anew" in report.warnings[0]


def test_unknown_category_and_stray_annotation(image_dir):
    coco = _read(image_dir, [_annotation(1, [2, 1, 2, 2], 9),
                             _annotation(2, [2, 1, 2, 2]) | {"image_id": 6}])
    assert "1 annotation(s) belong to no image" in coco.warnings[0]
    with pytest.raises(ValueError, match="category id 9"):
        _convert(image_dir, coco)


def test_an_image_info_file_has_no_annotations(image_dir):
    path = image_dir / "info.json"
    path.write_text(json.dumps({"images": [{"id": 5, "file_name": "a.png"}],
                                "categories": CATEGORIES}))
    coco = create_coco_tf_record.read_coco(str(path), str(image_dir))
    report, (example,) = _convert(image_dir, coco)
    assert report.images_without_objects == 1


def test_images_outside_the_folder_are_not_read(image_dir):
    report_images = _read(image_dir, [], file_name="../a.png").images
    assert "unsafe file name" in report_images[0].fault
    with pytest.raises(ValueError, match="no image to write.*unsafe"):
        _convert(image_dir, _read(image_dir, [], file_name="../a.png"))


@pytest.mark.parametrize("text, message", [
    ("{", "not JSON"), ("[]", "no COCO annotations"), ('{"images": [{}]}', r"images\[0\] has no"),
    ('{"images": [], "categories": [{"id": 1}]}', "categories"),
    ('{"images": [], "categories": [{"id": 1, "name": "a"}, {"id": 2, "name": "a"}]}',
     "more than once")])
def test_other_json_is_refused(tmp_path, text, message):
    (tmp_path / "x.json").write_text(text)
    with pytest.raises(ValueError, match=f"x.json.*{message}"):
        create_coco_tf_record.read_coco(str(tmp_path / "x.json"), str(tmp_path))


def test_create_tf_example(image_dir):
    image = {"id": 5, "file_name": "a.png", "width": 8, "height": 4}
    index = {item["id"]: item for item in CATEGORIES}
    annotations = [_annotation(1, [2, 1, 2, 2]), _annotation(2, [2, 1, 0, 2], 7)]
    key, example, skipped, *rest = create_coco_tf_record.create_tf_example(
        image, annotations, str(image_dir), index, include_masks=True)
    assert reading.values(example, "image/key/sha256") == [key.encode()]
    assert reading.values(example, "image/object/class/label") == [2]
    assert len(reading.values(example, "image/object/mask")) == 1
    assert (skipped, rest) == (1, [0, 0, 0, 0])
    _, example, *_ = create_coco_tf_record.create_tf_example(
        image, annotations[:1], str(image_dir), index, remove_non_person_images=True)
    assert example is None
    with pytest.raises(ValueError, match="category id 3"):
        create_coco_tf_record.create_tf_example(
            image, [_annotation(1, [2, 1, 2, 2], 3)], str(image_dir), index)


@pytest.mark.parametrize("split, images, objects, crowds", [
    ("train", 26, 181, 1), ("val", 27, 174, 2)])
def test_coco_masks_come_back_pixel_by_pixel(tmp_path, split, images, objects, crowds):
    data = shared_files.require("data/coco_permissive")
    file = data / f"annotations/instances_{split}2017.json"
    coco = create_coco_tf_record.read_coco(str(file), str(data / f"{split}2017"))
    report, _ = _convert(tmp_path, coco, include_masks=True)
    assert (report.images_written, report.objects_written) == (images, objects)
    assert not report.dropped_objects and not report.skipped_images
    content = json.loads(file.read_text())
    panoptic = json.loads((data / f"annotations/panoptic_{split}2017.json").read_text())
    segment_files = {item["image_id"]: item for item in panoptic["annotations"]}
    found = found_crowds = 0
    for item in reading.decoded(tmp_path / "x.record", load_instance_masks=True,
                                instance_mask_type=2):
        image_id = int(item[Fields.source_id])
        annotations = [a for a in content["annotations"] if a["image_id"] == image_id]
        masks = item[Fields.groundtruth_instance_masks]
        assert len(masks) == len(annotations)
        segments = _segment_ids(data / f"annotations/panoptic_{split}2017", segment_files[image_id])
        for mask, annotation in zip(masks, annotations):
            assert mask.sum() == annotation["area"]
            # Panoptic segments do not overlap: the mask is exactly one segment of the PNG file.
            (segment,) = np.unique(segments[mask == 1])
            np.testing.assert_array_equal(mask, segments == segment)
            np.testing.assert_array_equal(mask, coco_masks.decode_segmentation(
                annotation["segmentation"], *mask.shape))
        found += len(masks)
        found_crowds += int(item[Fields.groundtruth_is_crowd].sum())
    assert (found, found_crowds) == (objects, crowds)


def _segment_ids(folder, item):
    pixels = np.asarray(PIL.Image.open(folder / item["file_name"]).convert("RGB"), np.int64)
    return pixels @ [1, 256, 65536]
