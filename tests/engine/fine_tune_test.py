"""Starting from a checkpoint: which path, which type, and what is said about it."""

import os

import numpy as np
import pytest
import tensorflow as tf
from engine import fake_model

from object_detection.engine import checkpoints, fine_tune
from object_detection.protos import train_pb2


def values(num_classes=2):
    model = fake_model.FakeModel(num_classes)
    return {name: np.full(variable.shape, 0.5, np.float32)
            for name, variable in model.variables_by_name.items()}


@pytest.fixture
def prefix(tmp_path):
    path = f"{tmp_path}/zoo/model.ckpt"
    checkpoints.write(path, {**values(), "global_step": np.int64(1234)})
    return path


@pytest.mark.parametrize("suffix", ["", ".index", ".data-00000-of-00001"])
def test_a_prefix_or_its_files(prefix, suffix):
    assert fine_tune.resolve(prefix + suffix) == prefix


@pytest.mark.parametrize("ending", ["", "/"])
def test_a_directory(prefix, ending):
    assert fine_tune.resolve(os.path.dirname(prefix) + ending) == prefix


def test_a_directory_of_several_takes_the_newest(tmp_path):
    for step in (2, 10):
        checkpoints.write(f"{tmp_path}/model.ckpt-{step}", values())
    assert fine_tune.resolve(str(tmp_path)) == f"{tmp_path}/model.ckpt-10"


def test_backslashes_and_relative_paths(prefix, monkeypatch):
    monkeypatch.chdir(os.path.dirname(os.path.dirname(prefix)))
    assert fine_tune.resolve(r"zoo\model.ckpt") == "zoo/model.ckpt"


def test_a_wrong_step_shows_what_was_tried_and_what_is_there(prefix, monkeypatch):
    folder = os.path.dirname(prefix)
    monkeypatch.chdir(folder)
    with pytest.raises(checkpoints.CheckpointError) as caught:
        fine_tune.resolve("model.ckpt-5")
    assert f"{folder}/model.ckpt-5" in str(caught.value)
    assert f"beside it: {prefix}" in str(caught.value)


def test_an_absent_directory_names_the_part_that_exists(tmp_path):
    with pytest.raises(checkpoints.CheckpointError, match=f"does not exist, {tmp_path} does"):
        fine_tune.resolve(f"{tmp_path}/a/b/model.ckpt")


def test_a_directory_without_checkpoint(tmp_path):
    with pytest.raises(checkpoints.CheckpointError, match="no .index file"):
        fine_tune.resolve(str(tmp_path))


@pytest.mark.parametrize("kind, count", [("detection", 2), ("full", 4)])
def test_types_restore_their_part(prefix, kind, count):
    model = fake_model.FakeModel()
    report = fine_tune.restore(model, prefix, kind)
    assert len(report.restored) == count
    assert len(report.untouched) == 4 - count
    assert model.variables_by_name[fake_model.WEIGHTS].numpy().min() == 0.5
    assert report.norm_before != report.norm_after


def test_classification_checkpoint(tmp_path):
    path = f"{tmp_path}/net.ckpt"
    checkpoints.write(path, {"net/conv/weights": np.ones([3, 2], np.float32),
                             "net/logits/weights": np.ones([5], np.float32)})
    model = fake_model.FakeModel()
    report = fine_tune.restore(model, path, "classification")
    assert report.restored == (fake_model.WEIGHTS,)
    assert report.absent == (fake_model.MEAN,)
    assert report.norm_after == pytest.approx(6 ** 0.5)


def test_other_number_of_classes_is_listed(prefix):
    model = fake_model.FakeModel(num_classes=3)
    report = fine_tune.restore(model, prefix, "detection", load_all_detection_checkpoint_vars=True)
    assert set(report.restored) == {fake_model.BOX, fake_model.MEAN}
    assert len(report.other_shape) == 2
    assert f"{fake_model.BIASES}: [3] in the model, [2] in the checkpoint" in str(report)


def test_full_refuses_what_does_not_fit(prefix):
    model = fake_model.FakeModel(num_classes=3)
    with pytest.raises(checkpoints.CheckpointError, match="For another number of classes use det"):
        fine_tune.restore(model, prefix, "full")
    assert not model.variables_by_name[fake_model.BOX].numpy()[0]


@pytest.mark.parametrize("held, kind, remedy", [
    ("FirstStageFeatureExtractor/net/conv/weights", "classification", "use detection"),
    ("net/conv/weights", "detection", "use classification"),
    ("other/weights", "classification", "feature_extractor.type")])
def test_nothing_fits_says_which_type_would(tmp_path, held, kind, remedy):
    path = f"{tmp_path}/x.ckpt"
    checkpoints.write(path, {held: np.ones([3, 2], np.float32)})
    with pytest.raises(checkpoints.CheckpointError, match=remedy):
        fine_tune.restore(fake_model.FakeModel(), path, kind)


def test_object_checkpoint_is_refused_by_kind(tmp_path):
    path = tf.train.Checkpoint(v=tf.Variable(1.0)).write(f"{tmp_path}/ckpt-0")
    with pytest.raises(checkpoints.CheckpointError, match="TensorFlow 2 object checkpoint"):
        fine_tune.restore(fake_model.FakeModel(), path, "detection")


def test_a_file_that_is_no_checkpoint(tmp_path):
    path = tmp_path / "weights.h5"
    path.write_bytes(b"something else entirely")
    with pytest.raises(checkpoints.CheckpointError, match="cannot be read as a checkpoint"):
        fine_tune.restore(fake_model.FakeModel(), fine_tune.resolve(str(path)), "detection")


@pytest.mark.parametrize("config, expected", [
    (dict(), "classification"), (dict(from_detection_checkpoint=True), "detection"),
    (dict(fine_tune_checkpoint_type="full", from_detection_checkpoint=True), "full")])
def test_type_of_a_config(config, expected):
    assert fine_tune.kind_of(train_pb2.TrainConfig(**config)) == expected


def test_fine_tune_is_called_full():
    with pytest.raises(ValueError, match="'fine_tune' is called 'full' here"):
        fine_tune.kind_of(train_pb2.TrainConfig(fine_tune_checkpoint_type="fine_tune"))
