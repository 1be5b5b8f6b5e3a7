"""Matcher that gives each row one column of its own."""

import tensorflow as tf

from object_detection.core import matcher


class GreedyBipartiteMatcher(matcher.Matcher):
    """Matches the most similar pair, then the most similar of what is left, and so on.

    Every valid row gets a column, as long as there are columns; all other columns are unmatched.
    """

    def match(self, similarity: tf.Tensor, valid_rows: tf.Tensor | None = None) -> matcher.Match:
        lowest = similarity.dtype.min
        shape = tf.shape(similarity)
        num_rows, num_columns = shape[-2], shape[-1]
        # One batch dimension; a pair that is taken or forbidden has the lowest value there is.
        flat_shape = tf.stack([tf.reduce_prod(shape[:-2]), num_rows, num_columns])
        left = tf.reshape(tf.maximum(similarity, lowest / 2), flat_shape)
        if valid_rows is not None:
            left = tf.where(tf.reshape(valid_rows, flat_shape[:2])[..., None], left, lowest)
        rows = tf.fill([flat_shape[0], num_columns], matcher.UNMATCHED)

        def match_best_pair(step: tf.Tensor, left: tf.Tensor,
                            rows: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor, tf.Tensor]:
            pairs = tf.reshape(left, [flat_shape[0], num_rows * num_columns])
            pair = tf.argmax(pairs, axis=-1, output_type=tf.int32)
            found = tf.reduce_max(pairs, axis=-1) > lowest
            row, column = pair // num_columns, pair % num_columns
            in_row = tf.equal(row[:, None], tf.range(num_rows))
            in_column = tf.equal(column[:, None], tf.range(num_columns))
            left = tf.where(in_row[:, :, None] | in_column[:, None, :], lowest, left)
            rows = tf.where(in_column & found[:, None], row[:, None], rows)
            return step + 1, left, rows

        pairs_at_most = tf.minimum(num_rows, num_columns)
        _, _, rows = tf.while_loop(
            lambda step, left, rows: step < pairs_at_most, match_best_pair,
            (tf.constant(0), left, rows),
            shape_invariants=(tf.TensorShape([]), tf.TensorShape([None, None, None]),
                              tf.TensorShape([None, None])))
        rows = tf.reshape(rows, tf.concat([shape[:-2], [num_columns]], axis=0))
        return matcher.Match(tf.ensure_shape(rows, [*similarity.shape[:-2], similarity.shape[-1]]))
