"""The one rule by which converters keep, clip or drop an annotated box."""

import math
from typing import NamedTuple


class BoxVerdict(NamedTuple):
    """A cleaned box, or the reason why there is none."""

    box: tuple[float, float, float, float] | None  # xmin, ymin, xmax, ymax in pixels
    reason: str = ""  # why it is dropped; empty if kept
    clipped: bool = False


def clean_box(box: tuple[float, float, float, float], width: float, height: float) -> BoxVerdict:
    """Checks one box against its image.

    Dropped are, in this order: `not_a_number` (NaN or infinite), `inverted` (a maximum below its
    minimum), `zero_size` (no width or no height) and `outside` (no pixel in common with the
    image). What reaches over the edge is clipped.

    Args:
        box: xmin, ymin, xmax, ymax in pixels, edges (not pixel centres).
        width, height: size of the frame in which the box was drawn.
    Returns:
        The verdict; a kept box has 0 <= minimum < maximum <= size.
    """
    xmin, ymin, xmax, ymax = box
    if not all(math.isfinite(edge) for edge in box):
        return BoxVerdict(None, "not_a_number")
    if xmax < xmin or ymax < ymin:
        return BoxVerdict(None, "inverted")
    if xmax == xmin or ymax == ymin:
        return BoxVerdict(None, "zero_size")
    inside = (max(xmin, 0.0), max(ymin, 0.0), min(xmax, float(width)), min(ymax, float(height)))
    if inside[2] <= inside[0] or inside[3] <= inside[1]:
        return BoxVerdict(None, "outside")
    return BoxVerdict(inside, clipped=inside != tuple(box))
