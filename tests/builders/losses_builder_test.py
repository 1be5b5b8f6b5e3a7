"""Losses and the miner from their text protos."""

import pytest
from google.protobuf import text_format

from object_detection.builders import losses_builder
from object_detection.core import losses
from object_detection.protos import faster_rcnn_pb2, losses_pb2


@pytest.mark.parametrize("text, expected", [
    ("weighted_l2 {}", losses.WeightedL2LocalizationLoss()),
    ("weighted_smooth_l1 {}", losses.WeightedSmoothL1LocalizationLoss(1.0)),
    ("weighted_smooth_l1 { delta: 0.5 }", losses.WeightedSmoothL1LocalizationLoss(0.5)),
    ("weighted_iou {}", losses.WeightedIOULocalizationLoss()),
    ("weighted_giou {}", losses.WeightedGIOULocalizationLoss()),
    ("l1_localization_loss {}", losses.L1LocalizationLoss())])
def test_localization_loss(text, expected):
    config = text_format.Parse(text, losses_pb2.LocalizationLoss())
    assert losses_builder.build_localization_loss(config) == expected


@pytest.mark.parametrize("text, expected", [
    ("", losses.WeightedSoftmaxClassificationLoss(1.0)),
    ("weighted_softmax { logit_scale: 2.0 }", losses.WeightedSoftmaxClassificationLoss(2.0)),
    ("weighted_logits_softmax { logit_scale: 2.0 }",
     losses.WeightedSoftmaxClassificationAgainstLogitsLoss(2.0)),
    ("weighted_sigmoid {}", losses.WeightedSigmoidClassificationLoss()),
    ("weighted_sigmoid_focal {}", losses.SigmoidFocalClassificationLoss(2.0, None)),
    ("weighted_sigmoid_focal { alpha: 0 }", losses.SigmoidFocalClassificationLoss(2.0, 0.0)),
    ("penalty_reduced_logistic_focal_loss { alpha: 2 beta: 4 }",
     losses.PenaltyReducedLogisticFocalLoss(2.0, 4.0)),
    ("weighted_sigmoid_focal { alpha: 0.25 gamma: 1.5 }",
     losses.SigmoidFocalClassificationLoss(1.5, 0.25)),
    ("bootstrapped_sigmoid { alpha: 0.5 hard_bootstrap: true }",
     losses.BootstrappedSigmoidClassificationLoss(0.5, True))])
def test_classification_loss(text, expected):
    config = text_format.Parse(text, losses_pb2.ClassificationLoss())
    assert losses_builder.build_faster_rcnn_classification_loss(config) == expected


def test_errors_list_the_choices():
    with pytest.raises(ValueError, match="weighted_iou.*none of them"):
        losses_builder.build_localization_loss(losses_pb2.LocalizationLoss())
    # One value per class and image, so that it cannot be averaged over proposals.
    config = text_format.Parse("weighted_dice_classification_loss {}",
                               losses_pb2.ClassificationLoss())
    with pytest.raises(ValueError, match="weighted_softmax.*got weighted_dice"):
        losses_builder.build_faster_rcnn_classification_loss(config)


@pytest.mark.parametrize("text, known", [
    ("bootstrapped_sigmoid { alpha: 0.5 }", False), ("weighted_dice_classification_loss {}", False),
    ("penalty_reduced_logistic_focal_loss {}", False), ("weighted_sigmoid {}", True),
    ("weighted_softmax { logit_scale: 2.0 }", True), ("weighted_sigmoid_focal {}", True),
    ("weighted_logits_softmax {}", True)])
def test_fault_of_the_original_takes_softmax_for_losses_of_other_detectors(text, known):
    config = text_format.Parse(text, losses_pb2.ClassificationLoss())
    faults = faster_rcnn_pb2.OriginalFaults(other_class_losses_are_softmax=True)
    got = losses_builder.build_faster_rcnn_classification_loss(config, faults)
    if known:
        assert got == losses_builder.build_faster_rcnn_classification_loss(config)
    else:
        assert got == losses.WeightedSoftmaxClassificationLoss(1.0)


def test_miner():
    config = text_format.Parse(
        "num_hard_examples: 0 iou_threshold: 0.5 loss_type: CLASSIFICATION "
        "max_negatives_per_positive: 3 min_negatives_per_image: 4", losses_pb2.HardExampleMiner())
    miner = losses_builder.build_hard_example_miner(config, 2.0, 3.0)
    assert miner.num_hard_examples is None and miner.iou_threshold == 0.5
    assert miner.loss_type == "cls"
    assert (miner.cls_loss_weight, miner.loc_loss_weight) == (2.0, 3.0)
    assert (miner.max_negatives_per_positive, miner.min_negatives_per_image) == (3, 4)
    assert not miner.first_image_only and not miner.ignore_matches


def test_miner_defaults_and_faults_of_the_original():
    faults = faster_rcnn_pb2.OriginalFaults(ohem_first_image_only=True, ohem_ignores_matches=True)
    miner = losses_builder.build_hard_example_miner(
        losses_pb2.HardExampleMiner(), 1.0, 1.0, faults)
    assert miner.num_hard_examples == 64 and miner.loss_type == "both"
    assert miner.max_negatives_per_positive is None
    assert miner.first_image_only and miner.ignore_matches
