import h5_files
import numpy as np
import pytest
import tensorflow as tf
from serving import fake_model

from object_detection.engine import checkpoints
from object_detection.serving import weights

NAME = "Head/strength"
AVERAGE = "Head/strength/ExponentialMovingAverage"


def written(folder, values):
    checkpoints.write(f"{folder}/model.ckpt-1", values)
    return f"{folder}/model.ckpt-1"


def test_variables_are_set_by_name_and_others_ignored(tmp_path):
    model = fake_model.FakeModel()
    weights.restore(model, written(tmp_path, {NAME: np.float32(0.25), "global_step": np.int64(7)}))
    assert model.strength.numpy() == 0.25


def test_the_moving_average_is_taken_where_there_is_one(tmp_path):
    prefix = written(tmp_path, {NAME: np.float32(0.25), AVERAGE: np.float32(0.75)})
    model = fake_model.FakeModel()
    weights.restore(model, prefix, use_moving_averages=True)
    assert model.strength.numpy() == 0.75
    weights.restore(model, prefix)
    assert model.strength.numpy() == 0.25


def test_no_moving_averages_where_they_are_asked_for(tmp_path):
    with pytest.raises(checkpoints.CheckpointError, match="holds no moving averages"):
        weights.restore(fake_model.FakeModel(), written(tmp_path, {NAME: np.float32(1)}), True)


@pytest.mark.parametrize("values, message", [
    ({"other": np.float32(1)}, "1 of 1 variables differ: Head/strength is not in it"),
    ({NAME: np.zeros([2], np.float32)}, r"has shape \[2\] instead of \[\]")])
def test_a_checkpoint_that_does_not_cover_the_model(tmp_path, values, message):
    model = fake_model.FakeModel()
    with pytest.raises(checkpoints.CheckpointError, match=message):
        weights.restore(model, written(tmp_path, values))
    assert model.strength.numpy() == 1.0


def objects(folder, strength=0.25):
    """Writes what a TF2 program saves, `<folder>/ckpt-1` and a state file; returns the prefix."""
    model = fake_model.FakeModel()
    model.strength.assign(strength)
    return tf.train.CheckpointManager(tf.train.Checkpoint(model=model, step=tf.Variable(9)),
                                      str(folder), max_to_keep=1).save()


def test_an_object_based_checkpoint_or_its_folder_or_the_folder_above(tmp_path):
    prefix = objects(tmp_path / "zoo" / "checkpoint")
    for path in (prefix, f"{prefix}.index", f"{tmp_path}/zoo/checkpoint", f"{tmp_path}/zoo"):
        model = fake_model.FakeModel()
        weights.restore(model, weights.resolve(path))
        assert model.strength.numpy() == 0.25, path


def test_an_object_based_checkpoint_of_another_model(tmp_path):
    prefix = tf.train.Checkpoint(model=tf.Module(name="x"), other=tf.Variable(1.0)).save(
        str(tmp_path / "ckpt"))
    with pytest.raises(checkpoints.CheckpointError) as caught:
        weights.restore(fake_model.FakeModel(), prefix)
    assert str(caught.value).startswith(
        f"{prefix}: does not cover the model, 1 of 1 variables differ: Head/strength is not in it. "
        "It holds names like ")
    assert "other" in str(caught.value) or "save_counter" in str(caught.value)


def test_moving_averages_are_not_in_files_of_other_programs(tmp_path):
    with pytest.raises(checkpoints.CheckpointError, match="holds no moving averages"):
        weights.restore(fake_model.FakeModel(), objects(tmp_path), use_moving_averages=True)


def h5(folder, names, values):
    path = str(folder / "w.h5")
    h5_files.write(path, [("Head", f"Head/{name}:0", value)
                          for name, value in zip(names, values)])
    return path


def test_a_keras_h5_file(tmp_path):
    model = fake_model.FakeModel()
    weights.restore(model, weights.resolve(h5(tmp_path, ["strength"], [0.25])))
    assert model.strength.numpy() == 0.25


def test_of_an_h5_file_every_variable_must_fit(tmp_path):
    model = fake_model.FakeModel()
    model.variables_by_name |= {f"Head/{name}": tf.Variable(tf.ones([2])) for name in "abcd"}
    path = h5(tmp_path, ["strength", "a", "b"], [0.25, [3.0], [4.0, 5.0]])
    with pytest.raises(checkpoints.CheckpointError) as caught:
        weights.restore(model, path)
    assert str(caught.value) == (
        f"{path}: does not cover the model, 3 of 5 variables differ: Head/a has shape [1] instead "
        "of [2]; Head/c is not in it; Head/d is not in it. Use the pipeline config that the "
        "checkpoint was trained with")
    assert model.strength.numpy() == 1.0


def test_of_a_folder_the_latest(tmp_path):
    for step in (9, 10):
        checkpoints.write(f"{tmp_path}/model.ckpt-{step}", {NAME: np.float32(step)})
    assert weights.resolve(str(tmp_path)) == f"{tmp_path}/model.ckpt-10"
    assert weights.resolve(f"{tmp_path}/model.ckpt-9.index") == f"{tmp_path}/model.ckpt-9"
    with pytest.raises(checkpoints.CheckpointError) as caught:
        weights.resolve(str(tmp_path / "absent"))
    assert "fine_tune" not in str(caught.value)
