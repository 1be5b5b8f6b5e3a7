"""Losses of boxes and classes, one value per anchor or per anchor and class, not reduced.

A loss is a small object that holds its parameters and is called with predictions, targets and
weights. Shapes: A anchors (or proposals) behind any leading dimensions, C classes, K box codes.
"""

import abc
import dataclasses

import tensorflow as tf

from object_detection.core import box_ops


class Loss(abc.ABC):
    """Compares predictions with targets, anchor by anchor."""

    def __call__(self, prediction: tf.Tensor, target: tf.Tensor, weights: tf.Tensor | float = 1.0,
                 ignore_nan_targets: bool = False,
                 losses_mask: tf.Tensor | None = None) -> tf.Tensor:
        """Computes the weighted loss in float32, whatever the type of the predictions.

        Args:
            prediction: float [..., A, K or C].
            target: float, shape of `prediction`.
            weights: localization: [..., A]; classification: [..., A, C] or [..., A, 1]. A number
                stands for the same weight everywhere.
            ignore_nan_targets: a NaN in `target` takes the predicted value, and so costs nothing.
            losses_mask: bool [B], false for images whose loss is to be 0.
        Returns:
            Localization and softmax losses: float32 [..., A]. Others: float32 [..., A, C].
        """
        prediction = tf.cast(prediction, tf.float32)
        target = tf.cast(target, tf.float32)
        weights = self._expand(tf.cast(weights, tf.float32), prediction)
        if ignore_nan_targets:
            target = tf.where(tf.math.is_nan(target), prediction, target)
        if losses_mask is not None:
            prediction, target, weights = (
                _zero_images(x, losses_mask) for x in (prediction, target, weights))
        return self._compute(prediction, target, weights)

    @abc.abstractmethod
    def _compute(self, prediction: tf.Tensor, target: tf.Tensor,
                 weights: tf.Tensor) -> tf.Tensor:
        """Computes the loss of checked float32 arguments; weights have their full rank."""

    def _expand(self, weights: tf.Tensor, prediction: tf.Tensor) -> tf.Tensor:
        """Spreads a scalar weight over all entries of a prediction."""
        return weights if weights.shape.rank else tf.ones_like(prediction) * weights


class LocalizationLoss(Loss):
    """A loss of box encodings (or boxes); the weight belongs to the whole box."""

    def _expand(self, weights: tf.Tensor, prediction: tf.Tensor) -> tf.Tensor:
        return weights if weights.shape.rank else tf.ones_like(prediction[..., 0]) * weights


@dataclasses.dataclass(frozen=True)
class WeightedL2LocalizationLoss(LocalizationLoss):
    """Half the squared distance. As in the original, the weight is squared too."""

    def _compute(self, prediction: tf.Tensor, target: tf.Tensor,
                 weights: tf.Tensor) -> tf.Tensor:
        return 0.5 * tf.reduce_sum(tf.square((prediction - target) * weights[..., None]), axis=-1)


@dataclasses.dataclass(frozen=True)
class WeightedSmoothL1LocalizationLoss(LocalizationLoss):
    """The Huber loss: 0.5 x^2 up to delta, then delta (|x| - 0.5 delta); summed over codes.

    Girshick's smooth L1 (Fast R-CNN, arXiv:1504.08083, equation 3) is the case delta = 1.
    """

    delta: float = 1.0

    def _compute(self, prediction: tf.Tensor, target: tf.Tensor,
                 weights: tf.Tensor) -> tf.Tensor:
        distance = tf.abs(prediction - target)
        near = tf.minimum(distance, self.delta)
        # 0.5 near^2 + delta (distance - near) has both branches and no jump in its gradient.
        huber = 0.5 * tf.square(near) + self.delta * (distance - near)
        return tf.reduce_sum(huber, axis=-1) * weights


@dataclasses.dataclass(frozen=True)
class L1LocalizationLoss(LocalizationLoss):
    """The absolute distance, summed over codes."""

    def _compute(self, prediction: tf.Tensor, target: tf.Tensor,
                 weights: tf.Tensor) -> tf.Tensor:
        return tf.reduce_sum(tf.abs(prediction - target), axis=-1) * weights


