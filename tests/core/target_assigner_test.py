"""Targets and weights of anchors, by hand: matched, background, ignored, padding."""

import numpy as np
import tensorflow as tf

from object_detection.box_coders.mean_stddev_box_coder import MeanStddevBoxCoder
from object_detection.core.region_similarity_calculator import (
    IouSimilarity,
    ThresholdedIouSimilarity,
)
from object_detection.core.target_assigner import TargetAssigner
from object_detection.matchers.argmax_matcher import ArgMaxMatcher

# IoU with the box [0, 0, 10, 10]: 1, 0.5 and 0.
ANCHORS = tf.constant([[0.0, 0.0, 10.0, 10.0], [0.0, 0.0, 10.0, 5.0], [20.0, 20.0, 30.0, 30.0]])
BOX = tf.constant([[[0.0, 0.0, 10.0, 10.0]]])


def assigner(**settings):
    return TargetAssigner(IouSimilarity(), ArgMaxMatcher(0.7, 0.3), MeanStddevBoxCoder(1.0),
                          **settings)


def test_matched_ignored_and_background_anchors():
    targets = assigner(negative_class_weight=0.25).assign(
        ANCHORS, BOX, tf.constant([[[0.0, 1.0]]]), tf.constant([1.0, 0.0]), tf.constant([[0.5]]))
    assert targets.match.rows.numpy().tolist() == [[0, -2, -1]]
    np.testing.assert_allclose(targets.cls_targets, [[[0, 1], [1, 0], [1, 0]]])
    np.testing.assert_allclose(targets.cls_weights, [[[0.5] * 2, [0] * 2, [0.25] * 2]])
    np.testing.assert_allclose(targets.reg_targets, np.zeros([1, 3, 4]))
    np.testing.assert_allclose(targets.reg_weights, [[0.5, 0, 0]])


def test_only_matched_anchors_have_box_targets():
    near = tf.constant([[[1.0, 0.0, 10.0, 10.0]]])
    targets = assigner().assign(ANCHORS, near)
    np.testing.assert_allclose(targets.reg_targets, [[[1, 0, 0, 0], [0] * 4, [0] * 4]])
    np.testing.assert_allclose(targets.cls_targets[..., 0], [[1, 0, 0]])  # labels default to ones


def test_no_boxes_make_every_anchor_background():
    targets = assigner().assign(ANCHORS, tf.zeros([2, 0, 4]), tf.zeros([2, 0, 3]),
                                tf.constant([1.0, 0.0, 0.0]), tf.zeros([2, 0]))
    np.testing.assert_allclose(targets.cls_targets, np.tile([1, 0, 0], [2, 3, 1]))
    np.testing.assert_allclose(targets.cls_weights, np.ones([2, 3, 3]))
    np.testing.assert_allclose(targets.reg_weights, np.zeros([2, 3]))


def test_padding_changes_nothing():
    padded = tf.concat([BOX, tf.zeros([1, 3, 4])], axis=1)
    force = TargetAssigner(IouSimilarity(), ArgMaxMatcher(0.7, 0.3, force_match_for_each_row=True),
                           MeanStddevBoxCoder(1.0))
    alone = force.assign(ANCHORS, BOX)
    together = force.assign(ANCHORS, padded, weights=tf.constant([[1.0, 0.0, 0.0, 0.0]]))
    tf.nest.map_structure(np.testing.assert_array_equal, alone, together)


def test_without_a_batch_and_with_anchors_per_image():
    one = assigner().assign(ANCHORS, BOX[0])
    both = assigner().assign(tf.stack([ANCHORS, ANCHORS[::-1]]), tf.tile(BOX, [2, 1, 1]))
    assert one.match.rows.numpy().tolist() == [0, -2, -1]
    assert both.match.rows.numpy().tolist() == [[0, -2, -1], [-1, -2, 0]]
    assert both.reg_targets.shape == [2, 3, 4]


def test_a_similarity_that_weighs_boxes_reads_their_labels():
    weighing = TargetAssigner(ThresholdedIouSimilarity(0.4), ArgMaxMatcher(0.7),
                              MeanStddevBoxCoder(1.0))
    # 0.2 of background leaves a score of 0.8 wherever the overlap is above 0.4.
    targets = weighing.assign(ANCHORS, BOX, tf.constant([[[0.2, 0.8]]]), tf.constant([1.0, 0.0]))
    assert targets.match.rows.numpy().tolist() == [[0, 0, -1]]


def test_compiles_with_static_shapes():
    compiled = tf.function(assigner(use_matmul_gather=True).assign, jit_compile=True)
    got = compiled(ANCHORS, BOX)
    tf.nest.map_structure(np.testing.assert_allclose, got, assigner().assign(ANCHORS, BOX))
