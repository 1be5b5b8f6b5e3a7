"""One training step: worked out by hand, on two replicas, and when it goes wrong."""

import numpy as np
import pytest
import tensorflow as tf
from engine import fake_model, two_devices

from object_detection.engine import selection, train_step
from object_detection.engine.train_step import TrainSettings, TrainStep
from object_detection.protos import train_pb2


def make_step(settings=TrainSettings(), penalty=0.0, **plan):  # noqa: B008
    model = fake_model.FakeModel(penalty=penalty)
    return TrainStep(model, fake_model.plan(**plan), settings)


def box_of(step):
    return step.model.variables_by_name[fake_model.BOX].numpy()


def test_a_step_by_hand():
    step = make_step(rate=0.1)
    result = step(*fake_model.batch())
    # Box loss: (0 - .25)^2 + (0 - .25)^2 + (1 - .75)^2 + (1 - .75)^2 = 0.25 in each image.
    np.testing.assert_allclose(result.losses[fake_model.LOCALIZATION], 0.25)
    np.testing.assert_allclose(result.losses[fake_model.CLASSIFICATION], np.log(2), rtol=1e-6)
    np.testing.assert_allclose(result.total_loss, 0.25 + np.log(2), rtol=1e-6)
    # Gradient of the box: 2 * (box - truth) = +-0.5; times the rate of 0.1.
    np.testing.assert_allclose(box_of(step), [0.05, 0.05, 0.95, 0.95], rtol=1e-6)
    assert int(step.global_step) == 1


def test_momentum_and_moving_average():
    step = make_step(rate=0.1, momentum=0.5, average=0.9)
    step(*fake_model.batch())
    step(*fake_model.batch())
    # Second gradient 2 * (0.05 - 0.25) = -0.4; accumulator 0.5 * -0.5 - 0.4 = -0.65.
    np.testing.assert_allclose(box_of(step)[0], 0.05 + 0.065, rtol=1e-6)
    state = step.state()
    np.testing.assert_allclose(state[fake_model.BOX + "/Momentum"][0], -0.65, rtol=1e-6)
    # The average starts at 0: 0.1 * 0.05, then 0.9 * 0.005 + 0.1 * 0.115.
    np.testing.assert_allclose(state[fake_model.BOX + "/ExponentialMovingAverage"][0], 0.016,
                               rtol=1e-5)


def test_clipping_sees_the_norm_of_all_gradients():
    settings = TrainSettings(clipping_norm=0.5, train_patterns=("BoxEncodingPredictor",))
    step = make_step(settings, rate=1.0)
    result = step(*fake_model.batch())
    np.testing.assert_allclose(result.gradient_norm, 1.0, rtol=1e-6)  # 4 times 0.5^2
    np.testing.assert_allclose(box_of(step), [0.25, 0.25, 0.75, 0.75], rtol=1e-6)


def test_clipping_each_variable_alone():
    free, clipped = (make_step(TrainSettings(variable_clipping_norm=norm), rate=1.0)
                     for norm in (0.0, 0.8))
    free(*fake_model.batch())
    result = clipped(*fake_model.batch())
    # The box's gradient has norm 1: 0.8 of it is left. That of the biases is below 0.8.
    np.testing.assert_allclose(box_of(clipped), [0.4, 0.4, 0.6, 0.6], rtol=1e-6)
    biases = [step.model.variables_by_name[fake_model.BIASES].numpy() for step in (free, clipped)]
    assert 0.0 < np.linalg.norm(biases[0]) < 0.8
    np.testing.assert_array_equal(*biases)
    assert result.gradient_norm > 1.0  # before clipping


def test_both_kinds_of_clipping():
    settings = TrainSettings(clipping_norm=0.25, variable_clipping_norm=0.5,
                             train_patterns=("BoxEncodingPredictor",))
    step = make_step(settings, rate=1.0)
    step(*fake_model.batch())
    # 0.5 is left by the first, and half of that by the second: 0.25 of a gradient of norm 1.
    np.testing.assert_allclose(box_of(step), [0.125, 0.125, 0.875, 0.875], rtol=1e-6)


@pytest.mark.parametrize("wanted", [True, False])
def test_regularization(wanted):
    step = make_step(TrainSettings(add_regularization_loss=wanted), penalty=0.5)
    losses = step(*fake_model.batch()).losses
    assert (train_step.REGULARIZATION_LOSS in losses) == wanted
    total = 0.25 + np.log(2) + (1.0 if wanted else 0.0)  # 0.5 * (1 + 1)
    np.testing.assert_allclose(losses[train_step.TOTAL_LOSS], total, rtol=1e-6)


