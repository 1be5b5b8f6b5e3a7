"""Unique ids of evaluation images."""

import tensorflow as tf

from object_detection.core.standard_fields import InputDataFields as Fields
from object_detection.input_pipeline import image_ids


def unique(ids):
    dataset = tf.data.Dataset.from_tensor_slices({Fields.source_id: ids})
    return [record[Fields.source_id].numpy().decode()
            for record in image_ids.make_unique(dataset)]


def test_empty_and_repeated_ids():
    assert unique(["b", "", "b", "a", "b", ""]) == [
        "b", "image_1", "b#2", "a", "b#3", "image_5"]


def test_records_that_repeat_are_dropped_in_every_pass():
    dataset = image_ids.drop_repeated_records(
        tf.data.Dataset.from_tensor_slices(["x", "y", "x", "x", "z"]))
    for _ in range(2):
        assert list(dataset.as_numpy_iterator()) == [b"x", b"y", b"z"]
