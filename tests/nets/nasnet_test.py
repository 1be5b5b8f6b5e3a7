"""NASNet-A: cells worked out by hand, names and shapes as published, odd sizes, parameters."""

import json
import math

import numpy as np
import pytest
import shared_files
import tensorflow as tf
from nets import hand_cells
from nets.hand_cells import FROZEN, column, run_cell

from object_detection.nets import drop_path, nasnet, nasnet_cells
from object_detection.nets.nasnet_cells import Map
from object_detection.nets.slim_layers import BatchNorm
from object_detection.nets.variable_store import VariableStore

THIN = 8  # filters instead of 168
THINNER = nasnet.FILTERS // THIN  # 21


class TestNormalCell:

    def test_pooling_without_convolutions(self):
        net = column([[0, 0, 0], [0, 36, 0], [0, 0, 0]])
        # The mean around a pixel is over 4 pixels in a corner, 6 at an edge, 9 in the middle.
        mean = np.array([[9, 6, 9], [6, 4, 6], [9, 6, 9]], np.float32)
        ones = np.ones([3, 3], np.float32)
        got = run_cell(nasnet_cells.NASNET_NORMAL, net, column(ones))
        zeros = 0 * ones
        expected = [ones, zeros, zeros, mean + ones, 2 * ones, net[0, :, :, 0]]
        np.testing.assert_allclose(got, np.stack(expected, -1), atol=1e-5)

    def test_all_operations_on_one_pixel(self):
        n, p = 3.0, 5.0  # of one pixel the mean is the pixel
        got = run_cell(nasnet_cells.NASNET_NORMAL, column([[n]]), column([[p]]), separable=1.0)
        np.testing.assert_allclose(
            got[0, 0], [p, n + p, 2 * p, n + p, 2 * p, 2 * n], rtol=1e-5)

    def test_inputs_are_rectified(self):
        got = run_cell(nasnet_cells.NASNET_NORMAL, column([[-3.0]]), column([[-5.0]]),
                       separable=1.0)
        np.testing.assert_array_equal(got[0, 0], np.zeros(6))

    def test_separable_convolutions_run_twice(self):
        n, p = 3.0, 5.0
        got = run_cell(nasnet_cells.NASNET_NORMAL, column([[n]]), column([[p]]), separable=2.0)
        np.testing.assert_allclose(  # 2 * 2 in front of each
            got[0, 0], [p, 4 * (n + p), 8 * p, n + p, 2 * p, 5 * n], rtol=1e-5)


class TestReductionCell:

    def test_pooling_without_convolutions(self):
        net = column([[1, 2, 3], [4, 5, 6], [7, 8, 9]])
        got = run_cell(nasnet_cells.NASNET_REDUCTION, net, 0 * net, stride=2)
        largest = [[5, 6], [8, 9]]  # windows around pixels 0 and 2
        mean = [[3, 4], [6, 7]]  # (1 + 2 + 4 + 5) / 4, ...
        np.testing.assert_allclose(got, np.stack([largest, mean, largest, largest], -1), atol=1e-5)

    def test_all_operations_on_one_pixel(self):
        n, p = 3.0, 5.0
        got = run_cell(nasnet_cells.NASNET_REDUCTION, column([[n]]), column([[p]]), stride=2,
                       separable=1.0)
        # States 2 to 6; the last four are the output.
        first = n + p
        second = n + p
        expected = [second, n + p, second + first, first + n]
        np.testing.assert_allclose(got[0, 0], expected, rtol=1e-5)

    def test_the_first_cell_sees_its_input_twice(self):
        net = np.full([1, 1, 1, 3], 2.0, np.float32)  # of another depth than the states
        got = run_cell(nasnet_cells.NASNET_REDUCTION, net, None, stride=2, separable=1.0)
        # eye(3, 1) takes the first channel: everything is 2 plus 2.
        np.testing.assert_allclose(got[0, 0], [4, 4, 8, 6], rtol=1e-5)


