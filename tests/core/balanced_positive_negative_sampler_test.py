"""How many positives and negatives are sampled, and from where."""

import numpy as np
import op_cases
import pytest
import tensorflow as tf

from object_detection.core.balanced_positive_negative_sampler import (
    BalancedPositiveNegativeSampler,
    subsample_indicator,
)

WHOLE_MASKS = ["all_fit", "all_fit_larger", "static_all", "static_larger"]
COUNTS = ["no_size", "no_size_quarter", "random_few_positives", "random_half", "random_quarter",
          "static_half", "static_quarter"]


def counts(sampled, labels):
    sampled = np.asarray(sampled)
    return (sampled & labels).sum(), (sampled & ~labels).sum()


@pytest.mark.parametrize("positives, batch_size, fraction, expected", [
    (50, 20, 0.5, (10, 10)), (3, 20, 0.5, (3, 17)), (99, 20, 0.5, (10, 1)),
    (50, 7, 0.5, (3, 4)),  # 3.5 is rounded down
    (50, 20, 0.0, (0, 20)), (50, 20, 1.0, (20, 0)), (50, 1000, 1.0, (50, 50)),
    (0, 20, 0.5, (0, 20)), (50, None, 0.25, (50, 50)), (10, None, 0.25, (10, 30))])
def test_counts(positives, batch_size, fraction, expected):
    labels = np.arange(100) < positives
    sampled = BalancedPositiveNegativeSampler(fraction).subsample(
        tf.ones([100], tf.bool), batch_size, tf.constant(labels))
    assert counts(sampled, labels) == expected


def test_each_batch_entry_is_sampled_alone_and_only_inside_the_indicator():
    indicator = np.array([[True] * 40 + [False] * 60, [False] * 100, [False] * 95 + [True] * 5])
    labels = np.tile(np.arange(100) % 4 == 0, [3, 1])
    sampled = BalancedPositiveNegativeSampler(0.5).subsample(
        tf.constant(indicator), 10, tf.constant(labels)).numpy()
    assert not (sampled & ~indicator).any()
    assert [counts(sampled[i], labels[i]) for i in range(3)] == [(5, 5), (0, 0), (1, 4)]


def test_no_elements():
    sampler = BalancedPositiveNegativeSampler()
    nothing = tf.zeros([2, 0], tf.bool)
    assert sampler.subsample(nothing, 10, nothing).shape == [2, 0]

    @tf.function(input_signature=[tf.TensorSpec([None, None], tf.bool)])
    def unknown_size(indicator):
        return sampler.subsample(indicator, 10, indicator)

    assert unknown_size(nothing).shape == [2, 0]
    assert unknown_size(tf.ones([1, 30], tf.bool)).numpy().sum() == 5


def test_the_choice_is_fair():
    tf.random.set_seed(3)
    kept = subsample_indicator(tf.ones([2000, 10], tf.bool), 4).numpy()
    assert (kept.sum(axis=1) == 4).all()
    assert np.abs(kept.mean(axis=0) - 0.4).max() < 0.05  # the standard deviation is 0.011


def test_ties_of_the_draw_do_not_add_elements(monkeypatch):
    monkeypatch.setattr(tf.random, "uniform", lambda shape: tf.fill(shape, 0.5))
    kept = subsample_indicator(tf.constant([False, True, True, True, True]), 2)
    assert kept.numpy().tolist() == [False, True, True, False, False]


def test_settings_that_cannot_work_are_refused():
    with pytest.raises(ValueError, match=r"in \[0, 1\], got 1.5"):
        BalancedPositiveNegativeSampler(1.5)
    some = tf.ones([3], tf.bool)
    with pytest.raises(ValueError, match="must be above 0"):
        BalancedPositiveNegativeSampler(0.0).subsample(some, None, some)
    with pytest.raises(ValueError, match="static sampler"):
        BalancedPositiveNegativeSampler(is_static=True).subsample(some, None, some)


def test_ignored_elements_stay_out_of_a_large_static_minibatch():
    indicator, labels = tf.constant([True, False, True, False]), tf.constant([True] + [False] * 3)
    right = BalancedPositiveNegativeSampler(1.0, is_static=True)
    assert right.subsample(indicator, 4, labels).numpy().tolist() == [True, False, True, False]
    faulty = BalancedPositiveNegativeSampler(1.0, is_static=True, original_static_fault=True)
    assert faulty.subsample(indicator, 3, labels).numpy().tolist() == [True, True, True, False]


@pytest.mark.parametrize("case", WHOLE_MASKS)
def test_whole_masks_as_in_the_original(case):
    inputs, outputs = op_cases.load("sampler", case)
    settings = op_cases.params("sampler", case)
    indicator, labels = tf.constant(inputs["indicator"]), tf.constant(inputs["labels"])
    for fault in (False, True):
        sampler = BalancedPositiveNegativeSampler(
            settings["positive_fraction"], settings["is_static"], original_static_fault=fault)
        sampled = sampler.subsample(indicator, settings["batch_size"], labels)
        # Without its fault the static sampler takes the candidates, as the dynamic one does.
        expected = outputs["sampled"] if fault or not settings["is_static"] else indicator
        np.testing.assert_array_equal(sampled, expected)


@pytest.mark.parametrize("case", COUNTS)
def test_counts_as_in_the_original(case):
    inputs, outputs = op_cases.load("sampler", case)
    settings = op_cases.params("sampler", case)
    sampler = BalancedPositiveNegativeSampler(
        settings["positive_fraction"], settings["is_static"])
    sampled = sampler.subsample(tf.constant(inputs["indicator"]), settings["batch_size"],
                                tf.constant(inputs["labels"])).numpy()
    assert counts(sampled, inputs["labels"]) == (outputs["num_positive"], outputs["num_negative"])
    assert (sampled & ~inputs["indicator"]).sum() == outputs["num_outside_indicator"]


def test_every_case_of_the_original_is_compared():
    assert op_cases.cases("sampler") == {*WHOLE_MASKS, *COUNTS}


def test_compiles_with_static_shapes():
    sampler = BalancedPositiveNegativeSampler(0.25, is_static=True)
    compiled = tf.function(lambda some, labels: sampler.subsample(some, 8, labels),
                           jit_compile=True)
    labels = np.tile(np.arange(40) < 10, [2, 1])
    sampled = compiled(tf.ones([2, 40], tf.bool), tf.constant(labels)).numpy()
    assert [counts(sampled[i], labels[i]) for i in range(2)] == [(2, 6), (2, 6)]
