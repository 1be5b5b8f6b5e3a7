"""Draws the detections (or the ground truth) of one image; users find it in visualization_utils."""

import dataclasses
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from PIL import Image

from object_detection.utils import drawing

# Class i is drawn in colour i modulo the length, in the order that users' pictures have always had.
STANDARD_COLORS = """
    AliceBlue Chartreuse Aqua Aquamarine Azure Beige Bisque BlanchedAlmond BlueViolet BurlyWood
    CadetBlue AntiqueWhite Chocolate Coral CornflowerBlue Cornsilk Crimson Cyan DarkCyan
    DarkGoldenRod DarkGrey DarkKhaki DarkOrange DarkOrchid DarkSalmon DarkSeaGreen DarkTurquoise
    DarkViolet DeepPink DeepSkyBlue DodgerBlue FireBrick FloralWhite ForestGreen Fuchsia Gainsboro
    GhostWhite Gold GoldenRod Salmon Tan HoneyDew HotPink IndianRed Ivory Khaki Lavender
    LavenderBlush LawnGreen LemonChiffon LightBlue LightCoral LightCyan LightGoldenRodYellow
    LightGray LightGrey LightGreen LightPink LightSalmon LightSeaGreen LightSkyBlue LightSlateGray
    LightSlateGrey LightSteelBlue LightYellow Lime LimeGreen Linen Magenta MediumAquaMarine
    MediumOrchid MediumPurple MediumSeaGreen MediumSlateBlue MediumSpringGreen MediumTurquoise
    MediumVioletRed MintCream MistyRose Moccasin NavajoWhite OldLace Olive OliveDrab Orange
    OrangeRed Orchid PaleGoldenRod PaleGreen PaleTurquoise PaleVioletRed PapayaWhip PeachPuff Peru
    Pink Plum PowderBlue Purple Red RosyBrown RoyalBlue SaddleBrown Green SandyBrown SeaGreen
    SeaShell Sienna Silver SkyBlue SlateBlue SlateGray SlateGrey Snow SpringGreen SteelBlue
    GreenYellow Teal Thistle Tomato Turquoise Violet Wheat White WhiteSmoke Yellow YellowGreen
    """.split()

AGNOSTIC_COLOR = "DarkOrange"
# Coprime with the number of colours, so that tracks with neighbouring ids look unlike.
_TRACK_STRIDE = 13


@dataclasses.dataclass
class _Drawn:
    """Everything that shares one box."""

    box: drawing.Box
    color: str
    rows: list[int] = dataclasses.field(default_factory=list)
    lines: list[str] = dataclasses.field(default_factory=list)


@dataclasses.dataclass(frozen=True)
class _Wording:
    """What a label says."""

    category_index: Mapping[int, Mapping[str, Any]]
    agnostic: bool
    with_label: bool
    with_score: bool
    with_track: bool

    def line(self, class_id: int, score: float, track_id: int | None) -> str:
        name = ""
        if self.with_label and not self.agnostic:
            name = str(self.category_index.get(class_id, {}).get("name", "N/A"))
        parts = [name] if name else []
        if self.with_score:
            parts.append(f"{round(100 * score)}%")
        if self.with_track and track_id is not None:
            parts.append(f"ID {track_id}")
        return ": ".join(parts)


