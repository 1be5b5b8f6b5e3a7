"""The COCO dictionaries and the wrappers over pycocotools."""

import json

import numpy as np
import pytest

from object_detection.metrics import coco_tools

DATASET = {"images": [{"id": "x"}], "categories": [{"id": 1, "name": "cat"}],
           "annotations": [{"id": 1, "image_id": "x", "category_id": 1, "bbox": [0, 0, 10, 10],
                            "area": 100, "iscrowd": 0}]}


def test_wrapper_scores_a_perfect_detection():
    truth = coco_tools.COCOWrapper(DATASET)
    detections = truth.LoadAnnotations([
        {"image_id": "x", "category_id": 1, "bbox": [0, 0, 10, 10], "score": 0.9}])
    scorer = coco_tools.COCOEvalWrapper(truth, detections, agnostic_mode=False)
    summary, per_category = scorer.ComputeMetrics()
    assert summary["Precision/mAP"] == pytest.approx(1.0)
    assert per_category == {}
    assert scorer.GetCategoryIdList() == [1]
    assert scorer.GetCategory(1)["name"] == "cat"


def test_agnostic_mode_has_no_scores_per_category():
    truth = coco_tools.COCOWrapper(DATASET)
    scorer = coco_tools.COCOEvalWrapper(truth, truth.LoadAnnotations([]), agnostic_mode=True)
    with pytest.raises(ValueError, match="agnostic"):
        scorer.ComputeMetrics(include_metrics_per_category=True)


def test_detection_of_an_unknown_image_is_an_error():
    with pytest.raises(ValueError, match="not in the ground truth"):
        coco_tools.COCOWrapper(DATASET).LoadAnnotations([
            {"image_id": "y", "category_id": 1, "bbox": [0, 0, 1, 1], "score": 1.0}])


def test_ground_truth_of_one_image():
    rows = coco_tools.ExportSingleImageGroundtruthToCoco(
        "x", 5, {1, 2}, np.array([[1, 2, 4, 8], [0, 0, 1, 1]]), np.array([2, 9]))
    assert rows == [{"id": 5, "image_id": "x", "category_id": 2, "bbox": [2, 1, 6, 3],
                     "area": 18, "iscrowd": 0}]  # class 9 is no category


def test_rows_that_disagree_name_the_image():
    with pytest.raises(ValueError, match="image 'x': 1 objects, but classes has 2"):
        coco_tools.ExportSingleImageGroundtruthToCoco(
            "x", 1, {1}, np.zeros([1, 4]), np.array([1, 1]))


def test_export_of_several_images_writes_json(tmp_path):
    path = tmp_path / "out.json"
    results = coco_tools.ExportDetectionsToCOCO(
        ["a", "b"], [np.array([[0, 0, 2, 2]]), np.zeros([0, 4])], [np.array([0.5]), np.zeros(0)],
        [np.array([1]), np.zeros(0)], DATASET["categories"], str(path))
    assert json.loads(path.read_text()) == results
    assert [row["image_id"] for row in results] == ["a"]


def test_mask_encoding_round_trip_and_bad_values():
    encoded = coco_tools.EncodeMask(np.eye(3, dtype=np.uint8))
    assert encoded["size"] == [3, 3]
    assert coco_tools.coco_mask.decode(encoded).tolist() == np.eye(3).tolist()
    with pytest.raises(ValueError, match="0 or 1"):
        coco_tools.EncodeMask(np.full([2, 2], 255, np.uint8))
