"""Evaluating and detecting with what other programs wrote."""

import h5_files
import numpy as np
import pytest
import tensorflow as tf
from engine import fake_model, pipelines

from object_detection.engine import checkpoints, estimator, fine_tune, weight_files
from object_detection.engine.run_config import RunConfig

VALUES = {fake_model.WEIGHTS: np.full([3, 2], 0.5, np.float32),
          fake_model.BIASES: np.float32([1.0, 2.0]),
          fake_model.BOX: np.float32([0.25, 0.25, 0.75, 0.75]),
          fake_model.MEAN: np.zeros([3], np.float32)}


def write_objects(prefix, values=None, **more):
    """Writes an object-based checkpoint of the fake model; returns its prefix."""
    suffix, paths = "/.ATTRIBUTES/VARIABLE_VALUE", fake_model.FakeModel().object_paths()
    tensors = {f"model/{paths[name]}{suffix}": value for name, value in (values or VALUES).items()}
    tensors.update({f"{name}{suffix}": value for name, value in more.items()})
    checkpoints.write(prefix, {"_CHECKPOINTABLE_OBJECT_GRAPH": np.array(b""), **tensors})
    return prefix


@pytest.fixture
def pipeline(tmp_path, monkeypatch):
    pipelines.use_fake_model(monkeypatch)
    pipelines.use_fake_inputs(monkeypatch)
    return pipelines.write(tmp_path)


def test_the_step_of_a_file(tmp_path):
    assert weight_files.step_of(write_objects(f"{tmp_path}/ckpt-3", step=np.int64(2000))) == 2000
    assert weight_files.step_of(write_objects(f"{tmp_path}/ckpt-0")) == 0
    checkpoints.write(f"{tmp_path}/model.ckpt-7", VALUES)
    assert weight_files.step_of(f"{tmp_path}/model.ckpt-7") == 7
    assert weight_files.step_of(f"{tmp_path}/mask_rcnn_coco.h5") == 0


def test_a_training_of_the_tf2_program_is_evaluated_once(pipeline, tmp_path):
    write_objects(f"{tmp_path}/run/ckpt-2", step=np.int64(1000))
    write_objects(f"{tmp_path}/run/ckpt-10", step=np.int64(9000))
    outcome = estimator.evaluate(pipeline, RunConfig(f"{tmp_path}/eval"), f"{tmp_path}/run")
    assert (outcome.step, outcome.checkpoint) == (9000, f"{tmp_path}/run/ckpt-10")
    # The box of the fake is where the objects are, and one class of three images is right.
    assert outcome.metrics["eval_0"]["DetectionBoxes_Recall/AR@1"] > 0


def test_a_training_of_the_tf2_program_is_evaluated_until_its_last_step(pipeline, tmp_path):
    write_objects(f"{tmp_path}/run/ckpt-1", step=np.int64(4))  # of the 4 that the config asks for
    outcome = estimator.evaluate_continuously(pipeline, RunConfig(f"{tmp_path}/eval"),
                                              f"{tmp_path}/run", timeout=0.1)
    assert (outcome.step, outcome.checkpoint) == (4, f"{tmp_path}/run/ckpt-1")


def test_a_folder_that_does_not_exist(pipeline, tmp_path):
    with pytest.raises(ValueError, match="does not exist; --run_once takes a single checkpoint"):
        estimator.evaluate_continuously(pipeline, RunConfig(f"{tmp_path}/eval"),
                                        f"{tmp_path}/ckpt-1")


def test_predictions_of_an_object_based_checkpoint(pipeline, tmp_path):
    prefix = write_objects(f"{tmp_path}/zoo/checkpoint/ckpt-0")
    images = tf.data.Dataset.from_tensors(tf.zeros([1, 8, 8, 3]))
    (found,) = estimator.predict(pipeline, f"{tmp_path}/zoo", images)
    np.testing.assert_allclose(found["detection_boxes"][0], VALUES[fake_model.BOX])
    assert fine_tune.resolve(f"{tmp_path}/zoo") == prefix


def test_every_variable_must_be_there(pipeline, tmp_path):
    values = dict(VALUES)
    values[fake_model.BIASES] = np.zeros([5], np.float32)
    del values[fake_model.BOX]
    write_objects(f"{tmp_path}/zoo/ckpt-0", values)
    with pytest.raises(checkpoints.CheckpointError) as caught:
        estimator.evaluate(pipeline, RunConfig(f"{tmp_path}/eval"), f"{tmp_path}/zoo")
    text = str(caught.value)
    assert "(2 of 4 variables differ)" in text
    assert f"{fake_model.BIASES}: the model has shape [2], the checkpoint [5]" in text
    assert f"{fake_model.BOX}: not in the checkpoint" in text


def test_the_one_file_format_of_old(tmp_path):
    path = f"{tmp_path}/model-3.ckpt"
    tf.raw_ops.Save(filename=path, tensor_names=list(VALUES), data=list(VALUES.values()))
    assert [file.name for file in tmp_path.iterdir()] == ["model-3.ckpt"]
    for given in (path, str(tmp_path)):
        model = fake_model.FakeModel()
        fine_tune.restore(model, fine_tune.resolve(given), "full")
        np.testing.assert_array_equal(model.variables_by_name[fake_model.BIASES], [1.0, 2.0])


def test_another_type_that_would_fit_is_named(tmp_path):
    path = write_objects(f"{tmp_path}/ckpt-0")
    with pytest.raises(checkpoints.CheckpointError, match=r"no variable fits .*\. Use detection$"):
        fine_tune.restore(fake_model.FakeModel(), path, "classification")


def test_of_a_folder_of_h5_files_the_last(pipeline, tmp_path):
    for number in (2, 10):
        h5_files.write(f"{tmp_path}/mask_rcnn_shapes_{number:04}.h5",
                       [("conv1", "conv1/bias:0", [1.0 * number])])
    path = fine_tune.resolve(str(tmp_path))
    assert path == f"{tmp_path}/mask_rcnn_shapes_0010.h5"
    file = weight_files.open_file(path, fake_model.FakeModel())
    assert {name: list(shape) for name, shape in file.shapes.items()} == {"conv1/bias": [1]}
    np.testing.assert_array_equal(file.read(["conv1/bias"])["conv1/bias"], [10.0])
