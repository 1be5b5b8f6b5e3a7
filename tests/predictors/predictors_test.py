"""Predictors: order of the outputs, names of the variables, heads by hand."""

import numpy as np
import pytest
import tensorflow as tf

from object_detection.nets.hyperparams import Hyperparams
from object_detection.nets.variable_store import VariableStore
from object_detection.predictors.convolutional_box_predictor import ConvolutionalBoxPredictor
from object_detection.predictors.heads import mask_head
from object_detection.predictors.heads.box_head import BoxHead
from object_detection.predictors.heads.class_head import ClassHead
from object_detection.predictors.mask_rcnn_box_predictor import MaskRCNNBoxPredictor

ONES = Hyperparams(tf.ones_initializer())


def test_anchors_of_one_cell_lie_together():
    store = VariableStore()
    cells = tf.reshape(tf.constant([1.0, 2.0]), [1, 1, 2, 1])
    with store.scope("RPN"):
        boxes, classes = ConvolutionalBoxPredictor(1, ONES).predict(cells, num_anchors=3)
    assert boxes.shape == [1, 6, 4] and classes.shape == [1, 6, 2]
    np.testing.assert_array_equal(boxes[0, :, 0], [1, 1, 1, 2, 2, 2])
    assert "RPN/BoxEncodingPredictor/weights" in store.by_name


def predictor(**more):
    return MaskRCNNBoxPredictor(ONES, BoxHead(3), ClassHead(3), **more)


def test_boxes_and_classes_see_the_mean_of_a_region():
    store = VariableStore()
    region = tf.reshape(tf.constant([1.0, 3.0]), [1, 1, 2, 1])
    with store.scope("Second"):
        head = predictor().predict_boxes(region, training=False)
    np.testing.assert_array_equal(head.box_encodings, tf.fill([1, 3, 4], 2.0))
    np.testing.assert_array_equal(head.class_logits, tf.fill([1, 4], 2.0))


def test_dropout_works_in_training_only():
    store = VariableStore()
    region = tf.ones([1, 1, 1, 100])
    dropping = predictor(dropout_keep_probability=0.5)
    with store.scope("Second"):
        calm = dropping.predict_boxes(region, training=False).class_logits
        tf.random.set_seed(1)
        shaken = dropping.predict_boxes(region, training=True).class_logits
    assert calm[0, 0].numpy() == 100.0
    assert shaken[0, 0].numpy() != 100.0


def test_masks_without_a_mask_head_are_refused():
    with pytest.raises(ValueError, match="predict_instance_masks: true"):
        predictor().predict_masks(tf.ones([1, 1, 1, 1]))


@pytest.mark.parametrize("later,names", [
    (False, ["Conv", "Conv_1"]), (True, ["Conv", "Conv_1", "Conv_2"])])
def test_mask_head_sizes_and_names(later, names):
    store = VariableStore()
    head = mask_head.MaskHead(3, ONES, mask_height=6, mask_width=6, conv_depth=2,
                              convolve_then_upsample=later)
    with store.scope("Second"):
        masks = head.predict(tf.ones([2, 3, 3, 4]))
    assert masks.shape == [2, 3, 6, 6]
    assert [n.split("/")[1] for n in store.by_name if n.endswith("weights")] == names


def test_automatic_depth():
    # 2^((2 * log2(1024) + 3 * log2(2)) / 5) = 2^(23 / 5), rounded in the exponent: 2^5
    assert mask_head.automatic_depth(1024, 2) == 32
