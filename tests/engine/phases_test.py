"""Training in phases: what changes when, at which rate, and after a stop in the middle."""

import logging

import absl.logging
import numpy as np
import pytest
import small_detector
import tensorflow as tf
from engine import fake_model, pipelines
from google.protobuf import text_format

from object_detection.builders import model_builder
from object_detection.core.standard_fields import InputDataFields as Fields
from object_detection.engine import checkpoints, estimator, phases
from object_detection.engine.phases import PhaseSettings
from object_detection.engine.run_config import RunConfig
from object_detection.engine.train_step import TrainSettings, TrainStep
from object_detection.protos import train_pb2

TWO = """
  phases { name: "heads" num_steps: 2 trainable_variables: "^Second"
           learning_rate { constant_learning_rate { learning_rate: 0.1 } } }
  phases { num_steps: 3 }
"""


def read(text):
    return phases.read(text_format.Parse(text, train_pb2.TrainConfig()))


def values(step):
    return {name: variable.numpy() for name, variable in step.model.variables_by_name.items()}


def changed(before, after):
    return {name for name in before if np.any(before[name] != after[name])}


def test_each_phase_changes_its_own_variables_at_its_own_rate():
    settings = TrainSettings(phases=(
        PhaseSettings("heads", 2, patterns=("^Second",), learning_rate=lambda step: 0.25 * (
            1.0 + tf.cast(step, tf.float32))),
        PhaseSettings("", 1, patterns=("conv/weights",))))
    step = TrainStep(fake_model.FakeModel(), fake_model.plan(rate=0.125), settings)
    assert set(step.trained) == {fake_model.WEIGHTS, fake_model.BIASES, fake_model.BOX}
    rates, changes = [], []
    for _ in range(4):  # past the last phase, the last goes on
        before = values(step)
        rates.append(float(step(*fake_model.batch()).learning_rate))
        changes.append(changed(before, values(step)) - {fake_model.MEAN})
    assert rates == [0.25, 0.5, 0.125, 0.125]
    heads = {fake_model.BIASES, fake_model.BOX}
    assert changes == [heads, heads, {fake_model.WEIGHTS}, {fake_model.WEIGHTS}]


def test_rate_of_a_phase_counts_from_its_beginning():
    found = phases.resolve(
        (PhaseSettings("", 5), PhaseSettings("", 2, learning_rate=lambda step: 10 * step)),
        {"a": tf.Variable(0.0)}, lambda step: step)
    assert [phase.first_step for phase in found] == [0, 5]
    assert [phases.index_at(found, made) for made in (0, 4, 5, 6, 7)] == [0, 0, 1, 1, 1]
    assert found[0].learning_rate(4) == 4
    assert found[1].learning_rate(6) == 10


def test_momentum_goes_on_through_a_phase_that_rests():
    settings = TrainSettings(phases=(PhaseSettings("", 1), PhaseSettings("", 1, ("biases",)),
                                     PhaseSettings("", 1)))
    step = TrainStep(fake_model.FakeModel(), fake_model.plan(rate=0.1, momentum=0.5), settings)
    slot = step.state()[fake_model.BOX + "/Momentum"]
    for expected in (-0.5, -0.5, -0.65):  # the third: 0.5 * -0.5 - 0.4
        step(*fake_model.batch())
        np.testing.assert_allclose(slot.numpy()[0], expected, rtol=1e-5)


def test_each_phase_is_announced_once(caplog, monkeypatch):
    monkeypatch.setattr(absl.logging, "info", logging.getLogger("phases").info)
    step = TrainStep(fake_model.FakeModel(), fake_model.plan(), TrainSettings(
        phases=(PhaseSettings("heads", 2, ("^Second",)), PhaseSettings("", 1))))
    with caplog.at_level(logging.INFO, logger="phases"):
        for _ in range(3):
            step(*fake_model.batch())
    lines = [record.getMessage() for record in caplog.records if "phase " in record.getMessage()]
    assert lines == [
        "phase 1 of 2 (heads), steps 0 to 2: 2 of 3 trainable variables are trained",
        "phase 2 of 2, steps 2 to 3: 3 of 3 trainable variables are trained"]


def test_freezing_holds_in_all_phases():
    settings = TrainSettings(freeze_patterns=("biases",), phases=(
        PhaseSettings("", 1, preset="heads"), PhaseSettings("", 1, preset="all")))
    model = fake_model.FakeModel()
    names = {fake_model.BIASES: "SecondStageBoxPredictor/b/biases"}
    model._own = {names.get(name, name.replace("net/conv", "resnet_v1_50/conv1")): variable
                  for name, variable in model._own.items()}
    found = phases.resolve(settings.phases, {
        name: variable for name, variable in model.variables_by_name.items()
        if "biases" not in name}, lambda step: 1.0)
    assert list(found[0].trained) == [fake_model.BOX]
    assert len(found[1].trained) == 3


