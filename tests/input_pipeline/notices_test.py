"""Counted warnings from tf.data."""

import tensorflow as tf

from object_detection.input_pipeline import notices


def test_first_ones_in_full_then_powers_of_two(caplog):
    warning = notices.CountedWarning("record %s has %d", in_full=2)
    dataset = tf.data.Dataset.range(20).map(
        lambda i: warning.when(i >= 10, tf.strings.as_string(i), i))
    assert list(dataset.as_numpy_iterator()) == list(range(20))
    assert warning.count == 10
    assert [record.getMessage() for record in caplog.records] == [
        "record 10 has 10", "record 11 has 11", "record 13 has 13 (4 times so far)",
        "record 17 has 17 (8 times so far)"]
