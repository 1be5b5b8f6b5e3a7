"""Matcher that gives each column its most similar row, within thresholds."""

import tensorflow as tf

from object_detection.core import matcher


class ArgMaxMatcher(matcher.Matcher):
    """Matches a column to its most similar row if they are alike enough.

    With two thresholds a column is matched from `matched_threshold` on, background below
    `unmatched_threshold`, and ignored in between. Ties go to the first row.
    """

    def __init__(self, matched_threshold: float | None, unmatched_threshold: float | None = None,
                 negatives_lower_than_unmatched: bool = True,
                 force_match_for_each_row: bool = False) -> None:
        """Makes a matcher.

        Args:
            matched_threshold: least similarity of a match; None: every column is matched.
            unmatched_threshold: None: as `matched_threshold`, so that nothing is ignored.
            negatives_lower_than_unmatched: false swaps background and ignored columns.
            force_match_for_each_row: also match each valid row to its most similar column, however
                low their similarity; between rows that want one column the first wins.
        Raises:
            ValueError: if the thresholds contradict each other.
        """
        if unmatched_threshold is None:
            unmatched_threshold = matched_threshold
        elif matched_threshold is None:
            raise ValueError("ArgMaxMatcher: unmatched_threshold "
                             f"({unmatched_threshold}) needs a matched_threshold")
        elif unmatched_threshold > matched_threshold:
            raise ValueError(f"ArgMaxMatcher: unmatched_threshold {unmatched_threshold} is above "
                             f"matched_threshold {matched_threshold}")
        if not negatives_lower_than_unmatched and unmatched_threshold == matched_threshold:
            raise ValueError("ArgMaxMatcher: with negatives_lower_than_unmatched false, background "
                             "lies between the thresholds, so they must differ; both are "
                             f"{matched_threshold}")
        self.matched_threshold = matched_threshold
        self.unmatched_threshold = unmatched_threshold
        self.force_match_for_each_row = force_match_for_each_row
        self._below, self._between = (
            (matcher.UNMATCHED, matcher.IGNORED) if negatives_lower_than_unmatched
            else (matcher.IGNORED, matcher.UNMATCHED))

    def match(self, similarity: tf.Tensor, valid_rows: tf.Tensor | None = None) -> matcher.Match:
        rows, best = _first_argmax(similarity, axis=-2)
        if self.matched_threshold is not None:
            rows = tf.where(best < self.matched_threshold, self._between, rows)
            rows = tf.where(best < self.unmatched_threshold, self._below, rows)
        no_rows = tf.equal(tf.shape(similarity)[-2], 0)
        rows = tf.where(no_rows, matcher.UNMATCHED, rows)
        if self.force_match_for_each_row:
            rows = _force_rows(rows, similarity, valid_rows)
        return matcher.Match(rows)


def _force_rows(rows: tf.Tensor, similarity: tf.Tensor,
                valid_rows: tf.Tensor | None) -> tf.Tensor:
    """Overwrites int32 [..., A] where a row of [..., N, A] insists on its best column."""
    columns, _ = _first_argmax(similarity, axis=-1)
    num_rows, num_columns = tf.shape(similarity)[-2], tf.shape(similarity)[-1]
    wanted = tf.equal(columns[..., None], tf.range(num_columns))
    if valid_rows is not None:
        wanted &= valid_rows[..., None]
    forced = tf.reduce_min(tf.where(wanted, tf.range(num_rows)[:, None], num_rows), axis=-2)
    return tf.where(tf.reduce_any(wanted, axis=-2), forced, rows)


def _first_argmax(values: tf.Tensor, axis: int) -> tuple[tf.Tensor, tf.Tensor]:
    """Returns the first index of the maximum along an axis (-1 or -2), int32, and the maximum.

    Unlike `tf.argmax` it accepts an empty axis (index: the largest int32) and keeps the promise
    on ties.
    """
    best = tf.reduce_max(values, axis=axis, keepdims=True)
    index = tf.range(tf.shape(values)[axis])
    if axis == -2:
        index = index[:, None]
    first = tf.reduce_min(tf.where(tf.equal(values, best), index, tf.int32.max), axis=axis)
    return first, tf.squeeze(best, axis=axis)
