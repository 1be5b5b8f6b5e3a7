"""Batch norm over replicas, and of layers that are not trained at present."""

import numpy as np
import pytest
import tensorflow as tf
from engine import two_devices

from object_detection.nets import slim_layers as layers
from object_detection.nets import training_scope
from object_detection.nets.variable_store import VariableStore

IMAGES = tf.reshape(tf.range(24.0) ** 1.5, [4, 1, 2, 3])


def normalized(store, images, **settings):
    with store.scope("n"):
        return layers.conv2d(images, 3, 1, activation_fn=None, scope="c",
                             weights_initializer=lambda shape, dtype: tf.reshape(
                                 tf.eye(3, dtype=dtype), shape),
                             normalizer=layers.BatchNorm(is_training=True, decay=0.5, scale=True,
                                                         **settings))


def gradient_of(store, images, **settings):
    """Returns outputs and the gradient, by the weights, of a loss that tells images apart."""
    normalized(store, images[:1], **settings)  # variables exist before the tape
    with tf.GradientTape() as tape:
        outputs = normalized(store, images, **settings)
        loss = tf.reduce_sum(outputs * images)
    return outputs, tape.gradient(loss, store.by_name["n/c/weights"])


def test_statistics_of_all_replicas_are_those_of_the_whole_batch():
    strategy = two_devices.strategy()
    alone, shared = VariableStore(), VariableStore()
    alone_outputs, alone_gradient = gradient_of(alone, IMAGES)
    with strategy.scope():
        normalized(shared, IMAGES[:1], sync=True)
    for store in (alone, shared):
        store.by_name["n/c/BatchNorm/moving_mean"].assign(tf.zeros([3]))
        store.by_name["n/c/BatchNorm/moving_variance"].assign(tf.ones([3]))
    normalized(alone, IMAGES)
    halves = strategy.experimental_distribute_values_from_function(
        lambda context: IMAGES[2 * context.replica_id_in_sync_group:][:2])

    @tf.function
    def run():
        def replica(images):
            with tf.GradientTape() as tape:
                outputs = normalized(shared, images, sync=True)
                loss = tf.reduce_sum(outputs * images)
            return outputs, tape.gradient(loss, shared.by_name["n/c/weights"])
        outputs, gradient = strategy.run(replica, args=(halves,))
        return (strategy.gather(outputs, axis=0),
                strategy.reduce(tf.distribute.ReduceOp.SUM, gradient, axis=None))

    outputs, gradient = run()
    np.testing.assert_allclose(outputs, alone_outputs, atol=1e-5)
    np.testing.assert_allclose(gradient, alone_gradient, rtol=1e-3, atol=1e-3)
    for name, variable in alone.by_name.items():
        np.testing.assert_allclose(shared.by_name[name].read_value(), variable.read_value(),
                                   rtol=1e-5, err_msg=name)


@pytest.mark.parametrize("trained, moves", [
    (("n/c/weights",), False), (("n/c/BatchNorm/beta",), True), ((), False)])
def test_a_layer_that_rests_keeps_its_statistics(trained, moves):
    store = VariableStore()
    normalized(store, IMAGES)
    mean = store.by_name["n/c/BatchNorm/moving_mean"]
    before = mean.numpy()
    with training_scope.only([store.by_name[name] for name in trained]):
        outputs = normalized(store, IMAGES)
    assert np.any(mean.numpy() != before) == moves
    # By the moving statistics, half way from 0 and 1 to those of the batch: not centred.
    assert (abs(float(tf.reduce_mean(outputs))) < 1e-4) == moves
    assert not training_scope.is_declared()
