"""R-FCN's predictor: order of the channels, names of the variables, activations, by hand."""

import numpy as np
import tensorflow as tf

from object_detection.nets.hyperparams import Hyperparams
from object_detection.nets.slim_layers import BatchNorm
from object_detection.nets.variable_store import VariableStore
from object_detection.predictors.rfcn_box_predictor import RfcnBoxPredictor
from object_detection.roi_croppers.position_sensitive import PositionSensitiveCropper

ONES = Hyperparams(tf.ones_initializer())
CROPPER = PositionSensitiveCropper(num_bins=(2, 2), crop_size=(2, 2))
WHOLE = tf.constant([[[0.0, 0.0, 1.0, 1.0]]])


def predict(store, features, boxes=WHOLE, hyperparams=ONES):
    predictor = RfcnBoxPredictor(num_classes=2, hyperparams=hyperparams, num_bins=4, depth=3)
    with store.scope("Second"):
        return predictor.predict_boxes(features, boxes, CROPPER)


def test_regions_vote_on_the_sum_of_the_reduced_channels():
    features = tf.reshape(tf.constant([0.0, 1.0, 2.0, 3.0]), [1, 2, 2, 1])
    head = predict(VariableStore(), features)
    # Mean of the map is 1.5; three reduced channels are added up.
    np.testing.assert_allclose(head.box_encodings, tf.fill([1, 2, 4], 4.5), rtol=1e-6)
    np.testing.assert_allclose(head.class_logits, tf.fill([1, 3], 4.5), rtol=1e-6)


def test_only_the_reduction_is_rectified():
    store = VariableStore()
    assert np.all(predict(store, tf.fill([1, 2, 2, 1], -1.0)).class_logits == 0.0)
    store.by_name["Second/class_predictions/biases"].assign(tf.fill([12], -5.0))
    logits = predict(store, tf.fill([1, 2, 2, 1], -1.0)).class_logits
    np.testing.assert_allclose(logits, tf.fill([1, 3], -5.0), rtol=1e-6)


def test_order_of_the_channels_is_part_then_class_then_code():
    store = VariableStore()
    predict(store, tf.zeros([1, 2, 2, 1]))
    store.by_name["Second/refined_locations/biases"].assign(tf.range(32.0))  # 4 parts, 2 * 4
    store.by_name["Second/class_predictions/biases"].assign(tf.range(12.0))  # 4 parts, 3
    head = predict(store, tf.zeros([1, 2, 2, 1]))
    # Parts start at channels 0, 8, 16, 24 (mean 12) and 0, 3, 6, 9 (mean 4.5).
    np.testing.assert_allclose(head.box_encodings, [[[12, 13, 14, 15], [16, 17, 18, 19]]])
    np.testing.assert_allclose(head.class_logits, [[4.5, 5.5, 6.5]])


def test_names_and_shapes_of_the_variables():
    store = VariableStore()
    predict(store, tf.zeros([1, 2, 2, 5]))
    assert {name: variable.shape.as_list() for name, variable in store.by_name.items()} == {
        "Second/reduce_depth/weights": [1, 1, 5, 3], "Second/reduce_depth/biases": [3],
        "Second/refined_locations/weights": [1, 1, 3, 32],
        "Second/refined_locations/biases": [32],
        "Second/class_predictions/weights": [1, 1, 3, 12],
        "Second/class_predictions/biases": [12]}


def test_batch_norm_is_in_all_three():
    store = VariableStore()
    hyperparams = Hyperparams(tf.ones_initializer(), batch_norm=BatchNorm(is_training=False))
    predict(store, tf.zeros([1, 2, 2, 1]), hyperparams=hyperparams)
    layers = {name.split("/")[1] for name in store.by_name if name.endswith("BatchNorm/beta")}
    assert layers == {"reduce_depth", "refined_locations", "class_predictions"}


def test_no_regions_and_half_precision():
    head = predict(VariableStore(), tf.ones([2, 2, 2, 1], tf.bfloat16), tf.zeros([2, 0, 4]))
    assert head.box_encodings.shape == [0, 2, 4] and head.class_logits.shape == [0, 3]
    assert head.box_encodings.dtype == head.class_logits.dtype == tf.float32
