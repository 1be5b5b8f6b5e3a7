"""The command with a real network in a process of its own: stopped, killed, gone on with."""

import os
import pathlib
import signal
import subprocess
import sys
import time

import numpy as np
import pytest
from engine import pipelines
from google.protobuf import text_format

from object_detection.engine import checkpoints, estimator
from object_detection.engine.run_config import RunConfig

ROOT = pathlib.Path(__file__).resolve().parents[2]

pytestmark = pytest.mark.slow


@pytest.fixture
def pipeline(tmp_path):
    pipeline = pipelines.write(tmp_path)
    resizer = pipeline.model.faster_rcnn.image_resizer.fixed_shape_resizer
    resizer.height = resizer.width = 64
    (tmp_path / "pipeline.config").write_text(text_format.MessageToString(pipeline))
    return pipeline


def start(tmp_path):
    """Starts a training without end; returns the process once it has two checkpoints."""
    process = subprocess.Popen(
        [sys.executable, str(ROOT / "object_detection" / "model_main.py"),
         f"--pipeline_config_path={tmp_path}/pipeline.config", f"--model_dir={tmp_path}/run",
         "--num_train_steps=100000", "--checkpoint_every_n=3", "--eval_every_n_steps=100000"],
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
        env={**os.environ, "CUDA_VISIBLE_DEVICES": "-1"})
    for _ in range(1200):
        if len(checkpoints.available(f"{tmp_path}/run")) >= 2:
            return process
        if process.poll() is not None:
            break
        time.sleep(0.1)
    process.kill()
    pytest.fail(process.communicate()[0])


def test_killed_and_gone_on_with(pipeline, tmp_path, capsys):
    process = start(tmp_path)
    process.kill()
    process.communicate()
    newest = checkpoints.step_of(checkpoints.available(f"{tmp_path}/run")[0])
    outcome = estimator.train_and_evaluate(
        pipeline, RunConfig(f"{tmp_path}/run", num_train_steps=newest + 2))
    assert outcome.step == newest + 2
    assert f"goes on at step {newest}" in capsys.readouterr().out
    assert np.isfinite(outcome.metrics["eval_0"]["Loss/total_loss"])


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_stopped_by_a_signal_after_saving(pipeline, tmp_path, number):
    process = start(tmp_path)
    before = checkpoints.step_of(checkpoints.available(f"{tmp_path}/run")[0])
    process.send_signal(number)
    output = process.communicate(timeout=60)[0]
    assert process.returncode == 128 + number
    newest = checkpoints.available(f"{tmp_path}/run")[0]
    assert checkpoints.step_of(newest) >= before
    assert f'"checkpoint": "{newest}"' in output.splitlines()[-1]


def test_the_names_are_those_of_tensorflow_1(pipeline, tmp_path):
    outcome = estimator.train(pipeline, RunConfig(f"{tmp_path}/run", num_train_steps=1))
    names = set(checkpoints.shapes(outcome.checkpoint))
    weights = "FirstStageFeatureExtractor/MobilenetV1/Conv2d_0/weights"
    assert {weights, f"{weights}/Momentum", f"{weights}/ExponentialMovingAverage",
            "global_step", "SecondStageBoxPredictor/ClassPredictor/biases",
            "FirstStageFeatureExtractor/MobilenetV1/Conv2d_0/BatchNorm/moving_mean"} <= names


def test_detection_weights_for_another_number_of_classes(pipeline, tmp_path, capsys):
    first = estimator.train(pipeline, RunConfig(f"{tmp_path}/run", num_train_steps=1))
    pipeline.model.faster_rcnn.num_classes = 3
    pipeline.train_config.fine_tune_checkpoint = first.checkpoint
    pipeline.train_config.fine_tune_checkpoint_type = "detection"
    pipeline.train_config.load_all_detection_checkpoint_vars = True
    estimator.train(pipeline, RunConfig(f"{tmp_path}/other", num_train_steps=1))
    output = capsys.readouterr().out
    assert "4 other shape, left as initialised" in output
    assert "SecondStageBoxPredictor/ClassPredictor/biases: [4] in the model, [3]" in output
