"""Starting from, and going on with, what other programs wrote."""

import h5_files
import numpy as np
import pytest
import tensorflow as tf
from engine import fake_model, pipelines

from object_detection.engine import checkpoints, estimator, fine_tune
from object_detection.engine.run_config import RunConfig

SUFFIX = "/.ATTRIBUTES/VARIABLE_VALUE"
PATHS = fake_model.FakeModel().object_paths()
WEIGHTS = np.full([3, 2], 0.5, np.float32)
BIASES = np.float32([1.0, 2.0])
BOX = np.float32([0.1, 0.1, 0.9, 0.9])


def write_objects(prefix, slots=None, **more):
    """Writes an object-based checkpoint of the fake model; returns its prefix."""
    values = {fake_model.WEIGHTS: WEIGHTS, fake_model.BIASES: BIASES, fake_model.BOX: BOX,
              fake_model.MEAN: np.zeros([3], np.float32)}
    tensors = {f"model/{PATHS[name]}{SUFFIX}": value for name, value in values.items()}
    for name, value in (slots or {}).items():
        tensors[f"model/{PATHS[name]}/.OPTIMIZER_SLOT/optimizer/momentum{SUFFIX}"] = value
    tensors.update({f"{name}{SUFFIX}": value for name, value in more.items()})
    checkpoints.write(prefix, {"_CHECKPOINTABLE_OBJECT_GRAPH": np.array(b""), **tensors})
    return prefix


def test_object_checkpoint(tmp_path):
    write_objects(f"{tmp_path}/ckpt-0")
    prefix = fine_tune.resolve(f"{tmp_path}/ckpt-0")
    model = fake_model.FakeModel()
    report = fine_tune.restore(model, prefix, "detection")
    assert set(report.restored) == {fake_model.WEIGHTS, fake_model.MEAN}
    assert not model.variables_by_name[fake_model.BIASES].numpy().any()
    report = fine_tune.restore(model, prefix, "full")
    assert len(report.restored) == 4
    np.testing.assert_array_equal(model.variables_by_name[fake_model.BIASES], BIASES)


def test_object_checkpoint_of_another_model(tmp_path):
    path = tf.train.Checkpoint(v=tf.Variable(1.0)).write(f"{tmp_path}/ckpt-0")
    with pytest.raises(checkpoints.CheckpointError, match="no variable fits .*: detection"):
        fine_tune.restore(fake_model.FakeModel(), path, "detection")


def test_keras_h5_file(tmp_path):
    path = str(tmp_path / "w.h5")
    h5_files.write(path, [("conv1", "conv1/kernel:0", WEIGHTS.tolist()),
                          ("mrcnn_class_logits", "mrcnn_class_logits/bias:0", [1.0] * 5)])
    model = fake_model.FakeModel()
    kernel, bias = (model._own.pop(name) for name in (fake_model.WEIGHTS, fake_model.BIASES))
    model._own = {"conv1/kernel": kernel, "mrcnn_class_logits/bias": bias}
    report = fine_tune.restore(model, fine_tune.resolve(path), "detection",
                               load_all_detection_checkpoint_vars=True)
    assert report.restored == ("conv1/kernel",)
    assert report.other_shape == (
        "mrcnn_class_logits/bias: [2] in the model, [5] in the checkpoint",)
    np.testing.assert_array_equal(kernel, WEIGHTS)


@pytest.fixture
def pipeline(tmp_path, monkeypatch):
    pipelines.use_fake_model(monkeypatch)
    pipelines.use_fake_inputs(monkeypatch)
    return pipelines.write(tmp_path)


def test_a_training_of_another_program_goes_on_here(pipeline, tmp_path, capsys):
    folder = tmp_path / "run"
    write_objects(f"{folder}/ckpt-3", step=np.int64(3), slots={
        name: np.full(value.shape, -0.2, np.float32) for name, value in (
            (fake_model.WEIGHTS, WEIGHTS), (fake_model.BIASES, BIASES), (fake_model.BOX, BOX))})
    outcome = estimator.train(pipeline, RunConfig(str(folder)))
    assert outcome.step == 4
    assert f"goes on at step 3 from {folder}/ckpt-3" in capsys.readouterr().out
    after = checkpoints.read(f"{folder}/model.ckpt-4")
    # v = -0.2 at a rate of 0.1 is a sum of gradients of 2; 0.9 * 2 + 2 * (0.1 - 0.25) = 1.5.
    np.testing.assert_allclose(after[fake_model.BOX + "/Momentum"][0], 1.5, rtol=1e-5)
    np.testing.assert_allclose(after[fake_model.BOX][0], 0.1 - 0.1 * 1.5, rtol=1e-5)
    # And from then on by checkpoints of its own.
    pipeline.train_config.num_steps = 5
    assert estimator.train(pipeline, RunConfig(str(folder))).step == 5
    assert f"goes on at step 4 from {folder}/model.ckpt-4" in capsys.readouterr().out


def test_weights_of_another_program_without_a_step_are_no_training(pipeline, tmp_path):
    write_objects(f"{tmp_path}/run/ckpt-0")
    with pytest.raises(checkpoints.CheckpointError, match="no step to go on from"):
        estimator.train(pipeline, RunConfig(f"{tmp_path}/run"))
