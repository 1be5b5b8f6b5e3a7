"""From the region proposal network's output to the regions the second stage looks at."""

import dataclasses

import tensorflow as tf

from object_detection.core import post_processing
from object_detection.core.balanced_positive_negative_sampler import (
    BalancedPositiveNegativeSampler,
)
from object_detection.core.box_coder import BoxCoder
from object_detection.core.nms import NmsSettings
from object_detection.core.structures import GroundTruth, ImageExtent, Proposals, RpnOutput
from object_detection.core.target_assigner import TargetAssigner


@dataclasses.dataclass(frozen=True)
class Proposer:
    """Decodes all anchors and keeps the best by non-max suppression.

    Attributes:
        box_coder: of the first stage.
        nms: limits and thresholds of the suppression; one class.
    """

    box_coder: BoxCoder
    nms: NmsSettings

    def decode(self, rpn: RpnOutput) -> tf.Tensor:
        """Returns float32 [B, A, 4] boxes, not clipped."""
        return self.box_coder.decode(rpn.box_encodings, rpn.anchors)

    def propose(self, rpn: RpnOutput, images: ImageExtent) -> tuple[Proposals, tf.Tensor]:
        """Returns the proposals, and the anchor row of each, int32 [B, P].

        Regions are where the second stage looks, not something it can move: no gradient.
        """
        rpn = tf.nest.map_structure(tf.stop_gradient, rpn)
        scores = tf.nn.softmax(rpn.objectness)[..., 1:]
        kept = post_processing.batch_multiclass_non_max_suppression(
            self.decode(rpn)[:, :, None, :], scores, clip_window(images), self.nms)
        return Proposals(kept.boxes, kept.scores, kept.num_valid), kept.indices


@dataclasses.dataclass(frozen=True)
class ProposalSampler:
    """Chooses a balanced part of the proposals for training the second stage.

    Attributes:
        assigner: matches proposals to ground truth, as the second stage's loss does.
        sampler: balances matched and unmatched proposals.
        batch_size: proposals chosen per image.
    """

    assigner: TargetAssigner
    sampler: BalancedPositiveNegativeSampler
    batch_size: int

    def sample(self, proposals: Proposals, truth: GroundTruth) -> Proposals:
        """Returns at most `batch_size` proposals per image, in their order, padded with zeros."""
        num_classes = truth.classes.shape[-1]
        targets = self.assigner.assign(
            proposals.boxes, truth.boxes, with_background(truth.classes),
            tf.one_hot(0, num_classes + 1), truth.weights)
        positive = tf.argmax(targets.cls_targets, axis=-1) > 0
        # Every class column of a row has one weight; the first stands for the row.
        usable = proposals.valid_mask() & (targets.cls_weights[..., 0] > 0)
        chosen = self.sampler.subsample(usable, self.batch_size, positive)
        return rows_in_front(proposals, tf.cast(chosen, tf.int32), self.batch_size)


def clip_window(images: ImageExtent) -> tf.Tensor:
    """Returns float32 [B, 4]: the extent of each image without its padding."""
    if images.windows is not None:
        return images.windows
    size = tf.cast(images.true_shapes[:, :2], tf.float32)
    return tf.concat([tf.zeros_like(size), size], axis=-1)


def with_background(classes: tf.Tensor) -> tf.Tensor:
    """Puts a zero background column in front of [..., C] class rows."""
    paddings = [[0, 0]] * (classes.shape.rank - 1) + [[1, 0]]
    return tf.pad(classes, paddings)


def rows_in_front(proposals: Proposals, group: tf.Tensor, size: int) -> Proposals:
    """Sorts the rows by group and cuts or pads them to a number.

    Args:
        group: int32 [B, P], 0: left out; the rows of a higher group stand before those of a lower
            one, and those of one group in their order.
        size: rows of the result; those that are left over are zeros.
    """
    count = tf.shape(group)[1]
    available = group.shape[1]
    rank = group * count - tf.range(count)
    rows = size if available is not None and available >= size else tf.minimum(size, count)
    top = tf.math.top_k(rank, k=rows).indices
    kept = tf.gather(group > 0, top, batch_dims=1)
    boxes = tf.where(kept[..., None], tf.gather(proposals.boxes, top, batch_dims=1), 0.0)
    scores = tf.where(kept, tf.gather(proposals.scores, top, batch_dims=1), 0.0)
    missing = size - tf.shape(top)[1]
    boxes = tf.ensure_shape(tf.pad(boxes, [[0, 0], [0, missing], [0, 0]]), [None, size, 4])
    scores = tf.ensure_shape(tf.pad(scores, [[0, 0], [0, missing]]), [None, size])
    return Proposals(boxes, scores, tf.reduce_sum(tf.cast(kept, tf.int32), axis=1))
