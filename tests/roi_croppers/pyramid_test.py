"""The pyramid's region operation: levels, crops equal those of single maps, many regions."""

import numpy as np
import pytest
import tensorflow as tf

from object_detection.core.roi_align import RoiAlign, roi_align
from object_detection.roi_croppers.pyramid import LevelRule, PyramidCropper, Rounding

SIZES = [(48, 64), (24, 32), (12, 16), (6, 8)]


def _maps(batch=2, depth=3):
    return [tf.random.stateless_normal([batch, height, width, depth], seed=[height, 1])
            for height, width in SIZES]


def _boxes(count, batch=2, low=0.0, high=1.0):
    """Returns random boxes of all sizes, by logarithm."""
    random = np.random.RandomState(5)
    centre = random.uniform(low, high, [batch, count, 2])
    half = np.exp(random.uniform(np.log(0.01), np.log(0.5), [batch, count, 2]))
    boxes = np.concatenate([centre - half, centre + half], axis=-1)
    return tf.constant(boxes if low < 0 else np.clip(boxes, low, high), tf.float32)


def _one_by_one(maps, boxes, levels, size):
    """Crops each box with TensorFlow's kernel from its own map."""
    crops = [[tf.image.crop_and_resize(maps[level][image:image + 1], box[None], [0], size)[0]
              for box, level in zip(boxes[image], levels[image], strict=True)]
             for image in range(boxes.shape[0])]
    return np.array(crops).reshape([-1, *size, maps[0].shape[-1]])


@pytest.mark.parametrize("side, floor, nearest", [
    (224, 4, 4), (223, 3, 4), (448, 5, 5), (447, 4, 5),
    (158.5, 3, 4), (158.3, 3, 3),  # 224 / sqrt(2) = 158.4
    (112, 3, 3), (1e4, 5, 5), (3, 2, 2), (0, 2, 2), (-5, 2, 2)])
def test_levels_by_the_side(side, floor, nearest):
    for rounding, expected in ((Rounding.FLOOR, floor), (Rounding.NEAREST, nearest)):
        rule = LevelRule(rounding=rounding)
        # The side counts, not the shape.
        got = rule.levels(tf.constant([side, side * 2.0]), tf.constant([side, side / 2.0]), 2, 5)
        np.testing.assert_array_equal(got, [expected, expected])


def test_halves_round_to_even():
    # log2(side / 1) of 0.5 and 1.5 exactly: both round to the even neighbour.
    rule = LevelRule(canonical_level=0, canonical_size=1.0, rounding=Rounding.NEAREST)
    sides = 2.0 ** np.array([0.5, 1.5], np.float64)
    octaves = np.log(sides.astype(np.float32)) / np.log(np.float32(2))
    got = rule.levels(tf.constant(sides, tf.float32), tf.constant(sides, tf.float32), -9, 9)
    np.testing.assert_array_equal(got, np.round(octaves))


def test_exact_powers_stay_on_their_level():
    sides = tf.constant([7.0 * 2 ** power for power in range(8)])
    np.testing.assert_array_equal(LevelRule().levels(sides, sides, -9, 9), np.arange(-1, 7))


@pytest.mark.parametrize("static", [False, True])
@pytest.mark.parametrize("original", [False, True])
@pytest.mark.parametrize("low, high", [(0.0, 0.99), (-0.4, 1.4)])
def test_crops_equal_those_of_single_maps(static, original, low, high):
    maps, boxes = _maps(), _boxes(60, low=low, high=high)
    cropper = PyramidCropper(crop_size=5, min_level=2, max_level=5,
                             rule=LevelRule(canonical_size=60.0), use_static_shapes=static,
                             original_far_edge=original)
    sides = np.sqrt(np.prod(boxes[..., 2:] - boxes[..., :2], axis=-1) * 48 * 64) * 4
    levels = np.clip(4 + np.floor(np.log2(sides / 60)), 2, 5).astype(int) - 2
    assert len(np.unique(levels)) == 4
    run = tf.function(cropper.crop, jit_compile=static)
    got = run(maps, boxes)
    assert got.shape == [120, 5, 5, 3]
    np.testing.assert_allclose(got, _one_by_one(maps, boxes, levels, [5, 5]), atol=2e-4)


