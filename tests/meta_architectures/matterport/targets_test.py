"""Training regions and their targets: the original's arrays, its faults put right, no objects."""

import dataclasses

import numpy as np
import pytest
import tensorflow as tf
from meta_architectures.matterport import samples

from object_detection.box_coders.faster_rcnn_box_coder import FasterRcnnBoxCoder
from object_detection.core.structures import Proposals
from object_detection.meta_architectures.matterport.matching import RegionMatcher
from object_detection.meta_architectures.matterport.targets import (
    MaskTargets,
    RegionSampler,
    region_targets,
)

CODER = FasterRcnnBoxCoder((10.0, 10.0, 5.0, 5.0))
SAMPLER = RegionSampler(RegionMatcher(), choose=samples.first_ones)
# Recorded boxes are normalized to the 128 x 128 image: 1 is the middle of the last pixel.
LAST = 127.0

# Objects of 10 x 10 pixels and regions that overlap the first by 1, 0.6, 0.5, 0.4 and 0.
OBJECT = [0.0, 0, 10, 10]
REGIONS = [OBJECT, [0.0, 0, 10, 6], [0.0, 0, 10, 5], [0.0, 0, 10, 4], [20.0, 20, 30, 30]]


def proposals(boxes, num_valid=None):
    boxes = tf.constant(boxes, tf.float32)
    count = boxes.shape[1]
    scores = tf.cast(tf.range(count, 0, -1), tf.float32) / max(count, 1)
    return Proposals(boxes, tf.tile(scores[None], [boxes.shape[0], 1]),
                     tf.constant([count] * boxes.shape[0] if num_valid is None else num_valid))


def sample(boxes, truth, num_valid=None, **settings):
    sampler = dataclasses.replace(SAMPLER, **settings)
    return tf.function(sampler.sample)(proposals(boxes, num_valid), truth)


@pytest.mark.parametrize("case", [
    "mini_mask", "full_mask", "crowd", "crowd_full_mask", "everything_selected",
    "no_ground_truth", "only_crowd", "rectangular_mini_mask"])
def test_as_the_original(case):
    given, expected = samples.recorded("detection_targets", f"detection_targets_graph_{case}")
    masks = given["gt_masks"].transpose(2, 0, 1)[None]
    truth = samples.truth([given["gt_boxes"] * LAST], [given["gt_class_ids"]], masks=masks)
    boxes = given["proposals"] * LAST
    count = int(np.any(boxes != 0, axis=1).sum())
    assert not boxes[count:].any()
    kept = sample([boxes], truth, [count],
                  regions_per_image=int(given["train_rois_per_image"]),
                  positive_ratio=float(given["roi_positive_ratio"]), no_objects_no_background=True)
    np.testing.assert_allclose(kept.boxes[0] / LAST, expected["rois"], atol=1e-6)
    assert kept.num_valid[0] == np.any(expected["rois"] != 0, axis=1).sum()
    got = region_targets(RegionMatcher(), CODER, kept.boxes, truth)
    np.testing.assert_array_equal(got.class_ids[0], expected["class_ids"])
    np.testing.assert_allclose(got.deltas[0], expected["deltas"], rtol=0, atol=2e-5)
    mini = tuple(masks.shape[2:]) if given["use_mini_mask"] else None
    cut = MaskTargets(mini, original_far_edge=True)(truth, kept.boxes, got.match,
                                                    given["mask_shape"].tolist())
    wrong = cut[0].numpy() != expected["masks"]
    assert wrong.sum(axis=(1, 2)).max(initial=0) <= 1


def test_objects_come_first_and_a_third_of_the_places_is_theirs():
    # Two of the three places for objects of 10 are taken; 2 / 0.3 = 6.67: 6, less the 2: 4.
    regions = [REGIONS[4]] * 6 + [REGIONS[3]] + REGIONS[1:3]
    got = sample([regions], samples.truth([[OBJECT]], [[1]]), regions_per_image=10,
                 positive_ratio=0.3)
    np.testing.assert_array_equal(
        got.boxes[0], REGIONS[1:3] + [REGIONS[4]] * 4 + [[0, 0, 0, 0]] * 4)
    assert got.num_valid[0] == 6
    np.testing.assert_allclose(got.scores[0, :3], [2 / 9, 1 / 9, 1.0], rtol=1e-5)


