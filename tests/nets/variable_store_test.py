"""Variables by name: made once, found again, owned by one store."""

import pytest
import tensorflow as tf

from object_detection.nets.variable_store import VariableStore, variable, variable_scope

ZEROS = tf.zeros_initializer()


def test_a_name_is_created_once_and_found_again():
    store = VariableStore()
    with store.scope("Net"), variable_scope("conv1"):
        first = variable("weights", [2, 3], ZEROS)
        second = variable("weights", [2, 3], ZEROS)
    assert first is second
    assert list(store.by_name) == ["Net/conv1/weights"]


def test_two_stores_share_nothing():
    stores = [VariableStore(), VariableStore()]
    for store in stores:
        with store.scope("Net"):
            variable("weights", [1], ZEROS)
    stores[0].by_name["Net/weights"].assign([5.0])
    assert stores[1].by_name["Net/weights"].numpy() == [0.0]


def test_another_shape_is_refused():
    store = VariableStore()
    store.get("w", [2], ZEROS)
    with pytest.raises(ValueError, match=r"variable w: asked for with shape \[3\].*\[2\]"):
        store.get("w", [3], ZEROS)


def test_a_frozen_store_makes_nothing_new():
    store = VariableStore()
    store.get("w", [2], ZEROS)
    store.freeze()
    store.get("w", [2], ZEROS)
    with pytest.raises(ValueError, match="variable v .* does not exist"):
        store.get("v", [2], ZEROS)


def test_outside_any_scope_there_is_no_store():
    with pytest.raises(ValueError, match="no variable store is current"):
        variable("w", [1], ZEROS)


def test_variables_are_made_outside_the_trace_and_used_inside():
    store = VariableStore()

    @tf.function
    def double(x):
        with store.scope("f"):
            return x * variable("factor", [], tf.constant_initializer(2.0))

    assert double(tf.constant(3.0)).numpy() == 6.0
    store.by_name["f/factor"].assign(5.0)
    assert double(tf.constant(3.0)).numpy() == 15.0


def test_regularization_follows_the_present_value():
    store = VariableStore()
    created = store.get("w", [2], ZEROS, regularizer=lambda w: tf.reduce_sum(w * w))
    created.assign([1.0, 2.0])
    (loss,) = store.regularization_losses()
    assert loss.numpy() == 5.0


def test_statistics_are_not_trainable():
    store = VariableStore()
    store.get("gamma", [1], ZEROS)
    store.get("moving_mean", [1], ZEROS, trainable=False)
    assert [v.name for v in store.trainable_variables] == ["gamma:0"]


def test_a_checkpoint_restores_into_a_store_built_later(tmp_path):
    saved = VariableStore()
    saved.get("Net/conv1/weights", [2], tf.ones_initializer())
    path = tf.train.Checkpoint(model=saved).save(str(tmp_path / "ckpt"))
    later = VariableStore()
    status = tf.train.Checkpoint(model=later).restore(path)
    later.get("Net/conv1/weights", [2], ZEROS)
    status.expect_partial()
    assert later.by_name["Net/conv1/weights"].numpy().tolist() == [1.0, 1.0]
