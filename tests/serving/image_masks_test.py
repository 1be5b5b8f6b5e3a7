import numpy as np
import tensorflow as tf

from object_detection.serving import image_masks
from object_detection.utils import ops


def test_each_image_as_alone_and_padding_rows_empty():
    random = np.random.default_rng(0)
    masks = random.random([2, 3, 4, 5], np.float32)
    low = random.uniform(0.0, 0.4, [2, 3, 2])
    boxes = np.concatenate([low, low + random.uniform(0.2, 0.6, [2, 3, 2])], axis=2)
    boxes = boxes.astype(np.float32)
    boxes[0, 2] = 0  # as rows of padding are: without the count this would light a corner
    sizes = tf.constant([[20, 30], [20, 30]])
    got = image_masks.draw(masks, boxes, tf.constant([2.0, 3.0]), sizes).numpy()
    assert got.shape == (2, 3, 20, 30)
    assert not got[0, 2].any()
    for image, count in ((0, 2), (1, 3)):
        expected = ops.reframe_box_masks_to_image_masks(
            tf.constant(masks[image]), tf.constant(boxes[image]), 20, 30)
        np.testing.assert_allclose(got[image, :count], expected[:count], rtol=0, atol=1e-6)


def test_smaller_images_lie_top_left():
    masks, boxes = tf.ones([2, 1, 3, 3]), tf.constant([[[0.0, 0.0, 1.0, 1.0]]] * 2)
    got = image_masks.draw(masks, boxes, tf.ones([2]), tf.constant([[4, 6], [5, 2]])).numpy()
    assert got.shape == (2, 1, 5, 6)
    for image, (height, width) in enumerate(((4, 6), (5, 2))):
        expected = np.zeros([5, 6])
        expected[:height, :width] = 1
        np.testing.assert_allclose(got[image, 0], expected, atol=1e-6)


def test_an_object_in_whole_pixels():
    """A box of [1/4, 3/4] of 5 pixels covers the centres 1, 2 and 3."""
    got = image_masks.draw(tf.fill([1, 1, 2, 2], 0.75), tf.constant([[[0.25, 0.0, 0.75, 1.0]]]),
                           tf.ones([1]), tf.constant([[5, 2]]))
    np.testing.assert_allclose(got[0, 0], [[0, 0], [0.75] * 2, [0.75] * 2, [0.75] * 2, [0, 0]],
                               atol=1e-6)


def test_no_detections_and_shapes_in_a_graph():
    @tf.function(input_signature=[tf.TensorSpec([None, 3, 4, 4]), tf.TensorSpec([None, 3, 4]),
                                  tf.TensorSpec([None]), tf.TensorSpec([None, 2], tf.int32)])
    def draw(*arguments):
        return image_masks.draw(*arguments)

    assert draw.get_concrete_function().output_shapes.as_list() == [None, 3, None, None]
    got = draw(tf.ones([1, 3, 4, 4]), tf.zeros([1, 3, 4]), tf.zeros([1]), tf.constant([[6, 7]]))
    np.testing.assert_array_equal(got, np.zeros([1, 3, 6, 7]))
    no_rows = image_masks.draw(tf.ones([1, 0, 4, 4]), tf.zeros([1, 0, 4]), tf.zeros([1]),
                               tf.constant([[6, 7]]))
    assert no_rows.shape == [1, 0, 6, 7]
