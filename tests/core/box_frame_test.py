"""Frames of boxes, by hand."""

import numpy as np
import tensorflow as tf

from object_detection.core.box_frame import EdgeFrame, PixelCentreFrame

SIZE = tf.constant([11.0, 21.0])


def test_edges_span_the_whole_image():
    frame = EdgeFrame()
    box = frame.from_normalized(tf.constant([[0.0, 0.0, 1.0, 1.0]]), SIZE)
    np.testing.assert_allclose(box, [[0, 0, 11, 21]])
    np.testing.assert_allclose(frame.to_normalized(box, SIZE), [[0, 0, 1, 1]])


def test_pixel_centres_span_one_pixel_less():
    """A box over all 11 rows goes from the middle of row 0 to that of row 10."""
    frame = PixelCentreFrame()
    box = frame.from_normalized(tf.constant([[0.0, 0.0, 1.0, 1.0]]), SIZE)
    np.testing.assert_allclose(box, [[0, 0, 10, 20]])
    np.testing.assert_allclose(frame.to_normalized(box, SIZE), [[0, 0, 1, 1]])


def test_of_no_boxes():
    for frame in (EdgeFrame(), PixelCentreFrame()):
        assert frame.from_normalized(tf.zeros([0, 4]), SIZE).shape == [0, 4]
        assert frame.to_normalized(tf.zeros([2, 0, 4]), SIZE).shape == [2, 0, 4]
