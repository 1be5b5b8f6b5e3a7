"""Hooks by themselves, and the loop that calls them."""

import io
import os
import signal

import numpy as np
import pytest
import tensorflow as tf
from engine import event_reading, fake_model

from object_detection.engine import checkpoints, hooks, train_loop
from object_detection.engine.train_step import (
    NonFiniteLossError,
    StepResult,
    TrainSettings,
    TrainStep,
)


def state(step, last=10, first=0):
    losses = {"Loss/RPNLoss/objectness_loss": tf.constant(0.5), "Loss/total_loss": tf.constant(2.0)}
    return hooks.StepState(step, first, last, StepResult(losses, 0.1, 3.0, {}), 4, {
        "v": tf.Variable(float(step))})


class Recorder(hooks.Hook):
    def __init__(self):
        self.calls = []

    def before_training(self, step):
        self.calls.append(("before", step))

    def after_step(self, state):
        self.calls.append(("step", state.step))

    def after_training(self, state):
        self.calls.append(("after", None if state is None else state.step))


def make_step():
    return TrainStep(fake_model.FakeModel(), fake_model.plan(), TrainSettings())


def batches(number):
    return [fake_model.batch(seed=seed) for seed in range(number)]


def read_events(folder):
    return {place: float(value) for place, value in event_reading.read(folder).items()}


def test_every_third_step_and_the_last():
    seen = []
    hook = hooks.Every(3, lambda state: seen.append(state.step))
    for step in range(1, 11):
        hook.after_step(state(step))
    assert seen == [3, 6, 9, 10]


def test_progress_is_one_line_per_interval_in_a_file():
    stream = io.StringIO()
    hook = hooks.ProgressLine(every=2, stream=stream)
    hook.before_training(0)
    for step in range(1, 5):
        hook.after_step(state(step))
    hook.after_training(None)
    lines = stream.getvalue().splitlines()
    assert [line.split()[1] for line in lines] == ["1/10", "2/10", "4/10"]
    assert "loss 2.0000 (rpn_objectness 0.5000)" in lines[0]
    assert "images/s" not in lines[0]  # one step holds the tracing: no speed yet
    assert "images/s" in lines[2] and "left" in lines[2]


def test_progress_updates_one_line_on_a_terminal():
    stream = io.StringIO()
    stream.isatty = lambda: True
    hook = hooks.ProgressLine(every=100, stream=stream)
    hook.before_training(0)
    hook.after_step(state(1))
    hook.after_training(None)
    assert stream.getvalue().startswith("\r")
    assert stream.getvalue().count("\n") == 1


def test_events_carry_the_known_tags(tmp_path):
    hook = hooks.EventWriter(str(tmp_path), every=2)
    hook.before_training(0)
    for step in range(1, 5):
        hook.after_step(state(step))
    hook.after_training(None)
    found = read_events(tmp_path)
    assert {step for _, step in found} == {2, 4}
    assert found["Loss/RPNLoss/objectness_loss", 2] == 0.5
    assert found["Loss/total_loss", 4] == found["loss", 4] == 2.0
    assert found["learning_rate", 2] == np.float32(0.1)
    assert found["global_step/sec", 4] > 0


def test_saver_saves_a_step_once(tmp_path):
    folder = checkpoints.CheckpointFolder(str(tmp_path))
    hook = hooks.CheckpointSaver(folder, every=2)
    hook.before_training(0)
    for step in range(1, 5):
        hook.after_step(state(step))
    os.remove(tmp_path / "model.ckpt-4.index")
    hook.after_training(state(4))
    assert checkpoints.available(str(tmp_path)) == [f"{tmp_path}/model.ckpt-2"]
    assert hook.saved == f"{tmp_path}/model.ckpt-4"


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_stops_after_the_step_and_saves(tmp_path, number):
    before = signal.getsignal(number)
    saver = hooks.CheckpointSaver(checkpoints.CheckpointFolder(str(tmp_path)), every=100)
    kill = hooks.Every(2, lambda state: os.kill(os.getpid(), number))
    reason = train_loop.run(make_step(), batches(5), [hooks.StopOnSignal(), saver, kill], 5, 2)
    assert reason.exit_status == 128 + number
    assert saver.saved == f"{tmp_path}/model.ckpt-3"
    assert signal.getsignal(number) == before


def test_the_loop_calls_hooks_up_to_the_last_step():
    recorder = Recorder()
    assert train_loop.run(make_step(), batches(5), [recorder], 2, 2) is None
    assert recorder.calls == [("before", 0), ("step", 1), ("step", 2), ("after", 2)]


def test_the_loop_ends_with_the_input():
    recorder = Recorder()
    train_loop.run(make_step(), batches(3), [recorder], None, 2)
    assert recorder.calls[-1] == ("after", 3)


def test_nothing_left_to_do():
    step = make_step()
    step.global_step.assign(7)
    recorder = Recorder()
    train_loop.run(step, batches(1), [recorder], 7, 2)
    assert recorder.calls == []


def test_an_empty_input_is_an_error():
    with pytest.raises(ValueError, match="no whole batch"):
        train_loop.run(make_step(), [], [], 5, 2)


def test_a_broken_input_saves_what_was_learned():
    def broken():
        yield from batches(2)
        raise ValueError("record 3 is bad")

    recorder = Recorder()
    with pytest.raises(ValueError, match="record 3"):
        train_loop.run(make_step(), broken(), [recorder], 5, 2)
    assert recorder.calls[-1] == ("after", 2)


def test_a_broken_step_saves_nothing():
    features, labels = fake_model.batch()
    bad = (features, {**labels, "groundtruth_boxes": labels["groundtruth_boxes"] / 0.0})
    recorder = Recorder()
    with pytest.raises(NonFiniteLossError):
        train_loop.run(make_step(), [*batches(1), bad], [recorder], 5, 2)
    assert recorder.calls[-1] == ("after", None)


@pytest.mark.parametrize("seconds, text", [
    (0.4, "0m 00s"), (250, "4m 10s"), (11100, "3h 05m"), (93600, "1d 02h")])
def test_durations(seconds, text):
    assert hooks.duration(seconds) == text
