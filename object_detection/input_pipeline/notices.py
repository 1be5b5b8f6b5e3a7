"""Counted warnings from inside a `tf.data` pipeline."""

import threading

import numpy as np
import tensorflow as tf
from absl import logging


class CountedWarning:
    """Logs the first few events of a kind one by one, then each time the count doubles."""

    def __init__(self, text: str, in_full: int = 5) -> None:
        self.count = 0
        self._text = text  # a %-format with one place for the record and one for a number
        self._in_full = in_full
        self._lock = threading.Lock()

    def when(self, condition: tf.Tensor, record: tf.Tensor, number: tf.Tensor) -> tf.Tensor:
        """Returns `number` unchanged, after logging if the scalar `condition` holds.

        Use the returned tensor, so that the check is part of the graph. Python is entered only
        where the condition holds.
        """
        number = tf.cast(number, tf.int64)
        return tf.cond(
            condition,
            lambda: tf.ensure_shape(tf.numpy_function(self._log, [record, number], tf.int64), []),
            lambda: number)

    def _log(self, record: bytes, number: np.int64) -> np.int64:
        with self._lock:
            self.count += 1
            count = self.count
        if count <= self._in_full:
            logging.warning(self._text, record.decode("utf-8", "replace"), number)
        elif count & (count - 1) == 0:
            logging.warning(self._text + " (%d times so far)",
                            record.decode("utf-8", "replace"), number, count)
        return np.int64(number)