@pytest.mark.parametrize("class_id", [-1, 0])
def test_an_image_without_objects_still_shows_background(class_id):
    # Like an image with enough objects: int(3 / 0.3) - 3 = 7 of 10 places, here 1 region.
    truth = samples.truth([[OBJECT]], [[class_id]])
    got = sample([REGIONS], truth, regions_per_image=10, positive_ratio=0.3)
    # The regions on a crowd are not background; the region off it is.
    assert got.num_valid[0] == (1 if class_id < 0 else 5)
    if class_id < 0:
        np.testing.assert_array_equal(got.boxes[0, 0], REGIONS[4])
    fault = sample([REGIONS], truth, no_objects_no_background=True)
    assert fault.num_valid[0] == 0 and not fault.boxes.numpy().any()


def test_no_more_background_than_an_image_full_of_objects_has():
    got = sample([[REGIONS[4]] * 20], samples.truth([[OBJECT]], [[1]]), regions_per_image=10,
                 positive_ratio=0.3)
    assert got.num_valid[0] == 7


def test_rows_past_num_valid_and_images_are_kept_apart():
    truth = samples.truth([[OBJECT], [OBJECT]], [[1], [0]])
    got = sample([REGIONS, REGIONS], truth, [1, 0], regions_per_image=6, positive_ratio=0.34)
    np.testing.assert_array_equal(got.num_valid, [1, 0])  # no background within the first row
    np.testing.assert_array_equal(got.boxes[0, 0], OBJECT)
    assert not got.boxes.numpy()[1].any()


def test_no_proposals_and_no_ground_truth_rows():
    truth = samples.truth(np.zeros([1, 0, 4]), np.zeros([1, 0], int))
    assert sample(np.zeros([1, 0, 4]), truth, [0], regions_per_image=4).boxes.shape == [1, 4, 4]
    assert sample([REGIONS], truth, regions_per_image=4).num_valid[0] == 2  # int(1 / 0.33) - 1


def test_targets_by_hand():
    truth = samples.truth([[OBJECT, [20, 20, 30, 30]]], [[2, -1]])
    got = region_targets(RegionMatcher(), CODER, tf.constant([REGIONS]), truth)
    np.testing.assert_array_equal(got.class_ids, [[2, 2, 2, 0, 0]])
    np.testing.assert_array_equal(got.weights, [[1, 1, 1, 1, 0]])  # the last is on the crowd
    # The object's centre lies 2 pixels right of the region of 10 x 6: 10 * 2 / 6.
    np.testing.assert_allclose(got.deltas[0, 1], [0, 20 / 6, 0, 5 * np.log(10 / 6)], rtol=1e-5)
    assert not got.deltas.numpy()[0, 3:].any()


@pytest.mark.parametrize("mini", [None, (4, 4), (8, 8)])
def test_a_mask_is_cut_at_its_region(mini):
    # The object is the left half of the 8 x 8 pixels from (2, 2) on.
    masks = np.zeros([1, 1, 16, 16], np.float32)
    masks[0, 0, 2:10, 2:6] = 1
    truth = samples.truth([[[2, 2, 9, 9]]], [[1]], masks=masks)
    boxes = tf.constant([[[2.0, 2, 9, 9], [2, 2, 9, 5], [2, 6, 9, 9]]])
    match = RegionMatcher(positive_iou=0.1).match(boxes, truth)
    got = MaskTargets(mini)(truth, boxes, match, [4, 4])
    np.testing.assert_array_equal(got[0, 0], [[1, 1, 0, 0]] * 4)
    np.testing.assert_array_equal(got[0, 1], np.ones([4, 4]))
    np.testing.assert_array_equal(got[0, 2], np.zeros([4, 4]))


def test_masks_in_mini_size_are_taken_as_they_are():
    masks = np.zeros([1, 1, 4, 4], np.float32)
    masks[0, 0, :2] = 1
    truth = samples.truth([[[40, 40, 79, 79]]], [[1]], masks=masks)
    boxes = tf.constant([[[40.0, 40, 79, 79]]])
    match = RegionMatcher().match(boxes, truth)
    got = MaskTargets((4, 4))(truth, boxes, match, [4, 4])
    np.testing.assert_array_equal(got[0, 0], masks[0, 0])


@pytest.mark.parametrize("case", ["mini_mask", "full_mask"])
def test_classes_and_deltas_as_the_original_outside_of_the_graph(case):
    # Its own way of choosing regions and cutting masks served to look at data; it is not here.
    given, expected = samples.recorded("detection_targets", f"build_detection_targets_{case}")
    truth = samples.truth([given["gt_boxes"]], [given["gt_class_ids"]])
    got = region_targets(RegionMatcher(), CODER, tf.constant(expected["rois"][None], tf.float32),
                         truth)
    ids = expected["class_ids"]
    np.testing.assert_array_equal(got.class_ids[0], ids)
    np.testing.assert_allclose(got.deltas[0], expected["bboxes"][np.arange(len(ids)), ids],
                               rtol=0, atol=2e-5)
