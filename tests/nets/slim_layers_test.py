"""Layers against values worked out by hand."""

import numpy as np
import pytest
import tensorflow as tf

from object_detection.nets import slim_layers as layers
from object_detection.nets.variable_store import VariableStore

ONES = tf.ones_initializer()


def test_conv2d_adds_biases_then_activates():
    store = VariableStore()
    image = tf.constant([1.0, -3.0], shape=[1, 1, 2, 1])
    with store.scope("n"):
        got = layers.conv2d(image, 1, 1, weights_initializer=ONES,
                            biases_initializer=tf.constant_initializer(1.0), scope="c")
    assert np.ravel(got).tolist() == [2.0, 0.0]  # 1 + 1; relu(-3 + 1)
    assert list(store.by_name) == ["n/c/weights", "n/c/biases"]


def test_a_frozen_batch_norm_folds_into_the_kernel():
    store = VariableStore()
    norm = layers.BatchNorm(is_training=False, epsilon=0.0, scale=True)

    def run(x):
        with store.scope("n"):
            return layers.conv2d(x, 1, 1, normalizer=norm, activation_fn=None,
                                 weights_initializer=ONES, scope="c")

    image = tf.constant([1.0, 5.0], shape=[1, 1, 2, 1])
    run(image)
    values = {"gamma": 3.0, "beta": 0.5, "moving_mean": 1.0, "moving_variance": 4.0}
    for name, value in values.items():
        store.by_name[f"n/c/BatchNorm/{name}"].assign([value])
    # (x - 1) / 2 * 3 + 0.5
    np.testing.assert_allclose(np.ravel(run(image)), [0.5, 6.5])


def test_gamma_of_a_frozen_batch_norm_still_gets_its_gradient():
    store = VariableStore()
    norm = layers.BatchNorm(is_training=False, epsilon=0.0, scale=True)
    image = tf.constant([1.0, 5.0], shape=[1, 1, 2, 1])
    with tf.GradientTape() as tape, store.scope("n"):
        total = tf.reduce_sum(layers.conv2d(image, 1, 1, normalizer=norm, activation_fn=None,
                                            weights_initializer=ONES, scope="c"))
    # mean 0 and variance 1: d sum / d gamma = 1 + 5
    assert tape.gradient(total, store.by_name["n/c/BatchNorm/gamma"]).numpy() == [6.0]


def test_a_trained_batch_norm_uses_the_batch_and_moves_the_statistics():
    store = VariableStore()
    norm = layers.BatchNorm(is_training=True, decay=0.9, epsilon=0.0)
    image = tf.constant([0.0, 2.0], shape=[1, 1, 2, 1])
    with store.scope("n"):
        got = layers.conv2d(image, 1, 1, normalizer=norm, activation_fn=None,
                            weights_initializer=ONES, scope="c")
    np.testing.assert_allclose(np.ravel(got), [-1.0, 1.0], atol=1e-5)  # mean 1, deviation 1
    np.testing.assert_allclose(store.by_name["n/c/BatchNorm/moving_mean"], [0.1], atol=1e-6)
    # 0.9 * 1 + 0.1 * 2: of two values 0 and 2 the unbiased variance is 2
    np.testing.assert_allclose(store.by_name["n/c/BatchNorm/moving_variance"], [1.1], atol=1e-6)


def test_a_batch_norm_that_forgets_averages_the_batches_it_has_seen():
    store = VariableStore()
    norm = layers.BatchNorm(is_training=True, decay=0.9, forgets=True)

    def see(image):
        with store.scope("n"):
            layers.conv2d(tf.constant(image, shape=[1, 1, 2, 1]), 1, 1, normalizer=norm,
                          weights_initializer=ONES, scope="c")
        return [store.by_name[f"n/c/BatchNorm/moving_{name}"].numpy()[0]
                for name in ("mean", "variance")]

    # The statistics of the first batch, whatever was there. Its unbiased variance of 2 is
    # corrected once more for the two pixels: 2 / (2 - 1 - epsilon).
    twice = 2.0 / (1.0 - 0.001)
    np.testing.assert_allclose(see([0.0, 2.0]), [1.0, 2.0 * twice], rtol=1e-5)
    # 0.9 * 0.1 * 1 + 0.1 * 5, over 1 - 0.9^2; the same of variances 2 and 18.
    np.testing.assert_allclose(see([2.0, 8.0]), [0.59 / 0.19, 1.98 / 0.19 * twice], rtol=1e-5)


def test_conv2d_same_samples_the_same_pixels_for_odd_and_even_sizes():
    row = tf.reshape(tf.range(1.0, 7.0), [1, 1, 6, 1])
    store = VariableStore()
    with store.scope("n"), layers.arg_scope(
            [layers.conv2d], weights_initializer=ONES, activation_fn=None):
        even = layers.conv2d_same(row, 1, 3, stride=2, scope="c")
        odd = layers.conv2d_same(row[:, :, :5], 1, 3, stride=2, scope="c")
    # centred on pixels 1, 3, 5: (0+1+2), (2+3+4), (4+5+6) and, one pixel shorter, (4+5+0)
    assert np.ravel(even).tolist() == [3.0, 9.0, 15.0]
    assert np.ravel(odd).tolist() == [3.0, 9.0, 9.0]


