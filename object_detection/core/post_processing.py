"""From scored boxes to detections: non-max suppression, clipping, and the limits per image.

Shapes: B images, N candidates, C foreground classes, q boxes per candidate (1 or C), D detections.
"""

import contextlib
import dataclasses

import tensorflow as tf

from object_detection.core import box_ops, nms
from object_detection.core.nms import NmsSettings
from object_detection.core.structures import NmsResult


def batch_multiclass_non_max_suppression(
        boxes: tf.Tensor, scores: tf.Tensor, clip_window: tf.Tensor | None,
        settings: NmsSettings, num_valid_boxes: tf.Tensor | None = None) -> NmsResult:
    """Keeps the best boxes of every image, padded to the same number.

    Overlaps are those of the boxes as they come; kept boxes are then clipped, and those without
    area in the window are dropped. They have taken a place within the limit per class by then, but
    take none within the limit per image.

    Args:
        boxes: float32 [B, N, q, 4]; q is static, the other dimensions may be dynamic, N may be 0.
        scores: float32 [B, N, C], without background.
        clip_window: float32 [B, 4] or [4], None: boxes are not clipped.
        settings: thresholds and limits.
        num_valid_boxes: int32 [B], candidates from this row on are padding; None: all count.
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
    with tf.device("CPU:0") if settings.use_cpu else contextlib.nullcontext():
        if settings.use_class_agnostic:
            survivors = _suppress_across_classes(boxes, scores, settings)
            size = _agnostic_limit(settings)
        else:
            survivors = nms.suppress(boxes, scores, settings)
            size = settings.max_total_size or scores.shape[2] * settings.max_size_per_class
        return _finish(survivors, clip_window, settings, size)


def multiclass_non_max_suppression(boxes: tf.Tensor, scores: tf.Tensor,
                                   clip_window: tf.Tensor | None,
                                   settings: NmsSettings) -> NmsResult:
    """Keeps the best boxes of one image; see `batch_multiclass_non_max_suppression`.

    Args:
        boxes: float32 [N, q, 4].
        scores: float32 [N, C].
        clip_window: float32 [4] or None.
        settings: thresholds and limits.
    Returns:
        Fields without the batch dimension, still padded to D; `num_valid` is a scalar.
    """
    result = batch_multiclass_non_max_suppression(boxes[None], scores[None], clip_window, settings)
    return NmsResult(*(field[0] for field in result))


def class_agnostic_non_max_suppression(boxes: tf.Tensor, scores: tf.Tensor,
                                       clip_window: tf.Tensor | None,
                                       settings: NmsSettings) -> NmsResult:
    """As `multiclass_non_max_suppression`, but boxes of all classes suppress each other."""
    agnostic = dataclasses.replace(settings, use_class_agnostic=True)
    return multiclass_non_max_suppression(boxes, scores, clip_window, agnostic)


def _suppress_across_classes(boxes: tf.Tensor, scores: tf.Tensor,
                             settings: NmsSettings) -> nms.Survivors:
    """Suppresses every candidate as its best class, [B, N, q, 4] and [B, N, C]."""
    classes = tf.argmax(scores, axis=-1, output_type=tf.int32)
    if boxes.shape[2] > 1:
        boxes = tf.gather(boxes, classes, batch_dims=2)[:, :, None, :]
    one_class = dataclasses.replace(settings, max_size_per_class=_agnostic_limit(settings))
    kept = nms.suppress(boxes, tf.reduce_max(scores, axis=-1, keepdims=True), one_class)
    # Row 0 does not exist without candidates; its class is never read then.
    classes = tf.pad(classes, [[0, 0], [0, 1]])
    return kept._replace(classes=tf.gather(classes, kept.rows, batch_dims=1))


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
