"""Whole runs with a fake model on real input: train, resume, fine-tune, evaluate, predict."""

import json

import numpy as np
import pytest
import tensorflow as tf
from engine import event_reading, fake_model, pipelines, two_devices

from object_detection.engine import checkpoints, estimator
from object_detection.engine.run_config import RunConfig


@pytest.fixture
def reading_pipeline(tmp_path, monkeypatch):
    """Fake model, real input."""
    pipelines.use_fake_model(monkeypatch)
    return pipelines.write(tmp_path)


@pytest.fixture
def pipeline(reading_pipeline, monkeypatch):
    """Fake model and fake input."""
    pipelines.use_fake_inputs(monkeypatch)
    return reading_pipeline


def run_in(tmp_path, name="run", **options):
    return RunConfig(f"{tmp_path}/{name}", **{"checkpoint_every": 2, "log_every": 1, "seed": 1,
                                              **options})


def test_train_and_evaluate_in_turn(reading_pipeline, tmp_path, capsys):
    outcome = estimator.train_and_evaluate(reading_pipeline, run_in(tmp_path))
    assert (outcome.step, outcome.exit_status) == (4, 0)
    assert outcome.checkpoint == f"{tmp_path}/run/model.ckpt-4"
    assert "DetectionBoxes_PerformanceByCategory/mAP/cat" in outcome.metrics["eval_0"]
    content = json.loads((tmp_path / "run/metrics.json").read_text())
    assert [row["step"] for row in content["history"]] == [2, 4]
    assert len(json.loads((tmp_path / "run/eval_0/detections_boxes.json").read_text())) == 3
    output = capsys.readouterr()
    assert "Training starts at step 0" in output.out
    assert "Boxes: 3 images, 3 objects" in output.out
    assert "step 4/4" in output.err
    events = event_reading.read(tmp_path / "run/eval_0")
    assert ("DetectionBoxes_Precision/mAP", 4) in events
    assert ("Detections_Left_Groundtruth_Right/0", 4) in events
    assert ("Loss/total_loss", 4) in event_reading.read(tmp_path / "run")


def test_two_runs_equal_one(pipeline, tmp_path, capsys):
    estimator.train(pipeline, run_in(tmp_path, "once"))
    estimator.train(pipeline, run_in(tmp_path, "twice", num_train_steps=2))
    estimator.train(pipeline, run_in(tmp_path, "twice"))
    assert f"goes on at step 2 from {tmp_path}/twice/model.ckpt-2" in capsys.readouterr().out
    once, twice = (checkpoints.read(f"{tmp_path}/{name}/model.ckpt-4")
                   for name in ("once", "twice"))
    assert set(once) == set(twice)
    assert fake_model.BOX + "/ExponentialMovingAverage" in once
    for name, value in once.items():
        np.testing.assert_allclose(twice[name], value, rtol=1e-5, err_msg=name)


def test_nothing_left_to_train_still_evaluates(pipeline, tmp_path):
    estimator.train(pipeline, run_in(tmp_path))
    outcome = estimator.train_and_evaluate(pipeline, run_in(tmp_path))
    assert outcome.step == 4
    assert "eval_0" in outcome.metrics


def test_fine_tuning_starts_at_0_and_resuming_does_not_read_it_again(pipeline, tmp_path, capsys):
    estimator.train(pipeline, run_in(tmp_path, "zoo"))
    pipeline.train_config.fine_tune_checkpoint = f"{tmp_path}/zoo"
    pipeline.train_config.fine_tune_checkpoint_type = "full"
    estimator.train(pipeline, run_in(tmp_path, num_train_steps=1))
    output = capsys.readouterr().out
    assert f"Started from {tmp_path}/zoo/model.ckpt-4 (type full): 4 variables" in output
    assert f"Training starts at step 0 in {tmp_path}/run" in output
    pipeline.train_config.fine_tune_checkpoint = f"{tmp_path}/gone"
    estimator.train(pipeline, run_in(tmp_path, num_train_steps=2))
    assert "fine_tune_checkpoint is not read again" in capsys.readouterr().out


def test_an_absent_checkpoint_fails_before_the_records_are_looked_at(pipeline, tmp_path):
    pipeline.train_config.fine_tune_checkpoint = f"{tmp_path}/gone/model.ckpt"
    pipeline.train_input_reader.tf_record_input_reader.input_path[:] = ["absent.record"]
    with pytest.raises(ValueError, match="fine_tune_checkpoint: no checkpoint at"):
        estimator.train(pipeline, run_in(tmp_path))


def test_moving_averages_are_evaluated_on_request(pipeline, tmp_path):
    pipeline.eval_config.use_moving_averages = True
    averaged = estimator.train_and_evaluate(
        pipeline, run_in(tmp_path, num_train_steps=2)).metrics["eval_0"]
    pipeline.eval_config.use_moving_averages = False
    last = estimator.evaluate(pipeline, run_in(tmp_path)).metrics["eval_0"]
    # The box moves towards its truth, and the average lags behind.
    assert averaged[fake_model.LOCALIZATION] > last[fake_model.LOCALIZATION]


