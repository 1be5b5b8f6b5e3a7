"""Hard example mining: the original's numbers, every image of a batch, limits, padding."""

import json

import numpy as np
import pytest
import shared_files
import tensorflow as tf

from object_detection.core.hard_example_miner import HardExampleMiner

# Rows 0 and 1 overlap by 9 / 11; the others stand alone.
_BOXES = [[0, 0, 10, 10], [0, 1, 10, 11], [50, 50, 60, 60], [80, 80, 90, 90]]


@pytest.mark.parametrize("static", [False, True])
@pytest.mark.parametrize("name", ["cls", "loc", "both", "all", "ratio"])
def test_sums_equal_the_original(name, static):
    folder = shared_files.require("fixtures/tf1/ops")
    case = f"hard_example_miner_{name}"
    params = json.loads((folder / "params.json").read_text())["losses"][case]
    miner = HardExampleMiner(**params, use_static_shapes=static)
    data = np.load(folder / "losses.npz")
    boxes = tf.stack([data[f"{case}/in/boxes_{i}"] for i in range(2)])
    loc, cls = tf.function(miner)(
        tf.constant(data[f"{case}/in/loc"]), tf.constant(data[f"{case}/in/cls"]), boxes,
        match_rows=data.get(f"{case}/in/match"))
    np.testing.assert_allclose(tf.reduce_sum(loc), data[f"{case}/out/location_loss"], rtol=1e-5)
    np.testing.assert_allclose(tf.reduce_sum(cls), data[f"{case}/out/cls_loss"], rtol=1e-5)


def _mine(miner, **arguments):
    loc = tf.constant([[1.0, 2.0, 3.0, 4.0], [5.0, 6.0, 7.0, 8.0]])
    cls = tf.constant([[0.4, 0.3, 0.2, 0.1], [0.1, 0.9, 0.4, 0.2]])
    boxes = tf.constant([_BOXES, _BOXES], tf.float32)
    return [x.numpy().tolist() for x in miner(loc, cls, boxes, **arguments)]


def test_overlapping_region_with_less_loss_is_dropped_in_each_image():
    # Image 0 keeps rows 0, 2, 3; image 1 keeps rows 1, 2, 3.
    loc, _ = _mine(HardExampleMiner(None, 0.5, "cls"))
    assert loc == [8.0, 21.0]


def test_number_of_examples():
    loc, _ = _mine(HardExampleMiner(2, 0.5, "cls"))
    assert loc == [1.0 + 3.0, 6.0 + 7.0]


def test_padding_is_not_mined():
    loc, _ = _mine(HardExampleMiner(None, 0.5, "cls"), num_valid=tf.constant([1, 0]))
    assert loc == [1.0, 0.0]


def test_negatives_are_limited_by_the_positives_of_each_image():
    matches = tf.constant([[-1, -1, 0, -1], [-1, -1, -1, -1]])
    # Image 0: positive row 2 and one negative, row 0. Image 1: no positive, two negatives allowed.
    miner = HardExampleMiner(None, 0.5, "cls", max_negatives_per_positive=1)
    assert _mine(miner, match_rows=matches)[0] == [4.0, 0.0]
    miner = HardExampleMiner(None, 0.5, "cls", max_negatives_per_positive=1,
                             min_negatives_per_image=2)
    assert _mine(miner, match_rows=matches)[0] == [8.0, 13.0]


def test_limit_without_matches_is_an_error():
    with pytest.raises(ValueError, match="match_rows"):
        _mine(HardExampleMiner(max_negatives_per_positive=3))


def test_faults_of_the_original():
    assert _mine(HardExampleMiner(None, 0.5, "cls", first_image_only=True))[0] == [8.0, 0.0]
    miner = HardExampleMiner(None, 0.5, "cls", max_negatives_per_positive=1, ignore_matches=True)
    assert _mine(miner)[0] == [8.0, 21.0]


@pytest.mark.parametrize("count", [0, 4])
def test_dynamic_size(count):
    miner = HardExampleMiner(None, 0.5, "cls")
    run = tf.function(miner, input_signature=[
        tf.TensorSpec([None, None]), tf.TensorSpec([None, None]), tf.TensorSpec([None, None, 4])])
    loc, cls = run(tf.ones([2, count]), tf.ones([2, count]),
                   tf.constant([_BOXES[:count]] * 2, tf.float32, shape=[2, count, 4]))
    np.testing.assert_allclose(loc, [3.0 if count else 0.0] * 2)
    np.testing.assert_allclose(cls, loc)


def test_gradient_reaches_only_hard_regions():
    loc = tf.Variable([[1.0, 2.0, 3.0, 4.0]])
    with tf.GradientTape() as tape:
        total = HardExampleMiner(2, 0.5, "loc")(loc, loc, tf.constant([_BOXES], tf.float32))[0]
    np.testing.assert_allclose(tape.gradient(total, loc), [[0, 0, 1, 1]])


def test_static_shapes_compile():
    miner = HardExampleMiner(2, 0.5, "cls", max_negatives_per_positive=1, use_static_shapes=True)
    compiled = tf.function(miner, jit_compile=True)
    loc, _ = compiled(tf.ones([1, 4]), tf.constant([[0.4, 0.3, 0.2, 0.1]]),
                      tf.constant([_BOXES], tf.float32), match_rows=tf.constant([[0, -1, -1, -1]]))
    np.testing.assert_allclose(loc, [2.0])
