"""Layer settings from text protos."""

import numpy as np
import pytest
import tensorflow as tf
from google.protobuf import text_format

from object_detection.builders import hyperparams_builder
from object_detection.protos import hyperparams_pb2

NORMAL = "initializer { truncated_normal_initializer { stddev: 0.5 } }"


def build(text, is_training=True):
    return hyperparams_builder.build(
        text_format.Parse(text, hyperparams_pb2.Hyperparams()), is_training)


@pytest.mark.parametrize("text", [
    NORMAL, "initializer { random_normal_initializer { stddev: 0.5 } }",
    "initializer { variance_scaling_initializer {} }",
    'initializer { keras_initializer_by_name: "glorot_uniform" }'])
def test_two_variables_of_one_shape_start_from_different_values(text):
    initializer = build(text).initializer
    first, second = (np.asarray(initializer([4, 4], dtype=tf.float32)) for _ in range(2))
    assert np.abs(first - second).max() > 0


def test_variance_scaling_by_hand():
    values = build("initializer { variance_scaling_initializer "
                   "{ factor: 3.0 uniform: true mode: FAN_IN } }").initializer([300, 200])
    # uniform in +-sqrt(3 * factor / fan_in) = +-sqrt(9 / 300)
    assert 0.16 < np.abs(values).max() <= np.sqrt(0.03)


def test_activation_regularizer_and_batch_norm():
    got = build(NORMAL + "activation: RELU_6 regularizer { l2_regularizer { weight: 0.5 } } "
                "batch_norm { decay: 0.9 epsilon: 0.01 scale: true train: true }")
    assert got.activation(tf.constant(9.0)).numpy() == 6.0
    assert got.regularizer(tf.constant([2.0])).numpy() == 1.0  # 0.5 * 2 * 2 / 2
    assert got.batch_norm.is_training
    assert got.batch_norm.decay == pytest.approx(0.9)
    assert not build(NORMAL + "batch_norm {}", is_training=False).batch_norm.is_training


def test_no_regularizer_and_no_activation():
    got = build(NORMAL + "activation: NONE")
    assert got.activation is None and got.regularizer is None and got.batch_norm is None


@pytest.mark.parametrize("text,message", [
    ("", "initializer: set one of"), (NORMAL + "group_norm {}", "only batch_norm is built"),
    ('initializer { keras_initializer_by_name: "nonsense" }', "no initializer 'nonsense'"),
    (NORMAL + "batch_norm {} force_use_bias: true", "force_use_bias")])
def test_what_cannot_be_built_is_named(text, message):
    with pytest.raises(ValueError, match=message):
        build(text)
