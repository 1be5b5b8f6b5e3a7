"""The five losses: the original's values and gradients, its faults put right, nothing to learn."""

import dataclasses

import numpy as np
import pytest
import tensorflow as tf
from meta_architectures.matterport import samples

from object_detection.box_coders.faster_rcnn_box_coder import FasterRcnnBoxCoder
from object_detection.core.matcher import UNMATCHED, Match
from object_detection.core.structures import HeadOutput, Proposals, RpnOutput
from object_detection.meta_architectures.matterport.losses import (
    MatterportBoxLoss,
    MatterportMaskLoss,
    MatterportRpnLoss,
)
from object_detection.meta_architectures.matterport.matching import RegionMatcher
from object_detection.meta_architectures.matterport.rpn_targets import AnchorTargets, RpnTargets
from object_detection.meta_architectures.matterport.targets import MaskTargets, RegionTargets

CODER = FasterRcnnBoxCoder((10.0, 10.0, 5.0, 5.0))
RPN_LOSS = MatterportRpnLoss(RpnTargets(CODER))
BOX_LOSS = MatterportBoxLoss(RegionMatcher(), CODER)


def rpn_output(encodings, objectness):
    return RpnOutput(encodings, objectness, tf.zeros([encodings.shape[1], 4]), ())


def anchor_targets(match, deltas):
    """Takes the deltas of the objects alone, as the original packs them."""
    spread = np.zeros([*match.shape, 4], np.float32)
    for image, row in enumerate(match):
        spread[image, row == 1] = deltas[image][:(row == 1).sum()]
    return AnchorTargets(tf.constant(match), tf.constant(spread),
                         tf.cast(tf.constant(match) != 0, tf.float32))


def region_targets(class_ids, deltas=None):
    """Makes targets whose first object of an image is matched to all of its regions."""
    class_ids = tf.constant(class_ids, tf.int32)
    if deltas is None:
        deltas = tf.zeros([*class_ids.shape, 4])
    rows = tf.where(class_ids > 0, tf.range(class_ids.shape[1])[None], UNMATCHED)
    return RegionTargets(Match(rows), class_ids, tf.constant(deltas),
                         tf.ones_like(class_ids, tf.float32))


def all_valid(class_ids, num_valid=None):
    batch, count = np.shape(class_ids)
    return Proposals(tf.zeros([batch, count, 4]), tf.zeros([batch, count]),
                     tf.constant([count] * batch if num_valid is None else num_valid))


def no_truth(batch, num_classes=3, known=None):
    return samples.truth(np.zeros([batch, 1, 4]), np.zeros([batch, 1], int), num_classes,
                         known=known)


def box_losses(class_ids, logits=None, encodings=None, deltas=None, known=None, num_valid=None,
               **settings):
    batch, count = np.shape(class_ids)
    logits = tf.zeros([batch, count, 4]) if logits is None else tf.constant(logits)
    encodings = tf.zeros([batch, count, 4, 4]) if encodings is None else tf.constant(encodings)
    with tf.GradientTape(persistent=True) as tape:
        tape.watch([logits, encodings])
        head = HeadOutput(tf.reshape(encodings, [batch * count, -1, 4]),
                          tf.reshape(logits, [batch * count, -1]))
        pair = dataclasses.replace(BOX_LOSS, **settings)(
            head, all_valid(class_ids, num_valid), region_targets(class_ids, deltas),
            no_truth(batch, logits.shape[-1] - 1, known))
    return pair, tape.gradient(pair.classification, logits), tape.gradient(
        pair.localization, encodings)


def test_rpn_losses_as_the_original():
    given, expected = samples.recorded("losses", "rpn_class_loss_graph")
    boxes, expected_boxes = samples.recorded("losses", "rpn_bbox_loss_graph")
    logits, encodings = (tf.constant(x) for x in (given["rpn_class_logits"], boxes["rpn_bbox"]))
    with tf.GradientTape(persistent=True) as tape:
        tape.watch([logits, encodings])
        objectness = RPN_LOSS.of_targets(rpn_output(encodings, logits), anchor_targets(
            given["rpn_match"][..., 0], boxes["target_bbox"])).classification
        localization = RPN_LOSS.of_targets(rpn_output(encodings, logits), anchor_targets(
            boxes["rpn_match"][..., 0], boxes["target_bbox"])).localization
    np.testing.assert_allclose(objectness, expected["loss"], rtol=1e-6)
    np.testing.assert_allclose(localization, expected_boxes["loss"], rtol=1e-6)
    np.testing.assert_allclose(tape.gradient(objectness, logits), expected["d_rpn_class_logits"],
                               atol=1e-6)
    np.testing.assert_allclose(tape.gradient(localization, encodings),
                               expected_boxes["d_rpn_bbox"], atol=1e-6)


