"""A training input without objects is reported once."""

import numpy as np
import pytest
import tensorflow as tf

from object_detection.engine import empty_input


def batches(*counts):
    return [({}, {"num_groundtruth_boxes": tf.constant(row, tf.int32)}) for row in counts]


@pytest.mark.parametrize("counts, warnings", [
    ([[0, 0], [0, 0], [0, 0]], ["first 4 images"]),  # looks at 4
    ([[0, 0]], ["first 2 images"]),  # ends before
    ([[0, 0], [0, 1], [0, 0], [0, 0]], []),
    ([[0, 0], [0, 0], [1, 1]], ["first 4 images"]),
    ([], [])])
def test_it_warns_once(counts, warnings, caplog):
    given = batches(*counts)
    got = list(empty_input.watched(given, tf.distribute.get_strategy(), images=4))
    assert [labels for _, labels in got] == [labels for _, labels in given]
    messages = [record.getMessage() for record in caplog.records]
    assert len(messages) == len(warnings)
    for message, expected in zip(messages, warnings):
        assert expected in message


def test_labels_without_counts_pass():
    given = [({}, {"other": np.zeros(1)})]
    assert list(empty_input.watched(given, tf.distribute.get_strategy())) == given
