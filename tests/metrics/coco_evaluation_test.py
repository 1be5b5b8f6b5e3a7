"""COCO scores worked out by hand, and the sets that have nothing to score."""

import json

import numpy as np
import pytest

from object_detection.metrics import coco_evaluation, coco_tools

CATEGORIES = [{"id": 1, "name": "cat"}, {"id": 2, "name": "dog"}, {"id": 3, "name": "owl"}]


def truth(boxes, classes, **extra):
    return {"groundtruth_boxes": np.array(boxes, np.float32).reshape(-1, 4),
            "groundtruth_classes": np.array(classes, np.int64), **extra}


def found(boxes, scores, classes, **extra):
    return {"detection_boxes": np.array(boxes, np.float32).reshape(-1, 4),
            "detection_scores": np.array(scores, np.float32),
            "detection_classes": np.array(classes, np.int64), **extra}


def evaluator_with_two_images(**options):
    evaluator = coco_evaluation.CocoDetectionEvaluator(CATEGORIES, **options)
    evaluator.add_single_ground_truth_image_info("a", truth([[0, 0, 100, 100]], [1]))
    evaluator.add_single_detected_image_info("a", found([[0, 0, 100, 100]], [0.9], [1]))
    evaluator.add_single_ground_truth_image_info(7, truth([[0, 0, 100, 100]], [2]))
    # Overlap 80/100 = 0.8: right at the 7 thresholds .50 to .80, wrong at the other 3.
    evaluator.add_single_detected_image_info(7, found([[0, 0, 80, 100]], [0.8], [2]))
    return evaluator


def test_scores_of_two_classes():
    metrics = evaluator_with_two_images().evaluate()
    assert metrics["DetectionBoxes_Precision/mAP"] == pytest.approx((1.0 + 0.7) / 2)
    assert metrics["DetectionBoxes_Precision/mAP@.50IOU"] == pytest.approx(1.0)
    assert metrics["DetectionBoxes_Precision/mAP (large)"] == pytest.approx(0.85)
    assert metrics["DetectionBoxes_Precision/mAP (small)"] == coco_tools.NO_GROUND_TRUTH
    assert metrics["DetectionBoxes_Recall/AR@100"] == pytest.approx(0.85)
    assert len(metrics) == 12


def test_scores_per_category_leave_out_the_class_without_objects():
    evaluator = evaluator_with_two_images(
        include_metrics_per_category=True, super_categories={"pets": ["cat", "dog", "owl"]})
    metrics = evaluator.evaluate()
    prefix = "DetectionBoxes_PerformanceByCategory/mAP/"
    assert metrics[prefix + "cat"] == pytest.approx(1.0)
    assert metrics[prefix + "dog"] == pytest.approx(0.7)
    assert metrics[prefix + "owl"] == coco_tools.NO_GROUND_TRUTH
    assert metrics["DetectionBoxes_PerformanceBySuperCategory/pets"] == pytest.approx(0.85)
    owl = next(line for line in evaluator.report().splitlines() if line.split()[:1] == ["owl"])
    assert owl.endswith("no ground truth")


def test_all_metrics_per_category_adds_twelve_per_class():
    metrics = evaluator_with_two_images(all_metrics_per_category=True).evaluate()
    assert metrics["DetectionBoxes_Precision mAP@.75IOU ByCategory/dog"] == pytest.approx(1.0)
    assert len(metrics) == 12 + 3 + 36


def test_a_set_without_objects_says_so():
    evaluator = coco_evaluation.CocoDetectionEvaluator(CATEGORIES)
    evaluator.add_single_ground_truth_image_info("a", truth([], []))
    evaluator.add_single_detected_image_info("a", found([[0, 0, 9, 9]], [0.9], [1]))
    assert evaluator.evaluate()["DetectionBoxes_Precision/mAP"] == coco_tools.NO_GROUND_TRUTH
    assert "no ground truth" in evaluator.report()
    assert "-1" not in evaluator.report()


def test_no_images_is_an_error():
    with pytest.raises(ValueError, match="no image was added"):
        coco_evaluation.CocoDetectionEvaluator(CATEGORIES).evaluate()


def test_no_detections_at_all_score_zero():
    evaluator = coco_evaluation.CocoDetectionEvaluator(CATEGORIES)
    evaluator.add_single_ground_truth_image_info("a", truth([[0, 0, 10, 10]], [1]))
    evaluator.add_single_detected_image_info("a", found([], [], []))
    assert evaluator.evaluate()["DetectionBoxes_Precision/mAP"] == 0.0


def test_a_repeated_image_is_scored_once():
    evaluator = evaluator_with_two_images()
    evaluator.add_single_ground_truth_image_info("a", truth([[0, 0, 50, 50]], [1]))
    evaluator.add_single_detected_image_info("a", found([[0, 0, 50, 50]], [0.9], [1]))
    assert evaluator.evaluate()["DetectionBoxes_Precision/mAP"] == pytest.approx(0.85)
    assert "2 images, 2 objects, 2 detections" in evaluator.report()