def test_rpn_losses_of_no_anchors_are_0():
    given, expected = samples.recorded("losses", "rpn_class_loss_graph_no_anchors")
    match = given["rpn_match"][..., 0]
    pair = RPN_LOSS.of_targets(
        rpn_output(tf.ones([2, 60, 4]), tf.constant(given["rpn_class_logits"])),
        anchor_targets(match, np.zeros([2, 30, 4])))
    assert pair.classification == expected["loss"] == 0.0
    given, expected = samples.recorded("losses", "rpn_bbox_loss_graph_no_positives")
    pair = RPN_LOSS.of_targets(
        rpn_output(tf.constant(given["rpn_bbox"]), tf.ones([2, 60, 2])),
        anchor_targets(given["rpn_match"][..., 0], given["target_bbox"]))
    assert pair.localization == expected["loss"] == 0.0


def test_rpn_losses_by_hand():
    # An object, background, a neutral anchor; a second image without annotations.
    targets = AnchorTargets(
        tf.constant([[1, -1, 0], [-1, -1, -1]]), tf.zeros([2, 3, 4]),
        tf.constant([[1.0, 1, 0], [0, 0, 0]]))
    encodings = tf.constant([[[3.0, 0, 0, 0]] * 3] * 2)
    loss = dataclasses.replace(RPN_LOSS, localization_weight=2.0, objectness_weight=0.5)
    pair = loss.of_targets(rpn_output(encodings, tf.zeros([2, 3, 2])), targets)
    np.testing.assert_allclose(pair.localization, 2.0 * 2.5 / 4, rtol=1e-6)
    np.testing.assert_allclose(pair.classification, 0.5 * np.log(2), rtol=1e-6)


@pytest.mark.parametrize("case", ["all_active", "inactive_in_first_image",
                                  "inactive_in_second_image"])
def test_class_loss_as_the_original(case):
    given, expected = samples.recorded("losses", f"mrcnn_class_loss_graph_{case}")
    pair, gradient, _ = box_losses(
        given["target_class_ids"], given["pred_class_logits"],
        known=given["active_class_ids"][:, 1:] > 0, classes_of_first_image=True)
    np.testing.assert_allclose(pair.classification, expected["loss"], rtol=1e-6)
    np.testing.assert_allclose(gradient, expected["d_pred_class_logits"], atol=1e-6)


def test_class_loss_looks_at_the_classes_of_each_image():
    # Every region says class 1 with certainty; the truth is background: a loss of 10 each.
    logits = np.zeros([2, 2, 3], np.float32)
    logits[..., 1] = 10
    known = np.array([[True, True], [False, True]])
    ids = np.zeros([2, 2], int)
    ten = 10 + np.log1p(2 * np.exp(-10))

    def loss(known, **settings):
        pair, gradient, _ = box_losses(ids, logits, known=known, **settings)
        return pair.classification.numpy(), np.abs(gradient).sum(axis=(1, 2)) > 0

    value, learned = loss(known)
    np.testing.assert_allclose(value, ten, rtol=1e-6)
    np.testing.assert_array_equal(learned, [True, False])
    value, learned = loss(known, classes_of_first_image=True)
    np.testing.assert_array_equal(learned, [True, True])
    value, learned = loss(known[::-1], classes_of_first_image=True)
    assert value == 0.0 and not learned.any()  # nothing counts: 0, where the original has NaN


def test_class_loss_leaves_padding_out():
    logits = np.zeros([1, 3, 4], np.float32)
    logits[0, 1:, 0] = 2  # what follows the only region says background
    right, gradient, _ = box_losses([[1, 0, 0]], logits, num_valid=[1])
    np.testing.assert_allclose(right.classification, np.log(4), rtol=1e-6)
    assert not gradient.numpy()[0, 1:].any()
    fault, gradient, _ = box_losses([[1, 0, 0]], logits, num_valid=[1], padding_counts=True)
    background = np.log(1 + 3 * np.exp(-2))
    np.testing.assert_allclose(fault.classification, (np.log(4) + 2 * background) / 3, rtol=1e-6)
    assert gradient.numpy()[0, 1:].any()


