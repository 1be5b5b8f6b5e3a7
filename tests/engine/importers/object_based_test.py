"""Checkpoints of TF2 programs: read by path, renamed, and gone on from."""

import numpy as np
import pytest
import small_detector
import tensorflow as tf

from object_detection.builders import model_builder
from object_detection.core.optimizers import MomentumOptimizer
from object_detection.engine import checkpoints
from object_detection.engine.importers import object_based, table

SUFFIX = object_based.VALUE_SUFFIX
CONV = "model/_first_stage_box_predictor_first_conv/layer_with_weights-0"


class NamedModel:
    """Two variables with Keras's names, kept where the original keeps them."""

    variables_by_name = {"RPNConv/kernel": tf.Variable([[1.0, 2.0]], name="RPNConv/kernel"),
                         "RPNConv/bias": tf.Variable([0.0, 0.0], name="RPNConv/bias")}

    def object_paths(self):
        return {f"RPNConv/{name}": f"{CONV.removeprefix('model/')}/{name}"
                for name in ("kernel", "bias")}


def write(path, values):
    """Writes tensors under keys of an object-based checkpoint."""
    tensors = {f"{key}{SUFFIX}": _single(value) for key, value in values.items()}
    checkpoints.write(str(path), {"_CHECKPOINTABLE_OBJECT_GRAPH": np.array(b""), **tensors})
    return str(path)


def _single(value):
    array = np.asarray(value)
    return array.astype(np.float32) if array.dtype == np.float64 else array


def test_is_told_from_a_checkpoint_by_name(tmp_path):
    assert object_based.is_object_based(write(tmp_path / "a", {"model/x": 1.0}))
    checkpoints.write(str(tmp_path / "b"), {"x": np.float32(1)})
    assert not object_based.is_object_based(str(tmp_path / "b"))
    assert not object_based.is_object_based(str(tmp_path / "absent"))


def test_tensors_get_the_names_of_the_model(tmp_path):
    path = write(tmp_path / "ckpt-0", {f"{CONV}/kernel": [[3.0, 4.0]], "save_counter": 1,
                                       f"{CONV}/kernel/.OPTIMIZER_SLOT/optimizer/momentum": [1.0],
                                       "feature_extractor/layer_with_weights-0/kernel": [5.0]})
    assert table.kind_of(path) == "object_based"
    values = table.read(path, NamedModel())
    np.testing.assert_array_equal(values["RPNConv/kernel"], [[3.0, 4.0]])
    assert set(values) == {"RPNConv/kernel", "save_counter",
                           "feature_extractor/layer_with_weights-0/kernel"}


def test_a_checkpoint_of_tensorflow_itself_is_read(tmp_path):
    model = model_builder.build(small_detector.config(1), True)
    path = tf.train.Checkpoint(model=model).write(str(tmp_path / "ckpt"))
    name, variable = next(iter(model.variables_by_name.items()))
    saved = variable.numpy()
    variable.assign(saved + 1.0)
    report = table.load(model, path)
    np.testing.assert_array_equal(model.variables_by_name[name], saved)
    assert not report.absent and not report.other_shape


class TestTrainingState:
    """Keras keeps v = momentum * v - rate * gradient; a step after is v = 0.9 v - rate g."""

    def state(self, tmp_path, rate, **more):
        path = write(tmp_path / "ckpt-7", {
            f"{CONV}/kernel": [[3.0, 4.0]], f"{CONV}/bias": [0.5, 0.5], "step": np.int64(7),
            **more})
        return object_based.training_state(path, NamedModel(), lambda step: rate)

    def test_momentum_makes_the_step_that_keras_would(self, tmp_path):
        velocity, rate, gradient = np.float32([[0.2, -0.4]]), 0.1, np.float32([[1.0, 1.0]])
        state = self.state(tmp_path, rate, **{
            f"{CONV}/kernel/.OPTIMIZER_SLOT/optimizer/momentum": velocity})
        np.testing.assert_allclose(state["RPNConv/kernel/Momentum"], [[-2.0, 4.0]], rtol=1e-6)
        assert state["global_step"] == 7
        variable = tf.Variable(state["RPNConv/kernel"], name="RPNConv/kernel")
        optimizer = MomentumOptimizer(0.9)
        optimizer.build([variable])
        optimizer.slots["RPNConv/kernel/Momentum"].assign(state["RPNConv/kernel/Momentum"])
        optimizer.apply([(tf.constant(gradient), variable)], rate)
        np.testing.assert_allclose(variable, [[3.0, 4.0]] + 0.9 * velocity - rate * gradient,
                                   rtol=1e-6)

    def test_at_rate_zero_momentum_starts_anew(self, tmp_path):
        state = self.state(tmp_path, 0.0, **{
            f"{CONV}/kernel/.OPTIMIZER_SLOT/optimizer/momentum": [[1.0, 1.0]]})
        np.testing.assert_array_equal(state["RPNConv/kernel/Momentum"], [[0.0, 0.0]])

    def test_adam_keeps_moments_and_powers(self, tmp_path):
        slot = f"{CONV}/bias/.OPTIMIZER_SLOT/optimizer/"
        state = self.state(tmp_path, 0.1, **{
            f"{slot}m": [1.0, 2.0], f"{slot}v": [3.0, 4.0], "optimizer/iter": np.int64(1),
            "optimizer/beta_1": np.float32(0.5), "optimizer/beta_2": np.float32(0.25)})
        np.testing.assert_array_equal(state["RPNConv/bias/Adam"], [1.0, 2.0])
        np.testing.assert_array_equal(state["RPNConv/bias/Adam_1"], [3.0, 4.0])
        assert state["beta1_power"] == 0.25 and state["beta2_power"] == 0.0625

    def test_rms_and_momentum_together_are_rmsprop(self, tmp_path):
        slot = f"{CONV}/bias/.OPTIMIZER_SLOT/optimizer/"
        state = self.state(tmp_path, 0.1, **{f"{slot}rms": [1.0, 2.0], f"{slot}momentum": [3.0, 4]})
        np.testing.assert_array_equal(state["RPNConv/bias/RMSProp"], [1.0, 2.0])
        np.testing.assert_array_equal(state["RPNConv/bias/RMSProp_1"], [3.0, 4.0])

    def test_weights_alone_are_no_training_to_go_on_from(self, tmp_path):
        path = write(tmp_path / "ckpt-0", {f"{CONV}/kernel": [[3.0, 4.0]]})
        with pytest.raises(checkpoints.CheckpointError, match="no step to go on from"):
            object_based.training_state(path, NamedModel(), lambda step: 0.1)


def test_newest_run_of_a_folder(tmp_path):
    assert object_based.newest_run(str(tmp_path)) is None
    for number in (2, 10):
        write(tmp_path / f"ckpt-{number}", {"step": np.int64(number)})
    assert object_based.newest_run(str(tmp_path)) == f"{tmp_path}/ckpt-10"
