"""Losses, proposals, results and ground truth of the two-stage detector, by hand."""

import numpy as np
import pytest
import tensorflow as tf

from object_detection.builders.target_assigner_builder import create_target_assigner
from object_detection.core.balanced_positive_negative_sampler import (
    BalancedPositiveNegativeSampler,
)
from object_detection.core.resizers import FixedShapeResizer
from object_detection.core.structures import GroundTruth, ImageExtent, Proposals, RpnOutput
from object_detection.meta_architectures import groundtruth, losses, proposals, results, rpn


def truth(boxes, classes, weights=None, annotated=None):
    boxes = tf.constant(boxes, tf.float32)
    weights = tf.ones(boxes.shape[:2]) if weights is None else tf.constant(weights)
    annotated = [True] * boxes.shape[0] if annotated is None else annotated
    return GroundTruth(boxes, tf.constant(classes, tf.float32), weights, tf.constant(annotated),
                       tf.zeros(boxes.shape[:2], tf.bool),
                       tf.ones([boxes.shape[0], len(classes[0][0]) if classes[0] else 1], tf.bool))


class TestImageMean:
    def test_leaves_unannotated_images_out(self):
        mean = losses.ImageMean()(tf.constant([2.0, 50.0, 4.0]), tf.constant([True, False, True]))
        assert mean.numpy() == 3.0

    def test_can_count_them_as_the_original_does(self):
        mean = losses.ImageMean(True)(tf.constant([2.0, 50.0, 4.0]),
                                      tf.constant([True, False, True]))
        assert mean.numpy() == 2.0

    def test_of_no_annotated_image_is_zero(self):
        assert losses.ImageMean()(tf.constant([7.0]), tf.constant([False])).numpy() == 0.0


def test_rpn_loss_by_hand():
    """Two anchors, one on the object: even logits cost log 2 each, a perfect box nothing."""
    loss = losses.RpnLoss(create_target_assigner("FasterRCNN", "proposal"),
                          BalancedPositiveNegativeSampler(0.5), 2, 1.0, 1.0, losses.ImageMean())
    anchors = tf.constant([[0.0, 0, 10, 10], [50, 50, 60, 60]])
    output = RpnOutput(tf.zeros([1, 2, 4]), tf.zeros([1, 2, 2]), anchors, (tf.zeros([1, 1, 1, 1]),))
    pair = loss(output, truth([[[0, 0, 10, 10]]], [[[1]]]))
    assert pair.localization.numpy() == 0.0
    np.testing.assert_allclose(pair.classification, np.log(2.0), rtol=1e-6)


@pytest.mark.parametrize("count_unannotated,expected", [(False, 1.0), (True, 0.5)])
def test_mask_loss_leaves_unannotated_images_out(count_unannotated, expected):
    """One matched region in each of two images, even logits: log 2 per pixel of the first."""
    assigner = create_target_assigner("FasterRCNN", "detection")
    box_loss = losses.BoxClassifierLoss(assigner, None, 1.0, 1.0, losses.ImageMean())
    boxes = tf.constant([[[0.0, 0, 8, 8]], [[0.0, 0, 8, 8]]])
    two = truth(boxes, [[[1]], [[1]]], annotated=[True, False])._replace(
        masks=tf.ones([2, 1, 8, 8]))
    loss = losses.MaskLoss(1.0, count_unannotated=count_unannotated)
    got = loss(tf.zeros([2, 1, 2, 2]), boxes, tf.ones([2, 1], tf.bool),
               box_loss.targets(boxes, two), two)
    np.testing.assert_allclose(got, expected * np.log(2.0), rtol=1e-6)


def test_encodings_of_the_target_class():
    encodings = tf.reshape(tf.range(16.0), [2, 2, 4])  # two regions, two classes
    one_hot = tf.constant([[[0.0, 0, 1], [1, 0, 0]]])  # class 1; background
    got = losses.encodings_of_class(encodings, one_hot)
    np.testing.assert_array_equal(got[0], [[4, 5, 6, 7], [0, 0, 0, 0]])


def test_encodings_shared_by_all_classes():
    got = losses.encodings_of_class(tf.ones([2, 1, 4]), tf.zeros([1, 2, 3]))
    np.testing.assert_array_equal(got, tf.ones([1, 2, 4]))


class TestProposalSampler:
    def sampler(self, batch_size):
        return proposals.ProposalSampler(
            create_target_assigner("FasterRCNN", "detection"),
            BalancedPositiveNegativeSampler(1.0), batch_size)

    def given(self):
        boxes = tf.constant([[[0.0, 0, 10, 10], [20, 20, 30, 30], [0, 0, 10, 9], [0, 0, 0, 0]]])
        return Proposals(boxes, tf.constant([[0.9, 0.8, 0.7, 0.0]]), tf.constant([3]))

    def test_keeps_the_order_and_pads(self):
        got = self.sampler(4).sample(self.given(), truth([[[0, 0, 10, 10]]], [[[1]]]))
        assert got.num_valid.numpy() == [3]
        np.testing.assert_array_equal(got.boxes[0], self.given().boxes[0])

    def test_takes_positives_first(self):
        got = self.sampler(2).sample(self.given(), truth([[[0, 0, 10, 10]]], [[[1]]]))
        np.testing.assert_allclose(got.scores, [[0.9, 0.7]])

    def test_of_no_proposals_is_empty(self):
        empty = Proposals(tf.zeros([1, 4, 4]), tf.zeros([1, 4]), tf.constant([0]))
        got = self.sampler(2).sample(empty, truth([[[0, 0, 10, 10]]], [[[1]]]))
        assert got.num_valid.numpy() == [0]
        assert got.boxes.shape == [1, 2, 4]


