"""Arithmetic on numpy boxes [ymin, xmin, ymax, xmax], for metrics and user scripts."""

import numpy as np


def area(boxes: np.ndarray) -> np.ndarray:
    """Returns [N] areas of boxes [N, 4]."""
    return (boxes[:, 2] - boxes[:, 0]) * (boxes[:, 3] - boxes[:, 1])


def intersection(boxes1: np.ndarray, boxes2: np.ndarray) -> np.ndarray:
    """Returns [N, M] shared areas of boxes1 [N, 4] and boxes2 [M, 4]."""
    low = np.maximum(boxes1[:, None, :2], boxes2[None, :, :2])
    high = np.minimum(boxes1[:, None, 2:], boxes2[None, :, 2:])
    return np.prod(np.maximum(high - low, 0), axis=-1)


def iou(boxes1: np.ndarray, boxes2: np.ndarray) -> np.ndarray:
    """Returns [N, M] intersections over unions; a pair with an empty union gives 0."""
    shared = intersection(boxes1, boxes2)
    return _ratio(shared, area(boxes1)[:, None] + area(boxes2)[None, :] - shared)


def ioa(boxes1: np.ndarray, boxes2: np.ndarray) -> np.ndarray:
    """Returns [N, M] intersections over the area of boxes2; 0 where that is 0."""
    shared = intersection(boxes1, boxes2)
    return _ratio(shared, np.broadcast_to(area(boxes2)[None, :], shared.shape))


def _ratio(part: np.ndarray, whole: np.ndarray) -> np.ndarray:
    """Divides, with 0 for a division by 0."""
    result = np.zeros(part.shape, np.result_type(part, np.float32))
    return np.divide(part, whole, out=result, where=whole != 0)
