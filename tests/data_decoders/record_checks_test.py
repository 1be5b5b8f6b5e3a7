import numpy as np
import pytest
import small_records as records
import tensorflow as tf

from object_detection.core.standard_fields import InputDataFields as Fields
from object_detection.data_decoders import record_checks, tf_example_decoder

GOOD = [0.1, 0.2, 0.5, 0.6]


def decoded(boxes, labels=None, decoder_options=None, **fields):
    labels = [1] * len(boxes) if labels is None else labels
    decoder = tf_example_decoder.TfExampleDecoder(**(decoder_options or {}))
    return decoder.decode(tf.constant(
        records.record(boxes, object__class__label=labels or None, **fields)))


def check(boxes, labels=None, num_classes=2, **fields):
    return record_checks.check_example(decoded(boxes, labels, **fields), num_classes)


@pytest.mark.parametrize("boxes", [[], [GOOD], [GOOD, [0.0, 0.0, 1.0, 1.0]]])
def test_sound_records(boxes):
    result = check(boxes)
    assert result.ok
    assert result.message == b""
    assert result.box_message == b""
    assert result.good_boxes.numpy().tolist() == [True] * len(boxes)
    assert result.num_clipped == 0


def test_pixels_are_recognised():  # BR-04
    result = check([[12.0, 12.0, 300.0, 447.0]])
    assert not result.ok
    message = result.message.numpy().decode()
    assert "filename='a.png' source_id='17'" in message
    assert "447: looks like pixels, expected [0,1]" in message


@pytest.mark.parametrize("label", [0, 3, -2])  # BR-12; 0 is the background
def test_labels_out_of_range_name_the_object(label):
    result = check([GOOD, GOOD], [2, label])
    assert f"label {label} of object 1: want 1 to 2" in result.message.numpy().decode()


@pytest.mark.parametrize("box, reason", [
    ([0.1, 0.7, 0.5, 0.3], "inverted"), ([0.5, 0.1, 0.1, 0.3], "inverted"),
    ([0.1, 0.3, 0.5, 0.3], "without area"), ([0.1, float("nan"), 0.5, 0.3], "not a number"),
    ([-0.5, 0.1, -0.1, 0.3], "wholly outside"), ([0.1, 1.0, 0.5, 1.2], "wholly outside")])
def test_bad_boxes_are_named_with_their_number(box, reason):  # BR-01, BR-06
    result = check([GOOD, box])
    assert result.ok  # of the record, apart from that box
    assert result.good_boxes.numpy().tolist() == [True, False]
    message = result.box_message.numpy().decode()
    assert "box of object 1" in message
    assert reason in message


@pytest.mark.parametrize("xmax", [1.004, 1.0156, 1.15])  # BR-02
def test_a_box_over_the_edge_is_clipped(xmax):
    got = record_checks.sanitize(decoded([[-0.05, 0.2, 0.5, xmax]]),
                                 record_checks.CheckSettings(num_classes=1))
    np.testing.assert_allclose(got.tensors[Fields.groundtruth_boxes], [[0, 0.2, 0.5, 1]],
                               rtol=1e-6)
    assert got.num_clipped == 1
    assert got.num_dropped == 0


def test_dropping_keeps_all_fields_aligned():
    masks = np.zeros([3, 4, 6])
    for row in range(3):
        masks[row, row] = 1
    issues = record_checks.IssueLog()
    settings = record_checks.CheckSettings(num_classes=5, issues=issues)
    dataset = tf.data.Dataset.from_tensors(records.record(
        [GOOD, [0.5, 0.5, 0.5, 0.9], GOOD], object__class__label=[1, 2, 3],
        object__is_crowd=[0, 1, 1], object__weight=[0.1, 0.2, 0.3],
        object__mask=masks.ravel().tolist()))
    decoder = tf_example_decoder.TfExampleDecoder(load_instance_masks=True)
    got = next(iter(dataset.map(
        lambda data: record_checks.sanitize(decoder.decode(data), settings))))
    assert got.keep
    assert got.num_dropped == 1
    tensors = got.tensors
    assert tensors[Fields.num_groundtruth_boxes] == 2
    assert tensors[Fields.groundtruth_classes].numpy().tolist() == [1, 3]
    assert tensors[Fields.groundtruth_is_crowd].numpy().tolist() == [False, True]
    np.testing.assert_allclose(tensors[Fields.groundtruth_weights], [0.1, 0.3])
    np.testing.assert_array_equal(tensors[Fields.groundtruth_instance_masks], masks[[0, 2]])
    assert issues.counts == {"dropped_boxes": 1}


@pytest.mark.parametrize("settings, boxes, labels, message", [
    (record_checks.CheckSettings(2), [GOOD], [3], "label 3 of object 0"),
    (record_checks.CheckSettings(2), [[0, 0, 20, 30]], [1], "looks like pixels"),
    (record_checks.CheckSettings(2, drop_bad_boxes=False), [[0.5, 0, 0.5, 1]], [1],
     "box of object 0.*without area")])
def test_errors_name_record_and_object(settings, boxes, labels, message):
    serialized = records.record(boxes, object__class__label=labels)
    decoder = tf_example_decoder.TfExampleDecoder()
    dataset = tf.data.Dataset.from_tensors(serialized).map(
        lambda data: record_checks.sanitize(decoder.decode(data), settings).tensors)
    with pytest.raises(tf.errors.InvalidArgumentError, match=f"(?s)a.png.*{message}"):
        next(iter(dataset))


def test_bad_records_can_be_skipped_and_counted():  # BR-19
    issues = record_checks.IssueLog()
    settings = record_checks.CheckSettings(1, skip_bad_records=True, issues=issues)
    decoder = tf_example_decoder.TfExampleDecoder(check_images=True)
    good = records.record([GOOD], object__class__label=[1])
    bad = records.record([GOOD], object__class__label=[1], encoded=b"/9j/4AAQSkZJRgAB")
    dataset = tf.data.Dataset.from_tensor_slices([good, bad, good]).map(
        lambda data: record_checks.sanitize(decoder.decode(data), settings))
    kept = list(dataset.filter(lambda item: item.keep))
    assert len(kept) == 2
    assert issues.counts == {"skipped_records": 1}


def test_masks_that_are_wanted_and_missing():  # BR-42
    result = check([GOOD], decoder_options={"load_instance_masks": True})
    assert "no masks in the record" in result.message.numpy().decode()


def test_a_record_without_name():
    name = record_checks.record_name(decoded([GOOD], source_id="", filename="",
                                             key__sha256="abc"))
    assert name == b"record without filename and source_id, key='abc'"


def test_wrong_types_are_explained():  # BR-42 b: PNG masks read as numbers
    decoder = tf_example_decoder.TfExampleDecoder(load_instance_masks=True)
    serialized = records.record([GOOD], object__class__label=[1],
                                object__mask=[b"png"], object__area=[3])
    message = record_checks.explain_first_record(serialized, decoder)
    assert "image/object/area: want a float_list, got a int64_list" in message
    assert "set mask_type: PNG_MASKS" in message
    assert record_checks.explain_first_record(
        records.record([GOOD], object__class__label=[1]), decoder) == ""
    assert record_checks.explain_first_record(b"\xff\xff", decoder) == "not a tf.Example"
