"""Layer settings from text protos."""

import numpy as np
import pytest
import tensorflow as tf
from google.protobuf import text_format

from object_detection.builders import hyperparams_builder
from object_detection.nets import slim_layers as layers
from object_detection.nets.variable_store import VariableStore
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


@pytest.mark.parametrize("name, at_minus_one, at_nine", [
    ("NONE", -1.0, 9.0), ("RELU", 0.0, 9.0), ("RELU_6", 0.0, 6.0),
    ("SWISH", -1 / (1 + np.e), 9 / (1 + np.exp(-9.0)))])
def test_activations(name, at_minus_one, at_nine):
    activation = build(f"{NORMAL} activation: {name}").activation or tf.identity
    np.testing.assert_allclose(activation(tf.constant([-1.0, 9.0])), [at_minus_one, at_nine],
                               rtol=1e-6)


def layer(text, is_training=True, depth=64):
    """Returns the output of a 1x1 convolution with these settings, and its variables."""
    store = VariableStore()
    image = tf.random.stateless_normal([2, 3, 3, 4], seed=[1, 2])
    with store.scope("n"), build(text, is_training).arg_scope():
        return layers.conv2d(image, depth, 1, scope="c"), store


def test_group_norm_normalizes_groups_of_each_image():
    got, store = layer(NORMAL + "activation: NONE group_norm {}")
    assert list(store.by_name) == ["n/c/weights", "n/c/GroupNorm/gamma", "n/c/GroupNorm/beta"]
    groups = np.reshape(got, [2, 9, 32, 2])  # 32 groups of 2 channels
    np.testing.assert_allclose(groups.mean(axis=(1, 3)), 0.0, atol=1e-5)
    np.testing.assert_allclose(groups.std(axis=(1, 3)), 1.0, atol=1e-3)
    with pytest.raises(ValueError, match="48 channels cannot be shared out among 32 groups"):
        layer(NORMAL + "group_norm {}", depth=48)


@pytest.mark.parametrize("kind", ["batch_norm", "sync_batch_norm"])
def test_batch_norm_over_one_device(kind):
    got, _ = layer(f"{NORMAL} activation: NONE {kind} {{}}")
    np.testing.assert_allclose(np.mean(got, axis=(0, 1, 2)), 0.0, atol=1e-5)


@pytest.mark.parametrize("normalizer", ["group_norm {}", "batch_norm {}", "sync_batch_norm {}", ""])
def test_biases_beside_a_normalizer(normalizer):
    _, store = layer(f"{NORMAL} {normalizer} force_use_bias: true")
    assert "n/c/biases" in store.by_name
    _, store = layer(f"{NORMAL} {normalizer}")
    assert ("n/c/biases" in store.by_name) == (not normalizer)


@pytest.mark.parametrize("wanted, expected", [("true", 2.0), ("false", 1.0)])
def test_depthwise_kernels_are_regularized_on_request(wanted, expected):
    store = VariableStore()
    settings = build("initializer { random_normal_initializer { mean: 1 stddev: 0 } } "
                     f"regularizer {{ l2_regularizer {{}} }} regularize_depthwise: {wanted}")
    with store.scope("n"), settings.arg_scope():
        layers.separable_conv2d(tf.zeros([1, 1, 1, 2]), 1, 1, scope="s")
    # Half of the squares: 2 depthwise weights of 1, and 2 pointwise ones.
    np.testing.assert_allclose(sum(store.regularization_losses()), expected)


@pytest.mark.parametrize("text,message", [
    ("", "initializer: set one of"),
    ('initializer { keras_initializer_by_name: "nonsense" }', "no initializer 'nonsense'")])
def test_what_cannot_be_built_is_named(text, message):
    with pytest.raises(ValueError, match=message):
        build(text)


def test_size_scaled_regularizer_is_the_mean_of_squares_of_weights_and_biases():
    got = build(NORMAL + "regularizer { size_scaled_l2_regularizer { weight: 0.5 } }")
    for regularizer in (got.regularizer, got.biases_regularizer):
        # 0.5 * (1 + 9) / 2 numbers.
        np.testing.assert_allclose(regularizer(tf.constant([1.0, 3.0])), 2.5)
    off = build(NORMAL + "regularizer { size_scaled_l2_regularizer { weight: 0 } }")
    assert off.regularizer is None and off.biases_regularizer is None
    plain = build(NORMAL + "regularizer { l2_regularizer { weight: 0.5 } }")
    assert plain.biases_regularizer is None  # the usual penalty leaves biases alone
