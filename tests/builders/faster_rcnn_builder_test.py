"""Parts that follow from the family of the network."""

import golden_tf2
import numpy as np
import pytest
import tensorflow as tf

from object_detection.builders import faster_rcnn_builder
from object_detection.nets.variable_store import VariableStore
from object_detection.predictors.heads import mask_head
from object_detection.protos import hyperparams_pb2


def config_of(kind):
    config = golden_tf2.pipeline("mask_rcnn_resnet50_keras").model.faster_rcnn
    config.feature_extractor.type = kind
    config.ClearField("original_faults")
    return config


@pytest.mark.parametrize("activation", ["RELU", "NONE"])
def test_activation_behind_the_first_rpn_convolution_is_always_relu6(activation):
    config = config_of("faster_rcnn_resnet50")
    config.first_stage_box_predictor_conv_hyperparams.activation = (
        hyperparams_pb2.Hyperparams.Activation.Value(activation))
    rpn = faster_rcnn_builder.build(config, is_training=False)._first.rpn
    store = VariableStore()
    features = rpn.predict(store, [tf.zeros([1, 1, 1, 1])], 16, 16).features[0]
    assert features.shape == [1, 1, 1, 512]
    store.by_name["Conv/biases"].assign([-1.0, 7.0] * 256)
    features = rpn.predict(store, [tf.zeros([1, 1, 1, 1])], 16, 16).features[0]
    assert np.unique(features).tolist() == [0.0, 6.0]


@pytest.mark.parametrize("kind,layout", [
    ("faster_rcnn_resnet50", mask_head.SLIM_LAYOUT),
    ("faster_rcnn_resnet50_keras", mask_head.KERAS_LAYOUT),
    ("faster_rcnn_inception_resnet_v2_keras", mask_head.KERAS_LAYOUT)])
def test_heads_have_the_layers_of_the_family(kind, layout):
    model = faster_rcnn_builder.build(config_of(kind), is_training=False)
    assert model._second.predictor.mask_head.layout is layout


@pytest.mark.parametrize("faulty,regularized", [(True, False), (False, True)])
def test_regularizer_of_dense_heads_on_a_keras_network(faulty, regularized):
    config = config_of("faster_rcnn_resnet50_keras")
    config.original_faults.dense_heads_ignore_hyperparams = faulty
    model = faster_rcnn_builder.build(config, is_training=True)
    assert (model._second.predictor.hyperparams.regularizer is not None) == regularized
