"""Scores from logits: the original's numbers, and calibration worked out by hand."""

import numpy as np
import pytest
import shared_files
import tensorflow as tf

from object_detection.core.score_converters import (
    PerClass,
    PiecewiseLinear,
    PlattScaling,
    ScoreConverter,
)


@pytest.mark.parametrize("case, kind, scale", [
    ("identity", "identity", 1.0), ("sigmoid", "sigmoid", 1.0), ("sigmoid_scaled", "sigmoid", 0.5),
    ("softmax", "softmax", 1.0), ("softmax_scaled", "softmax", 2.5)])
def test_scores_equal_the_original(case, kind, scale):
    data = np.load(shared_files.require("fixtures/tf1/ops") / "score_converters.npz")
    expected = data[f"{case}/out/scores"]
    got = ScoreConverter(kind, scale)(tf.constant(data[f"{case}/in/logits"]))
    np.testing.assert_allclose(got, expected, rtol=0, atol=1e-5 * np.abs(expected).max())


def test_scores_of_low_precision_logits_are_float32():
    assert ScoreConverter("softmax")(tf.zeros([2, 3], tf.bfloat16)).dtype == tf.float32
    assert ScoreConverter("softmax")(tf.zeros([2, 0, 3])).shape == [2, 0, 3]


def test_piecewise_linear_and_its_ends():
    line = PiecewiseLinear((0.2, 0.4, 0.8), (0.0, 0.5, 0.6))
    got = line(tf.constant([[0.0, 0.2, 0.3], [0.6, 0.8, 1.0]]))
    np.testing.assert_allclose(got, [[0, 0, 0.25], [0.55, 0.6, 0.6]], atol=1e-6)


def test_fault_of_the_original_takes_high_scores_for_low_ones():
    scores = tf.constant([-9.0, 2.0, 2.9, 3.0, 9.0])  # the last point is at 2
    for fault, far in ((False, 0.6), (True, 0.1)):
        got = PiecewiseLinear((-2.0, 2.0), (0.1, 0.6), fault)(scores)
        np.testing.assert_allclose(got, [0.1, 0.6, 0.6, far, far], rtol=1e-6)


def test_a_single_point_is_a_constant():
    np.testing.assert_allclose(PiecewiseLinear((0.5,), (0.3,))(tf.constant([0.1, 0.5, 0.9])),
                               [0.3] * 3)


def test_platt_scaling_of_a_score():
    # The logit of 0.8 is log 4; 1 / (1 + exp(-2 log 4)) = 16 / 17. The default changes nothing.
    np.testing.assert_allclose(PlattScaling(-2.0)(tf.constant([0.8])), [16 / 17], rtol=1e-5)
    np.testing.assert_allclose(PlattScaling()(tf.constant([0.1, 0.8])), [0.1, 0.8], rtol=1e-5)


def test_classes_without_a_function_keep_their_scores():
    calibration = PerClass(((1, PiecewiseLinear((0.0, 1.0), (0.0, 0.5))),))
    got = ScoreConverter("identity", calibration=calibration)(tf.constant([[0.2, 0.6, 0.4]]))
    np.testing.assert_allclose(got, [[0.2, 0.3, 0.4]], rtol=1e-6)


def test_errors_say_what_was_wanted():
    with pytest.raises(ValueError, match="identity.*sigmoid.*softmax"):
        ScoreConverter("softplus")
    with pytest.raises(ValueError, match="logit_scale.*above 0"):
        ScoreConverter("softmax", 0.0)
    with pytest.raises(ValueError, match="rising x"):
        PiecewiseLinear((0.5, 0.1), (0.0, 1.0))
