"""PNASNet-5: its cell worked out by hand, names and shapes, sizes, parameters."""

import numpy as np
import pytest
import tensorflow as tf
from nets import hand_cells
from nets.hand_cells import FROZEN, column, run_cell

from object_detection.nets import drop_path, nasnet_cells, pnasnet
from object_detection.nets.variable_store import VariableStore

THIN = 8  # filters instead of 216


class TestCell:

    def test_pooling_without_convolutions(self):
        net = column([[1, 2, 3], [4, 5, 6], [7, 8, 9]])
        previous = column([[0, 0, 2], [0, 0, 0], [0, 0, 0]])
        got = run_cell(nasnet_cells.PNASNET, net, previous)
        largest = [[5, 6, 6], [8, 9, 9], [8, 9, 9]]
        largest_before = [[0, 2, 2], [0, 2, 2], [0, 0, 0]]
        zeros = np.zeros([3, 3])
        expected = [largest_before, largest, zeros, largest, net[0, :, :, 0]]
        np.testing.assert_allclose(got, np.stack(expected, -1), atol=1e-5)

    def test_pooling_with_a_stride(self):
        net = column([[1, 2, 3], [4, 5, 6], [7, 8, 9]])
        got = run_cell(nasnet_cells.PNASNET, net, 0 * net, stride=2)
        largest = [[5, 6], [8, 9]]  # windows around pixels 0 and 2
        zeros = np.zeros([2, 2])
        kept = [[1, 3], [7, 9]]  # a 1x1 convolution at pixels 0 and 2
        expected = [zeros, largest, zeros, largest, kept]
        np.testing.assert_allclose(got, np.stack(expected, -1), atol=1e-5)

    def test_all_operations_on_one_pixel(self):
        n, p = 3.0, 5.0
        for stride in (1, 2):
            got = run_cell(nasnet_cells.PNASNET, column([[n]]), column([[p]]), stride=stride,
                           separable=1.0)
            # The fourth sum reads the third, which is 2 n.
            np.testing.assert_allclose(got[0, 0], [2 * p, 2 * n, 2 * n, 3 * n, p + n], rtol=1e-5)

    def test_separable_convolutions_run_twice(self):
        n, p = 3.0, 5.0
        got = run_cell(nasnet_cells.PNASNET, column([[n]]), column([[p]]), separable=2.0)
        np.testing.assert_allclose(  # 2 * 2 in front of each; the third sum is 8 n
            got[0, 0], [5 * p, 5 * n, 8 * n, 33 * n, 4 * p + n], rtol=1e-5)

    def test_the_first_cell_sees_its_input_twice(self):
        net = np.full([1, 1, 1, 3], 2.0, np.float32)  # of another depth than the states
        got = run_cell(nasnet_cells.PNASNET, net, None, stride=2, separable=1.0)
        np.testing.assert_allclose(got[0, 0], [4, 4, 4, 6, 4], rtol=1e-5)

    def test_the_map_before_is_reduced_if_it_is_finer(self):
        previous = column([[1, 2, 3], [4, 5, 6], [7, 8, 9]])
        net = np.zeros([1, 2, 2, 2], np.float32)
        got = run_cell(nasnet_cells.PNASNET, net, previous, filters=2, previous_stride=4)
        # Half of the filters see pixels 0 and 2, the others pixel 1 and zeros past the border; the
        # first state is the largest value around each.
        np.testing.assert_allclose(got[..., 0], np.full([2, 2], 9), rtol=1e-5)
        np.testing.assert_allclose(got[..., 1], np.full([2, 2], 5), rtol=1e-5)


@pytest.fixture(scope="module", name="thin")
def thin_network():
    """Returns shapes of the variables by name, the maps, the box features; on 35x64 pixels."""
    store = VariableStore(nasnet_cells.variable_name)
    with nasnet_cells.arg_scope(FROZEN, 0.0):
        with store.scope("A"):
            features = pnasnet.base(tf.zeros([1, 35, 64, 3]), THIN)
        with store.scope("B"):
            boxes = pnasnet.tail(tf.ones([2, 6, 17, 20 * THIN]), THIN)
    return {name: variable.shape.as_list()
            for name, variable in store.by_name.items()}, features, boxes


def test_sizes_of_the_maps(thin):
    _, features, boxes = thin
    # conv0 (no padding), then four reductions: 35, 17, 9, 5, 3 and 64, 31, 16, 8, 4.
    assert features.shape == [1, 3, 4, 20 * THIN]
    assert boxes.shape == [2, 3, 9, 20 * THIN]
    assert boxes.numpy().min() >= 0  # rectified