def visualize_boxes_and_labels_on_image_array(
        image: np.ndarray, boxes: np.ndarray, classes: np.ndarray, scores: np.ndarray | None,
        category_index: Mapping[int, Mapping[str, Any]], instance_masks: np.ndarray | None = None,
        instance_boundaries: np.ndarray | None = None, keypoints: np.ndarray | None = None,
        keypoint_scores: np.ndarray | None = None,
        keypoint_edges: Sequence[tuple[int, int]] | None = None,
        track_ids: np.ndarray | None = None, use_normalized_coordinates: bool = False,
        max_boxes_to_draw: int | None = 20, min_score_thresh: float = 0.5,
        agnostic_mode: bool = False, line_thickness: int = 4, mask_alpha: float = 0.4,
        groundtruth_box_visualization_color: str = "black", skip_boxes: bool = False,
        skip_scores: bool = False, skip_labels: bool = False,
        skip_track_ids: bool = False) -> np.ndarray:
    """Draws boxes with labels such as `dog: 87%` in place, and returns the same array.

    Detections that share one box share one frame, with their labels stacked. The first rows win:
    they are drawn over later ones and their labels are placed first.

    Args:
        image: uint8 [H, W, 3].
        boxes: [N, 4], ymin, xmin, ymax, xmax.
        classes: [N], ids of `category_index` (1-based); an unknown id reads `N/A`.
        scores: [N]; rows at or below `min_score_thresh` are left out. None: the boxes are ground
            truth, all are drawn, in one colour and without label.
        category_index: id to a dictionary with `name`.
        instance_masks: uint8 [N, H, W] of 0 and 1, of the image's size.
        instance_boundaries: the same, drawn in red and opaque.
        keypoints: [N, K, 2], y and x in the unit of the boxes; NaN is a point not there.
        keypoint_scores: [N, K]; points at or below `min_score_thresh` are left out.
        keypoint_edges: pairs of keypoint numbers to join.
        track_ids: [N], written after the score; the colour then follows the track.
        max_boxes_to_draw: at most this many boxes; None or 0 for all.
        agnostic_mode: one colour, no class names.
    Raises:
        ValueError: if the image or a mask has a shape or type that cannot be drawn.
    """
    check_image(image)
    boxes = np.reshape(boxes, [-1, 4])
    wording = _Wording(category_index or {}, agnostic_mode, not skip_labels, not skip_scores,
                       not skip_track_ids)
    drawn = _choose(
        boxes, None if scores is None else np.asarray(scores), min_score_thresh,
        max_boxes_to_draw or len(boxes),
        lambda box: drawing.to_pixels(box, *image.shape[:2], use_normalized_coordinates))
    for item in drawn:
        if scores is None:
            item.color = groundtruth_box_visualization_color
            continue
        for row in item.rows:
            track = None if track_ids is None else int(np.asarray(track_ids)[row])
            class_id = int(np.asarray(classes)[row])
            item.lines.append(wording.line(class_id, float(np.asarray(scores)[row]), track))
            item.color = _color(class_id, track, agnostic_mode)
    for item in reversed(drawn):
        if instance_masks is not None:
            draw_mask(image, instance_masks[item.rows[-1]], item.color, mask_alpha)
        if instance_boundaries is not None:
            draw_mask(image, instance_boundaries[item.rows[-1]], "red", 1.0)
    canvas = Image.fromarray(np.asarray(image, np.uint8))
    for item in reversed(drawn):
        drawing.draw_frame(canvas, item.box, item.color, 0 if skip_boxes else line_thickness)
        if keypoints is not None:
            last = item.rows[-1]
            draw_keypoints(canvas, keypoints[last],
                           None if keypoint_scores is None else keypoint_scores[last],
                           use_normalized_coordinates,
                           KeypointStyle(min_score_thresh, item.color, line_thickness / 2,
                                         keypoint_edges, item.color, line_thickness // 2))
    drawing.draw_labels(canvas, [drawing.Label(item.box, tuple(item.lines), item.color)
                                 for item in drawn])
    np.copyto(image, np.asarray(canvas))
    return image


def check_image(image: np.ndarray) -> None:
    """Raises ValueError unless `image` is a writable [H, W, 3] array with pixels."""
    if not isinstance(image, np.ndarray) or image.ndim != 3 or image.shape[2] != 3:
        got = getattr(image, "shape", type(image).__name__)
        raise ValueError(f"image: want a NumPy array [height, width, 3], got {got}; for a gray "
                         "image use np.stack([gray] * 3, axis=-1)")
    if not image.size:
        raise ValueError(f"image: no pixels in shape {image.shape}")
    if not image.flags.writeable:
        raise ValueError("image: the array is read-only and drawing is in place; pass "
                         "np.array(image)")


def draw_mask(image: np.ndarray, mask: np.ndarray, color: str, alpha: float) -> None:
    """Mixes `color` into uint8 `image` where uint8 `mask` is 1. Raises ValueError; see callers."""
    if image.dtype != np.uint8:
        raise ValueError(f"image: masks are drawn on uint8 images, got {image.dtype}")
    if mask.dtype != np.uint8:
        raise ValueError(f"mask: want uint8, got {mask.dtype}; for probabilities use "
                         "(mask > 0.5).astype(np.uint8)")
    if mask.shape != image.shape[:2]:
        raise ValueError(
            f"mask: want the image's size {image.shape[:2]}, got {mask.shape}; masks cut to their "
            "boxes go through ops.reframe_box_masks_to_image_masks first")
    if mask.size and mask.max() > 1:
        raise ValueError(f"mask: want values 0 and 1, got {mask.max()}")
    drawing.blend_mask(image, mask, color, alpha)


@dataclasses.dataclass(frozen=True)
class KeypointStyle:
    """Which keypoints are drawn, and how."""

    min_score: float = 0.5
    color: str = "red"
    radius: float = 2
    edges: Sequence[tuple[int, int]] | None = None
    edge_color: str = "green"
    edge_width: int = 2


def draw_keypoints(canvas: Image.Image, keypoints: np.ndarray, scores: np.ndarray | None,
                   is_normalized: bool, style: KeypointStyle) -> None:
    """Draws the edges and dots of [K, 2] keypoints, y and x."""
    points = np.asarray(keypoints, np.float64)
    is_shown = np.isfinite(points).all(axis=1)
    if scores is not None:
        is_shown &= np.asarray(scores) > style.min_score
    if is_normalized:
        points = points * [canvas.height, canvas.width]
    if style.edges:
        drawing.draw_edges(canvas, points, is_shown, style.edges, style.edge_color,
                           style.edge_width)
    drawing.draw_points(canvas, points[is_shown], style.color, style.radius)


def _choose(boxes: np.ndarray, scores: np.ndarray | None, min_score: float, limit: int,
            to_pixels: Any) -> list[_Drawn]:
    """Groups the rows to be drawn by box, in the order in which the boxes come."""
    chosen: dict[tuple[float, ...], _Drawn] = {}
    for row, box in enumerate(boxes):
        if len(chosen) == limit:
            break
        if scores is not None and not scores[row] > min_score:
            continue
        pixels = to_pixels(box)
        if pixels is not None:
            chosen.setdefault(tuple(box.tolist()), _Drawn(pixels, "black")).rows.append(row)
    return list(chosen.values())


def _color(class_id: int, track_id: int | None, agnostic: bool) -> str:
    if agnostic:
        return AGNOSTIC_COLOR
    number = class_id if track_id is None else _TRACK_STRIDE * track_id
    return STANDARD_COLORS[number % len(STANDARD_COLORS)]