def test_two_replicas_equal_one_device():
    strategy = two_devices.strategy()
    settings = TrainSettings(clipping_norm=0.3)
    data = [fake_model.batch(images=4, seed=seed) for seed in range(3)]
    alone = TrainStep(fake_model.FakeModel(penalty=0.1), fake_model.plan(average=0.5), settings)
    with strategy.scope():
        model = fake_model.FakeModel(penalty=0.1)
    shared = TrainStep(model, fake_model.plan(average=0.5), settings, strategy)
    halves = tf.data.Dataset.from_generator(
        lambda: (tf.nest.map_structure(lambda value, half=half: value[2 * half:2 * half + 2], one)
                 for one in data for half in (0, 1)),
        output_signature=tf.nest.map_structure(
            lambda value: tf.TensorSpec([2, *value.shape[1:]], value.dtype), data[0]))
    distributed = strategy.distribute_datasets_from_function(lambda context: halves)
    shared.trace_for(distributed.element_spec)
    for one, both in zip(data, distributed):
        expected, got = alone(*one), shared(*both)
        for name, value in expected.losses.items():
            np.testing.assert_allclose(got.losses[name], value, rtol=1e-5, err_msg=name)
        np.testing.assert_allclose(got.gradient_norm, expected.gradient_norm, rtol=1e-5)
    assert train_step.source_ids(strategy, both[0]) == ["image0", "image1", "image2", "image3"]
    for name, variable in alone.state().items():
        got = shared.state()[name].read_value()
        np.testing.assert_allclose(got, variable.read_value(), rtol=1e-5, atol=1e-7, err_msg=name)


def test_frozen_variables_stay_and_have_no_slots():
    step = make_step(TrainSettings(freeze_patterns=("^FirstStage", "biases:0$")))
    step(*fake_model.batch())
    assert list(step.trained) == [fake_model.BOX]
    assert not step.model.variables_by_name[fake_model.WEIGHTS].numpy().any()
    assert fake_model.WEIGHTS + "/Momentum" not in step.state()


def test_patterns_search_anywhere_and_freezing_wins():
    variables = fake_model.FakeModel().variables_by_name
    assert list(selection.select_variables(variables, ["Predictor"], ["Box.*weights"])) == [
        fake_model.BIASES]
    assert len(selection.select_variables(variables)) == 3  # moving_mean is not trainable


def test_freezing_everything_is_an_error():
    with pytest.raises(ValueError, match="none of the 3 trainable variables"):
        make_step(TrainSettings(freeze_patterns=(".*",)))


def test_a_broken_pattern_names_the_field():
    with pytest.raises(ValueError, match=r"freeze_variables: '\[' is no regular expression"):
        make_step(TrainSettings(freeze_patterns=("[",)))


def test_a_pattern_without_match_is_reported(caplog):
    make_step(TrainSettings(freeze_patterns=("resnet_v1_5O",)))
    assert "'resnet_v1_5O' matches no trainable variable" in caplog.text


def test_bias_factor_scales_gradients_of_biases_only():
    plain, scaled = make_step(), make_step(TrainSettings(bias_gradient_factor=3.0))
    plain(*fake_model.batch()), scaled(*fake_model.batch())
    for name, factor in ((fake_model.BIASES, 3), (fake_model.WEIGHTS, 1)):
        np.testing.assert_allclose(scaled.model.variables_by_name[name],
                                   factor * plain.model.variables_by_name[name], rtol=1e-5)


@pytest.mark.parametrize("name, expected", [
    ("SecondStageBoxPredictor/ClassPredictor/biases", True), ("RPNConv/bias", True),
    ("backbone/fpn/inner_blocks/0/0/bias", True), ("conv1_conv/kernel", False),
    ("biases/weights", False)])
def test_biases_are_known_by_the_names_of_all_networks(name, expected):
    assert train_step.is_bias(tf.Variable(0.0, name=name)) == expected


def test_a_loss_that_is_not_finite_names_step_loss_and_images():
    step = make_step()
    step(*fake_model.batch())
    features, labels = fake_model.batch()
    broken = {**labels, "groundtruth_boxes": labels["groundtruth_boxes"] / 0.0}
    with pytest.raises(train_step.NonFiniteLossError) as caught:
        step(features, broken)
    text = str(caught.value)
    assert "stopped at step 2" in text
    assert "BoxClassifierLoss/localization_loss nan" in text
    assert "'image0', 'image1'" in text


def test_gradient_norms_by_variable_on_request():
    norms = make_step(TrainSettings(gradient_norms=True))(*fake_model.batch()).gradient_norms
    np.testing.assert_allclose(norms[fake_model.BOX], 1.0, rtol=1e-6)


def test_settings_from_config():
    config = train_pb2.TrainConfig(gradient_clipping_by_norm=10.0, freeze_variables=["a"])
    settings = TrainSettings.from_config(config)
    assert settings == TrainSettings(clipping_norm=10.0, freeze_patterns=("a",))
    assert TrainSettings.from_config(train_pb2.TrainConfig(use_bfloat16=True)).bfloat16


def test_images_of_any_size_share_one_trace():
    step = make_step()
    spec = tf.nest.map_structure(lambda value: tf.TensorSpec(value.shape, value.dtype),
                                 fake_model.batch())
    spec[0]["image"] = tf.TensorSpec([2, None, None, 3], tf.float32)
    step.trace_for(spec)
    for side in (4, 6, 8):
        step(*fake_model.batch(side=side))
    assert step._traced[0].experimental_get_tracing_count() == 1
