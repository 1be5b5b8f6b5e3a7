"""Padding to common shapes, and boxes that follow."""

import numpy as np
import pytest
import tensorflow as tf

from object_detection.core import centered_resizers
from object_detection.core.standard_fields import InputDataFields as Fields
from object_detection.input_pipeline import batching


def examples(sizes_and_counts):
    def generate():
        for (height, width), count in sizes_and_counts:
            yield ({Fields.image: np.ones([height, width, 3], np.float32),
                    Fields.true_image_shape: np.array([height, width, 3], np.int32)},
                   {Fields.groundtruth_boxes: np.tile([[0, 0, 1, 1]], [count, 1]),
                    Fields.groundtruth_weights: np.ones([count]),
                    Fields.num_groundtruth_boxes: count})
    return tf.data.Dataset.from_generator(generate, output_signature=(
        {Fields.image: tf.TensorSpec([None, None, 3]),
         Fields.true_image_shape: tf.TensorSpec([3], tf.int32)},
        {Fields.groundtruth_boxes: tf.TensorSpec([None, 4]),
         Fields.groundtruth_weights: tf.TensorSpec([None]),
         Fields.num_groundtruth_boxes: tf.TensorSpec([], tf.int32)}))


def test_images_boxes_and_remainder():
    dataset = examples([((4, 8), 1), ((8, 4), 3), ((2, 2), 0)])
    first, last = batching.batch(dataset, batching.BatchSettings(2, drop_remainder=False))
    assert first[0][Fields.image].shape == [2, 8, 8, 3]
    assert first[1][Fields.groundtruth_boxes].shape == [2, 3, 4]
    np.testing.assert_allclose(first[1][Fields.groundtruth_boxes][:, 0],
                               [[0, 0, 0.5, 1], [0, 0, 1, 0.5]])
    np.testing.assert_array_equal(first[1][Fields.groundtruth_weights], [[1, 0, 0], [1, 1, 1]])
    assert last[1][Fields.groundtruth_boxes].shape == [1, 0, 4]
    batches = batching.batch(dataset, batching.BatchSettings(2, True, num_boxes=5))
    assert batches.element_spec[1][Fields.groundtruth_boxes].shape == [2, 5, 4]
    assert len(list(batches)) == 1


def test_boxes_follow_images_into_the_middle_of_their_frames():
    def framed():
        # 4 x 6 in the middle of 8 x 8, one object; 8 x 2 likewise, without an object.
        for (height, width), count in (((4, 6), 1), ((8, 2), 0)):
            yield ({Fields.image: np.ones([8, 8, 3], np.float32),
                    Fields.true_image_shape: np.array([height, width, 3], np.int32)},
                   {Fields.groundtruth_boxes: np.tile([[0, 0.5, 1, 1]], [count, 1]),
                    Fields.groundtruth_weights: np.ones([count]),
                    Fields.num_groundtruth_boxes: count})
    dataset = tf.data.Dataset.from_generator(
        framed, output_signature=examples([]).element_spec)
    resizer = centered_resizers.CenteredPadToMultipleResizer(multiple=8)
    settings = batching.BatchSettings(2, False, num_boxes=2, resizer=resizer)
    _, labels = next(iter(batching.batch(dataset, settings)))
    np.testing.assert_allclose(labels[Fields.groundtruth_boxes], [
        [[2 / 8, 4 / 8, 6 / 8, 7 / 8], [0] * 4], [[0] * 4, [0] * 4]])


def test_a_batch_of_none_is_refused():
    with pytest.raises(ValueError, match="batch_size"):
        batching.BatchSettings(0, False)
