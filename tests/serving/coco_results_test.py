import json

import numpy as np
import pytest
from pycocotools import mask as mask_api

from object_detection.serving import coco_results
from object_detection.serving.detector import ImageDetections


def test_rows_are_in_pixels_of_the_image():
    found = ImageDetections(np.array([[0.1, 0.2, 0.5, 0.4]], np.float32),
                            np.array([0.875], np.float32), np.array([3]))
    assert coco_results.rows(found, 139, 100, 200) == [
        {"image_id": 139, "category_id": 3, "bbox": [40.0, 10.0, 40.0, 40.0], "score": 0.875}]


def test_masks_are_run_lengths_of_the_whole_image():
    found = ImageDetections(np.array([[0.0, 0.0, 0.5, 1.0]], np.float32),
                            np.ones([1], np.float32), np.array([1]), np.ones([1, 3, 3]))
    (row,) = coco_results.rows(found, "a", 11, 5)
    # Corners are aligned: rows 0 to 5 of 11 stand at 0 to 0.5.
    np.testing.assert_array_equal(mask_api.decode(row["segmentation"]).sum(axis=1),
                                  [5] * 6 + [0] * 5)
    json.dumps(row)


def test_no_detections_give_no_rows():
    empty = ImageDetections(np.zeros([0, 4]), np.zeros([0]), np.zeros([0], int))
    assert coco_results.rows(empty, 1, 10, 10) == []


@pytest.mark.parametrize("paths, expected", [
    (["x/000139.jpg", "x/7.png"], [139, 7]), (["x/a.jpg", "x/7.png"], ["a", "7"]),
    (["a.jpg", "a.png"], ["a.jpg", "a.png"]), (["1.jpg", "01.jpg"], ["1", "01"]),
    (["x/a.jpg", "y/a.jpg"], ["x/a.jpg", "y/a.jpg"]), ([], [])])
def test_ids_from_names_tell_all_files_apart(paths, expected):
    assert coco_results.ids_from_names(paths) == dict(zip(paths, expected))


def annotations(folder, entries):
    path = folder / "instances.json"
    path.write_text(json.dumps({"images": entries}))
    return str(path)


def test_ids_from_annotations(tmp_path):
    path = annotations(tmp_path, [{"id": 5, "file_name": "a.jpg"},
                                  {"id": 6, "file_name": "val/b.jpg"}])
    paths = ["data/a.jpg", "data/val/b.jpg", "elsewhere/b.jpg", "data/c.jpg"]
    assert coco_results.ids_from_annotations(paths, path) == {
        "data/a.jpg": 5, "data/val/b.jpg": 6, "elsewhere/b.jpg": 6}


def test_the_same_name_in_two_folders_is_told_apart_by_the_folder(tmp_path):
    path = annotations(tmp_path, [{"id": 5, "file_name": "x/a.jpg"},
                                  {"id": 6, "file_name": "y/a.jpg"}])
    assert coco_results.ids_from_annotations(["d/y/a.jpg", "a.jpg"], path) == {"d/y/a.jpg": 6}


@pytest.mark.parametrize("text, message", [
    ("{", "not a COCO annotation file"), ("[]", "not a COCO annotation file"),
    ('{"images": [{"id": 1}]}', "not a COCO annotation file"),
    ('{"images": []}', "knows none of the 1 images")])
def test_bad_annotation_files(tmp_path, text, message):
    (tmp_path / "a.json").write_text(text)
    with pytest.raises(ValueError, match=message):
        coco_results.ids_from_annotations(["a.jpg"], str(tmp_path / "a.json"))
    with pytest.raises(ValueError, match="cannot be read"):
        coco_results.ids_from_annotations(["a.jpg"], str(tmp_path / "absent.json"))


def test_a_results_file_is_replaced_whole(tmp_path):
    path = tmp_path / "detections.json"
    path.write_text("old")
    with pytest.raises(TypeError):
        coco_results.write(str(path), [{"image_id": object()}])
    assert path.read_text() == "old"
    coco_results.write(str(path), [{"image_id": 1}])
    assert json.loads(path.read_text()) == [{"image_id": 1}]
