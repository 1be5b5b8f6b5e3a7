"""Operations on `BoxList`, for user code, under the names of the TensorFlow Object Detection API.

Thin over `box_ops`. Functions return new lists and leave their arguments alone. A list keeps its
fields wherever its boxes keep their rows.
"""

import tensorflow as tf

from object_detection.core import box_ops
from object_detection.core.box_list import BoxList

_SLACK = 0.01  # a normalized coordinate may exceed 1 by this much before a range check fails


class SortOrder:
    """Orders of `sort_by_field`."""

    ascend = 1
    descend = 2


def area(boxlist: BoxList) -> tf.Tensor:
    """Returns [N] areas."""
    return box_ops.area(boxlist.get())


def height_width(boxlist: BoxList) -> tuple[tf.Tensor, tf.Tensor]:
    """Returns heights and widths, [N] each."""
    _, _, height, width = box_ops.center_size(boxlist.get())
    return height, width


def intersection(boxlist1: BoxList, boxlist2: BoxList) -> tf.Tensor:
    """Returns [N, M] shared areas."""
    return box_ops.intersection(boxlist1.get(), boxlist2.get())


def matched_intersection(boxlist1: BoxList, boxlist2: BoxList) -> tf.Tensor:
    """Returns [N] shared areas of the i-th boxes of both lists."""
    return box_ops.matched_intersection(boxlist1.get(), boxlist2.get())


def iou(boxlist1: BoxList, boxlist2: BoxList) -> tf.Tensor:
    """Returns [N, M] intersections over unions."""
    return box_ops.iou(boxlist1.get(), boxlist2.get())


def matched_iou(boxlist1: BoxList, boxlist2: BoxList) -> tf.Tensor:
    """Returns [N] intersections over unions of the i-th boxes of both lists."""
    return box_ops.matched_iou(boxlist1.get(), boxlist2.get())


def ioa(boxlist1: BoxList, boxlist2: BoxList) -> tf.Tensor:
    """Returns [N, M] intersections over the area of the second box; 0 where that is 0."""
    return box_ops.ioa(boxlist1.get(), boxlist2.get())


def sq_dist(boxlist1: BoxList, boxlist2: BoxList) -> tf.Tensor:
    """Returns [N, M] squared distances between boxes as points of four dimensions."""
    return box_ops.sq_dist(boxlist1.get(), boxlist2.get())


def scale(boxlist: BoxList, y_scale: float | tf.Tensor, x_scale: float | tf.Tensor) -> BoxList:
    """Multiplies the coordinates."""
    return _with_boxes(boxlist, box_ops.scale(boxlist.get(), y_scale, x_scale))


def clip_to_window(boxlist: BoxList, window: tf.Tensor,
                   filter_nonoverlapping: bool = True) -> BoxList:
    """Cuts boxes at a window [4]; drops those that end without area, if asked to."""
    clipped = _with_boxes(boxlist, box_ops.clip_to_window(boxlist.get(), window))
    if not filter_nonoverlapping:
        return clipped
    return _keep(clipped, area(clipped) > 0.0)[0]


def prune_outside_window(boxlist: BoxList, window: tf.Tensor) -> tuple[BoxList, tf.Tensor]:
    """Drops boxes that leave a window [4]. Returns the rest, and its former rows, int64 [K]."""
    return _keep(boxlist, box_ops.inside_window_mask(boxlist.get(), window))


def prune_completely_outside_window(boxlist: BoxList,
                                    window: tf.Tensor) -> tuple[BoxList, tf.Tensor]:
    """Drops boxes with no part in a window [4]. Returns the rest, and its former rows."""
    return _keep(boxlist, box_ops.overlaps_window_mask(boxlist.get(), window))


