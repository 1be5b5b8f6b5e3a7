"""Ground truth on its way from the input pipeline to the model."""

import numpy as np
import pytest
import tensorflow as tf
from engine import fake_model

from object_detection.engine import batches


class Listening(fake_model.FakeModel):
    """Keeps what it is given."""

    def provide_groundtruth(self, *arguments, **named):
        self.given = named


def given(**labels):
    features, own = fake_model.batch()
    model = Listening()
    batches.provide_groundtruth(model, batches.to_tensors(features, {**own, **labels}))
    return model.given


def test_what_an_input_does_not_say_is_left_out():
    got = given()
    assert got["is_annotated_list"] is None
    assert got["groundtruth_labeled_classes"] is None
    assert got["groundtruth_masks_list"] is None
    np.testing.assert_array_equal(got["groundtruth_weights_list"], [[1, 0], [1, 0]])


def test_images_are_handed_over_one_by_one():
    got = given(is_annotated=tf.constant([True, False]),
                groundtruth_labeled_classes=tf.constant([[1.0, 0.0], [1.0, 1.0]]),
                groundtruth_weights=tf.constant([[0.5, 0.0], [2.0, 0.0]]))
    assert [bool(flag) for flag in got["is_annotated_list"]] == [True, False]
    np.testing.assert_array_equal(got["groundtruth_labeled_classes"], [[1, 0], [1, 1]])
    np.testing.assert_array_equal(got["groundtruth_weights_list"], [[0.5, 0], [2, 0]])


def test_the_signature_leaves_sizes_and_counts_open():
    features, labels = fake_model.batch()
    batch = batches.to_tensors(features, {
        **labels, "is_annotated": tf.constant([True, False]),
        "groundtruth_labeled_classes": tf.ones([2, 2])})
    got = batches.signature(batch)
    assert got.images.shape.as_list() == [2, None, None, 3]
    assert got.boxes.shape.as_list() == [2, None, 4]
    assert got.is_annotated == tf.TensorSpec([2], tf.bool)
    assert got.labeled_classes == tf.TensorSpec([2, 2], tf.float32)
    assert got.masks == ()


def test_the_number_of_images_must_be_fixed():
    batch = batches.to_tensors(*fake_model.batch())

    @tf.function(input_signature=[tf.TensorSpec([None, 8, 8, 3])])
    def run(images):
        batches.provide_groundtruth(fake_model.FakeModel(), batch._replace(images=images))

    with pytest.raises(ValueError, match="drop_remainder: true"):
        run.get_concrete_function()
