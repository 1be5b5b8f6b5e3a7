"""Datasets of decoded records."""

import numpy as np
import pytest
import tensorflow as tf
from google.protobuf import text_format

from object_detection.builders import dataset_builder
from object_detection.protos import input_reader_pb2


def example(label, size=4):
    image = tf.io.encode_png(np.zeros([size, size, 3], np.uint8)).numpy()
    feature = {
        "image/encoded": tf.train.Feature(bytes_list=tf.train.BytesList(value=[image])),
        "image/object/class/label": tf.train.Feature(
            int64_list=tf.train.Int64List(value=[label])),
        **{f"image/object/bbox/{side}": tf.train.Feature(
            float_list=tf.train.FloatList(value=[value]))
           for side, value in (("ymin", 0.0), ("xmin", 0.0), ("ymax", 1.0), ("xmax", 0.5))}}
    return tf.train.Example(features=tf.train.Features(feature=feature)).SerializeToString()


def config(path, extra="shuffle: false num_epochs: 1"):
    return text_format.Parse(
        f'tf_record_input_reader {{ input_path: "{path}" }} {extra}',
        input_reader_pb2.InputReader())


@pytest.fixture
def path(tmp_path):
    with tf.io.TFRecordWriter(str(tmp_path / "a.record")) as writer:
        for i in range(3):
            writer.write(example(i + 1, size=4 + i))
    return tmp_path / "a.record"


def test_decoded_examples_one_by_one_and_batched(path):
    classes = [int(tensors["groundtruth_classes"][0])
               for tensors in dataset_builder.build(config(path))]
    assert classes == [1, 2, 3]
    batches = list(dataset_builder.build(config(path), batch_size=2))
    assert len(batches) == 1 and batches[0]["image"].shape == [2, 5, 5, 3]


def test_a_transform_replaces_the_dictionary(path):
    dataset = dataset_builder.build(config(path), transform_input_data_fn=lambda t: tf.reduce_sum(
        t["groundtruth_classes"]))
    assert list(dataset.as_numpy_iterator()) == [1, 2, 3]


@pytest.mark.parametrize("text, message", [
    ("", "set tf_record_input_reader"),
    ("external_input_reader { }", "got external_input_reader"),
    ("tf_record_input_reader { input_path: 'x' } input_type: TF_SEQUENCE_EXAMPLE",
     "TF_SEQUENCE_EXAMPLE is not supported")])
def test_readers_that_cannot_work(text, message):
    with pytest.raises(ValueError, match=message):
        dataset_builder.build(text_format.Parse(text, input_reader_pb2.InputReader()))


def test_a_wrong_type_in_the_first_record_names_file_and_key(tmp_path):
    wrong = tf.train.Example.FromString(example(1))
    wrong.features.feature["image/object/bbox/ymin"].int64_list.value.append(0)
    with tf.io.TFRecordWriter(str(tmp_path / "w.record")) as writer:
        writer.write(wrong.SerializeToString())
    with pytest.raises(ValueError, match="w.record: .*image/object/bbox/ymin: want a float_list"):
        dataset_builder.build(config(tmp_path / "w.record"))