def prune_non_overlapping_boxes(boxlist1: BoxList, boxlist2: BoxList,
                                min_overlap: float = 0.0) -> tuple[BoxList, tf.Tensor]:
    """Drops boxes of the first list of which none of the second covers at least `min_overlap`.

    Returns the rest, and its former rows, int64 [K].
    """
    covered = box_ops.ioa(boxlist2.get(), boxlist1.get())
    return _keep(boxlist1, tf.reduce_max(covered, axis=0) >= min_overlap)


def prune_small_boxes(boxlist: BoxList, min_side: float) -> BoxList:
    """Drops boxes with a side below `min_side`."""
    height, width = height_width(boxlist)
    return _keep(boxlist, (height >= min_side) & (width >= min_side))[0]


def change_coordinate_frame(boxlist: BoxList, window: tf.Tensor) -> BoxList:
    """Expresses boxes in the frame where the window [4] is [0, 0, 1, 1]."""
    return _with_boxes(boxlist, box_ops.change_coordinate_frame(boxlist.get(), window))


def to_normalized_coordinates(boxlist: BoxList, height: int | tf.Tensor, width: int | tf.Tensor,
                              check_range: bool = True) -> BoxList:
    """Maps pixels to [0, 1].

    Raises:
        tf.errors.InvalidArgumentError: if check_range and the boxes look normalized already.
    """
    boxes = boxlist.get()
    if check_range:
        boxes = _checked(boxes, tf.reduce_max(boxes) > 1.0 + _SLACK,
                         "to_normalized_coordinates: want pixels, got normalized boxes")
    return _with_boxes(boxlist, box_ops.to_normalized(boxes, height, width))


def to_absolute_coordinates(boxlist: BoxList, height: int | tf.Tensor, width: int | tf.Tensor,
                            check_range: bool = True,
                            maximum_normalized_coordinate: float = 1.1) -> BoxList:
    """Maps [0, 1] to pixels.

    Raises:
        tf.errors.InvalidArgumentError: if check_range and a coordinate is above
            `maximum_normalized_coordinate`.
    """
    boxes = boxlist.get()
    if check_range:
        boxes = _checked(boxes, tf.reduce_max(boxes) <= maximum_normalized_coordinate,
                         "to_absolute_coordinates: want normalized boxes, got pixels")
    return _with_boxes(boxlist, box_ops.to_absolute(boxes, height, width))


def gather(boxlist: BoxList, indices: tf.Tensor, fields: list[str] | None = None) -> BoxList:
    """Takes rows at int [K].

    Args:
        boxlist: what to take from.
        indices: rows.
        fields: fields to take along; None: all.
    Raises:
        ValueError: if a field does not exist.
    """
    taken = BoxList(tf.gather(boxlist.get(), indices))
    for field in boxlist.get_extra_fields() if fields is None else fields:
        taken.add_field(field, tf.gather(boxlist.get_field(field), indices))
    return taken


def boolean_mask(boxlist: BoxList, indicator: tf.Tensor, fields: list[str] | None = None,
                 use_static_shapes: bool = False, indicator_sum: int | None = None) -> BoxList:
    """Keeps rows where `indicator` is true.

    Args:
        boxlist: what to keep rows of.
        indicator: bool [N].
        fields: fields to keep; None: all.
        use_static_shapes: return `indicator_sum` rows, whatever the indicator says. The kept rows
            come first; if they are too few, the first of the others follow.
        indicator_sum: number of true values.
    Raises:
        ValueError: if use_static_shapes without indicator_sum, or a field does not exist.
    """
    if not use_static_shapes:
        return gather(boxlist, tf.where(indicator)[:, 0], fields)
    if indicator_sum is None:
        raise ValueError("boolean_mask: use_static_shapes needs indicator_sum")
    kept_first = tf.argsort(tf.cast(~indicator, tf.int32), stable=True)
    return gather(boxlist, kept_first[:indicator_sum], fields)


