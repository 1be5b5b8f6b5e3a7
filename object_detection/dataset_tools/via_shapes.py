"""Turns the shapes of the VGG Image Annotator into outlines."""

import math
from collections.abc import Mapping
from typing import Any

_ROUND_CORNERS = 72  # corners of the polygon that stands for a circle or an ellipse


class ShapeError(ValueError):
    """A shape that is no region; the message is one word for reports."""


def outline(shape: Mapping[str, Any]) -> list[float]:
    """Returns the polygon [x0, y0, x1, y1, ...] of a region, in pixels.

    Args:
        shape: `shape_attributes` of a region. Its name is polygon, polyline (which is closed),
            rect, circle or ellipse. `theta`, the angle of an ellipse, is in radians, clockwise in
            the image.
    Raises:
        ShapeError: `unknown_shape` (a point is one, too), `too_few_points` (below three) or
            `bad_shape` (numbers that are missing, not finite or negative lengths).
    """
    kind = shape.get("name")
    if kind not in _OUTLINES:
        raise ShapeError("unknown_shape")
    try:
        corners = [float(value) for value in _OUTLINES[kind](shape)]
    except (KeyError, TypeError, ValueError) as error:
        if isinstance(error, ShapeError):
            raise
        raise ShapeError("bad_shape") from error
    if not all(math.isfinite(value) for value in corners):
        raise ShapeError("bad_shape")
    return corners


def box_around(corners: list[float]) -> tuple[float, float, float, float]:
    """Returns xmin, ymin, xmax, ymax of an outline."""
    xs, ys = corners[0::2], corners[1::2]
    return min(xs), min(ys), max(xs), max(ys)


def _polygon(shape: Mapping[str, Any]) -> list[float]:
    xs, ys = list(shape["all_points_x"]), list(shape["all_points_y"])
    if len(xs) != len(ys):
        raise ShapeError("bad_shape")
    points = list(zip(xs, ys))
    if len(points) > 1 and points[0] == points[-1]:  # some versions repeat the first point
        points.pop()
    if len(set(points)) < 3:
        raise ShapeError("too_few_points")
    return [value for point in points for value in point]


def _rect(shape: Mapping[str, Any]) -> list[float]:
    x, y = float(shape["x"]), float(shape["y"])
    width, height = _length(shape["width"]), _length(shape["height"])
    return [x, y, x + width, y, x + width, y + height, x, y + height]


def _circle(shape: Mapping[str, Any]) -> list[float]:
    radius = _length(shape["r"])
    return _round(float(shape["cx"]), float(shape["cy"]), radius, radius, 0.0)


def _ellipse(shape: Mapping[str, Any]) -> list[float]:
    return _round(float(shape["cx"]), float(shape["cy"]), _length(shape["rx"]),
                  _length(shape["ry"]), float(shape.get("theta") or 0.0))


def _round(x: float, y: float, x_radius: float, y_radius: float, angle: float) -> list[float]:
    corners = []
    for number in range(_ROUND_CORNERS):
        turn = 2.0 * math.pi * number / _ROUND_CORNERS
        along, across = x_radius * math.cos(turn), y_radius * math.sin(turn)
        corners += [x + along * math.cos(angle) - across * math.sin(angle),
                    y + along * math.sin(angle) + across * math.cos(angle)]
    return corners


def _length(value: Any) -> float:
    length = float(value)
    if length < 0:
        raise ShapeError("bad_shape")
    return length


_OUTLINES = {"polygon": _polygon, "polyline": _polygon, "rect": _rect, "circle": _circle,
             "ellipse": _ellipse}
