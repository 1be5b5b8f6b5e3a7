"""Makes the image ids of an evaluation set unique, since metrics count images by id."""

from collections.abc import Callable
from typing import Any

import tensorflow as tf

from object_detection.core.augment.tensors import Tensors
from object_detection.core.standard_fields import InputDataFields as Fields
from object_detection.input_pipeline import notices


def drop_repeated_records(records: tf.data.Dataset) -> tf.data.Dataset:
    """Drops records that equal an earlier one byte for byte, with a counted warning."""
    warning = notices.CountedWarning(
        "evaluation input: record number %s repeats an earlier one (%d times) and is left out")

    def is_new(element: tuple[tf.Tensor, tf.Tensor], repeats: tf.Tensor) -> tf.Tensor:
        index, _ = element
        return warning.when(repeats > 0, tf.strings.as_string(index), repeats) == 0

    counted = _with_occurrence(records.enumerate(), lambda element: element[1])
    return counted.filter(is_new).map(lambda element, repeats: element[1])


def make_unique(records: tf.data.Dataset, prefix: str = "image") -> tf.data.Dataset:
    """Gives decoded records without a source id one, and unlike records of one id different ids.

    An empty id becomes "<prefix>_<number in the set>"; the second record with id "x" becomes "x#2".
    """
    warning = notices.CountedWarning(
        "evaluation input: image id %s is used by several records (%d before this one); the later "
        "ones get a suffix. Give each record its own image/source_id")

    def named(index: tf.Tensor, record: Tensors) -> Tensors:
        number = tf.strings.join([prefix, "_", tf.strings.as_string(index)])
        given = record[Fields.source_id]
        return {**record, Fields.source_id: tf.where(tf.equal(given, ""), number, given)}

    def renamed(record: Tensors, repeats: tf.Tensor) -> Tensors:
        given = record[Fields.source_id]
        repeats = warning.when(repeats > 0, given, repeats)
        suffixed = tf.strings.join([given, "#", tf.strings.as_string(repeats + 1)])
        return {**record, Fields.source_id: tf.where(repeats > 0, suffixed, given)}

    named_records = records.enumerate().map(named)
    return _with_occurrence(named_records, lambda record: record[Fields.source_id]).map(renamed)


def _with_occurrence(dataset: tf.data.Dataset,
                     text: Callable[[Any], tf.Tensor]) -> tf.data.Dataset:
    """Pairs each element with how many earlier ones had the same `text(element)` (int64)."""
    def count(seen: tf.Tensor, element: Any) -> tuple[tf.Tensor, tuple]:  # noqa: ANN401
        value = tf.strings.to_hash_bucket_fast(text(element), 2 ** 62)
        repeats = tf.reduce_sum(tf.cast(seen == value, tf.int64))
        return tf.concat([seen, [value]], 0), (element, repeats)
    return dataset.scan(tf.zeros([0], tf.int64), count)
