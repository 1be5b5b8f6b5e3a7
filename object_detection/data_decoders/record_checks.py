"""Checks decoded records before they are trained on or scored.

One bad record otherwise shows as a NaN loss, an assertion without a name, or an AP of 0 many
hours later. The rules:

- Faults of a record (always named; an error, or the record is skipped): whatever the decoder put
  into `record_fault`, boxes in pixels, a label outside 1 to num_classes.
- Faults of a box (dropped and counted, or an error): NaN, inverted, without area, wholly outside
  the image.
- A box that reaches over the edge a little is clipped and counted. Training and evaluation use
  the same rule.
"""

import dataclasses
import threading
from typing import NamedTuple

import tensorflow as tf
from absl import logging

from object_detection.core.standard_fields import InputDataFields as Fields
from object_detection.data_decoders import tf_example_decoder

# Boxes that reach half an image beyond the edge are no slip of the mouse: these are pixels.
_LARGEST_COORDINATE = 1.5
_LOGGED_PER_KIND = 5

OBJECT_FIELDS = (
    Fields.groundtruth_boxes, Fields.groundtruth_classes, Fields.groundtruth_class_texts,
    Fields.groundtruth_area, Fields.groundtruth_weights, Fields.groundtruth_is_crowd,
    Fields.groundtruth_difficult, Fields.groundtruth_group_of,
    Fields.groundtruth_instance_masks, Fields.groundtruth_instance_mask_weights,
    Fields.multiclass_scores, Fields.groundtruth_keypoints,
    Fields.groundtruth_keypoint_visibilities, Fields.groundtruth_track_ids)