def test_two_phases_from_text():
    first, second = read(TWO)
    assert (first.name, first.num_steps, first.patterns) == ("heads", 2, ("^Second",))
    np.testing.assert_allclose(first.learning_rate(0), 0.1)
    assert (second.patterns, second.preset, second.learning_rate) == ((), "", None)
    assert read("num_steps: 5" + TWO) and read("num_steps: 7") == ()


@pytest.mark.parametrize("text, message", [
    ("num_steps: 6" + TWO, "num_steps is 6, but .* add up to 5; set num_steps to 5"),
    ("phases {}", r"phases\[0\].num_steps: want 1 or more, got 0"),
    ('phases { num_steps: 1 trainable_layers: "2+" }', "want one of heads, 5"),
    ('phases { num_steps: 1 trainable_layers: "all" trainable_variables: "a" }', "got both"),
    ("phases { num_steps: 1 learning_rate {} }", "optimizer.learning_rate: set one of")])
def test_what_cannot_work_is_named(text, message):
    with pytest.raises(ValueError, match=message):
        read(text)


def test_a_phase_that_trains_nothing_is_an_error():
    with pytest.raises(ValueError, match=r"phases\[0\]: none of the 1 variables"):
        phases.resolve([PhaseSettings("", 1, ("b",))], {"a": tf.Variable(0.0)}, lambda step: 1.0)
    with pytest.raises(ValueError, match=r"phases\[0\].trainable_layers: 'heads' says nothing"):
        phases.resolve([PhaseSettings("", 1, preset="heads")], {"a": tf.Variable(0.0)},
                       lambda step: 1.0)


@pytest.fixture
def pipeline(tmp_path, monkeypatch):
    pipelines.use_fake_model(monkeypatch)
    pipelines.use_fake_inputs(monkeypatch)
    pipeline = pipelines.write(tmp_path)
    pipeline.train_config.ClearField("num_steps")
    text_format.Merge(TWO, pipeline.train_config)
    return pipeline


def test_stopped_in_the_second_phase_and_gone_on_with(pipeline, tmp_path):
    def run_in(name, steps=None):
        return estimator.train(pipeline, RunConfig(f"{tmp_path}/{name}", num_train_steps=steps,
                                                   checkpoint_every=1, seed=1))
    assert run_in("once").step == 5  # the phases give the length
    for steps in (1, 3, None):
        run_in("thrice", steps)
    once, thrice = (checkpoints.read(f"{tmp_path}/{name}/model.ckpt-5")
                    for name in ("once", "thrice"))
    assert set(once) == set(thrice)
    for name, value in once.items():
        np.testing.assert_allclose(thrice[name], value, rtol=1e-5, err_msg=name)
    early = checkpoints.read(f"{tmp_path}/once/model.ckpt-2")
    assert not early[fake_model.WEIGHTS].any()
    assert once[fake_model.WEIGHTS].any()


def test_more_steps_than_the_phases_have(pipeline, tmp_path):
    for steps in (6, 0):
        with pytest.raises(ValueError, match="phases of train_config end with step 5"):
            estimator.train(pipeline, RunConfig(f"{tmp_path}/run", num_train_steps=steps))


def test_statistics_of_layers_that_rest_do_not_move():
    """Batch norm of the backbone: in the first phase only stages 5 and up, then all."""
    model = model_builder.build(small_detector.config(2, """
      feature_extractor { batch_norm_trainable: true }"""), is_training=True)
    settings = TrainSettings(phases=(PhaseSettings("", 1, preset="5+"), PhaseSettings("", 1)))
    step = TrainStep(model, fake_model.plan(rate=0.01), settings)
    features = {Fields.image: model.normalize(tf.random.stateless_uniform(
        [1, 64, 64, 3], seed=[1, 2], maxval=255.0)),
        Fields.true_image_shape: tf.constant([[64, 64, 3]])}
    labels = {Fields.groundtruth_boxes: tf.constant([[[0.1, 0.1, 0.6, 0.6]]]),
              Fields.groundtruth_classes: tf.constant([[[1.0, 0.0]]]),
              Fields.groundtruth_weights: tf.ones([1, 1]),
              Fields.groundtruth_is_crowd: tf.zeros([1, 1], tf.bool)}
    before = values(step)
    step(features, labels)
    middle = values(step)
    step(features, labels)
    first, second = changed(before, middle), changed(middle, values(step))
    assert first and not any(name.startswith("FirstStageFeatureExtractor") for name in first)
    moved = "SecondStageFeatureExtractor/MobilenetV1/Conv2d_12_pointwise/BatchNorm/moving_mean"
    assert moved in first
    assert "FirstStageFeatureExtractor/MobilenetV1/Conv2d_0/BatchNorm/moving_mean" in second
    assert "FirstStageFeatureExtractor/MobilenetV1/Conv2d_0/weights" in second
