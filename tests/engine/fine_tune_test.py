"""Starting from a checkpoint: which path, which type, and what is said about it."""

import os

import numpy as np
import pytest
import small_detector
from engine import fake_model

from object_detection.builders import model_builder
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
    with pytest.raises(checkpoints.CheckpointError, match="number of classes use fine_tune"):
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


def test_a_file_that_is_no_checkpoint(tmp_path):
    path = tmp_path / "weights.h5"
    path.write_bytes(b"something else entirely")
    with pytest.raises(checkpoints.CheckpointError, match="cannot be read as a checkpoint"):
        fine_tune.restore(fake_model.FakeModel(), fine_tune.resolve(str(path)), "detection")


@pytest.mark.parametrize("config, expected", [
    (dict(), "classification"), (dict(from_detection_checkpoint=True), "detection"),
    (dict(fine_tune_checkpoint_type="full", from_detection_checkpoint=True), "full"),
    (dict(fine_tune_checkpoint_type="fine_tune"), "fine_tune")])
def test_type_of_a_config(config, expected):
    assert fine_tune.kind_of(train_pb2.TrainConfig(**config)) == expected


def test_an_unknown_type_is_refused():
    with pytest.raises(ValueError, match="full or fine_tune, got 'half'"):
        fine_tune.kind_of(train_pb2.TrainConfig(fine_tune_checkpoint_type="half"))


# A whole detector, from checkpoints with the names that TF1 programs gave.

BOTH_STAGES = {"FirstStageFeatureExtractor", "SecondStageFeatureExtractor"}
HEADS = ("SecondStageBoxPredictor/BoxEncodingPredictor", "SecondStageBoxPredictor/ClassPredictor")
BACKBONE = "FirstStageFeatureExtractor/MobilenetV1/Conv2d_0"


@pytest.fixture(scope="module")
def slim(tmp_path_factory):
    """A classification checkpoint: both stages' layers without the stage, and what slim adds."""
    model = model_builder.build(small_detector.config(), False)
    held = {name: np.full(variable.shape, 0.5, np.float32)
            for name, variable in model.restore_map("classification").items()}
    assert {"MobilenetV1/Conv2d_0/weights", "MobilenetV1/Conv2d_0/BatchNorm/moving_mean",
            "MobilenetV1/Conv2d_12_pointwise/pointwise_weights"} <= set(held)
    path = f"{tmp_path_factory.mktemp('slim')}/mobilenet_v1.ckpt"
    checkpoints.write(path, {
        **held, "global_step": np.int64(7), "MobilenetV1/Logits/Conv2d_1c_1x1/biases":
        np.ones([1001], np.float32),
        "MobilenetV1/Conv2d_0/weights/RMSProp": np.ones([3], np.float32)})
    return path


@pytest.fixture(scope="module")
def zoo(tmp_path_factory):
    """A detector of two classes as the original's training leaves it, with slots and averages."""
    model = model_builder.build(small_detector.config(), False)
    held = {name: np.full(variable.shape, 0.25, np.float32)
            for name, variable in model.variables_by_name.items()}
    extra = {f"{name}/{more}": value for name, value in held.items()
             for more in ("Momentum", "ExponentialMovingAverage")}
    folder = tmp_path_factory.mktemp("zoo")
    checkpoints.write(f"{folder}/model.ckpt", {**held, **extra, "global_step": np.int64(200000)})
    (folder / "checkpoint").write_text('model_checkpoint_path: "model.ckpt"\n')
    return folder


def detector(num_classes):
    return model_builder.build(
        small_detector.config(changes=f"num_classes: {num_classes}"), is_training=True)


def stage_of(names):
    return {name.split("/")[0] for name in names}


def test_classification_checkpoint_fills_both_stages_of_a_detector(slim):
    model = detector(2)
    report = fine_tune.restore(model, slim, "classification")
    assert stage_of(report.restored) == BOTH_STAGES
    assert not report.absent and not report.other_shape
    assert stage_of(report.untouched) == {"Conv", "FirstStageBoxPredictor",
                                          "SecondStageBoxPredictor"}
    for name in report.restored:
        np.testing.assert_array_equal(model.variables_by_name[name].numpy().ravel()[:1], [0.5])


def test_detection_checkpoint_gives_the_backbone_to_any_number_of_classes(zoo):
    model = detector(3)
    before = {name: model.variables_by_name[f"{name}/weights"].numpy() for name in HEADS}
    report = fine_tune.restore(model, str(zoo / "model.ckpt"), "detection")
    assert stage_of(report.restored) == BOTH_STAGES
    assert not report.other_shape and not report.absent
    for name, value in before.items():
        np.testing.assert_array_equal(model.variables_by_name[f"{name}/weights"], value)


@pytest.mark.parametrize("path", ["", "/", "/model.ckpt", "/model.ckpt.index"])
def test_all_variables_but_the_heads_of_other_classes_from_any_way_to_say_where(zoo, path):
    model = detector(3)
    before = {name: model.variables_by_name[f"{name}/weights"].numpy() for name in HEADS}
    report = fine_tune.restore(model, fine_tune.resolve(f"{zoo}{path}"), "detection",
                               load_all_detection_checkpoint_vars=True)
    assert {line.split(":")[0] for line in report.other_shape} == {
        f"{head}/{kind}" for head in HEADS for kind in ("weights", "biases")}
    assert not report.absent and not report.untouched
    assert {"Conv/weights", "FirstStageBoxPredictor/ClassPredictor/weights",
            f"{BACKBONE}/weights"} <= set(report.restored)
    # Heads keep the values that the config's initializer drew.
    for name, value in before.items():
        np.testing.assert_array_equal(model.variables_by_name[f"{name}/weights"], value)
        assert 0.0 < value.std() < 0.02
    text = str(report)
    assert "SecondStageBoxPredictor/ClassPredictor/biases: [4] in the model, [3] in the" in text
    assert "4 other shape, left as initialised" in text


def test_full_takes_every_variable_of_the_same_detector_and_no_other(zoo):
    model = detector(2)
    report = fine_tune.restore(model, str(zoo / "model.ckpt"), "full")
    assert set(report.restored) == set(model.variables_by_name)
    with pytest.raises(checkpoints.CheckpointError, match="ClassPredictor/biases: .4. in"):
        fine_tune.restore(detector(3), str(zoo / "model.ckpt"), "full")


def test_variables_that_the_checkpoint_lacks_are_listed(zoo, tmp_path):
    held = checkpoints.read(str(zoo / "model.ckpt"))
    lost = f"{BACKBONE}/BatchNorm/moving_variance"
    checkpoints.write(f"{tmp_path}/part.ckpt",
                      {name: value for name, value in held.items() if name != lost})
    report = fine_tune.restore(detector(2), f"{tmp_path}/part.ckpt", "detection")
    assert report.absent == (lost,)
    assert f"1 not in the checkpoint, left as initialised:\n    {lost}" in str(report)
    with pytest.raises(checkpoints.CheckpointError, match="moving_variance: not in the checkpoint"):
        fine_tune.restore(detector(2), f"{tmp_path}/part.ckpt", "full")
