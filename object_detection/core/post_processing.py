"""From scored boxes to detections: non-max suppression, clipping, and the limits per image.

Shapes: B images, N candidates, C foreground classes, q boxes per candidate (1 or C), D detections.
"""

import contextlib
import dataclasses

import tensorflow as tf

from object_detection.core import box_ops, nms
from object_detection.core.nms import NmsSettings
from object_detection.core.structures import NmsResult

# Pairs of candidate and class that are looked at first. They nearly always fill the limit per
# image, and to rank all pairs takes longer than to suppress them.
_FIRST_PAIRS = 1024


def batch_multiclass_non_max_suppression(
        boxes: tf.Tensor, scores: tf.Tensor, clip_window: tf.Tensor | None,
        settings: NmsSettings, num_valid_boxes: tf.Tensor | None = None,
        keep_without_area: bool = False) -> NmsResult:
    """Keeps the best boxes of every image, padded to the same number.

    Overlaps are those of the boxes as they come; kept boxes are then clipped, and those without
    area in the window are dropped. They have taken a place within the limit per class by then, but
    take none within the limit per image. With `use_class_agnostic` the limit per image is that of
    the suppression, so that they take a place there.

    Args:
        boxes: float32 [B, N, q, 4]; q is static, the other dimensions may be dynamic, N may be 0.
        scores: float32 [B, N, C], without background.
        clip_window: float32 [B, 4] or [4]; None: boxes are not clipped, but those without area
            are dropped too.
        settings: thresholds and limits.
        num_valid_boxes: int32 [B], candidates from this row on are padding; None: all count.
        keep_without_area: do not drop boxes without area where there is no clip window.
    Returns:
        D is `max_total_size`, or C times `max_size_per_class` where that is 0. Padding is zeros.
    Raises:
        ValueError: if shapes do not fit, or if the coordinate frame is to change and no window is
            given.
    """
    _check(boxes, scores, clip_window, settings)
    if num_valid_boxes is not None:
        valid = tf.sequence_mask(num_valid_boxes, tf.shape(scores)[1])
        scores = tf.where(valid[..., None], scores, float("-inf"))
    if clip_window is None and not keep_without_area:
        # All boxes lie in it, so that nothing is clipped.
        low = tf.reduce_min(boxes[..., :2], axis=[0, 1, 2])
        clip_window = tf.concat([low, tf.reduce_max(boxes[..., 2:], axis=[0, 1, 2])], axis=0)
    return _best_first(boxes, scores, clip_window, settings)


def multiclass_non_max_suppression(boxes: tf.Tensor, scores: tf.Tensor,
                                   clip_window: tf.Tensor | None,
                                   settings: NmsSettings) -> NmsResult:
    """Keeps the best boxes of one image; see `batch_multiclass_non_max_suppression`.

    Args:
        boxes: float32 [N, q, 4].
        scores: float32 [N, C].
        clip_window: float32 [4]; None: boxes are not clipped, and those without area stay.
        settings: thresholds and limits.
    Returns:
        Fields without the batch dimension, still padded to D; `num_valid` is a scalar.
    """
    boxes, scores = boxes[None], scores[None]
    _check(boxes, scores, clip_window, settings)
    result = _best_first(boxes, scores, clip_window, settings)
    return NmsResult(*(field[0] for field in result))


def class_agnostic_non_max_suppression(boxes: tf.Tensor, scores: tf.Tensor,
                                       clip_window: tf.Tensor | None,
                                       settings: NmsSettings) -> NmsResult:
    """As `multiclass_non_max_suppression`, but boxes of all classes suppress each other."""
    agnostic = dataclasses.replace(settings, use_class_agnostic=True)
    return multiclass_non_max_suppression(boxes, scores, clip_window, agnostic)


def _best_first(boxes: tf.Tensor, scores: tf.Tensor, clip_window: tf.Tensor | None,
                settings: NmsSettings) -> NmsResult:
    """Tries the pairs of the highest scores, and all of them if an image is not full then."""
    if settings.use_class_agnostic:
        suppress, size = _suppress_across_classes, _agnostic_limit(settings)
        pairs = scores.shape[1]
    else:
        suppress = nms.suppress
        size = settings.max_total_size or scores.shape[2] * settings.max_size_per_class
        pairs = None if scores.shape[1] is None else scores.shape[1] * scores.shape[2]

    def finished(best_only: int | None) -> NmsResult:
        return _finish(suppress(boxes, scores, settings, best_only), clip_window, settings, size)

    first = max(_FIRST_PAIRS, 8 * size)
    looks_at_all = settings.use_static_shapes or settings.sigma > 0.0
    with tf.device("CPU:0") if settings.use_cpu else contextlib.nullcontext():
        if looks_at_all or (pairs is not None and pairs <= 2 * first):
            return finished(None)
        result = finished(first)
        best = tf.reduce_max(scores, axis=-1) if settings.use_class_agnostic else scores
        able = tf.cast(best > settings.score_threshold, tf.int32)
        able = tf.reduce_sum(tf.reshape(able, [tf.shape(able)[0], -1]), axis=1)
        settled = tf.reduce_all((result.num_valid == size) | (able <= first))
        return tf.cond(settled, lambda: result, lambda: finished(None))


