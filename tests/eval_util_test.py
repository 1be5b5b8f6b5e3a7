"""Evaluators by name, and the dictionary of one image."""

import numpy as np
import pytest
import tensorflow as tf

from object_detection import eval_util
from object_detection.metrics import coco_evaluation
from object_detection.protos import eval_pb2

CATEGORIES = [{"id": 1, "name": "cat"}]


def test_boxes_are_the_default():
    evaluators = eval_util.get_evaluators(eval_pb2.EvalConfig(), CATEGORIES)
    assert [type(one) for one in evaluators] == [coco_evaluation.CocoDetectionEvaluator]


def test_options_come_from_the_config():
    config = eval_pb2.EvalConfig(metrics_set=["coco_detection_metrics", "coco_mask_metrics"],
                                 include_metrics_per_category=True)
    config.super_categories["pets"] = "cat, dog"
    options = eval_util.evaluator_options_from_eval_config(config)
    assert options["coco_mask_metrics"]["super_categories"] == {"pets": ["cat", "dog"]}
    assert all(one._per_category for one in eval_util.get_evaluators(config, CATEGORIES))


@pytest.mark.parametrize("name", ["open_images_metrics", "pascal_voc_detection_metrics"])
def test_an_unknown_metric_lists_the_known(name):
    with pytest.raises(ValueError, match=f"{name}.*coco_detection_metrics, coco_mask_metrics"):
        eval_util.get_evaluators(eval_pb2.EvalConfig(metrics_set=[name]), CATEGORIES)


def test_result_of_one_image():
    detections = {"detection_boxes": tf.constant([[[0.0, 0.5, 0.5, 1.0], [0.0] * 4]]),
                  "detection_scores": tf.constant([[0.9, 0.0]]),
                  "detection_classes": tf.constant([[2.0, 0.0]]),
                  "num_detections": tf.constant([1.0])}
    truth = {"groundtruth_boxes": tf.constant([[0.0, 0.0, 1.0, 1.0]]),
             "groundtruth_classes": tf.constant([2])}
    result = eval_util.result_dict_for_single_example(
        tf.zeros([1, 10, 20, 3], tf.uint8), tf.constant("x"), detections, truth,
        scale_to_absolute=True)
    np.testing.assert_allclose(result["detection_boxes"], [[0, 10, 5, 20]])
    assert result["detection_classes"].numpy().tolist() == [3]
    np.testing.assert_allclose(result["groundtruth_boxes"], [[0, 0, 10, 20]])
    agnostic = eval_util.result_dict_for_single_example(
        tf.zeros([1, 10, 20, 3], tf.uint8), tf.constant("x"), detections, truth,
        class_agnostic=True)
    assert agnostic["detection_classes"].numpy().tolist() == [1]
    assert agnostic["groundtruth_classes"].numpy().tolist() == [1]
    np.testing.assert_allclose(agnostic["detection_boxes"], [[0, 0.5, 0.5, 1]])


def test_masks_fill_their_boxes():
    masks = eval_util.full_image_masks(
        tf.ones([2, 3, 3]), tf.constant([[0.0, 0.0, 0.5, 0.5], [0.5, 0.0, 1.0, 1.0]]),
        tf.constant([8, 8]), at_once=1)
    assert masks.dtype == tf.uint8
    assert masks[0, :4, :4].numpy().min() == 1 and masks[0].numpy().sum() == 16
    assert masks[1].numpy().sum() == 32


def test_no_masks_keep_their_size():
    masks = eval_util.full_image_masks(tf.ones([0, 3, 3]), tf.zeros([0, 4]), tf.constant([5, 7]))
    assert masks.shape == [0, 5, 7]
