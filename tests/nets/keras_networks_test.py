"""Keras backbones: names, shapes and order of layers, maps against the original."""

import golden
import golden_tf2
import numpy as np
import pytest
import tensorflow as tf

from object_detection.builders import feature_extractor_builder
from object_detection.core.feature_extractor import FIRST_STAGE_SCOPE, SECOND_STAGE_SCOPE
from object_detection.nets import keras_names, resnet_keras
from object_detection.nets import slim_layers as layers
from object_detection.nets.hyperparams import Hyperparams
from object_detection.nets.variable_store import VariableStore

RESNET = "faster_rcnn_resnet50_keras"
INCEPTION = "mask_rcnn_inception_resnet_v2_keras"


def extractor_of(case):
    config = golden_tf2.pipeline(case).model.faster_rcnn.feature_extractor
    return feature_extractor_builder.build(config, is_training=False)


def fill(extractor, variables):
    value = golden_tf2.deterministic_value()
    for canonical, variable in variables.items():
        name = extractor.variable_name(canonical)
        variable.assign(value(keys_of(extractor, [name])[name], variable.shape.as_list()))


def keys_of(extractor, names):
    paths = extractor.object_paths(names, dropout=False)
    return {name: f"model/{path}" for name, path in paths.items()}


@pytest.mark.parametrize("case", [RESNET, pytest.param(INCEPTION, marks=pytest.mark.slow)])
def test_maps_equal_the_original(case):
    _, expected = golden_tf2.load(case)
    extractor = extractor_of(case)
    golden.check_map(extractor, expected, lambda variables: fill(extractor, variables))


def run_in(scope, function, value):
    store = VariableStore()
    with store.scope(scope):
        function(value)
    return store


@pytest.mark.parametrize("case", [RESNET, pytest.param(INCEPTION, marks=pytest.mark.slow)])
def test_names_and_shapes_equal_the_original(case):
    extractor = extractor_of(case)
    depth = 1024 if case == RESNET else 1088
    stores = (run_in(FIRST_STAGE_SCOPE, extractor.feature_maps, tf.zeros([1, 33, 33, 3])),
              run_in(SECOND_STAGE_SCOPE, extractor.box_features, tf.zeros([1, 2, 2, depth])))
    named = {extractor.variable_name(name): variable
             for store in stores for name, variable in store.by_name.items()}
    keys = keys_of(extractor, named)
    got = {keys[name]: (name, variable.shape.as_list(), variable.trainable)
           for name, variable in named.items()}
    assert got == {key: value for key, value in golden_tf2.variables(case).items()
                   if key.startswith((f"model/{keras_names.FIRST_EXTRACTOR}",
                                      f"model/{keras_names.SECOND_EXTRACTOR}"))}


def settings(batch_norm, activation=tf.nn.relu):
    return Hyperparams(tf.ones_initializer(), activation, batch_norm)


@pytest.mark.parametrize("side", [64, 65])
def test_strides_and_depths_of_the_stages(side):
    with VariableStore().scope():
        maps = resnet_keras.maps(tf.zeros([1, side, side, 3]), 50, settings(None))
    expected = [[1, -(-side // stride), -(-side // stride), 64 * stride]
                for stride in (4, 8, 16, 32)]
    assert [features.shape.as_list() for features in maps] == expected


def test_a_stage_takes_every_other_pixel():
    store = VariableStore()
    norm = layers.BatchNorm(is_training=False, scale=True)
    image = tf.random.stateless_uniform([1, 4, 4, 256], [1, 2])

    def run(features):
        with store.scope():
            return resnet_keras.stage(features, 3, 50, settings(norm))

    run(image)
    changed = image + tf.reshape(tf.constant([0.0, 1.0] * 2), [1, 1, 4, 1])
    # columns 1 and 3 lie between the samples of the first 1x1 convolution and of the shortcut
    np.testing.assert_array_equal(run(image), run(changed))


def test_biases_activation_and_epsilon_come_from_the_settings():
    store = VariableStore()
    norm = layers.BatchNorm(is_training=False, epsilon=3.0, scale=True, biased=True)
    with store.scope():
        net = resnet_keras.stem(tf.zeros([1, 32, 32, 3]), settings(norm, activation=None))
        assert np.unique(net).tolist() == [0.0]
        store.by_name["conv1/biases"].assign(tf.fill([64], -4.0))
        net = resnet_keras.stem(tf.zeros([1, 32, 32, 3]), settings(norm, activation=None))
    assert np.unique(net).tolist() == [-2.0]  # -4 / sqrt(1 + 3), and no ReLU
    assert list(store.by_name)[:4] == ["conv1/weights", "conv1/biases", "conv1/BatchNorm/gamma",
                                       "conv1/BatchNorm/beta"]


@pytest.mark.parametrize("side", [1, 4, 17])
def test_second_stages_halve_the_crops(side):
    half = -(-side // 2)
    with VariableStore().scope():
        resnet = extractor_of(RESNET).box_features(tf.zeros([2, side, side, 1024]))
    assert resnet.shape == [2, half, half, 2048]


def test_stride_8_serves_both_stages_of_inception_resnet():
    # The original's second stage fails at this stride.
    config = golden_tf2.pipeline(INCEPTION).model.faster_rcnn.feature_extractor
    config.first_stage_features_stride = 8
    extractor = feature_extractor_builder.build(config, is_training=False)

    def run(crops):
        return tf.function(extractor.box_features).get_concrete_function(crops).output_shapes

    with VariableStore().scope(SECOND_STAGE_SCOPE):
        assert run(tf.TensorSpec([2, 17, 17, 1088])) == [2, 9, 9, 1536]


def test_keras_resnet_has_stride_16_only():
    config = golden_tf2.pipeline(RESNET).model.faster_rcnn.feature_extractor
    config.first_stage_features_stride = 8
    with pytest.raises(ValueError, match="first_stage_features_stride: the Keras ResNet has 16, "
                                         "got 8"):
        feature_extractor_builder.build(config, is_training=False)


def test_weight_decay_of_a_backbone_follows_conv_hyperparams():
    config = golden_tf2.pipeline(RESNET).model.faster_rcnn.feature_extractor
    store = run_in("n", extractor_of(RESNET).box_features, tf.zeros([1, 1, 1, 1024]))
    assert store.regularization_losses() == []
    config.conv_hyperparams.regularizer.l2_regularizer.weight = 0.5
    decayed = feature_extractor_builder.build(config, is_training=True)
    store = run_in("n", decayed.box_features, tf.zeros([1, 1, 1, 1024]))
    assert len(store.regularization_losses()) == 10  # 3 blocks of 3 convolutions, a shortcut