def concatenate(boxlists: list[BoxList], fields: list[str] | None = None) -> BoxList:
    """Joins lists.

    Args:
        boxlists: one or more.
        fields: fields to keep; None: those of the first list. All lists must have them.
    Raises:
        ValueError: if there is no list, or one lacks a field.
    """
    if not boxlists:
        raise ValueError("concatenate: want one or more box lists, got none")
    joined = BoxList(tf.concat([boxlist.get() for boxlist in boxlists], axis=0))
    for field in boxlists[0].get_extra_fields() if fields is None else fields:
        joined.add_field(
            field, tf.concat([boxlist.get_field(field) for boxlist in boxlists], axis=0))
    return joined


def sort_by_field(boxlist: BoxList, field: str, order: int = SortOrder.descend) -> BoxList:
    """Sorts rows by a field [N]. Raises ValueError for an unknown order or field."""
    directions = {SortOrder.descend: "DESCENDING", SortOrder.ascend: "ASCENDING"}
    if order not in directions:
        raise ValueError(f"sort_by_field: want SortOrder.ascend or SortOrder.descend, got {order}")
    rows = tf.argsort(boxlist.get_field(field), direction=directions[order], stable=True)
    return gather(boxlist, rows)


def filter_field_value_equals(boxlist: BoxList, field: str, value: float) -> BoxList:
    """Keeps rows whose field equals a value."""
    return _keep(boxlist, tf.equal(boxlist.get_field(field), value))[0]


def filter_greater_than(boxlist: BoxList, thresh: float) -> BoxList:
    """Keeps rows whose "scores" [N] or [N, 1] are above `thresh`."""
    return _keep(boxlist, tf.reshape(boxlist.get_field("scores"), [-1]) > thresh)[0]


def non_max_suppression(boxlist: BoxList, thresh: float, max_output_size: int) -> BoxList:
    """Keeps the best boxes by "scores" [N], none overlapping a better one by more than `thresh`.

    Raises:
        ValueError: if thresh is not in [0, 1] or there are no scores.
    """
    if not 0.0 <= thresh <= 1.0:
        raise ValueError(f"non_max_suppression: thresh: want a number in [0, 1], got {thresh}")
    kept = tf.image.non_max_suppression(boxlist.get(), boxlist.get_field("scores"),
                                        max_output_size, iou_threshold=thresh)
    return gather(boxlist, kept)


def pad_or_clip_box_list(boxlist: BoxList, num_boxes: int | tf.Tensor) -> BoxList:
    """Cuts the list, or appends rows of zeros, to `num_boxes` rows, in all fields."""
    changed = BoxList(_pad_or_clip(boxlist.get(), num_boxes))
    for field in boxlist.get_extra_fields():
        changed.add_field(field, _pad_or_clip(boxlist.get_field(field), num_boxes))
    return changed


def _with_boxes(boxlist: BoxList, boxes: tf.Tensor) -> BoxList:
    changed = BoxList(boxes)
    for field in boxlist.get_extra_fields():
        changed.add_field(field, boxlist.get_field(field))
    return changed


def _keep(boxlist: BoxList, mask: tf.Tensor) -> tuple[BoxList, tf.Tensor]:
    rows = tf.where(mask)[:, 0]
    return gather(boxlist, rows), rows


def _checked(boxes: tf.Tensor, condition: tf.Tensor, message: str) -> tf.Tensor:
    """Returns the boxes, once the condition holds or there are none."""
    with tf.control_dependencies([tf.debugging.Assert(
            condition | tf.equal(tf.size(boxes), 0), [message, "largest:", tf.reduce_max(boxes)])]):
        return tf.identity(boxes)


def _pad_or_clip(values: tf.Tensor, size: int | tf.Tensor) -> tf.Tensor:
    values = values[:size]
    paddings = [[0, size - tf.shape(values)[0]]] + [[0, 0]] * (values.shape.rank - 1)
    static_size = None if tf.is_tensor(size) else size
    return tf.ensure_shape(tf.pad(values, paddings), [static_size, *values.shape[1:]])
