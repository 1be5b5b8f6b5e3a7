import numpy as np
import pytest
import tensorflow as tf

from object_detection.core.half_pixel_resizer import HalfPixelResizer


@pytest.mark.parametrize("size, scaled", [
    ((400, 500), (800, 1000)),
    ((400, 1000), (533, 1333)),  # the long side decides; 533.2
    ((1600, 1700), (800, 850)),
    ((333, 500), (800, 1201)),  # 1201.2
    ((1, 4000), (1, 1333))])  # a third of a pixel
def test_sizes_are_rounded_down(size, scaled):
    resizer = HalfPixelResizer()
    assert resizer.scaled_size(size) == scaled
    traced = tf.function(resizer.scaled_size)(tuple(tf.constant(side) for side in size))
    assert tuple(int(side) for side in traced) == scaled


def test_samples_lie_between_the_centres_of_pixels():
    resizer = HalfPixelResizer(min_dimension=2, max_dimension=8)
    images, shapes = resizer.resize_batch(tf.constant([0.0, 4.0])[None, None, :, None])
    # Centres of four pixels in two: -1/4, 1/4, 3/4, 5/4; the first and last take the end pixels.
    np.testing.assert_allclose(images[0, :, :, 0], [[0.0, 1.0, 3.0, 4.0]] * 2)
    assert shapes.numpy().tolist() == [[2, 4, 1]]


def test_masks_are_scaled_along():
    found = HalfPixelResizer(min_dimension=2, max_dimension=8)(
        tf.zeros([1, 2, 3]), tf.constant([[[0, 1]]], tf.uint8))
    assert found.masks.numpy().tolist() == [[[0, 0, 1, 1]] * 2]


def test_settings_that_cannot_work():
    with pytest.raises(ValueError, match="min_dimension <= max_dimension"):
        HalfPixelResizer(min_dimension=9, max_dimension=8)
    with pytest.raises(ValueError, match="is bilinear"):
        HalfPixelResizer(to_gray=True)
