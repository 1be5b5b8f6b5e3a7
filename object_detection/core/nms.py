"""Non-max suppression of many groups at once: one group is one class of one image.

Two ways to the same result. `suppress_native` runs one multi-threaded kernel over all groups and is
the fastest on CPU. `suppress_static` uses plain tensor operations, compiles to static shapes for
accelerators and knows soft suppression; inside, it takes candidates one by one, or, where there are
many, in tiles. Both order equal scores by class, then by row, as the original does.

Shapes: B images, N candidates per image, C classes, q boxes per candidate (1 shared by all classes,
or C), K boxes kept per class.
"""

import dataclasses
from typing import NamedTuple

import tensorflow as tf

from object_detection.core import box_ops

_NONE = float("-inf")  # score of what is no candidate (any more)
_TILE = 256  # candidates that `tiled` looks at together
_MANY = 1024  # candidates of one class from which on `tiled` is faster than `greedy`


@dataclasses.dataclass(frozen=True)
class NmsSettings:
    """Limits and thresholds of non-max suppression.

    Attributes:
        score_threshold: only boxes with a higher score count.
        iou_threshold: a box that overlaps a better one of its class by more than this is dropped.
        max_size_per_class: boxes kept per class and image.
        max_total_size: boxes kept per image; 0: whatever the classes kept.
        soft_nms_sigma: above 0, overlapping boxes also lose score (Bodla et al., Soft-NMS,
            arXiv:1704.04503, with variance sigma), and may fall below the threshold.
        use_class_agnostic: boxes of unlike classes suppress each other; each candidate stands for
            its best class, and `max_total_size` is the only limit.
        max_classes_per_detection: classes that one box may stand for with `use_class_agnostic`; all
            of them count towards `max_total_size`. Without it, it has no effect.
        change_coordinate_frame: express kept boxes relative to the clip window.
        use_static_shapes: use operations that compile to static shapes.
        use_hard: ignore `soft_nms_sigma`.
        use_cpu: run on the CPU, wherever the network runs.
        use_combined, use_partitioned: chose a kernel in the original; here they change nothing, see
            docs/differences.md.
    """

    score_threshold: float = 0.0
    iou_threshold: float = 0.6
    max_size_per_class: int = 100
    max_total_size: int = 0
    soft_nms_sigma: float = 0.0
    use_class_agnostic: bool = False
    max_classes_per_detection: int = 1
    change_coordinate_frame: bool = False
    use_static_shapes: bool = False
    use_hard: bool = False
    use_cpu: bool = False
    use_combined: bool = False
    use_partitioned: bool = False

    def __post_init__(self) -> None:
        if not 0.0 <= self.iou_threshold <= 1.0:
            raise ValueError(f"iou_threshold: want a value in [0, 1], got {self.iou_threshold}")
        if self.soft_nms_sigma < 0.0:
            raise ValueError(f"soft_nms_sigma: want 0 or more, got {self.soft_nms_sigma}")
        if self.max_size_per_class < 1 or self.max_total_size < 0:
            raise ValueError(
                "non-max suppression: want max_size_per_class of at least 1 and max_total_size of "
                f"at least 0, got {self.max_size_per_class} and {self.max_total_size}")
        if self.max_classes_per_detection < 1:
            raise ValueError("max_classes_per_detection: want at least 1, got "
                             f"{self.max_classes_per_detection}")

    @property
    def sigma(self) -> float:
        """The width of soft suppression in effect; 0: hard."""
        return 0.0 if self.use_hard else self.soft_nms_sigma


class Survivors(NamedTuple):
    """Boxes kept in all classes, M per image; ties in score stand in order of class, then row."""

    boxes: tf.Tensor  # float32 [B, M, 4]
    scores: tf.Tensor  # float32 [B, M], -inf in padding
    classes: tf.Tensor  # int32 [B, M]
    rows: tf.Tensor  # int32 [B, M]


def suppress(boxes: tf.Tensor, scores: tf.Tensor, settings: NmsSettings,
             best_only: int | None = None) -> Survivors:
    """Runs non-max suppression in every class of every image.

    Args:
        boxes: float32 [B, N, q, 4]; any dimension but q may be dynamic.
        scores: float32 [B, N, C]; a score of -inf (or NaN) takes no part.
        settings: thresholds and `max_size_per_class`; the other limits are left to the caller.
        best_only: look at so many pairs of candidate and class per image, those of the highest
            scores. What survives of them is what comes first among all survivors. None: at all.
            Static shapes and soft suppression always look at all.
    """
    # The kernels know no empty candidate list, so that one candidate that never counts is added.
    if scores.shape[1] is None or scores.shape[1] == 0:
        boxes = tf.pad(boxes, [[0, 0], [0, 1], [0, 0], [0, 0]])
        scores = tf.pad(scores, [[0, 0], [0, 1], [0, 0]], constant_values=_NONE)
    scores = tf.where(scores > settings.score_threshold, scores, _NONE)
    if settings.use_static_shapes or settings.sigma > 0.0:
        return suppress_static(boxes, scores, settings)
    return suppress_native(boxes, scores, settings, best_only)


