"""Losses: worked values, the original's numbers, and images left out."""

import json

import numpy as np
import pytest
import shared_files
import tensorflow as tf

from object_detection.core import losses


def _params(case):
    return json.loads((shared_files.require("fixtures/tf1/ops") / "params.json").read_text())[
        "losses"][case]


def _loss_of(case):
    params = _params(case)
    if case.startswith("smooth_l1"):
        return losses.WeightedSmoothL1LocalizationLoss(params.get("delta", 1.0))
    if case.startswith("focal"):
        return losses.SigmoidFocalClassificationLoss(params["gamma"], params["alpha"])
    if case.startswith("bootstrapped"):
        return losses.BootstrappedSigmoidClassificationLoss(
            params["alpha"], params["bootstrap_type"] == "hard")
    if case == "softmax_against_logits":
        return losses.WeightedSoftmaxClassificationAgainstLogitsLoss(params["logit_scale"])
    if case.startswith("softmax"):
        return losses.WeightedSoftmaxClassificationLoss(params["logit_scale"])
    if case == "sigmoid_class_indices":
        return losses.WeightedSigmoidClassificationLoss(tuple(params["class_indices"]))
    return {"l2": losses.WeightedL2LocalizationLoss, "iou": losses.WeightedIOULocalizationLoss,
            "giou": losses.WeightedGIOULocalizationLoss,
            "sigmoid": losses.WeightedSigmoidClassificationLoss,
            "sigmoid_weights_1": losses.WeightedSigmoidClassificationLoss}[case]()


@pytest.mark.parametrize("case", [
    "l2", "smooth_l1_1.0", "smooth_l1_0.3", "smooth_l1_losses_mask", "smooth_l1_nan", "iou", "giou",
    "sigmoid", "sigmoid_weights_1", "sigmoid_class_indices", "softmax_1.0", "softmax_1.7",
    "softmax_losses_mask", "softmax_against_logits", "focal_2.0_0.25", "focal_1.5_0.6",
    "focal_2.0_None", "bootstrapped_soft", "bootstrapped_hard"])
def test_loss_equals_the_original(case):
    data = np.load(shared_files.require("fixtures/tf1/ops") / "losses.npz")
    value = {name: data[f"{case}/in/{name}"] for name in ("prediction", "target", "weights")}
    mask = data.get(f"{case}/in/losses_mask")
    got = tf.function(_loss_of(case))(
        tf.constant(value["prediction"]), tf.constant(value["target"]),
        tf.constant(value["weights"]), ignore_nan_targets=case == "smooth_l1_nan",
        losses_mask=None if mask is None else tf.constant(mask))
    expected = data[f"{case}/out/loss"]
    np.testing.assert_allclose(got.numpy().reshape(expected.shape), expected, rtol=0,
                               atol=1e-5 * np.abs(expected).max())


def test_l2_squares_the_weight():
    got = losses.WeightedL2LocalizationLoss()([[[1.0, 2.0]]], [[[0.0, 0.0]]], [[2.0]])
    np.testing.assert_allclose(got, [[0.5 * (2.0 ** 2 + 4.0 ** 2)]])


def test_smooth_l1_on_both_sides_of_delta():
    loss = losses.WeightedSmoothL1LocalizationLoss(delta=2.0)
    # 1 is within delta: 0.5; 5 is beyond: 2 * (5 - 1) = 8.
    np.testing.assert_allclose(loss([[[1.0, 5.0]]], [[[0.0, 0.0]]], [[3.0]]), [[3 * 8.5]])


def test_l1_sums_over_codes():
    got = losses.L1LocalizationLoss()([[[1.0, -5.0]]], [[[0.0, 1.0]]], [[0.5]])
    np.testing.assert_allclose(got, [[3.5]])


@pytest.mark.parametrize("first, second, expected", [
    ([0, 0, 2, 2], [0, 0, 2, 2], 0.0),
    ([0, 0, 1, 1], [0, 1, 1, 2], 1.0),  # side by side: no overlap, no empty share
    ([0, 0, 1, 1], [0, 3, 1, 4], 1.5),  # hull 4, union 2
    ([1, 1, 1, 1], [1, 1, 1, 1], 1.0)])  # no area must not be NaN
def test_giou_of_a_pair(first, second, expected):
    got = losses.WeightedGIOULocalizationLoss()(
        tf.constant([[first]], tf.float32), tf.constant([[second]], tf.float32), [[1.0]])
    np.testing.assert_allclose(got, [[expected]], atol=1e-6)


def test_softmax_uses_the_mean_weight_of_a_row():
    got = losses.WeightedSoftmaxClassificationLoss()(
        [[[0.0, 0.0]]], [[[0.0, 1.0]]], [[[1.0, 3.0]]])
    np.testing.assert_allclose(got, [[2 * np.log(2)]], rtol=1e-6)


def test_focal_without_focus_is_half_the_sigmoid_loss():
    logits, target = [[[0.3, -1.0, 2.0]]], [[[1.0, 0.0, 0.0]]]
    focal = losses.SigmoidFocalClassificationLoss(gamma=0.0, alpha=0.5)(logits, target)
    plain = losses.WeightedSigmoidClassificationLoss()(logits, target)
    np.testing.assert_allclose(focal, 0.5 * plain, rtol=1e-6)


