"""The pyramid: what each level adds up, odd sizes, the three kinds in use, levels past the top."""

import dataclasses

import numpy as np
import pytest
import tensorflow as tf

from object_detection.nets import fpn
from object_detection.nets import slim_layers as layers
from object_detection.nets.hyperparams import Hyperparams
from object_detection.nets.variable_store import VariableStore

LINEAR = Hyperparams(initializer=tf.ones_initializer(), activation=None)


def _settings(min_level=2, max_level=4, **more):
    return fpn.PyramidSettings(min_level, max_level, depth=1, lateral=LINEAR, smoothing=LINEAR,
                               **more)


def _run(backbone, settings):
    store = VariableStore()
    with store.scope("fpn"):
        return store, fpn.pyramid(backbone, settings)


def _identity_smoothing(shape, dtype):
    """A 3x3 kernel that takes the middle pixel."""
    kernel = np.zeros(shape, dtype.as_numpy_dtype)
    kernel[1, 1] = 1.0
    return tf.constant(kernel)


def test_each_level_adds_the_coarser_ones():
    backbone = {2: tf.reshape(tf.range(16.0), [1, 4, 4, 1]),
                3: tf.reshape([100.0, 200, 300, 400], [1, 2, 2, 1]), 4: tf.fill([1, 1, 1, 1], 1e3)}
    kept = dataclasses.replace(LINEAR, initializer=_identity_smoothing)
    _, (fine, middle, top) = _run(backbone, dataclasses.replace(_settings(), smoothing=kept))
    np.testing.assert_allclose(top[0, :, :, 0], [[1000]])
    np.testing.assert_allclose(middle[0, :, :, 0], [[1100, 1200], [1300, 1400]])
    np.testing.assert_allclose(fine[0, :, :, 0], [
        [1100, 1101, 1202, 1203], [1104, 1105, 1206, 1207],
        [1308, 1309, 1410, 1411], [1312, 1313, 1414, 1415]])


def test_smoothed_levels_may_be_what_is_added():
    backbone = {2: tf.zeros([1, 4, 4, 1]), 3: tf.zeros([1, 2, 2, 1]), 4: tf.ones([1, 1, 1, 1])}
    # Smoothing with ones: each pixel becomes the sum of its neighbours, and of itself.
    once = np.array([2, 3, 3, 2])  # neighbours along one axis of a 4 x 4 map, with itself
    for smoothed, at_middle in ((False, 1), (True, 4)):
        settings = _settings(smooth_coarsest=False, add_smoothed=smoothed)
        _, (fine, middle, _) = _run(backbone, settings)
        np.testing.assert_allclose(middle[0, :, :, 0], np.full([2, 2], 4))
        np.testing.assert_allclose(fine[0, :, :, 0], at_middle * np.outer(once, once))


@pytest.mark.parametrize("coarse, expected", [
    (fpn.Coarse.SECOND_PIXEL, [[1, 3], [7, 9]]),
    # Kernels of ones, centred on each second pixel of the 3 x 3 map.
    (fpn.Coarse.CONVOLUTION, [[12, 16], [24, 28]])])
def test_levels_past_the_backbone(coarse, expected):
    backbone = {2: tf.reshape(tf.range(1.0, 10.0), [1, 3, 3, 1])}
    settings = _settings(2, 4, coarse=coarse, smooth_coarsest=False)
    store, maps = _run(backbone, settings)
    np.testing.assert_allclose(maps[0][0, :, :, 0], np.arange(1.0, 10.0).reshape(3, 3))
    np.testing.assert_allclose(maps[1][0, :, :, 0], expected)
    assert maps[2].shape == [1, 1, 1, 1]
    names = {name.split("/")[1] for name in store.by_name}
    assert names == ({"lateral_2", "coarse_3", "coarse_4"} if coarse is fpn.Coarse.CONVOLUTION
                     else {"lateral_2"})


def test_odd_sizes_are_cut_to_the_finer_map():
    sizes = {2: (25, 33), 3: (13, 17), 4: (7, 9), 5: (4, 5)}
    backbone = {level: tf.ones([2, height, width, 2]) for level, (height, width) in sizes.items()}
    _, maps = _run(backbone, _settings(2, 7))
    assert [tuple(m.shape[1:3]) for m in maps] == [*sizes.values(), (2, 3), (1, 2)]
    spec = {level: tf.TensorSpec([None, None, None, 2]) for level in sizes}
    store = VariableStore()

    @tf.function(input_signature=[spec])
    def dynamic(backbone):
        with store.scope("fpn"):
            return fpn.pyramid(backbone, _settings(2, 7))

    for got, known in zip(dynamic(backbone), maps, strict=True):
        np.testing.assert_allclose(got, known)


def test_variables_of_the_three_kinds():
    backbone = {level: tf.ones([1, 8 >> level, 8 >> level, 3]) for level in (2, 3)}
    normed = dataclasses.replace(LINEAR, batch_norm=layers.BatchNorm(False))
    keras = _settings(2, 4, smooth_coarsest=False, coarse=fpn.Coarse.CONVOLUTION)
    store, _ = _run(backbone, dataclasses.replace(keras, smoothing=normed))
    assert sorted(store.by_name) == [
        *(f"fpn/coarse_4/{v}" for v in (
            "BatchNorm/beta", "BatchNorm/moving_mean", "BatchNorm/moving_variance", "weights")),
        "fpn/lateral_2/biases", "fpn/lateral_2/weights", "fpn/lateral_3/biases",
        "fpn/lateral_3/weights",
        *(f"fpn/smooth_2/{v}" for v in (
            "BatchNorm/beta", "BatchNorm/moving_mean", "BatchNorm/moving_variance", "weights"))]
    store, _ = _run(backbone, _settings(2, 4))  # torchvision's and Matterport's
    assert sorted(store.by_name) == sorted(
        f"fpn/{layer}_{level}/{v}" for layer in ("lateral", "smooth") for level in (2, 3)
        for v in ("weights", "biases"))


def test_levels_that_do_not_exist():
    backbone = {2: tf.ones([1, 2, 2, 1]), 3: tf.ones([1, 1, 1, 1])}
    with pytest.raises(ValueError, match="fpn.min_level: want .* 2 to 3, got 1"):
        _run(backbone, _settings(1, 3))
    with pytest.raises(ValueError, match="fpn.min_level: want .* 2 to 3, got 4"):
        _run(backbone, _settings(4, 5))
    with pytest.raises(ValueError, match="min_level 5 is above max_level 4"):
        _settings(5, 4)
