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


def test_an_object_checkpoint_is_refused(tmp_path):
    prefix = tf.train.Checkpoint(model=fake_model.FakeModel()).save(str(tmp_path / "ckpt"))
    with pytest.raises(checkpoints.CheckpointError, match="object checkpoint"):
        weights.restore(fake_model.FakeModel(), prefix)


def test_of_a_folder_the_latest(tmp_path):
    for step in (9, 10):
        checkpoints.write(f"{tmp_path}/model.ckpt-{step}", {NAME: np.float32(step)})
    assert weights.resolve(str(tmp_path)) == f"{tmp_path}/model.ckpt-10"
    assert weights.resolve(f"{tmp_path}/model.ckpt-9.index") == f"{tmp_path}/model.ckpt-9"
    with pytest.raises(checkpoints.CheckpointError) as caught:
        weights.resolve(str(tmp_path / "absent"))
    assert "fine_tune" not in str(caught.value)
