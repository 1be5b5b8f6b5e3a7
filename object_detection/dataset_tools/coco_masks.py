"""Turns COCO segmentations (polygons, compressed and uncompressed RLE) into masks."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from pycocotools import mask as mask_api


class MaskError(ValueError):
    """A segmentation that gives no mask; the message is one word for reports."""


def decode_segmentation(segmentation: Any, height: int, width: int) -> np.ndarray:
    """Returns the uint8 [height, width] mask of 0 and 1 that a segmentation describes.

    Args:
        segmentation: a list of polygons [x0, y0, x1, y1, ...], of which the union counts, or a
            dict with `size` [height, width] and `counts` (list of run lengths, or COCO's
            compressed text).
    Raises:
        MaskError: `no_mask`, `mask_size` (RLE of another size) or `bad_mask` (not decodable).
    """
    if not segmentation:
        raise MaskError("no_mask")
    if isinstance(segmentation, dict):
        return _decode_rle(segmentation, height, width)
    # pycocotools reads a list of four numbers as a box, so polygons that short must not reach it.
    try:
        polygons = [[float(value) for value in polygon] for polygon in segmentation
                    if len(polygon) >= 6 and len(polygon) % 2 == 0]
    except (TypeError, ValueError) as error:
        raise MaskError("bad_mask") from error
    if not polygons:
        raise MaskError("no_mask")
    if not all(np.isfinite(polygon).all() for polygon in polygons):
        raise MaskError("bad_mask")
    # Far-away corners would make the rasteriser walk, and allocate, that far.
    limit = 4.0 * max(height, width) + 16.0
    polygons = [np.clip(polygon, -limit, limit).tolist() for polygon in polygons]
    union = mask_api.merge(mask_api.frPyObjects(polygons, height, width))
    return _decode_rle(union, height, width)


def _decode_rle(segmentation: dict[str, Any], height: int, width: int) -> np.ndarray:
    counts = segmentation.get("counts")
    if counts is None:
        raise MaskError("no_mask")
    if list(segmentation.get("size", [])) != [height, width]:
        raise MaskError("mask_size")
    runs = counts if isinstance(counts, list) else _run_lengths(counts)
    return _fill_runs(runs, height, width)


def _fill_runs(runs: Sequence[int], height: int, width: int) -> np.ndarray:
    """Fills a mask column by column with runs of 0, 1, 0, 1, ..."""
    try:
        lengths = np.asarray(runs)
    except ValueError as error:  # nested lists of unlike length
        raise MaskError("bad_mask") from error
    sound = (lengths.ndim == 1 and lengths.size and lengths.dtype.kind in "iu"
             and lengths.min() >= 0 and lengths.max() <= height * width
             and lengths.sum() == height * width)
    if not sound:
        raise MaskError("bad_mask")
    values = (np.arange(lengths.size) % 2).astype(np.uint8)
    return np.ascontiguousarray(np.repeat(values, lengths).reshape(width, height).T)


def _run_lengths(counts: str | bytes) -> list[int]:
    """Decodes COCO's compressed counts.

    Each number is stored in groups of 5 bits, lowest first, one character from '0' (48) up per
    group; bit 5 says that another follows, and the last group is sign-extended. From the fourth
    number on, the difference to the number two places before is stored.
    """
    text = counts.encode("ascii", "replace") if isinstance(counts, str) else bytes(counts)
    numbers: list[int] = []
    value = shift = 0
    for character in text:
        group = character - 48
        if not 0 <= group < 64 or shift > 60:
            raise MaskError("bad_mask")
        value |= (group & 31) << shift
        shift += 5
        if group & 32:
            continue
        if group & 16:
            value -= 1 << shift
        numbers.append(value + numbers[-2] if len(numbers) > 2 else value)
        value = shift = 0
    if shift:
        raise MaskError("bad_mask")
    return numbers