def test_absent_moving_averages_are_an_error(pipeline, tmp_path):
    pipeline.train_config.optimizer.use_moving_average = False
    pipeline.eval_config.use_moving_averages = True
    with pytest.raises(ValueError, match="there are no moving averages"):
        estimator.train_and_evaluate(pipeline, run_in(tmp_path))


def test_evaluating_a_checkpoint_equals_evaluating_in_training(pipeline, tmp_path):
    trained = estimator.train_and_evaluate(pipeline, run_in(tmp_path)).metrics
    assert estimator.evaluate(pipeline, run_in(tmp_path, "other"),
                              f"{tmp_path}/run").metrics == trained


def test_evaluating_without_checkpoint_is_an_error(pipeline, tmp_path):
    with pytest.raises(ValueError, match="checkpoint_dir: no checkpoint"):
        estimator.evaluate(pipeline, run_in(tmp_path), str(tmp_path))


def test_continuous_evaluation_ends_with_the_last_step(pipeline, tmp_path):
    estimator.train(pipeline, run_in(tmp_path))
    outcome = estimator.evaluate_continuously(pipeline, run_in(tmp_path), f"{tmp_path}/run")
    assert outcome.step == 4


def test_continuous_evaluation_gives_up_in_time(pipeline, tmp_path):
    (tmp_path / "empty").mkdir()
    with pytest.raises(ValueError, match="no checkpoint came in 0 seconds"):
        estimator.evaluate_continuously(pipeline, run_in(tmp_path), f"{tmp_path}/empty",
                                        timeout=0.0)
    with pytest.raises(ValueError, match="does not exist"):
        estimator.evaluate_continuously(pipeline, run_in(tmp_path), f"{tmp_path}/absent")


def test_several_sets_and_sampling(reading_pipeline, tmp_path):
    second = reading_pipeline.eval_input_reader.add()
    second.CopyFrom(reading_pipeline.eval_input_reader[0])
    second.name = "again"
    outcome = estimator.train_and_evaluate(
        reading_pipeline, run_in(tmp_path, num_train_steps=1, sample_1_of_n_eval_examples=2))
    assert set(outcome.metrics) == {"eval_0", "eval_again"}
    assert len(json.loads((tmp_path / "run/eval_again/detections_boxes.json").read_text())) == 2


def test_without_evaluation_set_it_trains(pipeline, tmp_path, caplog):
    del pipeline.eval_input_reader[:]
    outcome = estimator.train_and_evaluate(pipeline, run_in(tmp_path, num_train_steps=1))
    assert (outcome.step, outcome.metrics) == (1, {})
    assert "training goes without evaluation" in caplog.text


def test_training_data_as_evaluation_set(reading_pipeline, tmp_path):
    outcome = estimator.train_and_evaluate(reading_pipeline, run_in(
        tmp_path, num_train_steps=1, eval_training_data=True,
        sample_1_of_n_eval_on_train_examples=3))
    assert set(outcome.metrics) == {"eval_on_train"}
    rows = json.loads((tmp_path / "run/eval_on_train/detections_boxes.json").read_text())
    assert len(rows) == 2


def test_input_that_ends_early_is_reported(reading_pipeline, tmp_path, caplog):
    reading_pipeline.train_input_reader.num_epochs = 1
    outcome = estimator.train(reading_pipeline, run_in(tmp_path))
    assert outcome.step == 3
    assert "ended after 3 of 4 steps" in caplog.text
    assert outcome.checkpoint.endswith("model.ckpt-3")


def test_two_replicas(pipeline, tmp_path):
    strategy = two_devices.strategy()
    outcome = estimator.train_and_evaluate(pipeline, run_in(tmp_path, strategy=strategy))
    assert outcome.step == 4
    pipeline.train_config.batch_size = 3
    with pytest.raises(ValueError, match="batch_size: 3 images cannot be shared"):
        estimator.train(pipeline, run_in(tmp_path, "odd", strategy=strategy))


def test_predict(pipeline, tmp_path):
    estimator.train(pipeline, run_in(tmp_path))
    images = tf.data.Dataset.from_tensors(tf.zeros([2, 6, 9, 3]))
    found = list(estimator.predict(pipeline, f"{tmp_path}/run", images))
    assert len(found) == 2
    assert found[0]["detection_boxes"].shape == (2, 4)


@pytest.mark.parametrize("field", ["train_config", "train_input_reader"])
def test_absent_blocks_are_named(pipeline, tmp_path, field):
    pipeline.ClearField(field)
    with pytest.raises(ValueError, match=field):
        estimator.train(pipeline, run_in(tmp_path))
