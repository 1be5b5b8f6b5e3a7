"""Targets of anchors: the original's arrays, its rules by hand, images without objects."""

import dataclasses

import numpy as np
import pytest
import tensorflow as tf
from meta_architectures.matterport import samples

from object_detection.box_coders.faster_rcnn_box_coder import FasterRcnnBoxCoder
from object_detection.meta_architectures.matterport.rpn_targets import (
    BACKGROUND,
    NEUTRAL,
    OBJECT,
    RpnTargets,
)

# 1 / standard deviations 0.1, 0.1, 0.2, 0.2.
TARGETS = RpnTargets(FasterRcnnBoxCoder((10.0, 10.0, 5.0, 5.0)), far_side=0.0)


@pytest.mark.parametrize("case", ["plain", "crowd", "many_anchors", "few_anchors", "single_gt",
                                  "no_subsampling"])
def test_as_the_original(case):
    given, expected = samples.recorded("rpn_targets", f"build_rpn_targets_{case}")
    targets = dataclasses.replace(
        TARGETS, anchors_per_image=int(given["rpn_train_anchors_per_image"]),
        choose=samples.last_ones)
    # Boxes in the network's frame name their last pixels; the targets add the last pixel again.
    far = np.array([0, 0, 1, 1])
    targets = dataclasses.replace(targets, far_side=1.0)
    truth = samples.truth([given["gt_boxes"] - far], [given["gt_class_ids"]])
    got = targets(tf.constant(given["anchors"] - far, tf.float32), truth)
    np.testing.assert_array_equal(got.match[0], expected["rpn_match"])
    deltas = got.deltas.numpy()[0][got.match[0] == OBJECT]
    wanted = expected.get("rpn_bbox", expected.get("rpn_bbox_first_64"))
    np.testing.assert_allclose(deltas, wanted[:len(deltas)], rtol=0, atol=2e-5)
    assert not wanted[len(deltas):].any()


def label(anchors, boxes, class_ids, **settings):
    targets = dataclasses.replace(TARGETS, **settings)
    return tf.function(targets)(tf.constant(anchors, tf.float32),
                                samples.truth(boxes, class_ids))


def test_labels_by_overlap():
    # Overlaps with the object of 10 x 10: 1, 0.7, 0.5, 0.3, 0.2.
    anchors = [[0, 0, 10, 10], [0, 0, 10, 7], [0, 0, 10, 5], [0, 0, 10, 3], [0, 0, 10, 2]]
    got = label(anchors, [[[0, 0, 10, 10]]], [[2]])
    np.testing.assert_array_equal(got.match, [[OBJECT, OBJECT, NEUTRAL, NEUTRAL, BACKGROUND]])
    np.testing.assert_array_equal(got.weights, [[1, 1, 0, 0, 1]])
    # Centre 1.5 / 7 further right than the anchor's: times 10; log(10 / 7) times 5.
    np.testing.assert_allclose(got.deltas[0, 1], [0, 15 / 7, 0, 5 * np.log(10 / 7)], rtol=1e-5)
    np.testing.assert_array_equal(got.deltas[0, 2:], np.zeros([3, 4]))


def test_an_object_claims_the_first_of_its_best_anchors():
    # Both anchors overlap by 0.2, too little for the threshold; the first by a rounding less.
    anchors = [[0, 0, 10, 50.0001], [0, 0, 50, 10]]
    got = label(anchors, [[[0, 0, 10, 10]]], [[1]])
    np.testing.assert_array_equal(got.match, [[OBJECT, BACKGROUND]])


def test_a_claimed_anchor_regresses_to_the_object_it_overlaps_most():
    # The only anchor is claimed by both; the second object covers more of it.
    got = label([[0, 0, 10, 10]], [[[0, 0, 10, 2], [0, 0, 10, 9]]], [[1, 2]])
    np.testing.assert_array_equal(got.match, [[OBJECT]])
    np.testing.assert_allclose(got.deltas[0, 0, 3], 5 * np.log(0.9), rtol=1e-5)


def test_crowds_and_padding():
    # Image 0: a crowd makes the first anchor neutral, its object the second positive all the same.
    # Image 1: only a crowd. Image 2: only padding, which claims nothing.
    boxes = [[[0, 0, 10, 10], [20, 20, 30, 30]], [[0, 0, 10, 10], [0, 0, 0, 0]],
             [[0, 0, 0, 0], [0, 0, 0, 0]]]
    anchors = [[0, 0, 8, 8], [20, 20, 30, 30], [0, 40, 10, 50]]
    got = label(anchors, boxes, [[-1, 1], [-3, 0], [0, 0]])
    np.testing.assert_array_equal(got.match, [
        [NEUTRAL, OBJECT, BACKGROUND], [NEUTRAL, BACKGROUND, BACKGROUND],
        [BACKGROUND, BACKGROUND, BACKGROUND]])
    assert not got.deltas.numpy()[1:].any()
    crowd_on_object = label(anchors, [[[20, 20, 30, 30], [20, 20, 30, 30]]], [[-1, 1]])
    assert crowd_on_object.match[0, 1] == OBJECT


def test_no_rows_of_ground_truth():
    got = label([[0, 0, 10, 10]], np.zeros([2, 0, 4]), np.zeros([2, 0], int))
    np.testing.assert_array_equal(got.match, [[BACKGROUND], [BACKGROUND]])


def test_at_most_half_of_the_kept_anchors_are_objects():
    anchors = [[0, 0, 10, 10]] * 6 + [[50, 50, 60, 60]] * 7
    got = label(anchors, [[[0, 0, 10, 10]]], [[1]], anchors_per_image=8).match[0].numpy()
    assert (got == OBJECT).sum() == 4 and (got == BACKGROUND).sum() == 4
    draws = set()
    for seed in range(5):
        tf.random.set_seed(seed)
        draws.add(tuple(label(anchors, [[[0, 0, 10, 10]]], [[1]], anchors_per_image=8)
                        .match[0].numpy()))
    assert len(draws) > 1  # at random


def test_unannotated_images_have_no_weight():
    truth = samples.truth([[[0, 0, 10, 10]]], [[1]])._replace(is_annotated=tf.constant([False]))
    got = TARGETS(tf.constant([[0.0, 0, 10, 10], [0, 50, 10, 60]]), truth)
    assert not got.weights.numpy().any()
