"""Optimizers and learning rates built from text, against the OD API's numbers."""

import json

import numpy as np
import pytest
import shared_files
import tensorflow as tf
from google.protobuf import text_format

from object_detection.builders import optimizer_builder
from object_detection.protos import optimizer_pb2

CONSTANT = "learning_rate { constant_learning_rate { learning_rate: 0.1 } }"


def _cases(group):
    folder = shared_files.find("fixtures/tf1/ops")
    if folder is None:
        return [pytest.param(None, None, marks=pytest.mark.skip("shared/fixtures is absent"))]
    return sorted(json.loads((folder / "params.json").read_text())[group].items())


def build(text, num_steps=0):
    return optimizer_builder.build(text_format.Parse(text, optimizer_pb2.Optimizer()), num_steps)


@pytest.mark.parametrize("case, text", _cases("learning_rates"))
def test_learning_rates_of_the_original(case, text):
    arrays = np.load(shared_files.require("fixtures/tf1/ops/learning_rates.npz"))
    rate = optimizer_builder.build_learning_rate(
        text_format.Parse(text, optimizer_pb2.LearningRate()))
    expected = arrays[f"{case}/out/learning_rate"]
    np.testing.assert_allclose(rate(arrays[f"{case}/in/step"]), expected, rtol=0,
                               atol=1e-5 * expected.max())
    scalar = tf.function(rate)(tf.constant(arrays[f"{case}/in/step"][-1]))
    np.testing.assert_allclose(scalar, expected[-1], atol=1e-5 * expected.max())


@pytest.mark.parametrize("compiled", [None, True])
@pytest.mark.parametrize("case, text", _cases("optimizers"))
def test_eight_steps_of_the_original(case, text, compiled):
    arrays = np.load(shared_files.require("fixtures/tf1/ops/optimizers.npz"))
    target, curvature = arrays[f"{case}/in/target"], arrays[f"{case}/in/curvature"]
    plan = build(text)
    weights = tf.Variable(arrays[f"{case}/in/w"], name="w")
    plan.optimizer.build([weights])
    if plan.moving_average:
        plan.moving_average.build([weights])

    @tf.function(jit_compile=compiled)
    def step(number):
        gradient = curvature * (weights - target)
        plan.optimizer.apply([(gradient, weights)], plan.learning_rate(number))
        if plan.moving_average:
            plan.moving_average.update([weights])

    for number in range(8):
        step(tf.constant(number))
        expected = arrays[f"{case}/out/w_after_each_step"][number]
        np.testing.assert_allclose(weights, expected, rtol=0, atol=1e-5 * np.abs(expected).max())
        if plan.moving_average:
            np.testing.assert_allclose(
                plan.moving_average.shadow(weights),
                arrays[f"{case}/out/average_after_each_step"][number], atol=1e-5)
    assert (plan.moving_average is not None) == ("average" in case)


def test_moving_average_is_on_by_default():
    plan = build(f"momentum_optimizer {{ {CONSTANT} }}")
    assert plan.moving_average is not None


@pytest.mark.parametrize("text, message", [
    ("", "optimizer: set one of"),
    ("adam_optimizer { }", "learning_rate: set one of"),
    ("adam_optimizer { learning_rate { manual_step_learning_rate { } } }", "schedule is empty"),
    ("adam_optimizer { learning_rate { manual_step_learning_rate { schedule { step: 900 } "
     "schedule { step: 300 } } } }", r"schedule\[1\].*300 follows 900"),
    ("adam_optimizer { learning_rate { cosine_decay_learning_rate { total_steps: 100 "
     "warmup_steps: 200 } } }", "exceed total_steps"),
    (f"adam_optimizer {{ {CONSTANT} }} moving_average_decay: 1.5", "moving_average_decay")])
def test_bad_blocks_are_refused_when_built(text, message):
    with pytest.raises(ValueError, match=message):
        build(text)


def test_a_cosine_schedule_of_another_length_than_the_training_is_reported(caplog):
    text = ("adam_optimizer { learning_rate { cosine_decay_learning_rate { total_steps: 300000 "
            "warmup_steps: 100 } } }")
    build(text, num_steps=300000)
    assert not caplog.text
    build(text, num_steps=300)
    assert "total_steps is 300000 but num_steps is 300" in caplog.text
