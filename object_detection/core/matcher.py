"""What a matcher is: it decides which box (row), if any, each anchor (column) stands for."""

import abc
from typing import NamedTuple

import tensorflow as tf

UNMATCHED = -1
IGNORED = -2


class Match(NamedTuple):
    """The row that each column is matched to."""

    rows: tf.Tensor  # int32 [..., A]: a row in [0, N), UNMATCHED or IGNORED

    def matched_mask(self) -> tf.Tensor:
        """Returns bool [..., A], true where a column has a row."""
        return self.rows >= 0

    def unmatched_mask(self) -> tf.Tensor:
        """Returns bool [..., A], true where a column is background."""
        return tf.equal(self.rows, UNMATCHED)

    def ignored_mask(self) -> tf.Tensor:
        """Returns bool [..., A], true where a column is neither."""
        return tf.equal(self.rows, IGNORED)

    def gather(self, values: tf.Tensor, unmatched: tf.Tensor, ignored: tf.Tensor,
               use_matmul: bool = False) -> tf.Tensor:
        """Fetches for each column the values of its row.

        Args:
            values: [..., N, ...], with the leading dimensions of `rows`; N may be 0.
            unmatched, ignored: what unmatched and ignored columns get; broadcast to the shape of
                one row of values.
            use_matmul: multiply by a one-hot matrix instead of gathering. Accelerators without a
                fast gather prefer it; the values are then as exact as their matrix product.
        Returns:
            [..., A, ...] of the type of values.
        """
        batch_rank = self.rows.shape.rank - 1
        row_shape = tf.shape(values)[batch_rank + 1:]
        special = tf.stack([tf.broadcast_to(tf.cast(ignored, values.dtype), row_shape),
                            tf.broadcast_to(tf.cast(unmatched, values.dtype), row_shape)])
        special = tf.broadcast_to(
            special, tf.concat([tf.shape(values)[:batch_rank], [2], row_shape], axis=0))
        # Row 0 answers for IGNORED and row 1 for UNMATCHED.
        table = tf.concat([special, values], axis=batch_rank)
        if use_matmul:
            return _matmul_gather(table, self.rows + 2)
        return tf.gather(table, self.rows + 2, axis=batch_rank, batch_dims=batch_rank)


class Matcher(abc.ABC):
    """Matches columns to rows by their similarity."""

    @abc.abstractmethod
    def match(self, similarity: tf.Tensor, valid_rows: tf.Tensor | None = None) -> Match:
        """Matches each column to at most one row.

        Args:
            similarity: float [..., N, A], higher is more alike; N and A may be 0.
            valid_rows: bool [..., N]; a row that is not valid is never forced on a column.
                None: all are.
        """


def _matmul_gather(table: tf.Tensor, indices: tf.Tensor) -> tf.Tensor:
    """Gathers rows of [..., N, ...] at int32 [..., A] by a matrix product in float32."""
    batch_rank = indices.shape.rank - 1
    shape = tf.shape(table)
    flat_shape = tf.concat(
        [shape[:batch_rank + 1], [tf.reduce_prod(shape[batch_rank + 1:])]], axis=0)
    flat = tf.reshape(tf.cast(table, tf.float32), flat_shape)
    one_hot = tf.one_hot(indices, shape[batch_rank], dtype=tf.float32)
    gathered = tf.reshape(tf.matmul(one_hot, flat),
                          tf.concat([tf.shape(indices), shape[batch_rank + 1:]], axis=0))
    return tf.cast(tf.ensure_shape(
        gathered, [*indices.shape, *table.shape[batch_rank + 1:]]), table.dtype)
