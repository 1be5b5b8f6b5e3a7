import dataclasses

import pytest
import tensorflow as tf

from object_detection.nets import slim_layers as layers
from object_detection.nets.hyperparams import Hyperparams
from object_detection.nets.variable_store import VariableStore
from object_detection.predictors.heads.matterport_mask_head import MatterportMaskHead
from object_detection.predictors.matterport_box_predictor import MatterportBoxPredictor

HYPERPARAMS = Hyperparams(
    initializer=layers.GLOROT, regularizer=layers.l2_regularizer(1.0),
    batch_norm=layers.BatchNorm(is_training=False, scale=True, biased=True))


def predictor(num_classes=3):
    return MatterportBoxPredictor(num_classes, HYPERPARAMS, depth=8, mask_head=MatterportMaskHead(
        num_classes, HYPERPARAMS, num_conv_layers=2, conv_depth=4))


def test_shapes_and_names():
    store, subject = VariableStore(), predictor()
    with store.scope():
        head = subject.predict_boxes(tf.ones([5, 7, 7, 6]), training=False)
        masks = subject.predict_masks(tf.ones([2, 14, 14, 6]))
    assert head.box_encodings.shape == [5, 3, 4] and head.class_logits.shape == [5, 4]
    assert masks.shape == [2, 3, 28, 28]
    shapes = {name: v.shape.as_list() for name, v in store.by_name.items()}
    assert shapes["mrcnn_class_conv1/weights"] == [7, 7, 6, 8]
    assert shapes["mrcnn_bbox_fc/weights"] == [8, 16]  # a box for background, too
    assert shapes["mrcnn_mask/weights"] == [1, 1, 4, 4]
    assert shapes["mrcnn_mask_deconv/weights"] == [2, 2, 4, 4]
    assert {name for name in shapes if name.startswith("mrcnn_mask_conv")} >= {
        "mrcnn_mask_conv1/BatchNorm/gamma", "mrcnn_mask_conv2/biases"}


def test_background_s_box_and_mask_are_left_out():
    store, subject = VariableStore(), predictor()
    with store.scope():
        subject.predict_boxes(tf.ones([1, 7, 7, 6]), training=False)
        subject.predict_masks(tf.ones([1, 2, 2, 6]))
        store.by_name["mrcnn_bbox_fc/weights"].assign(tf.zeros([8, 16]))
        store.by_name["mrcnn_bbox_fc/biases"].assign(tf.range(16.0))
        store.by_name["mrcnn_mask/weights"].assign(tf.zeros([1, 1, 4, 4]))
        store.by_name["mrcnn_mask/biases"].assign(tf.range(4.0))
        head = subject.predict_boxes(tf.ones([1, 7, 7, 6]), training=False)
        masks = subject.predict_masks(tf.ones([1, 2, 2, 6]))
    assert head.box_encodings.numpy().ravel().tolist() == list(range(4, 16))
    assert masks.numpy()[0, :, 0, 0].tolist() == [1.0, 2.0, 3.0]


def test_without_a_mask_head():
    with pytest.raises(ValueError, match="predict_instance_masks"):
        dataclasses.replace(predictor(), mask_head=None).predict_masks(tf.zeros([0, 7, 7, 6]))
