"""Builds the losses and the hard example miner that a config asks for."""

from object_detection.core import losses
from object_detection.core.hard_example_miner import HardExampleMiner
from object_detection.protos import faster_rcnn_pb2, losses_pb2

_LOSS_TYPES = {losses_pb2.HardExampleMiner.BOTH: "both",
               losses_pb2.HardExampleMiner.CLASSIFICATION: "cls",
               losses_pb2.HardExampleMiner.LOCALIZATION: "loc"}


def build_localization_loss(config: losses_pb2.LocalizationLoss) -> losses.LocalizationLoss:
    """Builds the loss named by `localization_loss`. Raises ValueError if none is set."""
    kind = config.WhichOneof("localization_loss")
    if kind not in _LOCALIZATION:
        raise ValueError(f"localization_loss: set one of {sorted(_LOCALIZATION)}, got "
                         f"{kind or 'none of them'}")
    return _LOCALIZATION[kind](getattr(config, kind))


def build_faster_rcnn_classification_loss(
        config: losses_pb2.ClassificationLoss,
        faults: faster_rcnn_pb2.OriginalFaults | None = None) -> losses.Loss:
    """Builds the loss of the second stage's classes; an empty message means softmax.

    Args:
        faults: `other_class_losses_are_softmax` gives softmax for losses that only other
            detectors of the original know.
    Raises:
        ValueError: if the loss does not suit a two-stage detector.
    """
    kind = config.WhichOneof("classification_loss")
    forgotten = (faults is not None and faults.other_class_losses_are_softmax
                 and kind not in _KNOWN_TO_THE_ORIGINAL)
    if kind is None or forgotten:
        return losses.WeightedSoftmaxClassificationLoss()
    if kind not in _CLASSIFICATION:
        raise ValueError(f"second_stage_classification_loss: set one of {sorted(_CLASSIFICATION)}, "
                         f"got {kind}")
    return _CLASSIFICATION[kind](getattr(config, kind))


def build_hard_example_miner(config: losses_pb2.HardExampleMiner, classification_weight: float,
                             localization_weight: float,
                             faults: faster_rcnn_pb2.OriginalFaults | None = None,
                             use_static_shapes: bool = False) -> HardExampleMiner:
    """Builds the miner; the two weights are those of the losses it compares.

    A number of examples or of negatives that is not positive means no limit, as in the original.
    """
    limit = config.max_negatives_per_positive
    return HardExampleMiner(
        num_hard_examples=config.num_hard_examples if config.num_hard_examples > 0 else None,
        iou_threshold=config.iou_threshold, loss_type=_LOSS_TYPES[config.loss_type],
        cls_loss_weight=classification_weight, loc_loss_weight=localization_weight,
        max_negatives_per_positive=limit if limit > 0 else None,
        min_negatives_per_image=config.min_negatives_per_image,
        first_image_only=faults is not None and faults.ohem_first_image_only,
        ignore_matches=faults is not None and faults.ohem_ignores_matches,
        use_static_shapes=use_static_shapes)


def _focal(config: losses_pb2.SigmoidFocalClassificationLoss) -> losses.Loss:
    return losses.SigmoidFocalClassificationLoss(
        config.gamma, config.alpha if config.HasField("alpha") else None)


_LOCALIZATION = {
    "weighted_l2": lambda config: losses.WeightedL2LocalizationLoss(),
    "weighted_smooth_l1": lambda config: losses.WeightedSmoothL1LocalizationLoss(config.delta),
    "weighted_iou": lambda config: losses.WeightedIOULocalizationLoss(),
    "weighted_giou": lambda config: losses.WeightedGIOULocalizationLoss(),
    "l1_localization_loss": lambda config: losses.L1LocalizationLoss(),
}

_CLASSIFICATION = {
    "weighted_sigmoid": lambda config: losses.WeightedSigmoidClassificationLoss(),
    "weighted_softmax":
        lambda config: losses.WeightedSoftmaxClassificationLoss(config.logit_scale),
    "weighted_logits_softmax":
        lambda config: losses.WeightedSoftmaxClassificationAgainstLogitsLoss(config.logit_scale),
    "bootstrapped_sigmoid": lambda config: losses.BootstrappedSigmoidClassificationLoss(
        config.alpha, config.hard_bootstrap),
    "weighted_sigmoid_focal": _focal,
    "penalty_reduced_logistic_focal_loss":
        lambda config: losses.PenaltyReducedLogisticFocalLoss(config.alpha, config.beta),
}

_KNOWN_TO_THE_ORIGINAL = ("weighted_sigmoid", "weighted_softmax", "weighted_logits_softmax",
                          "weighted_sigmoid_focal")
