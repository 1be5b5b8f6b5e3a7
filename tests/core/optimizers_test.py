"""Optimizers away from the fixtures: missing gradients, slots in checkpoints, replicas."""

import numpy as np
import pytest
import tensorflow as tf

from object_detection.core import optimizers


def test_momentum_by_hand():
    variable = tf.Variable([1.0, 2.0], name="w")
    optimizer = optimizers.MomentumOptimizer(momentum=0.5)
    optimizer.build([variable])
    for _ in range(2):
        optimizer.apply([(tf.constant([1.0, 0.0]), variable)], 0.1)
    # accumulator 1, then 0.5 + 1; 1 - 0.1 - 0.15
    np.testing.assert_allclose(variable, [0.75, 2.0])
    np.testing.assert_allclose(optimizer.slots["w/Momentum"], [1.5, 0.0])


def test_a_variable_without_gradient_stays():
    first, second = tf.Variable(1.0, name="a"), tf.Variable(1.0, name="b")
    optimizer = optimizers.AdamOptimizer()
    optimizer.build([first, second])
    optimizer.apply([(None, first), (tf.constant(1.0), second)], 0.1)
    assert first.numpy() == 1.0 and second.numpy() < 1.0


def test_errors_say_what_to_do():
    variable = tf.Variable(1.0, name="a")
    optimizer = optimizers.MomentumOptimizer()
    with pytest.raises(ValueError, match="freeze_variables"):
        optimizer.apply([(None, variable)], 0.1)
    with pytest.raises(ValueError, match=r"build\(\) with variable 'a'"):
        optimizer.apply([(tf.constant(1.0), variable)], 0.1)
    with pytest.raises(ValueError, match=r"build\(\)"):
        optimizers.MovingAverage(0.9).update([variable])


def test_slots_come_back_from_a_checkpoint(tmp_path):
    def make():
        variable = tf.Variable(1.0, name="net/w")
        optimizer, average = optimizers.RmsPropOptimizer(), optimizers.MovingAverage(0.5)
        optimizer.build([variable])
        average.build([variable])
        checkpoint = tf.train.Checkpoint(variable=variable, optimizer=optimizer, average=average)
        return variable, optimizer, average, checkpoint

    variable, optimizer, average, checkpoint = make()
    optimizer.apply([(tf.constant(2.0), variable)], 0.1)
    average.update([variable])
    path = checkpoint.write(str(tmp_path / "ckpt"))
    variable2, optimizer2, average2, checkpoint2 = make()
    checkpoint2.read(path).assert_consumed()
    assert sorted(optimizer2.slots) == ["net/w/RMSProp", "net/w/RMSProp_1"]
    for key, slot in optimizer.slots.items():
        assert slot.numpy() == optimizer2.slots[key].numpy() != (1.0 if key[-1] == "p" else 0.0)
    assert average.shadow(variable).numpy() == average2.shadow(variable2).numpy() != 1.0


def test_sparse_gradients_work():
    table = tf.Variable(tf.ones([3, 2]), name="table")
    optimizer = optimizers.MomentumOptimizer(momentum=0.0)
    optimizer.build([table])
    gradient = tf.IndexedSlices(tf.ones([1, 2]), tf.constant([1]), tf.constant([3, 2]))
    optimizer.apply([(gradient, table)], 1.0)
    np.testing.assert_allclose(table, [[1, 1], [0, 0], [1, 1]])


@pytest.mark.parametrize("compiled", [False, True])
def test_runs_in_a_replica_of_a_mirrored_strategy(compiled):
    strategy = tf.distribute.MirroredStrategy(["CPU:0"])
    with strategy.scope():
        variable = tf.Variable(1.0, name="w")
        optimizer, average = optimizers.AdamOptimizer(), optimizers.MovingAverage(0.5)
        optimizer.build([variable])
        average.build([variable])

    @tf.function(jit_compile=compiled)
    def step():
        def replica():
            optimizer.apply([(tf.constant(3.0), variable)], 0.1)
            average.update([variable])
        strategy.run(replica)

    step()
    np.testing.assert_allclose(variable.numpy(), 0.9, atol=1e-6)  # the first Adam step is the rate
    np.testing.assert_allclose(average.shadow(variable).numpy(), 0.95, atol=1e-6)
    np.testing.assert_allclose(optimizer.slots["beta1_power"].numpy(), 0.81)
