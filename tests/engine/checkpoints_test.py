"""Checkpoints: names, kill in the middle, retention, foreign files."""

import os

import numpy as np
import pytest
import tensorflow as tf

from object_detection.engine import checkpoints
from object_detection.engine.checkpoints import CheckpointFolder


def variables(value=0.0, size=2):
    return {"a/weights": tf.Variable(tf.fill([size], value)),
            "a/weights/Momentum": tf.Variable(tf.fill([size], value)),
            "global_step": tf.Variable(0, dtype=tf.int64)}


def values(value, step=0):
    return {"a/weights": np.full([2], value, np.float32),
            "a/weights/Momentum": np.full([2], -value, np.float32),
            "global_step": np.int64(step)}


def restore(folder, target, required=("a/weights",)):
    return checkpoints.restore_newest(str(folder), target, required)


def test_tensorflow_reads_the_names(tmp_path):
    prefix = CheckpointFolder(str(tmp_path)).save(7, values(1.5, 7))
    assert prefix == f"{tmp_path}/model.ckpt-7"
    assert tf.train.latest_checkpoint(str(tmp_path)) == prefix
    reader = tf.train.load_checkpoint(prefix)
    assert reader.get_variable_to_shape_map() == {
        "a/weights": [2], "a/weights/Momentum": [2], "global_step": []}
    assert reader.get_tensor("global_step") == 7
    np.testing.assert_array_equal(reader.get_tensor("a/weights"), [1.5, 1.5])


def test_restore_takes_the_newest(tmp_path):
    folder = CheckpointFolder(str(tmp_path))
    for step in (9, 10, 100):  # as text, 9 would be the last
        folder.save(step, values(float(step), step))
    target = variables()
    restored = restore(tmp_path, target)
    assert (restored.step, restored.absent) == (100, ())
    assert target["a/weights"].numpy()[0] == 100.0
    assert int(target["global_step"]) == 100


def test_nothing_to_restore(tmp_path):
    assert restore(tmp_path / "absent", variables()) is None
    assert restore(tmp_path, variables()) is None


def test_killed_while_writing_leaves_the_older_one(tmp_path):
    CheckpointFolder(str(tmp_path)).save(1, values(1.0, 1))
    scratch = tmp_path / ".incomplete"
    scratch.mkdir(exist_ok=True)
    (scratch / "model.ckpt-2.data-00000-of-00001").write_bytes(b"half")
    (tmp_path / "model.ckpt-3.data-00000-of-00001").write_bytes(b"no index yet")
    assert restore(tmp_path, variables()).step == 1
    CheckpointFolder(str(tmp_path))
    assert not scratch.exists()


def test_damaged_checkpoint_falls_back_to_the_one_before(tmp_path, caplog):
    folder = CheckpointFolder(str(tmp_path))
    folder.save(1, values(1.0, 1))
    folder.save(2, values(2.0, 2))
    (tmp_path / "model.ckpt-2.data-00000-of-00001").write_bytes(b"")
    target = variables()
    assert restore(tmp_path, target).step == 1
    assert target["a/weights"].numpy()[0] == 1.0
    assert "model.ckpt-2: cannot be read" in caplog.text


def test_all_damaged_is_an_error_not_a_new_start(tmp_path):
    CheckpointFolder(str(tmp_path)).save(1, values(1.0))
    (tmp_path / "model.ckpt-1.index").write_bytes(b"junk")
    with pytest.raises(checkpoints.CheckpointError, match="none of its 1 checkpoints"):
        restore(tmp_path, variables())


def test_checkpoint_of_another_model_lists_differences(tmp_path):
    CheckpointFolder(str(tmp_path)).save(5, values(1.0))
    target = {**variables(size=3), "b/biases": tf.Variable([0.0])}
    with pytest.raises(checkpoints.CheckpointMismatch) as caught:
        restore(tmp_path, target, ["a/weights", "b/biases"])
    text = str(caught.value)
    assert "a/weights: the model has shape [3], the checkpoint [2]" in text
    assert "b/biases: not in the checkpoint" in text
    assert "empty model_dir" in text
    assert target["a/weights"].numpy().tolist() == [0, 0, 0]


def test_absent_slots_are_reported_but_no_error(tmp_path):
    CheckpointFolder(str(tmp_path)).save(5, values(1.0))
    target = {**variables(), "a/weights/RMSProp": tf.Variable([4.0, 4.0])}
    assert restore(tmp_path, target).absent == ("a/weights/RMSProp",)


def test_only_the_newest_are_kept_and_strangers_are_left_alone(tmp_path):
    (tmp_path / "model.ckpt-1.index").write_bytes(b"x")
    (tmp_path / "model.ckpt-1.data-00000-of-00001").write_bytes(b"x")
    folder = CheckpointFolder(str(tmp_path), keep=2)
    for step in (10, 20, 30):
        folder.save(step, values(1.0))
    steps = [checkpoints.step_of(prefix) for prefix in checkpoints.available(str(tmp_path))]
    assert steps == [30, 20, 1]
    # A later run goes on deleting those of the earlier one.
    CheckpointFolder(str(tmp_path), keep=2).save(40, values(1.0))
    steps = [checkpoints.step_of(prefix) for prefix in checkpoints.available(str(tmp_path))]
    assert steps == [40, 30, 1]


def test_keep_every_n_hours_spares_one(tmp_path):
    folder = CheckpointFolder(str(tmp_path), keep=1, keep_every_n_hours=0.0)
    for step in (1, 2, 3):
        folder.save(step, values(1.0))
    assert len(checkpoints.available(str(tmp_path))) == 3


def test_folder_name_with_glob_characters(tmp_path):
    with pytest.raises(ValueError, match="for a pattern"):
        CheckpointFolder(str(tmp_path / "run[1]"))


def test_object_checkpoint_of_tf2_is_refused(tmp_path):
    tf.train.Checkpoint(v=tf.Variable(1.0)).save(str(tmp_path / "ckpt"))
    with pytest.raises(checkpoints.CheckpointError, match="TensorFlow 2 object checkpoint"):
        restore(tmp_path, variables())


@pytest.mark.parametrize("kind", ["file", "below a file"])
def test_folder_that_cannot_be_written(tmp_path, kind):
    path = tmp_path / "taken"
    path.write_text("")
    target = path if kind == "file" else path / "run"
    with pytest.raises(ValueError, match=f"model_dir '{target}': cannot be written"):
        CheckpointFolder(os.fspath(target))
