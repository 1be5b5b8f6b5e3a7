"""Puts masks that are cut to their boxes back into the image, one at a time.

The samples are those of `ops.reframe_box_masks_to_image_masks` (bilinear, corners aligned), but
only the part inside the box is computed: a hundred masks of a photograph would not fit in memory.
"""

from typing import NamedTuple

import numpy as np
from pycocotools import mask as mask_api

THRESHOLD = 0.5  # a pixel belongs to an object above this


class PlacedMask(NamedTuple):
    """Part of an image mask; everything outside of it is 0."""

    pixels: np.ndarray  # uint8 [h, w], 0 or 1
    top: int
    left: int


def place(mask: np.ndarray, box: np.ndarray, height: int, width: int,
          threshold: float = THRESHOLD) -> PlacedMask:
    """Resizes a box-framed mask to the pixels that its box covers.

    Args:
        mask: float [mask height, mask width] in [0, 1].
        box: [4], ymin, xmin, ymax, xmax relative to the image.
        threshold: values above it are set.
    """
    top, rows = _positions(box[0], box[2], mask.shape[0], height)
    left, columns = _positions(box[1], box[3], mask.shape[1], width)
    resized = _interpolate(_interpolate(mask.astype(np.float32), rows).T, columns).T
    return PlacedMask((resized > threshold).astype(np.uint8), top, left)


def encode(placed: PlacedMask, height: int, width: int) -> dict[str, object]:
    """Returns the COCO run-length encoding of the whole image's mask, ready for JSON."""
    full = np.zeros([height, width], np.uint8, order="F")
    rows, columns = placed.pixels.shape
    full[placed.top:placed.top + rows, placed.left:placed.left + columns] = placed.pixels
    encoded = mask_api.encode(full)
    return {"size": [int(side) for side in encoded["size"]],
            "counts": encoded["counts"].decode("ascii")}


def _positions(low: float, high: float, samples: int, length: int) -> tuple[int, np.ndarray]:
    """Returns the first pixel inside [low, high], and where each pixel lies among the samples."""
    if not high > low:
        return 0, np.zeros([0], np.float32)
    relative = np.arange(length, dtype=np.float64) / max(length - 1, 1)
    positions = (relative - low) / (high - low) * (samples - 1)
    inside = np.flatnonzero((positions >= 0) & (positions <= samples - 1))
    return (int(inside[0]) if inside.size else 0), positions[inside]


def _interpolate(values: np.ndarray, positions: np.ndarray) -> np.ndarray:
    """Samples [rows, columns] linearly at fractional rows."""
    below = np.floor(positions).astype(np.int64)
    above = np.minimum(below + 1, len(values) - 1)
    share = (positions - below)[:, None].astype(np.float32)
    return values[below] * (1.0 - share) + values[above] * share