def test_separable_conv2d_filters_each_channel_then_mixes_them():
    store = VariableStore()
    image = tf.constant([1.0, 10.0], shape=[1, 1, 1, 2])
    with store.scope("n"):
        got = layers.separable_conv2d(image, 1, 1, activation_fn=None, weights_initializer=ONES,
                                      scope="s")
        alone = layers.separable_conv2d(image, None, 1, activation_fn=None,
                                        weights_initializer=ONES, scope="d")
    assert np.ravel(got).tolist() == [11.0]
    assert np.ravel(alone).tolist() == [1.0, 10.0]
    assert list(store.by_name) == ["n/s/depthwise_weights", "n/s/pointwise_weights", "n/s/biases",
                                   "n/d/depthwise_weights", "n/d/biases"]


def test_separable_conv2d_with_two_filters_per_channel():
    store = VariableStore()
    image = tf.constant([1.0, 10.0], shape=[1, 1, 1, 2])
    norm = layers.BatchNorm(is_training=False, epsilon=0.0)

    def run(num_outputs, scope):
        with store.scope("n"):
            return np.ravel(layers.separable_conv2d(
                image, num_outputs, 1, activation_fn=None, normalizer=norm,
                weights_initializer=ONES, depth_multiplier=2, scope=scope)).tolist()

    run(None, "d")
    store.by_name["n/d/depthwise_weights"].assign(tf.reshape([1.0, 2.0, 3.0, 4.0], [1, 1, 2, 2]))
    store.by_name["n/d/BatchNorm/beta"].assign([0.0, 0.0, 0.0, 0.5])
    assert run(None, "d") == [1.0, 2.0, 30.0, 40.5]  # the filters of a channel side by side
    assert run(1, "s") == [22.0]  # 1 + 1 + 10 + 10
    assert store.by_name["n/s/pointwise_weights"].shape == [1, 1, 4, 1]


@pytest.mark.parametrize("rate,expected", [
    (1, [1.5, 2.0, 3.0, 4.0, 4.5]),  # (1+2)/2, (1+2+3)/3, ...
    (2, [2.0, 3.0, 3.0, 3.0, 4.0])])  # (1+3)/2, (2+4)/2, (1+3+5)/3, ...
def test_avg_pool2d_same_leaves_out_what_is_past_the_border(rate, expected):
    row = tf.reshape(tf.range(1.0, 6.0), [1, 1, 5, 1])
    got = layers.avg_pool2d_same(row, 3, rate)
    np.testing.assert_allclose(np.ravel(got), expected, rtol=1e-6)


def test_fully_connected_of_no_rows_is_empty():
    store = VariableStore()
    with store.scope("n"):
        got = layers.fully_connected(tf.zeros([0, 3]), 2, scope="f")
    assert got.shape == [0, 2]


def test_l2_regularizer_is_half_the_squared_sum():
    store = VariableStore()
    with store.scope("n"):
        layers.fully_connected(tf.zeros([1, 2]), 1, weights_initializer=ONES,
                               weights_regularizer=layers.l2_regularizer(0.5), scope="f")
    (loss,) = store.regularization_losses()
    assert loss.numpy() == 0.5  # 0.5 * (1 + 1) / 2


@pytest.mark.parametrize("training,expected", [
    (False, [2.5, 6.5]),  # (x + 1 - 0) / 1 + 0.5
    (True, [-0.5, 1.5])])  # the batch's mean takes the biases off again: (x - 3) / 2 + 0.5
def test_a_biased_batch_norm_keeps_the_biases_of_its_layer(training, expected):
    store = VariableStore()
    norm = layers.BatchNorm(is_training=training, epsilon=0.0, biased=True)
    rows = tf.constant([[1.0], [5.0]])

    def run():
        with store.scope("n"):
            dense = layers.fully_connected(rows, 1, activation_fn=None, normalizer=norm,
                                           weights_initializer=ONES, scope="c")
            return np.ravel(dense)

    run()
    store.by_name["n/c/biases"].assign([1.0])
    store.by_name["n/c/BatchNorm/beta"].assign([0.5])
    store.by_name["n/c/BatchNorm/moving_mean"].assign([0.0])
    store.by_name["n/c/BatchNorm/moving_variance"].assign([1.0])
    np.testing.assert_allclose(run(), expected, atol=1e-5)


def test_a_batch_norm_of_its_own():
    store = VariableStore()
    image = tf.constant([1.0, 5.0], shape=[1, 1, 2, 1])

    def run(is_training):
        norm = layers.BatchNorm(is_training, decay=0.5, epsilon=0.0, scale=True)
        with store.scope("n"):
            return np.ravel(layers.batch_norm(image, norm, scope="c"))

    run(is_training=False)
    for name, value in {"gamma": 3.0, "beta": 0.5, "moving_mean": 1.0,
                        "moving_variance": 4.0}.items():
        store.by_name[f"n/c/BatchNorm/{name}"].assign([value])
    np.testing.assert_allclose(run(is_training=False), [0.5, 6.5])  # (x - 1) / 2 * 3 + 0.5
    np.testing.assert_allclose(run(is_training=True), [-2.5, 3.5], atol=1e-5)  # mean 3, deviation 2
    np.testing.assert_allclose(store.by_name["n/c/BatchNorm/moving_mean"], [2.0])


def test_depthwise_weights_decay_only_on_request():
    image = tf.ones([1, 1, 1, 1])
    for regularizer, count in ((None, 1), (layers.l2_regularizer(1.0), 2)):
        store = VariableStore()
        with store.scope("n"):
            layers.separable_conv2d(image, 1, 1, weights_regularizer=layers.l2_regularizer(1.0),
                                    depthwise_regularizer=regularizer)
        assert len(store.regularization_losses()) == count