def test_detections_in_a_crowd_are_no_false_positives():
    evaluator = coco_evaluation.CocoDetectionEvaluator(CATEGORIES)
    evaluator.add_single_ground_truth_image_info("a", truth(
        [[0, 0, 100, 100], [200, 200, 400, 400]], [1, 1],
        groundtruth_is_crowd=np.array([False, True])))
    evaluator.add_single_detected_image_info("a", found(
        [[210, 210, 260, 260], [300, 300, 350, 350], [0, 0, 100, 100]], [0.9, 0.8, 0.7],
        [1, 1, 1]))
    assert evaluator.evaluate()["DetectionBoxes_Precision/mAP"] == pytest.approx(1.0)


def test_area_of_the_record_decides_the_size_class():
    evaluator = coco_evaluation.CocoDetectionEvaluator(CATEGORIES)
    evaluator.add_single_ground_truth_image_info("a", truth(
        [[0, 0, 100, 100]], [1], groundtruth_area=np.array([500.0])))  # below 32 * 32
    evaluator.add_single_detected_image_info("a", found([[0, 0, 100, 100]], [0.9], [1]))
    metrics = evaluator.evaluate()
    assert metrics["DetectionBoxes_Precision/mAP (small)"] == pytest.approx(1.0)
    assert metrics["DetectionBoxes_Precision/mAP (large)"] == coco_tools.NO_GROUND_TRUTH


def test_predictions_of_unlabeled_classes_are_skipped():
    evaluator = coco_evaluation.CocoDetectionEvaluator(
        CATEGORIES, skip_predictions_for_unlabeled_class=True)
    evaluator.add_single_ground_truth_image_info("a", truth(
        [[0, 0, 100, 100]], [1], groundtruth_labeled_classes=np.array([2])))
    evaluator.add_single_detected_image_info("a", found(
        [[0, 0, 100, 100]] * 3, [0.9, 0.8, 0.7], [1, 2, 3]))
    evaluator.evaluate()
    assert "2 detections" in evaluator.report()  # class 3 was never looked for in this image


def test_masks():
    mask = np.zeros([2, 20, 20], np.uint8)
    mask[0, :10, :10] = 1
    mask[1, 10:, 10:] = 1
    evaluator = coco_evaluation.CocoMaskEvaluator(CATEGORIES, include_metrics_per_category=True)
    evaluator.add_single_ground_truth_image_info("a", truth(
        [[0, 0, 10, 10], [10, 10, 20, 20]], [1, 2], groundtruth_instance_masks=mask))
    evaluator.add_single_detected_image_info("a", found(
        [[0, 0, 10, 10], [0, 0, 20, 20]], [0.9, 0.8], [1, 2],
        detection_masks=np.stack([mask[0], np.ones([20, 20], np.uint8)])))
    metrics = evaluator.evaluate()
    assert metrics["DetectionMasks_PerformanceByCategory/mAP/cat"] == pytest.approx(1.0)
    assert metrics["DetectionMasks_PerformanceByCategory/mAP/dog"] == 0.0  # overlap 1/4
    assert metrics["DetectionMasks_Precision/mAP"] == pytest.approx(0.5)


def test_masks_wanted_but_absent_names_the_remedy():
    evaluator = coco_evaluation.CocoMaskEvaluator(CATEGORIES)
    with pytest.raises(ValueError, match="load_instance_masks"):
        evaluator.add_single_ground_truth_image_info("a", truth([], []))


@pytest.mark.parametrize("ids, expected", [(["3", "12"], [3, 12]), (["03", "12"], ["03", "12"])])
def test_dumped_detections_keep_the_ids(tmp_path, ids, expected):
    evaluator = coco_evaluation.CocoDetectionEvaluator(CATEGORIES)
    for image_id in ids:
        evaluator.add_single_ground_truth_image_info(image_id, truth([], []))
        evaluator.add_single_detected_image_info(image_id, found([[1, 2, 4, 8]], [0.5], [2]))
    path = tmp_path / "detections.json"
    evaluator.dump_detections_to_json_file(str(path))
    rows = json.loads(path.read_text())
    assert [row["image_id"] for row in rows] == expected
    assert rows[0]["bbox"] == [2, 1, 6, 3]  # x, y, width, height
    assert rows[0]["category_id"] == 2


def test_detections_without_ground_truth_entry_are_an_error():
    evaluator = coco_evaluation.CocoDetectionEvaluator(CATEGORIES)
    with pytest.raises(ValueError, match="add its ground truth first"):
        evaluator.add_single_detected_image_info("a", found([], [], []))