def test_names_and_shapes(thin):
    names, _, _ = thin
    f = THIN
    expected = {
        "A/conv0/weights": [3, 3, 3, 96],
        "A/conv0_bn/moving_variance": [96],
        # The first cell pools 96 channels: a convolution brings them to its own depth.
        "A/cell_stem_0/1x1/weights": [1, 1, 96, f // 4],
        "A/cell_stem_0/comb_iter_0/left/separable_5x5_1/depthwise_weights": [5, 5, 96, 1],
        "A/cell_stem_0/comb_iter_0/right/1x1/weights": [1, 1, 96, f // 4],
        "A/cell_stem_0/comb_iter_0/right/bn_1/gamma": [f // 4],
        "A/cell_stem_0/comb_iter_4/right/1x1/weights": [1, 1, f // 4, f // 4],
        "A/cell_stem_1/path1_conv/weights": [1, 1, 96, f // 4],
        "A/cell_stem_1/final_path_bn/beta": [f // 2],
        "A/cell_0/path2_conv/weights": [1, 1, 5 * f // 4, f // 2],
        "A/cell_1/prev_1x1/weights": [1, 1, 5 * f // 2, f],
        "A/cell_1/prev_bn/gamma": [f],
        "A/cell_4/1x1/weights": [1, 1, 5 * f, 2 * f],
        "A/cell_4/beginning_bn/moving_mean": [2 * f],
        "A/cell_4/comb_iter_1/left/separable_7x7_2/pointwise_weights": [1, 1, 2 * f, 2 * f],
        "A/cell_4/comb_iter_1/left/bn_sep_7x7_2/gamma": [2 * f],
        "A/cell_4/comb_iter_4/right/1x1/weights": [1, 1, 2 * f, 2 * f],
        "A/cell_4/comb_iter_4/right/bn_1/beta": [2 * f],
        "A/cell_5/path1_conv/weights": [1, 1, 5 * f, f],
        "B/cell_8/1x1/weights": [1, 1, 10 * f, 4 * f],
        "B/cell_8/prev_1x1/weights": [1, 1, 10 * f, 4 * f],
        "B/cell_9/final_path_bn/gamma": [4 * f],
        "B/cell_11/comb_iter_3/left/separable_3x3_1/depthwise_weights": [3, 3, 4 * f, 1]}
    assert {name: names.get(name) for name in expected} == expected
    # Per cell: two 1x1 convolutions and six pairs of separable ones, each with a batch norm:
    # 2 * 5 + 6 * 2 * 6 = 82. A factorized reduction (stem_1, 0, 5, 9) has a convolution more; a
    # stride (stem_0, stem_1, 4, 8) has one with its batch norm. The first cell has none for the
    # map before, and one more for its pooling. conv0 makes 5.
    assert len(names) == 5 + 14 * 82 + 4 * 1 + 4 * 5 - 5 + 5


def test_order_of_the_cells(monkeypatch):
    calls = hand_cells.Calls(monkeypatch)
    cut = pnasnet.base(tf.zeros([1, 33, 33, 3]), 216, hand_cells.PLACES)
    assert calls.names(cut) == ["cell_6", "cell_7"]
    assert calls.names(pnasnet.tail(cut, 216, hand_cells.PLACES)) == ["cell_11"]
    # The cell, its input, the map before, filters, stride, place among all cells.
    assert calls.rows == [
        ("cell_stem_0", "conv0", None, 54, 2, 0),
        ("cell_stem_1", "cell_stem_0", "conv0", 108, 2, 1),
        ("cell_0", "cell_stem_1", "cell_stem_0", 216, 1, 2),
        ("cell_1", "cell_0", "cell_stem_1", 216, 1, 3),
        ("cell_2", "cell_1", "cell_0", 216, 1, 4),
        ("cell_3", "cell_2", "cell_1", 216, 1, 5),
        ("cell_4", "cell_3", "cell_2", 432, 2, 6),
        ("cell_5", "cell_4", "cell_3", 432, 1, 7),
        ("cell_6", "cell_5", "cell_4", 432, 1, 8),
        ("cell_7", "cell_6", "cell_5", 432, 1, 9),
        ("cell_8", "cell_7", "cell_6", 864, 2, 10),
        ("cell_9", "cell_8", "cell_7", 864, 1, 11),
        ("cell_10", "cell_9", "cell_8", 864, 1, 12),
        ("cell_11", "cell_10", "cell_9", 864, 1, 13)]
    assert all(cell is nasnet_cells.PNASNET for cell in calls.cells)
    assert pnasnet.DROP_PATH == drop_path.DropPath(0.6, num_cells=14, steps=250_000)


def parameters(filters):
    """Counts the trainable parameters from the description of the cells."""
    def separable(size, depth, filters):  # two of them, with gamma and beta each
        return size ** 2 * (depth + filters) + depth * filters + filters ** 2 + 4 * filters

    def cell(depth, previous, filters, stride=1):
        # Two 1x1 convolutions (a factorized reduction is as large) with gamma and beta each.
        count = filters * (depth + previous) + 4 * filters
        count += sum(separable(size, filters, filters) for size in (5, 7, 5, 3, 3, 3))
        return count + (filters ** 2 + 2 * filters if stride == 2 else 0)

    quarter, half = filters // 4, filters // 2
    total = 27 * 96 + 2 * 96  # conv0
    # The first cell has no convolution for a previous map; a 5x5 and a 3x3 pair and a pooling see
    # 96 channels in its place.
    total += 96 * quarter + 2 * quarter + sum(separable(*each) for each in (
        (5, 96, quarter), (3, 96, quarter), (7, quarter, quarter), (5, quarter, quarter),
        (3, quarter, quarter), (3, quarter, quarter)))
    total += 96 * quarter + 2 * quarter + quarter ** 2 + 2 * quarter
    total += cell(5 * quarter, 96, half, stride=2)
    total += cell(5 * half, 5 * quarter, filters) + cell(5 * filters, 5 * half, filters)
    total += 2 * cell(5 * filters, 5 * filters, filters)
    for width in (2 * filters, 4 * filters):
        before = 5 * width // 2
        total += cell(before, before, width, stride=2) + cell(5 * width, before, width)
        total += 2 * cell(5 * width, 5 * width, width)
    return total


def test_parameters(thin):
    names, _, _ = thin
    counts = [int(np.prod(shape)) for name, shape in names.items()
              if not name.endswith(("moving_mean", "moving_variance"))]
    assert sum(counts) == parameters(THIN)
    assert parameters(pnasnet.FILTERS) == 81_736_668
    # With the 1000 classes of ImageNet: 86.1 million, as published.
    assert parameters(pnasnet.FILTERS) + 4320 * 1000 + 1000 == 86_057_668