@dataclasses.dataclass(frozen=True)
class WeightedIOULocalizationLoss(LocalizationLoss):
    """One minus the overlap of decoded boxes."""

    def _compute(self, prediction: tf.Tensor, target: tf.Tensor,
                 weights: tf.Tensor) -> tf.Tensor:
        return (1.0 - box_ops.matched_iou(prediction, target)) * weights


@dataclasses.dataclass(frozen=True)
class WeightedGIOULocalizationLoss(LocalizationLoss):
    """One minus the generalized overlap of decoded boxes, in [0, 2].

    Rezatofighi et al., Generalized Intersection over Union (arXiv:1902.09630), algorithm 1.
    """

    def _compute(self, prediction: tf.Tensor, target: tf.Tensor,
                 weights: tf.Tensor) -> tf.Tensor:
        return (1.0 - _generalized_iou(prediction, target)) * weights


@dataclasses.dataclass(frozen=True)
class WeightedSigmoidClassificationLoss(Loss):
    """Cross entropy of independent classes.

    Attributes:
        class_indices: classes that count; empty: all.
    """

    class_indices: tuple[int, ...] = ()

    def _compute(self, prediction: tf.Tensor, target: tf.Tensor,
                 weights: tf.Tensor) -> tf.Tensor:
        entropy = tf.nn.sigmoid_cross_entropy_with_logits(labels=target, logits=prediction)
        return entropy * weights * _class_mask(self.class_indices, prediction)


@dataclasses.dataclass(frozen=True)
class SigmoidFocalClassificationLoss(Loss):
    """Cross entropy of independent classes that pays less attention to easy examples.

    Lin et al., Focal Loss for Dense Object Detection (arXiv:1708.02002), equation 5.

    Attributes:
        gamma: strength of the focus; 0: none.
        alpha: weight of objects, background has 1 - alpha; None: both have 1.
        class_indices: classes that count; empty: all.
    """

    gamma: float = 2.0
    alpha: float | None = 0.25
    class_indices: tuple[int, ...] = ()

    def _compute(self, prediction: tf.Tensor, target: tf.Tensor,
                 weights: tf.Tensor) -> tf.Tensor:
        entropy = tf.nn.sigmoid_cross_entropy_with_logits(labels=target, logits=prediction)
        probability = tf.sigmoid(prediction)
        missed = target * (1.0 - probability) + (1.0 - target) * probability
        loss = entropy * weights * _class_mask(self.class_indices, prediction)
        if self.gamma:
            loss *= tf.pow(missed, self.gamma)
        if self.alpha is not None:
            loss *= target * self.alpha + (1.0 - target) * (1.0 - self.alpha)
        return loss


@dataclasses.dataclass(frozen=True)
class WeightedSoftmaxClassificationLoss(Loss):
    """Cross entropy of classes that exclude each other; the mean of its weights counts for a row.

    Attributes:
        logit_scale: logits are divided by it; above 1, the scores are less sure.
    """

    logit_scale: float = 1.0

    def _compute(self, prediction: tf.Tensor, target: tf.Tensor,
                 weights: tf.Tensor) -> tf.Tensor:
        entropy = tf.nn.softmax_cross_entropy_with_logits(
            labels=target, logits=prediction / self.logit_scale)
        return entropy * tf.reduce_mean(weights, axis=-1)


@dataclasses.dataclass(frozen=True)
class WeightedSoftmaxClassificationAgainstLogitsLoss(Loss):
    """Cross entropy against targets that are logits too, as of a teacher network.

    Attributes:
        logit_scale: divides predicted and target logits.
    """

    logit_scale: float = 1.0

    def _compute(self, prediction: tf.Tensor, target: tf.Tensor,
                 weights: tf.Tensor) -> tf.Tensor:
        entropy = tf.nn.softmax_cross_entropy_with_logits(
            labels=tf.nn.softmax(target / self.logit_scale), logits=prediction / self.logit_scale)
        return entropy * tf.reduce_mean(weights, axis=-1)


