"""Weights of objects, and what a record says of a whole image, from the file to the batch."""

import numpy as np
import pytest
import small_records
import tensorflow as tf
from google.protobuf import text_format

from object_detection import inputs
from object_detection.protos import eval_pb2, input_reader_pb2, model_pb2, train_pb2

MODEL = text_format.Parse(
    "faster_rcnn { num_classes: 3 image_resizer { identity_resizer {} } }",
    model_pb2.DetectionModel())
BOXES = [[0.0, 0.0, 0.5, 0.5], [0.5, 0.5, 1.0, 1.0]]


def labels_of(tmp_path, training=True, eval_text="", **fields):
    path = str(tmp_path / "a.record")
    with tf.io.TFRecordWriter(path) as writer:
        writer.write(small_records.record(BOXES, object__class__label=[1, 1], **fields))
    reader = text_format.Parse(
        f'shuffle: false num_epochs: 1 tf_record_input_reader {{ input_path: "{path}" }}',
        input_reader_pb2.InputReader())
    if training:
        dataset = inputs.train_input(train_pb2.TrainConfig(batch_size=1), reader, MODEL)
    else:
        config = text_format.Parse(eval_text, eval_pb2.EvalConfig())
        dataset = inputs.eval_input(config, reader, MODEL)
    return next(iter(dataset))[1]


@pytest.mark.parametrize("training", [True, False])
def test_where_a_record_says_nothing_all_counts(tmp_path, training):
    labels = labels_of(tmp_path, training)
    np.testing.assert_array_equal(labels["groundtruth_weights"][0, :2], [1, 1])
    assert labels["is_annotated"].numpy().tolist() == [True]
    np.testing.assert_array_equal(labels["groundtruth_labeled_classes"], [[1, 1, 1]])


def test_weights_and_an_image_that_is_not_annotated(tmp_path):
    labels = labels_of(tmp_path, object__weight=[0.25, 2.0], is_annotated=0)
    np.testing.assert_array_equal(labels["groundtruth_weights"][0, :3], [0.25, 2.0, 0.0])
    assert labels["is_annotated"].numpy().tolist() == [False]


@pytest.mark.parametrize("fields, expected", [
    ({"class__label": [2]}, [1, 1, 0]),  # class 1 has a box
    ({"neg_category_ids": [3]}, [1, 0, 1]),  # looked for, and absent
    ({"class__label": [3, 2]}, [1, 1, 1])])
def test_image_level_labels_name_the_classes_that_were_looked_for(tmp_path, fields, expected):
    labels = labels_of(tmp_path, **fields)
    np.testing.assert_array_equal(labels["groundtruth_labeled_classes"], [expected])


def test_an_image_without_labels_may_count_as_searched_for_nothing_more(tmp_path):
    labels = labels_of(tmp_path, training=False,
                       eval_text="image_classes_field_map_empty_to_ones: false")
    np.testing.assert_array_equal(labels["groundtruth_labeled_classes"], [[1, 0, 0]])