class IssueLog:
    """Counts what was dropped, clipped or skipped while a data set was read, and warns.

    The first few cases of each kind are logged with their record, then only powers of two. Shared
    by the threads of an input pipeline.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._counts: dict[str, int] = {}

    @property
    def counts(self) -> dict[str, int]:
        """Returns how often each kind was seen: dropped_boxes, clipped_boxes, skipped_records."""
        with self._lock:
            return dict(self._counts)

    def add(self, kind: str, number: int, message: str) -> None:
        """Counts `number` cases in one record and may log the message."""
        with self._lock:
            before = self._counts.get(kind, 0)
            after = self._counts[kind] = before + number
        if before < _LOGGED_PER_KIND or before.bit_length() != after.bit_length():
            logging.warning("%s: %d so far; %s", kind, after, message)


@dataclasses.dataclass(frozen=True)
class CheckSettings:
    """What is asked of a record, and what happens if it falls short."""

    num_classes: int
    drop_bad_boxes: bool = True  # else a bad box is an error
    skip_bad_records: bool = False  # else a bad record is an error
    issues: IssueLog | None = None  # told about everything that is dropped, clipped or skipped


class RecordCheck(NamedTuple):
    """The verdict on one record."""

    ok: tf.Tensor  # bool []
    message: tf.Tensor  # string [], names the record; empty if ok
    good_boxes: tf.Tensor  # bool [N]
    num_clipped: tf.Tensor  # int32 [], good boxes that reach over the edge
    box_message: tf.Tensor  # string [], names record and first bad box; empty if there is none


class Sanitized(NamedTuple):
    """A record that is fit for use, unless `keep` is false."""

    tensors: dict[str, tf.Tensor]
    keep: tf.Tensor  # bool [], false for a record to skip (`Dataset.filter`)
    num_dropped: tf.Tensor  # int32 []
    num_clipped: tf.Tensor  # int32 []


def record_name(decoded: dict[str, tf.Tensor]) -> tf.Tensor:
    """Returns string []: what identifies a record to its owner, for messages."""
    parts = [tf.where(decoded[field] == "", "", tf.strings.join([f" {label}='",
                                                                 decoded[field], "'"]))
             for field, label in ((Fields.filename, "filename"), (Fields.source_id, "source_id"))]
    name = tf.strings.join(parts)
    unnamed = tf.strings.join([" without filename and source_id, key='", decoded[Fields.key], "'"])
    return tf.strings.join(["record", tf.where(name == "", unnamed, name)])


def check_example(decoded: dict[str, tf.Tensor], num_classes: int) -> RecordCheck:
    """Finds what is wrong with a decoded record. Nothing is raised or changed.

    Args:
        decoded: what `TfExampleDecoder.decode` returns.
        num_classes: of the model, without background.
    """
    boxes = decoded[Fields.groundtruth_boxes]
    labels = decoded[Fields.groundtruth_classes]
    name = record_name(decoded)
    largest = tf.reduce_max(tf.concat([tf.reshape(boxes, [-1]), [0.0]], axis=0))
    finite = tf.reduce_all(tf.math.is_finite(boxes), axis=1)
    pixels = tf.reduce_any(tf.logical_and(finite[:, None], boxes > _LARGEST_COORDINATE))
    # Label -1 stands for an unknown text, which the decoder has reported already.
    wrong_label = tf.logical_and(tf.not_equal(labels, -1),
                                 tf.logical_or(labels < 1, labels > num_classes))
    row, label = _first(wrong_label, labels)
    messages = tf.stack([
        decoded[Fields.record_fault],
        tf.where(pixels, tf.strings.join(
            ["box coordinate ", tf.strings.as_string(largest, precision=4, shortest=True),
             ": looks like pixels, expected [0,1] (divide by the width and height of the image)"]),
            ""),
        tf.where(tf.reduce_any(wrong_label), tf.strings.join(
            ["label ", tf.strings.as_string(label), " of object ", tf.strings.as_string(row),
             f": want 1 to {num_classes} (num_classes of the model)"]), "")])
    message = tf.strings.reduce_join(tf.boolean_mask(messages, messages != ""), separator="; ")
    ok = message == ""
    good, clipped, box_message = _check_boxes(boxes, finite, name)
    return RecordCheck(ok, tf.where(ok, "", tf.strings.join([name, ": ", message])), good,
                       clipped, box_message)


def sanitize(decoded: dict[str, tf.Tensor], settings: CheckSettings) -> Sanitized:
    """Applies the rules of this module to a decoded record.

    Fields with one row per object stay aligned: a dropped box takes its label, mask, flags and so
    on with it. Without an `IssueLog` this is made of TensorFlow ops only.

    Raises:
        tf.errors.InvalidArgumentError: at run time, naming the record and the object, for what
            `settings` does not let pass.
    """
    check = check_example(decoded, settings.num_classes)
    asserts = []
    if not settings.skip_bad_records:
        asserts.append(tf.debugging.Assert(check.ok, [check.message]))
    if not settings.drop_bad_boxes:
        asserts.append(tf.debugging.Assert(check.box_message == "", [check.box_message]))
    with tf.control_dependencies([op for op in asserts if op is not None]):
        tensors = {key: tf.identity(value) for key, value in decoded.items()}
        good = tf.identity(check.good_boxes)
    tensors |= _gather_objects(tensors, good)
    kept = tensors[Fields.groundtruth_boxes]
    tensors[Fields.groundtruth_boxes] = tf.clip_by_value(kept, 0.0, 1.0)
    tensors[Fields.num_groundtruth_boxes] = tf.shape(kept)[0]
    num_dropped = tf.size(good) - tf.shape(kept)[0]
    if settings.issues is not None:
        _log(settings.issues, decoded, check, num_dropped)
    return Sanitized(tensors, check.ok, num_dropped, check.num_clipped)


def explain_first_record(serialized: bytes, decoder: tf_example_decoder.TfExampleDecoder) -> str:
    """Returns why a record cannot be parsed by `decoder`, or an empty string.

    TensorFlow's own message for a value of another type says neither where to look nor what to
    do. This is plain Python, meant for the first record of each file.
    """
    try:
        example = tf.train.Example.FromString(serialized)
    except Exception:  # protobuf's DecodeError lives elsewhere in each implementation
        return "not a tf.Example"
    kinds = {tf.string: "bytes_list", tf.float32: "float_list", tf.int64: "int64_list"}
    problems = []
    for key, feature in example.features.feature.items():
        wanted = decoder.feature_spec.get(key)
        got = feature.WhichOneof("kind")
        if wanted is None or got is None or got == kinds[wanted.dtype]:
            continue
        text = f"{key}: want a {kinds[wanted.dtype]}, got a {got}"
        if key == "image/object/mask":
            kind = "PNG_MASKS" if got == "bytes_list" else "NUMERICAL_MASKS"
            text += f" (set mask_type: {kind} in the input reader)"
        problems.append(text)
    return "; ".join(problems)


def _check_boxes(boxes: tf.Tensor, finite: tf.Tensor,
                 name: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor, tf.Tensor]:
    ymin, xmin, ymax, xmax = tf.unstack(boxes, axis=1)
    inverted = tf.logical_or(ymax < ymin, xmax < xmin)
    empty = tf.logical_or(ymax <= ymin, xmax <= xmin)
    clipped = tf.clip_by_value(boxes, 0.0, 1.0)
    outside = tf.logical_or(clipped[:, 2] <= clipped[:, 0], clipped[:, 3] <= clipped[:, 1])
    bad = tf.logical_or(tf.logical_not(finite), tf.logical_or(empty, outside))
    reasons = tf.where(
        tf.logical_not(finite), "not a number", tf.where(
            inverted, "inverted (a maximum below its minimum)", tf.where(
                empty, "without area", "wholly outside the image")))
    row, reason = _first(bad, reasons)
    values = tf.concat([boxes, tf.zeros([1, 4])], axis=0)[tf.minimum(row, tf.shape(boxes)[0])]
    numbers = tf.strings.reduce_join(
        tf.strings.as_string(values, precision=4, shortest=True), separator=", ")
    message = tf.where(tf.reduce_any(bad), tf.strings.join(
        [name, ": box of object ", tf.strings.as_string(row), " [ymin, xmin, ymax, xmax] = [",
         numbers, "] is ", reason]), "")
    good = tf.logical_not(bad)
    over_edge = tf.logical_and(good, tf.reduce_any(clipped != boxes, axis=1))
    return good, tf.math.count_nonzero(over_edge, dtype=tf.int32), message


def _first(found: tf.Tensor, values: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
    """Returns the first row where `found` is true, and its value; anything if there is none."""
    row = tf.argmax(tf.concat([tf.cast(found, tf.int32), [1]], axis=0), output_type=tf.int32)
    value = tf.concat([values, tf.zeros([1], values.dtype)], axis=0)[row]
    return row, value


def _gather_objects(tensors: dict[str, tf.Tensor], good: tf.Tensor) -> dict[str, tf.Tensor]:
    rows = {key: tensors[key] for key in OBJECT_FIELDS if key in tensors}
    # Masks are large: nothing is copied unless a box goes.
    return tf.cond(
        tf.reduce_all(good), lambda: {key: tf.identity(value) for key, value in rows.items()},
        lambda: {key: tf.boolean_mask(value, good) for key, value in rows.items()})


def _log(issues: IssueLog, decoded: dict[str, tf.Tensor], check: RecordCheck,
         num_dropped: tf.Tensor) -> None:
    name = record_name(decoded)
    for kind, number, message in (
            ("dropped_boxes", num_dropped, check.box_message),
            ("clipped_boxes", check.num_clipped, tf.strings.join([name, " has such boxes"])),
            ("skipped_records", tf.cast(tf.logical_not(check.ok), tf.int32), check.message)):
        def tell(number: tf.Tensor, message: tf.Tensor, kind: str = kind) -> None:
            issues.add(kind, int(number), message.numpy().decode("utf-8", "replace"))

        tf.cond(number > 0, lambda tell=tell, number=number, message=message: _call(
            tell, number, message), lambda: tf.constant(True))


def _call(tell, number: tf.Tensor, message: tf.Tensor) -> tf.Tensor:  # noqa: ANN001
    tf.py_function(tell, [number, message], [])
    return tf.constant(True)
