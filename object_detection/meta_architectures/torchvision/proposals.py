"""Proposals as torchvision's detectors choose them: the best of each level, level by level."""

import dataclasses

import tensorflow as tf

from object_detection.core import box_ops, post_processing
from object_detection.core.box_coder import BoxCoder
from object_detection.core.nms import NmsSettings
from object_detection.core.structures import ImageExtent, Proposals, RpnOutput
from object_detection.meta_architectures.proposals import clip_window

MIN_SIDE = 1e-3  # pixels; candidates with a shorter side after clipping are dropped


@dataclasses.dataclass(frozen=True)
class LevelwiseProposer:
    """Decodes the best anchors of each level, cuts them at the image and suppresses overlaps.

    Boxes of one level do not suppress those of another.

    Attributes:
        box_coder: of the first stage.
        nms: limits and thresholds of the suppression; a score equal to the threshold counts.
        pre_nms_limit: candidates of a level that are looked at.
        anchors_per_cell: of each level.
    """

    box_coder: BoxCoder
    nms: NmsSettings
    pre_nms_limit: int
    anchors_per_cell: tuple[int, ...]

    def decode(self, rpn: RpnOutput) -> tf.Tensor:
        """Returns float32 [B, A, 4] boxes, not clipped."""
        return self.box_coder.decode(rpn.box_encodings, rpn.anchors)

    def propose(self, rpn: RpnOutput, images: ImageExtent) -> tuple[Proposals, tf.Tensor]:
        """Returns the proposals, and the anchor row of each, int32 [B, P]; no gradient."""
        rpn = tf.nest.map_structure(tf.stop_gradient, rpn)
        logits = rpn.objectness[..., 1] - rpn.objectness[..., 0]
        rows = self._best_rows(logits, rpn.features)
        boxes = self.box_coder.decode(_rows_of(rpn.box_encodings, rows),
                                      tf.gather(rpn.anchors, tf.maximum(rows, 0)))
        boxes = clipped(boxes, clip_window(images))
        scores = tf.sigmoid(_rows_of(logits, rows))
        counts = (rows >= 0) & wide_enough(boxes, MIN_SIDE) & (scores >= self.nms.score_threshold)
        kept = post_processing.batch_multiclass_non_max_suppression(
            boxes, tf.where(counts, scores, float("-inf")), None,
            dataclasses.replace(self.nms, score_threshold=-1.0), keep_without_area=True)
        # The levels are the classes of the suppression.
        place = kept.indices * len(self.anchors_per_cell) + kept.classes
        flat = tf.reshape(rows, [tf.shape(rows)[0], -1])
        anchors = tf.where(kept.valid_mask(), tf.gather(flat, place, batch_dims=1), 0)
        return Proposals(kept.boxes, kept.scores, kept.num_valid), anchors

    def _best_rows(self, logits: tf.Tensor, maps: tuple[tf.Tensor, ...]) -> tf.Tensor:
        """Returns int32 [B, K, levels]: the anchors of each level by logit, -1 past the last."""
        counts = [_cells(one) * per_cell for one, per_cell in zip(maps, self.anchors_per_cell,
                                                                  strict=True)]
        rows, start = [], 0
        for count in counts:
            # A level is filled up, so that all levels have as many candidates.
            padded = tf.pad(logits[:, start:start + count], [[0, 0], [0, self.pre_nms_limit]],
                            constant_values=float("-inf"))
            best, order = tf.math.top_k(padded, k=self.pre_nms_limit)
            rows.append(tf.where(best > float("-inf"), order + start, -1))
            start += count
        return tf.stack(rows, axis=-1)


def clipped(boxes: tf.Tensor, windows: tf.Tensor) -> tf.Tensor:
    """Cuts boxes [B, K, C, 4] at the image's window, [B, 4]."""
    shape = tf.shape(boxes)
    flat = tf.reshape(boxes, [shape[0], shape[1] * shape[2], 4])
    return tf.ensure_shape(tf.reshape(box_ops.clip_to_window(flat, windows), shape), boxes.shape)


def wide_enough(boxes: tf.Tensor, least: float) -> tf.Tensor:
    """Whether both sides of boxes [..., 4] have at least so many pixels; bool [...]."""
    sides = boxes[..., 2:] - boxes[..., :2]
    return tf.reduce_all(sides >= least, axis=-1)


def _rows_of(values: tf.Tensor, rows: tf.Tensor) -> tf.Tensor:
    """Picks rows [B, K, levels] of [B, A, ...]; some row where there is none."""
    return tf.gather(values, tf.maximum(rows, 0), batch_dims=1)


def _cells(feature_map: tf.Tensor) -> int | tf.Tensor:
    height, width = feature_map.shape[1:3]
    if height is not None and width is not None:
        return height * width
    shape = tf.shape(feature_map)
    return shape[1] * shape[2]
