"""Sizes worked out by hand, and inputs at the edge."""

import numpy as np
import pytest
import tensorflow as tf

from object_detection.core import resizers


@pytest.mark.parametrize("size, expected", [
    ((20, 30), (40, 60)),  # the short side becomes 40
    ((20, 60), (27, 80)),  # the long side binds: 20 * 80 / 60 = 26.67
    ((40, 40), (40, 40)),
    ((1, 1000), (1, 80))])  # no side vanishes
def test_keep_aspect_ratio(size, expected):
    resizer = resizers.KeepAspectRatioResizer(min_dimension=40, max_dimension=80)
    assert resizer.scaled_size(size) == expected
    dynamic = resizer.scaled_size(tuple(tf.constant(side) for side in size))
    assert tuple(side.numpy() for side in dynamic) == expected


def test_only_padding_resizers_have_a_fixed_size():
    assert resizers.KeepAspectRatioResizer().fixed_size is None
    assert resizers.KeepAspectRatioResizer(pad_to_max_dimension=True).fixed_size == (1024, 1024)
    assert resizers.FixedShapeResizer(height=3, width=4).fixed_size == (3, 4)
    assert resizers.PadToMultipleResizer(multiple=8).fixed_size is None


def test_fixed_output_shape_is_static_for_images_of_unknown_size():
    resizer = resizers.KeepAspectRatioResizer(min_dimension=8, max_dimension=16,
                                              pad_to_max_dimension=True)
    traced = tf.function(lambda image: resizer(image).image).get_concrete_function(
        tf.TensorSpec([None, None, 3], tf.uint8))
    assert traced.output_shapes == [16, 16, 3]


def test_a_batch_is_resized_like_its_images():
    resizer = resizers.KeepAspectRatioResizer(min_dimension=8, max_dimension=16)
    images = tf.random.stateless_uniform([3, 10, 12, 3], [1, 2], maxval=255.0)
    batch, true_shapes = resizer.resize_batch(images)
    np.testing.assert_array_equal(true_shapes, [[8, 10, 3]] * 3)
    for image, expected in zip(images, batch):
        np.testing.assert_array_equal(resizer(image).image, expected)


def test_no_masks_and_unsigned_masks():
    resizer = resizers.PadToMultipleResizer(multiple=4)
    empty = resizer(tf.zeros([5, 6, 3]), tf.zeros([0, 5, 6], tf.uint8))
    assert empty.masks.shape == [0, 8, 8]
    one = resizer(tf.zeros([5, 6, 3]), tf.ones([1, 5, 6], tf.uint8))
    assert one.masks.dtype == tf.uint8 and tf.reduce_sum(tf.cast(one.masks, tf.int32)) == 30


@pytest.mark.parametrize("align", [False, True])
@pytest.mark.parametrize("sides", [(1, 7), (7, 1), (7, 3), (3, 7), (41, 50), (8, 8)])
def test_nearest_neighbour_reads_the_pixels_tensorflow_reads(sides, align):
    old, new = sides
    values = tf.reshape(tf.range(old * 2), [1, old, 2])
    expected = tf.compat.v1.image.resize(values[..., None], [new, 3], method="nearest",
                                         align_corners=align)[..., 0]
    np.testing.assert_array_equal(resizers.resize_nearest(values, (new, 3), align), expected)