def test_anchors_are_dropped_or_cut_at_the_edge():
    anchors = tf.constant([[0.0, 0, 10, 10], [-5, 0, 5, 10]])
    output = RpnOutput(tf.ones([1, 2, 4]), tf.ones([1, 2, 2]), anchors, (tf.zeros([1, 1, 1, 1]),))
    window = tf.constant([0.0, 0, 10, 10])
    dropped = rpn.drop_crossing_anchors(output, window)
    np.testing.assert_array_equal(dropped.anchors, [[0, 0, 10, 10]])
    assert dropped.box_encodings.shape == [1, 1, 4]
    np.testing.assert_array_equal(rpn.clip_anchors(output, window).anchors[1], [0, 0, 5, 10])


class TestResults:
    def test_boxes_of_the_image_move_to_pixels_of_the_padded_input(self):
        postprocessor = results.DetectionPostprocessor(None, None, None)
        images = ImageExtent(tf.constant([[50, 100, 3]]), tf.constant([100.0, 200.0]))
        got = postprocessor.to_input(tf.constant([[[0.0, 0.5, 1.0, 1.0]]]), images)
        np.testing.assert_allclose(got, [[[0, 50, 50, 100]]])

    def test_boxes_of_images_in_the_middle_of_their_frames(self):
        # 50 x 100 in the middle of 100 x 200: rows 25 to 75, columns 50 to 150.
        images = ImageExtent(tf.constant([[50, 100, 3]]), tf.constant([100.0, 200.0]),
                             tf.constant([[25.0, 50.0, 75.0, 150.0]]))
        postprocessor = results.DetectionPostprocessor(None, None, None)
        boxes = tf.constant([[[0.0, 0.5, 1.0, 1.0]]])
        pixels = postprocessor.to_input(boxes, images)
        np.testing.assert_allclose(pixels, [[[25, 100, 75, 150]]])
        np.testing.assert_allclose(results.normalize_boxes(pixels, images), boxes)

    def test_mask_of_the_detected_class(self):
        logits = tf.reshape(tf.constant([0.0, 100.0]), [1, 2, 1, 1])
        got = results.mask_scores(logits, tf.constant([[1.0]]))
        np.testing.assert_allclose(got, [[[[1.0]]]])

    def test_masks_of_no_detections(self):
        assert results.mask_scores(tf.zeros([0, 2, 3, 3]), tf.zeros([1, 0])).shape == [1, 0, 3, 3]


class TestGroundTruth:
    def test_is_padded_to_the_most_objects(self):
        got = groundtruth.padded_batch(
            [tf.ones([2, 4]), tf.zeros([0, 4])], [tf.ones([2, 3]), tf.zeros([0, 3])], 3)
        assert got.boxes.shape == [2, 2, 4]
        np.testing.assert_array_equal(got.weights, [[1, 1], [0, 0]])
        assert got.is_annotated.numpy().all()

    def test_crowds_have_no_weight(self):
        got = groundtruth.padded_batch([tf.ones([2, 4])], [tf.ones([2, 3])], 3,
                                       is_crowd=[tf.constant([False, True])])
        np.testing.assert_array_equal(got.weights, [[1, 0]])
        np.testing.assert_array_equal(got.is_crowd, [[False, True]])

    def test_all_classes_are_known_unless_told(self):
        one = [tf.ones([1, 4])], [tf.ones([1, 3])], 3
        assert groundtruth.padded_batch(*one).known_classes.numpy().all()
        got = groundtruth.padded_batch(*one, known_classes=[tf.constant([1.0, 0, 1])])
        np.testing.assert_array_equal(got.known_classes, [[True, False, True]])

    def test_of_empty_images_still_has_a_row(self):
        got = groundtruth.padded_batch([tf.zeros([0, 4])], [tf.zeros([0, 3])], 3)
        assert got.boxes.shape == [1, 1, 4]
        assert got.weights.numpy() == [[0.0]]

    @pytest.mark.parametrize("classes,message", [
        ([tf.ones([1, 4])], "one-hot with 3 columns .*got 4"), ([], "boxes of 1 images, but")])
    def test_misfits_are_named(self, classes, message):
        with pytest.raises(ValueError, match=message):
            groundtruth.padded_batch([tf.ones([1, 4])], classes, 3)

    def test_masks_of_the_image_are_resized_to_the_network(self):
        masks = [tf.concat([tf.ones([1, 2, 4]), tf.zeros([1, 2, 4])], axis=1)]
        got = groundtruth.network_masks(masks, tf.constant(8), tf.constant(8),
                                        FixedShapeResizer(height=8, width=8))
        np.testing.assert_array_equal(got[0, 0, :, 0], [1, 1, 1, 1, 0, 0, 0, 0])

    def test_masks_of_the_right_size_stay(self):
        got = groundtruth.network_masks([tf.ones([1, 8, 8])], tf.constant(8), tf.constant(8), None)
        assert got.shape == [1, 1, 8, 8]