@pytest.mark.parametrize("static", [False, True])
def test_more_than_100_000_regions(static):
    batch, count = 2, 60_000
    rows = [tf.reshape(tf.range(batch * height * width, dtype=tf.float32),
                       [batch, height, width, 1]) for height, width in SIZES]
    maps = [level + feature_map * 4 for level, feature_map in enumerate(rows)]
    cropper = PyramidCropper(crop_size=1, min_level=2, max_level=5,
                             rule=LevelRule(canonical_size=60.0), use_static_shapes=static)
    # Small and large boxes in turn around one point: the middle of the map.
    half = tf.where(tf.range(count) % 3 == 0, 0.005, 0.5)[None, :, None] * tf.ones([batch, 1, 2])
    got = cropper.crop(maps, tf.concat([0.5 - half, 0.5 + half], axis=-1))
    # The map's middle lies between the pixels: their mean, for images 0 and 1.
    expected = []
    for image in range(batch):
        for level, (height, width) in ((0, SIZES[0]), (3, SIZES[3])):
            middle = image * height * width + (height * width - 1) / 2
            expected.append(level + 4 * middle)
    got = np.reshape(got, [batch, count])
    for image in range(batch):
        fine, coarse = expected[2 * image:2 * image + 2]
        np.testing.assert_allclose(got[image, ::3], fine, rtol=1e-5)
        np.testing.assert_allclose(got[image, 1::3], coarse, rtol=1e-5)
        np.testing.assert_allclose(got[image, 2::3], coarse, rtol=1e-5)


def test_gradients_of_both_ways_agree():
    maps, boxes = _maps(), _boxes(20)
    gradients = []
    for static in (False, True):
        cropper = PyramidCropper(crop_size=4, min_level=2, max_level=5,
                                 rule=LevelRule(canonical_size=60.0), use_static_shapes=static)
        with tf.GradientTape() as tape:
            tape.watch(maps)
            loss = tf.reduce_sum(cropper.crop(maps, boxes) ** 2)
        gradients.append(tape.gradient(loss, maps))
    for native, gathered in zip(*gradients, strict=True):
        np.testing.assert_allclose(native, gathered, atol=2e-3)


def test_pooling_and_levels_past_the_coarsest():
    maps = [tf.ones([1, 8, 8, 2]), 2.0 * tf.ones([1, 4, 4, 2]), 3.0 * tf.ones([1, 2, 2, 2])]
    cropper = PyramidCropper(crop_size=4, min_level=2, max_level=3, pool_size=2, pool_stride=2,
                             rule=LevelRule(canonical_level=3, canonical_size=16.0))
    got = cropper.crop(maps, tf.constant([[[0.0, 0, 1, 1], [0.0, 0, 0.2, 0.2]]]))
    np.testing.assert_allclose(got, np.repeat([2.0, 1.0], 8).reshape(2, 2, 2, 2))


def test_roi_align_reads_its_level_in_pixels():
    maps = _maps()
    boxes = tf.constant([[[0.1, 0.2, 0.3, 0.5]], [[0.1, 0.1, 0.9, 0.8]]])
    settings = RoiAlign(3, 3)
    cropper = PyramidCropper(crop_size=3, min_level=2, max_level=5, roi_align=settings,
                             rule=LevelRule(canonical_size=120.0))
    got = cropper.crop(maps, boxes)
    # Sides 54 and 166 pixels of 192 x 256: levels 2 (strides of 4) and 4 (of 16).
    size = tf.constant([192.0, 256.0] * 2)
    fine = roi_align(maps[0], boxes * size / 4, settings)[0]
    coarse = roi_align(maps[2], boxes * size / 16, settings)[1]
    np.testing.assert_allclose(got, np.concatenate([fine, coarse]), atol=1e-5)


def test_size_of_the_boxes_frame_decides_the_level():
    maps = [tf.ones([1, 8, 8, 1]), 2.0 * tf.ones([1, 4, 4, 1])]
    cropper = PyramidCropper(crop_size=1, min_level=2, max_level=3,
                             rule=LevelRule(canonical_level=3, canonical_size=30.0))
    whole = tf.constant([[[0.0, 0.0, 1.0, 1.0]]])
    np.testing.assert_allclose(cropper.crop(maps, whole), [[[[2.0]]]])  # 32 pixels
    np.testing.assert_allclose(cropper.crop(maps, whole, tf.constant([29.0, 29.0])), [[[[1.0]]]])


def test_no_regions_and_dynamic_sizes():
    spec = [[tf.TensorSpec([None, None, None, 3])] * 4, tf.TensorSpec([None, None, 4])]
    for settings in ({}, {"use_static_shapes": True}, {"roi_align": RoiAlign(2, 2)}):
        cropper = PyramidCropper(crop_size=2, min_level=2, max_level=5, **settings)
        traced = tf.function(cropper.crop, input_signature=spec)
        assert traced(_maps(), tf.zeros([2, 0, 4])).shape == [0, 2, 2, 3]
        assert traced(_maps(), _boxes(3)).shape == [6, 2, 2, 3]


def test_too_few_maps():
    cropper = PyramidCropper(crop_size=2, min_level=2, max_level=5)
    with pytest.raises(ValueError, match="levels 2 to 5, but there are only 3 maps"):
        cropper.crop(_maps()[:3], tf.zeros([2, 1, 4]))