def _suppress_across_classes(boxes: tf.Tensor, scores: tf.Tensor, settings: NmsSettings,
                             best_only: int | None = None) -> nms.Survivors:
    """Suppresses every candidate as its best class, [B, N, q, 4] and [B, N, C]."""
    classes = tf.argmax(scores, axis=-1, output_type=tf.int32)
    if boxes.shape[2] > 1:
        boxes = tf.gather(boxes, classes, batch_dims=2)[:, :, None, :]
    one_class = dataclasses.replace(settings, max_size_per_class=_agnostic_limit(settings))
    kept = nms.suppress(boxes, tf.reduce_max(scores, axis=-1, keepdims=True), one_class, best_only)
    # Row 0 does not exist without candidates; what it holds is never read then.
    if settings.max_classes_per_detection > 1:
        return _with_further_classes(kept, tf.pad(scores, [[0, 0], [0, 1], [0, 0]]), settings)
    classes = tf.pad(classes, [[0, 0], [0, 1]])
    return kept._replace(classes=tf.gather(classes, kept.rows, batch_dims=1))


def _with_further_classes(kept: nms.Survivors, scores: tf.Tensor,
                          settings: NmsSettings) -> nms.Survivors:
    """Repeats each box of [B, M] for its best classes whose score is above the threshold."""
    count = min(settings.max_classes_per_detection, scores.shape[2])
    best, classes = tf.math.top_k(tf.gather(scores, kept.rows, batch_dims=1), k=count)
    if settings.sigma > 0.0:  # the box has lost a share of its score, in all classes
        best *= tf.math.divide_no_nan(kept.scores, best[..., 0])[..., None]
    valid = (kept.scores > float("-inf"))[..., None] & (best > settings.score_threshold)
    flat = tf.stack([tf.shape(best)[0], tf.shape(best)[1] * count])
    return nms.Survivors(
        tf.repeat(kept.boxes, count, axis=1),
        tf.reshape(tf.where(valid, best, float("-inf")), flat), tf.reshape(classes, flat),
        tf.repeat(kept.rows, count, axis=1))


def _agnostic_limit(settings: NmsSettings) -> int:
    return settings.max_total_size or settings.max_size_per_class


def _finish(survivors: nms.Survivors, clip_window: tf.Tensor | None, settings: NmsSettings,
            size: int) -> NmsResult:
    """Clips, drops boxes without area, and moves the `size` best of [B, M] to the front."""
    boxes, scores = survivors.boxes, survivors.scores
    if clip_window is not None:
        window = tf.cast(clip_window, boxes.dtype)
        window = window[None] if window.shape.rank == 1 else window
        boxes = box_ops.clip_to_window(boxes, window)
        scores = tf.where(box_ops.area(boxes) > 0.0, scores, float("-inf"))
        if settings.change_coordinate_frame:
            boxes = box_ops.change_coordinate_frame(boxes, window)
    missing = tf.maximum(size - tf.shape(scores)[1], 0)
    if scores.shape[1] is not None:
        missing = max(size - scores.shape[1], 0)
    scores = tf.pad(scores, [[0, 0], [0, missing]], constant_values=float("-inf"))
    # Equal scores keep their order.
    best, order = tf.math.top_k(scores, k=size)
    valid = best > float("-inf")
    order = tf.where(valid, order, 0)

    def fetch(values: tf.Tensor) -> tf.Tensor:
        return tf.where(valid, tf.gather(values, order, batch_dims=1), 0)

    return NmsResult(
        tf.where(valid[..., None], tf.gather(boxes, order, batch_dims=1), 0.0),
        tf.where(valid, best, 0.0), fetch(survivors.classes), fetch(survivors.rows),
        tf.reduce_sum(tf.cast(valid, tf.int32), axis=1))


def _check(boxes: tf.Tensor, scores: tf.Tensor, clip_window: tf.Tensor | None,
           settings: NmsSettings) -> None:
    if boxes.shape.rank != 4 or scores.shape.rank != 3:
        raise ValueError("non-max suppression: want boxes [batch, candidates, 1 or classes, 4] and "
                         f"scores [batch, candidates, classes], got {boxes.shape} and "
                         f"{scores.shape}")
    if scores.shape[2] is None or boxes.shape[2] not in (1, scores.shape[2]):
        raise ValueError("non-max suppression: a candidate needs 1 box or one per class, got boxes "
                         f"{boxes.shape} and scores {scores.shape}")
    if settings.change_coordinate_frame and clip_window is None:
        raise ValueError("change_coordinate_frame: needs a clip_window; pass one or set the field "
                         "to false")