class TestFactorizedReduction:

    def first_state(self, previous):
        """Returns what becomes of the map before, here the first output of the normal cell."""
        size = -(-len(previous) // 2)
        got = run_cell(nasnet_cells.NASNET_NORMAL, np.zeros([1, size, size, 2], np.float32),
                       column(previous), filters=2, previous_stride=4)
        return got[..., :2]

    def test_of_an_even_size(self):
        got = self.first_state([[1, 2, 3, 4], [5, 6, 7, 8], [9, 10, 11, 12], [13, 14, 15, 16]])
        np.testing.assert_allclose(got[..., 0], [[1, 3], [9, 11]], rtol=1e-5)
        np.testing.assert_allclose(got[..., 1], [[6, 8], [14, 16]], rtol=1e-5)

    def test_of_an_odd_size_the_second_half_ends_with_zeros(self):
        got = self.first_state([[1, 2, 3], [4, 5, 6], [7, 8, 9]])
        np.testing.assert_allclose(got[..., 0], [[1, 3], [7, 9]], rtol=1e-5)
        np.testing.assert_allclose(got[..., 1], [[5, 0], [0, 0]], rtol=1e-5)


@pytest.mark.parametrize("asked,expected", [
    ("A/conv0/weights", "A/conv0/weights"),
    ("A/conv0/BatchNorm/gamma", "A/conv0_bn/gamma"),
    ("A/cell_7/prev_1x1/BatchNorm/beta", "A/cell_7/prev_bn/beta"),
    ("A/cell_7/1x1/BatchNorm/beta", "A/cell_7/beginning_bn/beta"),
    ("A/cell_7/final_path_bn/BatchNorm/beta", "A/cell_7/final_path_bn/beta"),
    ("A/cell_7/comb_iter_4/left/separable_3x3_2/BatchNorm/moving_mean",
     "A/cell_7/comb_iter_4/left/bn_sep_3x3_2/moving_mean"),
    ("A/cell_4/comb_iter_4/right/1x1/BatchNorm/gamma", "A/cell_4/comb_iter_4/right/bn_1/gamma"),
    ("Conv/weights", "Conv/weights")])
def test_a_batch_norm_is_named_beside_its_convolution(asked, expected):
    assert nasnet_cells.variable_name(asked) == expected


@pytest.fixture(scope="module", name="thin")
def thin_network():
    """Returns the store, the maps and the box features of a thinned network on 33x98 pixels."""
    store = VariableStore(nasnet_cells.variable_name)
    with nasnet_cells.arg_scope(FROZEN, 0.5):
        with store.scope("FirstStageFeatureExtractor"):
            features = nasnet.base(tf.zeros([1, 33, 98, 3]), THIN)
        with store.scope("SecondStageFeatureExtractor"):
            boxes = nasnet.tail(tf.ones([2, 6, 17, 24 * THIN]), THIN)
    return store, features, boxes


def test_the_thinned_network_has_the_published_names_and_thinned_shapes(thin):
    store, _, _ = thin
    listed = json.loads(shared_files.require("fixtures/tf1/names/faster_rcnn_nas.json").read_text())
    expected = {name: ([size // THINNER if size % THINNER == 0 else size for size in shape], trains)
                for name, shape, trains in listed if "StageFeatureExtractor/" in name}
    got = {name: (variable.shape.as_list(), variable.trainable)
           for name, variable in store.by_name.items()}
    assert got == expected


def test_every_weight_of_a_convolution_decays(thin):
    store, _, _ = thin
    weights = [name for name in store.by_name if name.endswith("weights")]
    assert len(weights) == 488
    assert len(store.regularization_losses()) == len(weights)


def test_sizes_of_the_maps(thin):
    _, features, boxes = thin
    # conv0 (no padding), then four reductions: 33, 16, 8, 4, 2 and 98, 48, 24, 12, 6.
    assert features.shape == [1, 2, 6, 24 * THIN]
    assert boxes.shape == [2, 3, 9, 24 * THIN]
    assert boxes.numpy().min() >= 0  # rectified


def stem(pixels, schedule=drop_path.NO_DROP_PATH, store=None, batch_norm=FROZEN):
    with nasnet_cells.arg_scope(batch_norm, 0.0), (store or VariableStore()).scope():
        return nasnet.stem(pixels, nasnet_cells.NASNET_REDUCTION, THIN, schedule)


def test_odd_sizes_in_the_stem():
    maps = stem(tf.zeros([1, 33, 41, 3]))
    assert [(each.stride, *each.values.shape[1:]) for each in maps] == [
        (2, 16, 20, 96), (4, 8, 10, 8), (8, 4, 5, 16)]
    maps = stem(tf.zeros([1, 36, 47, 3]))
    assert [each.values.shape[1:3].as_list() for each in maps] == [[17, 23], [9, 12], [5, 6]]


def test_sizes_may_be_unknown_when_tracing():
    store = VariableStore()

    def run(net, previous):
        with nasnet_cells.arg_scope(FROZEN, 0.0), store.scope():
            return nasnet_cells.run(nasnet_cells.NASNET_REDUCTION, "cell", Map(net, 8),
                                    Map(previous, 4), filters=2, stride=2).values

    net, previous = (tf.random.stateless_uniform([1, *size, 2], [1, 2], -1.0, 1.0)
                     for size in ((5, 8), (9, 16)))
    expected = run(net, previous)
    traced = tf.function(run, input_signature=[tf.TensorSpec([None, None, None, 2])] * 2)
    np.testing.assert_allclose(traced(net, previous), expected, atol=1e-5)
    assert expected.shape == [1, 3, 4, 8]


def test_training_moves_the_statistics_of_every_batch_norm():
    trained = BatchNorm(is_training=True, decay=0.5, epsilon=0.001, scale=True)
    pixels = tf.random.stateless_uniform([2, 65, 65, 3], [1, 2], -1.0, 1.0)
    store = VariableStore()
    stem(pixels, store=store, batch_norm=trained)
    variances = [variable.numpy() for name, variable in store.by_name.items()
                 if name.endswith("moving_variance")]
    assert len(variances) == 1 + 11 + 12
    assert not any((variance == 1).all() for variance in variances)


def test_drop_path_changes_the_maps_in_training_only():
    pixels = tf.random.stateless_uniform([4, 33, 33, 3], [1, 2], -1.0, 1.0)
    schedule = drop_path.DropPath(last_keep_prob=0.5, num_cells=2)
    store = VariableStore()
    expected = stem(pixels, store=store)[-1].values
    np.testing.assert_array_equal(stem(pixels, schedule, store)[-1].values, expected)
    with drop_path.training_step(tf.constant(0)):
        np.testing.assert_array_equal(stem(pixels, schedule, store)[-1].values, expected)
    with drop_path.training_step(tf.constant(250_000)):
        other = stem(pixels, schedule, store)[-1].values
    assert np.abs(other - expected).max() > 1e-2 * np.abs(expected).max()


def test_order_of_the_cells(monkeypatch):
    calls = hand_cells.Calls(monkeypatch)
    cut = nasnet.base(tf.zeros([1, 33, 33, 3]), 168, hand_cells.PLACES)
    assert calls.names(cut) == ["cell_10", "cell_11"]
    assert calls.names(nasnet.tail(cut, 168, hand_cells.PLACES)) == ["cell_17"]
    rows = calls.rows
    for (scope, *_), cell in zip(rows, calls.cells, strict=True):
        reduces = "reduction" in scope or "stem" in scope
        assert cell is (nasnet_cells.NASNET_REDUCTION if reduces else nasnet_cells.NASNET_NORMAL)
    # The cell, its input, the map before, filters, stride, place among all cells.
    assert rows[:4] == [("cell_stem_0", "conv0", None, 42, 2, 0),
                        ("cell_stem_1", "cell_stem_0", "conv0", 84, 2, 1),
                        ("cell_0", "cell_stem_1", "cell_stem_0", 168, 1, 2),
                        ("cell_1", "cell_0", "cell_stem_1", 168, 1, 3)]
    assert rows[7:11] == [("cell_5", "cell_4", "cell_3", 168, 1, 7),
                          ("reduction_cell_0", "cell_5", "cell_4", 336, 2, 8),
                          ("cell_6", "reduction_cell_0", "cell_4", 336, 1, 9),
                          ("cell_7", "cell_6", "reduction_cell_0", 336, 1, 10)]
    assert rows[14:18] == [("cell_11", "cell_10", "cell_9", 336, 1, 14),
                           ("reduction_cell_1", "cell_11", "cell_10", 672, 2, 15),
                           ("cell_12", "reduction_cell_1", "cell_10", 672, 1, 16),
                           ("cell_13", "cell_12", "reduction_cell_1", 672, 1, 17)]
    assert rows[21:] == [("cell_17", "cell_16", "cell_15", 672, 1, 21)]
    assert nasnet.DROP_PATH == drop_path.DropPath(0.7, num_cells=22, steps=250_000)


def test_parameters_of_the_large_network():
    """Counts them from the description of the cells, without building the network."""
    def separable(size, depth, filters):  # two of them, with gamma and beta each
        return (size ** 2 * (depth + filters) + depth * filters + filters ** 2 + 4 * filters)

    def beginning(depth, previous, filters):  # two 1x1 convolutions, gamma and beta each
        return filters * (depth + previous) + 4 * filters

    def factorized(depth, previous, filters):  # two convolutions to half the filters: as one
        return beginning(depth, previous, filters)

    def normal(depth, previous, filters):
        return beginning(depth, previous, filters) + sum(
            separable(size, filters, filters) for size in (5, 3, 5, 3, 3))

    def reduction(depth, previous, filters):
        return beginning(depth, previous, filters) + sum(
            separable(size, filters, filters) for size in (5, 7, 7, 5, 3))

    total = 27 * 96 + 2 * 96
    # The first cell has no convolution for a previous map, and sees 96 channels in its place.
    total += 42 * 96 + 2 * 42 + sum(separable(*each) for each in (
        (5, 42, 42), (7, 96, 42), (7, 96, 42), (5, 96, 42), (3, 42, 42)))
    total += reduction(4 * 42, 96, 84)
    total += normal(4 * 84, 4 * 42, 168) + normal(6 * 168, 4 * 84, 168)
    total += 4 * normal(6 * 168, 6 * 168, 168)
    for filters in (336, 672):
        before = 3 * filters  # 6 outputs of half the filters
        total += reduction(before, before, filters)
        total += normal(4 * filters, before, filters)
        total += normal(6 * filters, 4 * filters, filters) + 4 * normal(6 * filters, 6 * filters,
                                                                        filters)
    assert total == 84_720_150
    # With the 1000 classes of ImageNet and the moving statistics: 88.9 million, as published.
    statistics = 196_668
    assert total + statistics + 4032 * 1000 + 1000 == 88_949_818
    listed = json.loads(shared_files.require("fixtures/tf1/names/faster_rcnn_nas.json").read_text())
    counts = [math.prod(shape) for name, shape, trains in listed
              if trains and "StageFeatureExtractor/" in name]
    assert sum(counts) == total
