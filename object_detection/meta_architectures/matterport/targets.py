"""Which proposals the second stage is trained on, and what it should say about them.

Shapes: B images, N ground truth boxes, P proposals, C foreground classes.
"""

import dataclasses
from collections.abc import Sequence
from typing import NamedTuple

import tensorflow as tf

from object_detection.core import mask_ops, mini_masks
from object_detection.core.balanced_positive_negative_sampler import subsample_indicator
from object_detection.core.box_coder import BoxCoder
from object_detection.core.matcher import Match
from object_detection.core.structures import GroundTruth, Proposals
from object_detection.meta_architectures.matterport.matching import (
    Choice,
    RegionMatcher,
    with_empty_row,
)
from object_detection.meta_architectures.proposals import rows_in_front


@dataclasses.dataclass(frozen=True)
class RegionSampler:
    """Chooses proposals so that objects have a given share, as far as there are any.

    The number of objects found sets the number of background regions, so that the share holds with
    few objects too. An image without any gets as much background as one with enough of them.

    Attributes:
        regions_per_image: rows of the result.
        positive_ratio: largest share of objects.
        no_objects_no_background: fault of the original, see docs/differences.md.
        choose: picks the regions to keep.
    """

    matcher: RegionMatcher
    regions_per_image: int = 200
    positive_ratio: float = 0.33
    no_objects_no_background: bool = False
    choose: Choice = subsample_indicator

    def sample(self, proposals: Proposals, truth: GroundTruth) -> Proposals:
        """Returns objects first, then background, then rows of zeros."""
        match = self.matcher.match(proposals.boxes, truth)
        valid = proposals.valid_mask()
        most = int(self.regions_per_image * self.positive_ratio)
        positive = self.choose(match.matched_mask() & valid, most, None)
        found = tf.reduce_sum(tf.cast(positive, tf.int32), axis=1)
        if not self.no_objects_no_background:
            found = tf.where(found > 0, found, most)
        wanted = tf.cast(tf.cast(found, tf.float32) * (1.0 / self.positive_ratio),
                         tf.int32) - found
        negative = self.choose(match.unmatched_mask() & valid, self.regions_per_image, wanted)
        group = 2 * tf.cast(positive, tf.int32) + tf.cast(negative, tf.int32)
        return rows_in_front(proposals, group, self.regions_per_image)


class RegionTargets(NamedTuple):
    """What the second stage should have said about B x P regions."""

    match: Match
    class_ids: tf.Tensor  # int32 [B, P], 0: background
    deltas: tf.Tensor  # float32 [B, P, 4], zeros for background
    weights: tf.Tensor  # float32 [B, P], factor in the losses; 0 for ignored regions

    def objects(self) -> tf.Tensor:
        """Returns bool [B, P], true where a region belongs to an object with a weight."""
        return self.match.matched_mask() & (self.weights > 0.0)


def region_targets(matcher: RegionMatcher, box_coder: BoxCoder, boxes: tf.Tensor,
                   truth: GroundTruth) -> RegionTargets:
    """Assigns ground truth to float32 [B, P, 4] regions; deltas pass gradients to the regions."""
    match = matcher.match(boxes, truth)
    matched = match.matched_mask()
    rows = tf.maximum(match.rows, 0)
    of_row = tf.gather(with_empty_row(truth.boxes), rows, batch_dims=1)
    deltas = tf.where(matched[..., None], box_coder.encode(of_row, boxes), 0.0)
    classes = tf.argmax(truth.classes, axis=-1, output_type=tf.int32) + 1
    class_ids = tf.gather(with_empty_row(classes), rows, batch_dims=1)
    weights = tf.gather(with_empty_row(truth.weights), rows, batch_dims=1)
    weights = tf.where(matched, weights, tf.cast(match.unmatched_mask(), tf.float32))
    return RegionTargets(match, tf.where(matched, class_ids, 0), deltas,
                         tf.where(truth.is_annotated[:, None], weights, 0.0))


@dataclasses.dataclass(frozen=True)
class MaskTargets:
    """Cuts the mask of each region's object at the region and rounds it.

    Attributes:
        mini_mask_size: masks are reduced to this size inside the box of their object first; masks
            that come in this size are taken for reduced ones. None: masks are cut as they are.
        use_static_shapes, original_far_edge: see `mask_ops.matched_mask_targets`.
    """

    mini_mask_size: tuple[int, int] | None = (56, 56)
    use_static_shapes: bool = False
    original_far_edge: bool = False

    def __call__(self, truth: GroundTruth, boxes: tf.Tensor, match: Match,
                 size: Sequence[int]) -> tf.Tensor:
        """Returns float32 [B, P, *size], 0 or 1; zeros for regions without an object.

        Args:
            boxes: float32 [B, P, 4], naming their last pixels, like those of the ground truth.
        """
        masks = truth.masks
        if self.mini_mask_size is None:
            shape = tf.cast(tf.shape(masks)[2:], tf.float32) - 1.0
            relative = boxes / tf.concat([shape, shape], axis=0)
        else:
            masks = self._minimized(truth)
            rows = tf.maximum(match.rows, 0)
            around = tf.gather(with_empty_row(truth.boxes), rows, batch_dims=1)
            low = tf.concat([around[..., :2]] * 2, axis=-1)
            extent = around[..., 2:] - around[..., :2]
            relative = tf.math.divide_no_nan(boxes - low, tf.concat([extent] * 2, axis=-1))
        cut = mask_ops.crop_matched(masks, relative, match.rows, size, self.use_static_shapes,
                                    self.original_far_edge)
        return tf.stop_gradient(tf.round(cut))

    def _minimized(self, truth: GroundTruth) -> tf.Tensor:
        """Returns [B, N, *mini_mask_size]."""
        size = list(self.mini_mask_size)
        masks = truth.masks
        if masks.shape[2:].as_list() == size:
            return masks
        batch, count, height, width = tf.unstack(tf.shape(masks))
        pixels = tf.reshape(truth.boxes + [0.0, 0.0, 1.0, 1.0], [-1, 4])
        mini = mini_masks.minimize(tf.reshape(masks, [batch * count, height, width]), pixels, size)
        return tf.ensure_shape(tf.reshape(mini, [batch, count, *size]),
                               [*masks.shape[:2], *size])