def test_box_loss_as_the_original():
    given, expected = samples.recorded("losses", "mrcnn_bbox_loss_graph")
    pair, _, gradient = box_losses(given["target_class_ids"], encodings=given["pred_bbox"],
                                   deltas=given["target_bbox"])
    np.testing.assert_allclose(pair.localization, expected["loss"], rtol=1e-6)
    np.testing.assert_allclose(gradient, expected["d_pred_bbox"], atol=1e-6)
    given, expected = samples.recorded("losses", "mrcnn_bbox_loss_graph_no_positives")
    pair, _, _ = box_losses(given["target_class_ids"], encodings=given["pred_bbox"],
                            deltas=given["target_bbox"])
    assert pair.localization == expected["loss"] == 0.0


@pytest.mark.parametrize("slots", [1, 3, 4])
def test_box_loss_reads_the_slot_of_the_class(slots):
    # Slots from the last class backwards: 4 has one for background, 1 serves all classes.
    encodings = np.zeros([1, 2, slots, 4], np.float32)
    encodings[0, 0, -2 if slots > 1 else 0] = [0, 0, 0, 3]
    pair, _, _ = box_losses([[2, 0]], encodings=encodings)
    np.testing.assert_allclose(pair.localization, 2.5 / 4, rtol=1e-6)


def test_box_loss_moves_proposals_only_with_the_fault():
    truth = samples.truth([[[0, 0, 10, 10]]], [[1]])
    boxes = tf.constant([[[0.0, 0, 10, 8]]])
    head = HeadOutput(tf.zeros([1, 1, 4]), tf.zeros([1, 4]))
    for leak in (False, True):
        loss = dataclasses.replace(BOX_LOSS, gradient_through_targets=leak)
        with tf.GradientTape() as tape:
            tape.watch(boxes)
            targets = loss.targets(boxes, truth)
            value = loss(head, all_valid([[1]]), targets, truth).localization
        gradient = tape.gradient(value, boxes)
        # Deltas 0, 10 * 1 / 8 = 1.25, 0, 5 log(10 / 8) = 1.12: losses |d| - 0.5, over 4.
        np.testing.assert_allclose(value, (1.25 + 5 * np.log(1.25) - 1.0) / 4, rtol=1e-5)
        if leak:
            # d/dx2 of 10 (5 - x2 / 2) / x2 is -50 / 64; of 5 log(10 / x2) it is -5 / 8.
            np.testing.assert_allclose(gradient[0, 0, 3], -(50 / 64 + 5 / 8) / 4, rtol=1e-5)
        else:
            assert gradient is None


def test_mask_loss_as_the_original():
    given, expected = samples.recorded("losses", "mrcnn_mask_loss_graph")
    ids = given["target_class_ids"]
    # The original cuts probabilities off at 1e-7, and has no gradient beyond.
    probabilities = given["pred_masks"].transpose(0, 1, 4, 2, 3).astype(np.float64)
    inside = (probabilities > 1e-7) & (probabilities < 1 - 1e-7)
    probabilities = np.clip(probabilities, 1e-7, 1 - 1e-7)
    logits = tf.constant(np.log(probabilities) - np.log1p(-probabilities), tf.float32)
    count = ids.shape[1]
    # Each region is the whole of its own mask, so that the cut-outs are the given targets.
    masks = given["target_masks"]
    truth = samples.truth(np.tile([0.0, 0, 7, 7], [2, count, 1]), np.ones([2, count], int), 3,
                          masks)
    loss = MatterportMaskLoss(MaskTargets(None))
    with tf.GradientTape() as tape:
        tape.watch(logits)
        value = loss(tf.reshape(logits, [2 * count, -1, 8, 8]), truth.boxes,
                     tf.ones([2, count], tf.bool), region_targets(ids), truth)
    np.testing.assert_allclose(value, expected["loss"], rtol=2e-6)
    slope = probabilities * (1 - probabilities)  # d probability / d logit
    wanted = expected["d_pred_masks"].transpose(0, 1, 4, 2, 3) * slope
    np.testing.assert_allclose(tape.gradient(value, logits).numpy()[inside], wanted[inside],
                               atol=1e-6)


def test_mask_loss_without_objects_or_masks():
    loss = MatterportMaskLoss(MaskTargets(None))
    truth = samples.truth(np.zeros([1, 1, 4]), [[0]], masks=np.zeros([1, 1, 8, 8]))
    arguments = (tf.ones([2, 4, 5, 5]), tf.zeros([1, 2, 4]), tf.ones([1, 2], tf.bool),
                 region_targets([[0, 0]]))
    assert loss(*arguments, truth) == 0.0
    with pytest.raises(ValueError, match="has no masks"):
        loss(*arguments, truth._replace(masks=None))
