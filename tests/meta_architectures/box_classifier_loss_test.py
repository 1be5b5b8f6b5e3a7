"""Loss of the second stage, by hand: two regions of one image, the first on an object."""

import numpy as np
import pytest
import tensorflow as tf
from google.protobuf import text_format

from object_detection.builders import losses_builder
from object_detection.builders.target_assigner_builder import create_target_assigner
from object_detection.core.hard_example_miner import HardExampleMiner
from object_detection.core.structures import HeadOutput, Proposals
from object_detection.meta_architectures import groundtruth
from object_detection.meta_architectures.losses import BoxClassifierLoss, ImageMean
from object_detection.protos import losses_pb2

OBJECT = [0.0, 0.0, 10.0, 10.0]
REGIONS = [OBJECT, [50.0, 50.0, 60.0, 60.0]]


def loss_of(text="", weight=1.0, num_valid=2, miner=None, shared=False):
    """Returns both losses for even logits of two classes and background.

    The box of the first class is off by 0.5 in one number, that of the second class by 9 in all.
    """
    config = text_format.Parse(text, losses_pb2.ClassificationLoss())
    loss = BoxClassifierLoss(
        create_target_assigner("FasterRCNN", "detection"),
        losses_builder.build_faster_rcnn_classification_loss(config), 2.0, 3.0, ImageMean(), miner)
    truth = groundtruth.padded_batch([tf.constant([OBJECT])], [tf.constant([[1.0, 0.0]])], 2,
                                     [tf.constant([weight])])
    first, second = [0.5, 0.0, 0.0, 0.0], [9.0] * 4
    encodings = tf.constant([[first]] * 2 if shared else [[first, second]] * 2)
    proposals = Proposals(tf.constant([REGIONS]), tf.ones([1, 2]), tf.constant([num_valid]))
    pair = loss(HeadOutput(encodings, tf.zeros([2, 3])), proposals,
                loss.targets(proposals.boxes, truth), truth)
    return pair.localization.numpy(), pair.classification.numpy()


@pytest.mark.parametrize("text, per_region", [
    ("", np.log(3)),
    ("weighted_softmax { logit_scale: 2 }", np.log(3)),
    ("weighted_logits_softmax {}", np.log(3)),
    ("weighted_sigmoid {}", 3 * np.log(2)),  # classes and background, each for itself
    # One positive of 0.25 and two negatives of 0.75, all halved twice by the focus.
    ("weighted_sigmoid_focal { alpha: 0.25 }", 0.25 * (0.25 + 2 * 0.75) * np.log(2)),
    ("weighted_sigmoid_focal {}", 0.25 * 3 * np.log(2)),
    ("bootstrapped_sigmoid { alpha: 0.5 }", 3 * np.log(2)),
    ("penalty_reduced_logistic_focal_loss { alpha: 2 beta: 4 }", 0.25 * 3 * np.log(2))])
def test_class_losses(text, per_region):
    localization, classification = loss_of(text)
    np.testing.assert_allclose(classification, 3.0 * per_region, rtol=1e-4)
    # 0.5 * 0.5^2 for the object, over two regions, by its weight of 2.
    np.testing.assert_allclose(localization, 0.125, rtol=1e-6)


def test_boxes_shared_by_all_classes():
    np.testing.assert_allclose(loss_of(shared=True)[0], 0.125, rtol=1e-6)


def test_the_weight_of_an_object_counts_for_its_region_alone():
    localization, classification = loss_of(weight=0.5)
    np.testing.assert_allclose(localization, 0.5 * 0.125, rtol=1e-6)
    np.testing.assert_allclose(classification, 3.0 * (0.5 + 1.0) / 2 * np.log(3), rtol=1e-6)


def test_padding_costs_nothing_and_is_not_counted():
    localization, classification = loss_of(num_valid=1)
    np.testing.assert_allclose(localization, 0.25, rtol=1e-6)
    np.testing.assert_allclose(classification, 3.0 * np.log(3), rtol=1e-6)


@pytest.mark.parametrize("settings, regions", [
    (dict(), 2), (dict(num_hard_examples=1), 1),
    (dict(max_negatives_per_positive=1), 2),
    (dict(max_negatives_per_positive=0.5), 1)])  # half a negative is none
def test_hard_examples_know_their_matches(settings, regions):
    # The object has more loss, for its box is off; the other one is a negative.
    miner = HardExampleMiner(**settings)
    np.testing.assert_allclose(loss_of(miner=miner)[1], 3.0 * regions / 2 * np.log(3), rtol=1e-6)
