"""Changed annotations."""

import numpy as np
import pytest
import tensorflow as tf

from object_detection.core.augment import labels

SEED = tf.constant([5, 6])


def record():
    return {"groundtruth_boxes": tf.constant([[0.2, 0.2, 0.4, 0.6], [0.5, 0.1, 0.9, 0.3]]),
            "groundtruth_classes": tf.constant([1, 2], tf.int64)}


@pytest.mark.parametrize("mode", labels.JITTER_MODES)
def test_jitter_modes(mode):
    before = record()["groundtruth_boxes"].numpy()
    after = labels.random_jitter_boxes(record(), SEED, 0.1, mode)["groundtruth_boxes"].numpy()
    sides = np.tile(before[:, 2:] - before[:, :2], [1, 2])
    outwards = (after - before) / sides * [-1, -1, 1, 1]
    assert (np.abs(outwards) <= 0.1 + 1e-6).all() and np.abs(outwards).max() > 0
    if mode.startswith("EXPAND"):
        assert (outwards >= 0).all()
    if mode.startswith("SHRINK"):
        assert (outwards <= 0).all()
    if "SYMMETRIC" in mode:
        np.testing.assert_allclose(outwards[:, :2], outwards[:, 2:], atol=1e-5)
    if mode.endswith("SYMMETRIC"):
        np.testing.assert_allclose(outwards, outwards[:, :1].repeat(4, 1), atol=1e-5)


def test_dropping_and_renaming():
    got = labels.drop_label_probabilistically(record(), SEED, 2, 1.0)
    assert got["groundtruth_classes"].numpy().tolist() == [1]
    assert got["groundtruth_boxes"].shape == [1, 4]
    got = labels.drop_label_probabilistically(record(), SEED, 2, 0.0)
    assert got["groundtruth_classes"].numpy().tolist() == [1, 2]
    got = labels.remap_labels(record(), SEED, [1, 7], 5)
    assert got["groundtruth_classes"].numpy().tolist() == [5, 2]
