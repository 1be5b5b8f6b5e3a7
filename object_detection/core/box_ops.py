"""Arithmetic on boxes [ymin, xmin, ymax, xmax], for any leading batch dimensions.

Shapes: boxes are [..., N, 4], or [..., 4] where a function treats every box alone; a window is
[..., 4] and holds for the N boxes of its batch entry. Leading dimensions broadcast, so that one set
of anchors [A, 4] serves a batch of ground truth [B, N, 4]. No function has a dynamic output shape.
"""

import tensorflow as tf

Scalar = float | int | tf.Tensor


def area(boxes: tf.Tensor) -> tf.Tensor:
    """Returns [...] areas of boxes [..., 4]."""
    ymin, xmin, ymax, xmax = tf.unstack(boxes, axis=-1)
    return (ymax - ymin) * (xmax - xmin)


def intersection(boxes1: tf.Tensor, boxes2: tf.Tensor) -> tf.Tensor:
    """Returns [..., N, M] shared areas of boxes1 [..., N, 4] and boxes2 [..., M, 4]."""
    return matched_intersection(boxes1[..., :, None, :], boxes2[..., None, :, :])


def iou(boxes1: tf.Tensor, boxes2: tf.Tensor) -> tf.Tensor:
    """Returns [..., N, M] overlaps in [0, 1]; a pair with an empty union gives 0."""
    return matched_iou(boxes1[..., :, None, :], boxes2[..., None, :, :])


def ioa(boxes1: tf.Tensor, boxes2: tf.Tensor) -> tf.Tensor:
    """Returns [..., N, M] shares of the area of boxes2 that boxes1 cover.

    A box of boxes2 without area gives 0; the original gives NaN there.
    """
    return tf.math.divide_no_nan(intersection(boxes1, boxes2), area(boxes2)[..., None, :])


def sq_dist(boxes1: tf.Tensor, boxes2: tf.Tensor) -> tf.Tensor:
    """Returns [..., N, M] squared distances between boxes, taken as points of four dimensions."""
    difference = tf.math.squared_difference(boxes1[..., :, None, :], boxes2[..., None, :, :])
    return tf.reduce_sum(difference, axis=-1)


def matched_intersection(boxes1: tf.Tensor, boxes2: tf.Tensor) -> tf.Tensor:
    """Returns [...] shared areas of box i of boxes1 and box i of boxes2, both [..., 4]."""
    ymin1, xmin1, ymax1, xmax1 = tf.unstack(boxes1, axis=-1)
    ymin2, xmin2, ymax2, xmax2 = tf.unstack(boxes2, axis=-1)
    height = tf.minimum(ymax1, ymax2) - tf.maximum(ymin1, ymin2)
    width = tf.minimum(xmax1, xmax2) - tf.maximum(xmin1, xmin2)
    return tf.nn.relu(height) * tf.nn.relu(width)


def matched_iou(boxes1: tf.Tensor, boxes2: tf.Tensor) -> tf.Tensor:
    """Returns [...] overlaps of box i of boxes1 and box i of boxes2, both [..., 4]."""
    shared = matched_intersection(boxes1, boxes2)
    return tf.math.divide_no_nan(shared, area(boxes1) + area(boxes2) - shared)


def clip_to_window(boxes: tf.Tensor, window: tf.Tensor) -> tf.Tensor:
    """Moves corners outside the window onto its edge; a box outside ends with no area."""
    low, high = _window_corners(window)
    return tf.maximum(tf.minimum(boxes, high), low)


def inside_window_mask(boxes: tf.Tensor, window: tf.Tensor) -> tf.Tensor:
    """Returns bool [..., N], true where the whole box lies in the window; touching counts."""
    low, high = _window_corners(window)
    return tf.reduce_all((boxes >= low) & (boxes <= high), axis=-1)


def overlaps_window_mask(boxes: tf.Tensor, window: tf.Tensor) -> tf.Tensor:
    """Returns bool [..., N], true where a part of the box lies in the window; touching does not."""
    low, high = _window_corners(window)
    return tf.reduce_all((boxes[..., :2] < high[..., :2]) & (boxes[..., 2:] > low[..., :2]),
                         axis=-1)


def scale(boxes: tf.Tensor, y_scale: Scalar, x_scale: Scalar) -> tf.Tensor:
    """Multiplies coordinates; a scale is a number or broadcasts against [..., N]."""
    y_scale, x_scale = tf.cast(y_scale, boxes.dtype), tf.cast(x_scale, boxes.dtype)
    return boxes * tf.stack([y_scale, x_scale, y_scale, x_scale], axis=-1)


def to_normalized(boxes: tf.Tensor, height: Scalar, width: Scalar) -> tf.Tensor:
    """Maps pixels of an image to [0, 1]; the size is a number or broadcasts against [..., N]."""
    return scale(boxes, 1.0 / tf.cast(height, boxes.dtype), 1.0 / tf.cast(width, boxes.dtype))


def to_absolute(boxes_normalized: tf.Tensor, height: Scalar, width: Scalar) -> tf.Tensor:
    """Maps [0, 1] to pixels of an image; the size is a number or broadcasts against [..., N]."""
    return scale(boxes_normalized, height, width)


def change_coordinate_frame(boxes: tf.Tensor, window: tf.Tensor) -> tf.Tensor:
    """Expresses boxes in the frame where the window is [0, 0, 1, 1]."""
    origin = tf.concat([window[..., :2], window[..., :2]], axis=-1)
    size = window[..., 2:] - window[..., :2]
    inverse = 1.0 / tf.concat([size, size], axis=-1)
    return (boxes - origin[..., None, :]) * inverse[..., None, :]


def center_size(boxes: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor, tf.Tensor, tf.Tensor]:
    """Returns y and x of the centre, height and width, each [...], of boxes [..., 4]."""
    ymin, xmin, ymax, xmax = tf.unstack(boxes, axis=-1)
    height, width = ymax - ymin, xmax - xmin
    return ymin + height / 2.0, xmin + width / 2.0, height, width


def from_center_size(y_center: tf.Tensor, x_center: tf.Tensor, height: tf.Tensor,
                     width: tf.Tensor) -> tf.Tensor:
    """Returns [..., 4] boxes; the inverse of `center_size`. All four have one shape [...]."""
    return tf.stack([y_center - height / 2.0, x_center - width / 2.0,
                     y_center + height / 2.0, x_center + width / 2.0], axis=-1)


def _window_corners(window: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
    """Returns low and high bounds [..., 1, 4] of the four coordinates."""
    low = tf.concat([window[..., :2], window[..., :2]], axis=-1)
    high = tf.concat([window[..., 2:], window[..., 2:]], axis=-1)
    return low[..., None, :], high[..., None, :]