def test_penalty_reduced_focal_by_hand():
    # Even logits: p = 1/2. Positive: (1/2)^2 log 2. Negatives: (1 - t)^4 (1/2)^2 log 2.
    got = losses.PenaltyReducedLogisticFocalLoss()(
        tf.zeros([1, 1, 3]), [[[1.0, 0.0, 0.5]]], [[[2.0, 1.0, 1.0]]])
    np.testing.assert_allclose(got, np.log(2) * np.array([[[0.5, 0.25, 0.25 / 16]]]), rtol=1e-5)
    # A confident error costs at most log(1e4), so that nothing is infinite.
    far = losses.PenaltyReducedLogisticFocalLoss(0.0, 0.0)([[[-99.0]]], [[[1.0]]])
    np.testing.assert_allclose(far, [[[np.log(1e4)]]], rtol=1e-5)


@pytest.mark.parametrize("loss", [losses.WeightedSoftmaxClassificationLoss(2.0),
                                  losses.WeightedSoftmaxClassificationAgainstLogitsLoss(2.0)])
def test_logit_scale_divides_the_logits(loss):
    # 2 log 3 over 2: probabilities 3/4 and 1/4. The teacher's logits are even: 1/2 each.
    soft = isinstance(loss, losses.WeightedSoftmaxClassificationAgainstLogitsLoss)
    target = [[[0.0, 0.0]]] if soft else [[[1.0, 0.0]]]
    expected = -0.5 * np.log(3 / 16) if soft else -np.log(3 / 4)
    np.testing.assert_allclose(loss([[[2 * np.log(3.0), 0.0]]], target), [[expected]], rtol=1e-5)


def test_focal_loss_by_hand():
    # p = 1/4 for a positive, 1/4 for a negative: 0.75^2 * 0.25 * log 4, 0.25^2 * 0.75 * log(4/3).
    logit = float(np.log(1 / 3))
    got = losses.SigmoidFocalClassificationLoss(2.0, 0.25)([[[logit, logit]]], [[[1.0, 0.0]]])
    np.testing.assert_allclose(
        got, [[[0.5625 * 0.25 * np.log(4), 0.0625 * 0.75 * np.log(4 / 3)]]], rtol=1e-5)


def test_bootstrapped_sigmoid_by_hand():
    # p = 3/4, target 0, half mixed in: a soft target of 3/8, a hard one of 1/2.
    logit = [[[float(np.log(3.0))]]]
    soft = losses.BootstrappedSigmoidClassificationLoss(0.5)(logit, [[[0.0]]])
    np.testing.assert_allclose(soft, [[[-3 / 8 * np.log(3 / 4) - 5 / 8 * np.log(1 / 4)]]],
                               rtol=1e-5)
    hard = losses.BootstrappedSigmoidClassificationLoss(0.5, hard=True)(logit, [[[0.0]]])
    np.testing.assert_allclose(hard, [[[-np.log(3 / 16) / 2]]], rtol=1e-5)


def test_iou_loss_of_a_pair():
    got = losses.WeightedIOULocalizationLoss()(
        tf.constant([[[0.0, 0, 2, 2]]]), tf.constant([[[0.0, 1, 2, 3]]]), [[3.0]])
    np.testing.assert_allclose(got, [[3 * (1 - 1 / 3)]], rtol=1e-6)  # shared 2, union 6


def test_image_left_out_costs_nothing_even_if_it_holds_nan():
    prediction = tf.constant([[[np.nan] * 4], [[1.0] * 4]])
    variable = tf.Variable(prediction)
    with tf.GradientTape() as tape:
        loss = losses.WeightedSmoothL1LocalizationLoss()(
            variable, tf.zeros([2, 1, 4]), tf.ones([2, 1]),
            losses_mask=tf.constant([False, True]))
    np.testing.assert_allclose(loss, [[0.0], [2.0]])
    np.testing.assert_allclose(tape.gradient(loss, variable), [[[0.0] * 4], [[1.0] * 4]])


def test_low_precision_predictions_give_float32():
    got = losses.WeightedSoftmaxClassificationLoss()(
        tf.zeros([1, 2, 3], tf.bfloat16), tf.one_hot([[0, 1]], 3))
    assert got.dtype == tf.float32


@pytest.mark.parametrize("loss, shape", [
    (losses.WeightedL2LocalizationLoss(), [2, 0]),
    (losses.WeightedSmoothL1LocalizationLoss(), [2, 0]),
    (losses.L1LocalizationLoss(), [2, 0]),
    (losses.WeightedIOULocalizationLoss(), [2, 0]),
    (losses.WeightedGIOULocalizationLoss(), [2, 0]),
    (losses.WeightedSigmoidClassificationLoss(), [2, 0, 4]),
    (losses.SigmoidFocalClassificationLoss(), [2, 0, 4]),
    (losses.WeightedSoftmaxClassificationLoss(), [2, 0]),
    (losses.WeightedSoftmaxClassificationAgainstLogitsLoss(), [2, 0]),
    (losses.PenaltyReducedLogisticFocalLoss(), [2, 0, 4]),
    (losses.BootstrappedSigmoidClassificationLoss(0.5), [2, 0, 4])])
def test_no_anchors(loss, shape):
    assert loss(tf.zeros([2, 0, 4]), tf.zeros([2, 0, 4])).shape == shape


def test_per_anchor_sums_trailing_dimensions():
    np.testing.assert_allclose(losses.per_anchor(tf.ones([2, 3, 4])), np.full([2, 3], 4.0))
    np.testing.assert_allclose(losses.per_anchor(tf.ones([2, 3])), np.ones([2, 3]))