@dataclasses.dataclass(frozen=True)
class BootstrappedSigmoidClassificationLoss(Loss):
    """Cross entropy against a mix of targets and own predictions, for labels that may be wrong.

    Reed et al., Training Deep Neural Networks on Noisy Labels with Bootstrapping (arXiv:1412.6596).

    Attributes:
        alpha: share of the target in the mix.
        hard: mix in predictions rounded to 0 or 1 instead of probabilities.
    """

    alpha: float
    hard: bool = False

    def _compute(self, prediction: tf.Tensor, target: tf.Tensor,
                 weights: tf.Tensor) -> tf.Tensor:
        own = tf.sigmoid(prediction)
        if self.hard:
            own = tf.cast(own > 0.5, tf.float32)
        mixed = self.alpha * target + (1.0 - self.alpha) * own
        return weights * tf.nn.sigmoid_cross_entropy_with_logits(labels=mixed, logits=prediction)


@dataclasses.dataclass(frozen=True)
class PenaltyReducedLogisticFocalLoss(Loss):
    """Focal loss of independent classes whose negatives count less the nearer their target is to 1.

    Law and Deng, CornerNet (arXiv:1808.01244), equation 1. Only a target of exactly 1 is positive.

    Attributes:
        alpha: exponent of the error.
        beta: exponent of the distance of a negative's target from 1.
        clip: probabilities are kept this far from 0 and 1.
    """

    alpha: float = 2.0
    beta: float = 4.0
    clip: float = 1e-4

    def _compute(self, prediction: tf.Tensor, target: tf.Tensor,
                 weights: tf.Tensor) -> tf.Tensor:
        probability = tf.clip_by_value(tf.sigmoid(prediction), self.clip, 1.0 - self.clip)
        positive = tf.pow(1.0 - probability, self.alpha) * tf.math.log(probability)
        negative = (tf.pow(1.0 - target, self.beta) * tf.pow(probability, self.alpha)
                    * tf.math.log(1.0 - probability))
        return -weights * tf.where(tf.equal(target, 1.0), positive, negative)


def per_anchor(loss: tf.Tensor) -> tf.Tensor:
    """Sums a loss [B, A, ...] to [B, A]; one that has that shape already is returned as it is."""
    extra = list(range(2, loss.shape.rank))
    return tf.reduce_sum(loss, axis=extra) if extra else loss


def _zero_images(values: tf.Tensor, keep: tf.Tensor) -> tf.Tensor:
    """Sets the images of a batch to 0 where `keep` (bool [B]) is false, whatever they hold."""
    return tf.where(tf.reshape(keep, [-1] + [1] * (values.shape.rank - 1)), values, 0.0)


def _class_mask(class_indices: tuple[int, ...], prediction: tf.Tensor) -> tf.Tensor | float:
    """Returns float32 [C], 1 for the classes that count, or 1.0 where all do."""
    if not class_indices:
        return 1.0
    one_hot = tf.one_hot(list(class_indices), tf.shape(prediction)[-1])
    return tf.reduce_max(one_hot, axis=0)


def _generalized_iou(boxes1: tf.Tensor, boxes2: tf.Tensor) -> tf.Tensor:
    """Returns [...] overlap less the empty share of the smallest box around both."""
    ymin1, xmin1, ymax1, xmax1 = tf.unstack(boxes1, axis=-1)
    ymin2, xmin2, ymax2, xmax2 = tf.unstack(boxes2, axis=-1)
    shared = box_ops.matched_intersection(boxes1, boxes2)
    union = box_ops.area(boxes1) + box_ops.area(boxes2) - shared
    hull = ((tf.maximum(ymax1, ymax2) - tf.minimum(ymin1, ymin2))
            * (tf.maximum(xmax1, xmax2) - tf.minimum(xmin1, xmin2)))
    return (tf.math.divide_no_nan(shared, union)
            - tf.math.divide_no_nan(hull - union, hull))
