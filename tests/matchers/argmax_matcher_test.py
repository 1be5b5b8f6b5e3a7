"""Thresholds, forced matches, ties and empty sides of the argmax matcher."""

import numpy as np
import op_cases
import pytest
import tensorflow as tf

from object_detection.matchers.argmax_matcher import ArgMaxMatcher

SIMILARITY = tf.constant([[0.9, 0.1, 0.5, 0.2],
                          [0.1, 0.2, 0.4, 0.2]])
CASES = ["no_threshold", "one_threshold", "two_thresholds", "negatives_between", "force",
         "force_matmul", "force_negatives_between"]


def rows(matcher, similarity, valid_rows=None):
    return matcher.match(similarity, valid_rows).rows.numpy().tolist()


def test_thresholds():
    assert rows(ArgMaxMatcher(None), SIMILARITY) == [0, 1, 0, 0]  # a tie goes to the first row
    assert rows(ArgMaxMatcher(0.5), SIMILARITY) == [0, -1, 0, -1]  # a threshold itself matches
    assert rows(ArgMaxMatcher(0.6, 0.2), SIMILARITY) == [0, -2, -2, -2]
    assert rows(ArgMaxMatcher(0.6, 0.3, negatives_lower_than_unmatched=False),
                SIMILARITY) == [0, -2, -1, -2]


def test_forced_match_of_valid_rows_only():
    matcher = ArgMaxMatcher(0.7, 0.3, force_match_for_each_row=True)
    assert rows(matcher, SIMILARITY) == [0, -1, 1, -1]
    assert rows(matcher, SIMILARITY, tf.constant([True, False])) == [0, -1, -2, -1]


def test_of_two_rows_forced_on_one_column_the_first_wins():
    matcher = ArgMaxMatcher(0.7, 0.3, force_match_for_each_row=True)
    assert rows(matcher, tf.constant([[0.2, 0.1], [0.4, 0.1]])) == [0, -1]


@pytest.mark.parametrize("force", [False, True])
@pytest.mark.parametrize("threshold", [None, 0.5])
def test_no_rows_and_no_columns(force, threshold):
    matcher = ArgMaxMatcher(threshold, force_match_for_each_row=force)
    assert rows(matcher, tf.zeros([0, 3])) == [-1, -1, -1]
    assert rows(matcher, tf.zeros([2, 0, 2]), tf.zeros([2, 0], tf.bool)) == [[-1, -1], [-1, -1]]
    assert rows(matcher, tf.zeros([2, 0])) == []

    @tf.function(input_signature=[tf.TensorSpec([None, None, None])])
    def unknown_size(similarity):
        return matcher.match(similarity).rows

    assert unknown_size(tf.zeros([1, 0, 2])).numpy().tolist() == [[-1, -1]]


@pytest.mark.parametrize("arguments, message", [
    ((None, 0.3), "needs a matched_threshold"), ((0.3, 0.5), "is above"),
    ((0.5, 0.5, False), "must differ")])
def test_contradictions_are_refused(arguments, message):
    with pytest.raises(ValueError, match=message):
        ArgMaxMatcher(*arguments)


@pytest.mark.parametrize("case", [*CASES, *(f"{case}_valid_rows" for case in CASES)])
def test_as_in_the_original(case):
    inputs, outputs = op_cases.load("argmax_matcher", case)
    settings = dict(op_cases.params("argmax_matcher", case))
    unmatched, ignored = settings.pop("gather_unmatched"), settings.pop("gather_ignored")
    use_matmul = settings.pop("use_matmul_gather", False)
    match = ArgMaxMatcher(**settings).match(inputs["similarity"], inputs.get("valid_rows"))
    np.testing.assert_array_equal(match.rows, outputs["match_results"])
    for name, mask in (("matched", match.matched_mask()), ("unmatched", match.unmatched_mask()),
                       ("ignored", match.ignored_mask())):
        np.testing.assert_array_equal(np.flatnonzero(mask), outputs[f"{name}_columns"])
    np.testing.assert_array_equal(
        match.rows.numpy()[match.matched_mask()], outputs["matched_rows"])
    np.testing.assert_allclose(
        match.gather(inputs["table"], unmatched, ignored, use_matmul), outputs["gathered"],
        rtol=1e-6)


def test_no_rows_as_in_the_original():
    inputs, outputs = op_cases.load("argmax_matcher", "empty_rows")
    matcher = ArgMaxMatcher(**op_cases.params("argmax_matcher", "empty_rows"))
    np.testing.assert_array_equal(
        matcher.match(inputs["similarity"]).rows, outputs["match_results"])
    assert op_cases.cases("argmax_matcher") == {
        "empty_rows", *CASES, *(f"{case}_valid_rows" for case in CASES)}


def test_a_batch_equals_its_images():
    similarity = tf.random.stateless_uniform([3, 4, 20], [1, 2])
    valid = tf.constant([[True] * 4, [True, False, True, False], [False] * 4])
    matcher = ArgMaxMatcher(0.9, 0.6, force_match_for_each_row=True)
    batch = rows(matcher, similarity, valid)
    assert batch == [rows(matcher, similarity[i], valid[i]) for i in range(3)]