def suppress_native(boxes: tf.Tensor, scores: tf.Tensor, settings: NmsSettings,
                    best_only: int | None = None) -> Survivors:
    """As `suppress`, for scores that are -inf where no candidate is, in one kernel call.

    The kernel reports neither rows nor breaks ties in a fixed order. So it is given, in place of
    the scores, their ranks, which have no ties, are exact in float32 up to 2^24 candidates, and
    lead back to the row and class of each box kept.
    """
    batch, count, classes = tf.unstack(tf.shape(scores))
    total = count * classes
    ranked = total if best_only is None else tf.minimum(best_only, total)
    by_class = tf.transpose(scores, [0, 2, 1])
    if best_only is None:  # class after class, which is quicker than to order all of them together
        ordered, order = tf.math.top_k(by_class, k=count)
        order += tf.range(classes)[:, None] * count
        ordered, order = (tf.reshape(values, [batch, total]) for values in (ordered, order))
    else:
        ordered, order = tf.math.top_k(tf.reshape(by_class, [batch, total]), k=ranked)
    rank = tf.where(ordered > _NONE, tf.cast(ranked - tf.range(ranked), tf.float32), 0.0)
    if scores.shape[2] == 1:
        boxes, rank = tf.gather(boxes, order, batch_dims=1), rank[..., None]
    else:
        place = order + tf.range(batch)[:, None] * total
        rank = tf.scatter_nd(tf.reshape(place, [-1, 1]), tf.reshape(rank, [-1]), [batch * total])
        rank = tf.transpose(tf.reshape(rank, [batch, classes, count]), [0, 2, 1])
    slots = tf.minimum(tf.minimum(settings.max_size_per_class, count) * classes, ranked)
    kept = tf.image.combined_non_max_suppression(
        boxes, rank, settings.max_size_per_class, slots, settings.iou_threshold,
        score_threshold=0.0, clip_boxes=False)
    valid = kept.nmsed_scores > 0.0
    place = tf.where(valid, ranked - tf.cast(kept.nmsed_scores, tf.int32), 0)
    candidate = tf.gather(order, place, batch_dims=1)
    return Survivors(
        kept.nmsed_boxes, tf.where(valid, tf.gather(ordered, place, batch_dims=1), _NONE),
        candidate // count, candidate % count)


def suppress_static(boxes: tf.Tensor, scores: tf.Tensor, settings: NmsSettings) -> Survivors:
    """As `suppress`, for scores that are -inf where no candidate is, with soft suppression."""
    slots = settings.max_size_per_class
    if scores.shape[1] is not None:
        slots = min(slots, scores.shape[1])
    batch, _, classes = tf.unstack(tf.shape(scores))
    boxes = tf.transpose(boxes, [0, 2, 1, 3])
    many = scores.shape[2] == 1 and scores.shape[1] is not None and scores.shape[1] >= _MANY
    choose = tiled if many and settings.sigma == 0.0 else greedy
    rows, kept = choose(boxes, tf.transpose(scores, [0, 2, 1]), slots, settings)
    if boxes.shape[1] == 1:
        chosen = tf.gather(boxes[:, 0], rows, batch_dims=1)
    else:
        chosen = tf.gather(boxes, rows, batch_dims=2)
    label = tf.broadcast_to(tf.range(classes)[:, None], tf.shape(rows))
    flat = [batch, classes * slots]
    return Survivors(tf.reshape(chosen, flat + [4]), tf.reshape(kept, flat),
                     tf.reshape(label, flat), tf.reshape(rows, flat))


def greedy(boxes: tf.Tensor, scores: tf.Tensor, slots: int,
           settings: NmsSettings) -> tuple[tf.Tensor, tf.Tensor]:
    """Takes the best candidate of each group, weakens those it overlaps, and starts again.

    Args:
        boxes: float32 [B, C or 1, N, 4], N at least 1.
        scores: float32 [B, C, N], -inf where no candidate is.
        slots: boxes kept per group.
        settings: its thresholds and sigma count.
    Returns:
        int32 [B, C, slots] rows, best first, 0 in padding, and their float32 scores (soft
        suppression lowers them), -inf in padding.
    """
    boxes = _ordered_corners(boxes)
    shared = boxes.shape[1] == 1
    slot_numbers, row_numbers = tf.range(slots), tf.range(tf.shape(scores)[2])
    empty = tf.broadcast_to(0, tf.concat([tf.shape(scores)[:2], [slots]], axis=0))

    def more(slot: tf.Tensor, live: tf.Tensor, *_: tf.Tensor) -> tf.Tensor:
        return (slot < slots) & tf.reduce_any(live > _NONE)

    def take(slot: tf.Tensor, live: tf.Tensor, rows: tf.Tensor,
             kept: tf.Tensor) -> tuple[tf.Tensor, ...]:
        best = tf.argmax(live, axis=-1, output_type=tf.int32)
        score = tf.gather(live, best, batch_dims=2)
        chosen = (tf.gather(boxes[:, 0], best, batch_dims=1) if shared
                  else tf.gather(boxes, best, batch_dims=2))
        overlap = box_ops.matched_iou(chosen[..., None, :], boxes)
        gone = (overlap > settings.iou_threshold) | (row_numbers == best[..., None])
        if settings.sigma > 0.0:
            live *= tf.exp(-0.5 / settings.sigma * tf.square(overlap))
            # This also removes NaN, which -inf times an underflowed weight gives.
            gone |= tf.logical_not(live > settings.score_threshold)
        here = slot_numbers == slot
        rows = tf.where(here & (score > _NONE)[..., None], best[..., None], rows)
        kept = tf.where(here, score[..., None], kept)
        return slot + 1, tf.where(gone, _NONE, live), rows, kept

    start = (0, scores, empty, tf.fill(tf.shape(empty), _NONE))
    _, _, rows, kept = tf.while_loop(more, take, start)
    return rows, kept


def tiled(boxes: tf.Tensor, scores: tf.Tensor, slots: int,
          settings: NmsSettings) -> tuple[tf.Tensor, tf.Tensor]:
    """As `greedy`, without soft suppression, by tiles of sorted candidates; N must be static.

    A tile is first compared with all boxes kept so far. Within it, a candidate stays if no better
    one that stays overlaps it; repeating that test from the assumption that all stay ends in the
    greedy result, for each round settles at least the next candidate in order.
    """
    group, count = tf.shape(scores)[:2], scores.shape[2]
    padding = [[0, 0], [0, 0], [0, -count % _TILE]]
    total = count + padding[2][1]
    ordered, order = tf.math.top_k(tf.pad(scores, padding, constant_values=_NONE), k=total)
    boxes = tf.pad(_ordered_corners(boxes), padding + [[0, 0]])
    if boxes.shape[1] == 1:
        boxes = tf.gather(boxes[:, 0], order, batch_dims=1)
    else:
        boxes = tf.gather(boxes, order, batch_dims=2)
    above = tf.range(_TILE)[:, None] < tf.range(_TILE)

    def more(start: tf.Tensor, found: tf.Tensor, *_: tf.Tensor) -> tf.Tensor:
        best = tf.gather(ordered, tf.minimum(start, total - 1), axis=2)
        return (start < total) & tf.reduce_any((best > _NONE) & (found < slots))

    def take(start: tf.Tensor, found: tf.Tensor, kept: tf.Tensor,
             places: tf.Tensor) -> tuple[tf.Tensor, ...]:
        tile = tf.slice(boxes, [0, 0, start, 0], [-1, -1, _TILE, 4])
        able = tf.slice(ordered, [0, 0, start], [-1, -1, _TILE]) > _NONE
        able &= ~tf.reduce_any(_overlaps(kept, tile, settings.iou_threshold), axis=2)
        stay = _settle(able, _overlaps(tile, tile, settings.iou_threshold) & above)
        slot = found[..., None] + tf.cumsum(tf.cast(stay, tf.int32), axis=2) - 1
        # int32 [B, C, slots, T]: 1 where a candidate of the tile goes into a slot.
        target = tf.one_hot(tf.where(stay, slot, -1), slots, axis=2, dtype=tf.int32)
        places += tf.reduce_sum(target * (tf.range(_TILE) + start), axis=3)
        found = tf.minimum(found + tf.reduce_sum(tf.cast(stay, tf.int32), axis=2), slots)
        filled = (tf.range(slots) < found[..., None])[..., None]
        kept = tf.where(filled, tf.gather(boxes, places, batch_dims=2), 0.0)
        return start + _TILE, found, kept, places

    kept = tf.zeros(tf.concat([group, [slots, 4]], axis=0))
    _, found, _, places = tf.while_loop(more, take, (
        0, tf.zeros(group, tf.int32), kept, tf.zeros(tf.shape(kept)[:3], tf.int32)))
    valid = tf.range(slots) < found[..., None]
    rows = tf.gather(order, places, batch_dims=2)
    kept_scores = tf.gather(ordered, places, batch_dims=2)
    return tf.where(valid, rows, 0), tf.where(valid, kept_scores, _NONE)


def _settle(able: tf.Tensor, suppresses: tf.Tensor) -> tf.Tensor:
    """Returns bool [B, C, T]: able candidates that none that stays suppresses.

    Args:
        able: bool [B, C, T].
        suppresses: bool [B, C, T, T], first by second; only earlier ones suppress later ones.
    """
    def step(stay: tf.Tensor, _: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
        now = able & ~tf.reduce_any(suppresses & stay[..., :, None], axis=2)
        return now, tf.reduce_any(now != stay)

    return tf.while_loop(lambda _, changed: changed, step, (able, tf.constant(True)))[0]


def _overlaps(boxes1: tf.Tensor, boxes2: tf.Tensor, threshold: float) -> tf.Tensor:
    return box_ops.iou(boxes1, boxes2) > threshold


def _ordered_corners(boxes: tf.Tensor) -> tf.Tensor:
    """Swaps the corners of boxes that come upside down, as the kernel does."""
    low, high = boxes[..., :2], boxes[..., 2:]
    return tf.concat([tf.minimum(low, high), tf.maximum(low, high)], axis=-1)
