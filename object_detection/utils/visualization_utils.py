"""Draws boxes, labels, masks and keypoints on images, under the names that users import.

Images are uint8 arrays [H, W, 3] (or PIL images) and are drawn on in place. Frames keep the
thickness that is asked for; text grows with the image, so that it stays readable on large ones.
"""

import io
from collections.abc import Sequence

import numpy as np
from PIL import Image

from object_detection.utils import drawing
from object_detection.utils.draw_detections import (
    STANDARD_COLORS,
    KeypointStyle,
    check_image,
    draw_keypoints,
    draw_mask,
    visualize_boxes_and_labels_on_image_array,
)
from object_detection.utils.draw_evaluation import (
    EvalMetricOpsVisualization,
    VisualizeSingleFrameDetections,
    draw_bounding_boxes_on_image_tensors,
    draw_side_by_side_evaluation_image,
)

__all__ = [
    "STANDARD_COLORS", "EvalMetricOpsVisualization", "VisualizeSingleFrameDetections",
    "draw_bounding_box_on_image", "draw_bounding_box_on_image_array",
    "draw_bounding_boxes_on_image", "draw_bounding_boxes_on_image_array",
    "draw_bounding_boxes_on_image_tensors", "draw_keypoints_on_image",
    "draw_keypoints_on_image_array", "draw_mask_on_image_array",
    "draw_side_by_side_evaluation_image", "encode_image_array_as_png_str",
    "save_image_array_as_png", "visualize_boxes_and_labels_on_image_array"]


def save_image_array_as_png(image: np.ndarray, output_path: str) -> None:
    """Writes uint8 [H, W, 3] as a PNG file, whatever the path ends with; any file system."""
    import tensorflow as tf
    data = encode_image_array_as_png_str(image)
    with tf.io.gfile.GFile(output_path, "wb") as file:
        file.write(data)


def encode_image_array_as_png_str(image: np.ndarray) -> bytes:
    """Returns the bytes of a PNG file with the pixels of uint8 [H, W, 3]."""
    buffer = io.BytesIO()
    Image.fromarray(np.asarray(image, np.uint8)).save(buffer, format="PNG")
    return buffer.getvalue()


def draw_bounding_box_on_image_array(
        image: np.ndarray, ymin: float, xmin: float, ymax: float, xmax: float, color: str = "red",
        thickness: int = 4, display_str_list: Sequence[str] = (),
        use_normalized_coordinates: bool = True) -> None:
    """Draws one box on [H, W, 3] in place; see draw_bounding_box_on_image."""
    check_image(image)
    canvas = Image.fromarray(np.asarray(image, np.uint8))
    draw_bounding_box_on_image(canvas, ymin, xmin, ymax, xmax, color, thickness, display_str_list,
                               use_normalized_coordinates)
    np.copyto(image, np.asarray(canvas))


def draw_bounding_box_on_image(
        image: Image.Image, ymin: float, xmin: float, ymax: float, xmax: float, color: str = "red",
        thickness: int = 4, display_str_list: Sequence[str] = (),
        use_normalized_coordinates: bool = True) -> None:
    """Draws one box on a PIL image, with its labels stacked above it, or below if they fit not.

    Args:
        ymin, xmin, ymax, xmax: in pixels, or relative to the image if they are normalized.
        thickness: of the frame, in pixels; 0 draws labels only.
        display_str_list: one line of text each, from top to bottom.
    """
    box = drawing.to_pixels((ymin, xmin, ymax, xmax), image.height, image.width,
                            use_normalized_coordinates)
    if box is None:
        return
    drawing.draw_frame(image, box, color, thickness)
    drawing.draw_labels(image, [drawing.Label(box, tuple(display_str_list), color)])


def draw_bounding_boxes_on_image_array(
        image: np.ndarray, boxes: np.ndarray, color: str = "red", thickness: int = 4,
        display_str_list_list: Sequence[Sequence[str]] = ()) -> None:
    """Draws normalized boxes [N, 4] on [H, W, 3] in place; see draw_bounding_boxes_on_image."""
    check_image(image)
    canvas = Image.fromarray(np.asarray(image, np.uint8))
    draw_bounding_boxes_on_image(canvas, boxes, color, thickness, display_str_list_list)
    np.copyto(image, np.asarray(canvas))


def draw_bounding_boxes_on_image(
        image: Image.Image, boxes: np.ndarray, color: str = "red", thickness: int = 4,
        display_str_list_list: Sequence[Sequence[str]] = ()) -> None:
    """Draws normalized boxes [N, 4] on a PIL image.

    Args:
        display_str_list_list: the labels of each box, or nothing.
    Raises:
        ValueError: if boxes is not [N, 4].
    """
    boxes = np.asarray(boxes)
    if boxes.size == 0:
        return
    if boxes.ndim != 2 or boxes.shape[1] != 4:
        raise ValueError(f"boxes: want shape [N, 4], got {list(boxes.shape)}")
    for number, box in enumerate(boxes.tolist()):
        labels = display_str_list_list[number] if number < len(display_str_list_list) else ()
        draw_bounding_box_on_image(image, *box, color, thickness, labels)


def draw_mask_on_image_array(image: np.ndarray, mask: np.ndarray, color: str = "red",
                             alpha: float = 0.4) -> None:
    """Mixes `color`, with the share `alpha`, into uint8 [H, W, 3] where the mask is 1, in place.

    Args:
        mask: uint8 [H, W] of 0 and 1.
    Raises:
        ValueError: for an image or mask of another type, size or value.
    """
    check_image(image)
    draw_mask(image, mask, color, alpha)


def draw_keypoints_on_image_array(
        image: np.ndarray, keypoints: np.ndarray, keypoint_scores: np.ndarray | None = None,
        min_score_thresh: float = 0.5, color: str = "red", radius: float = 2,
        use_normalized_coordinates: bool = True,
        keypoint_edges: Sequence[tuple[int, int]] | None = None,
        keypoint_edge_color: str = "green", keypoint_edge_width: int = 2) -> None:
    """Draws keypoints on [H, W, 3] in place; see draw_keypoints_on_image."""
    check_image(image)
    canvas = Image.fromarray(np.asarray(image, np.uint8))
    draw_keypoints_on_image(canvas, keypoints, keypoint_scores, min_score_thresh, color, radius,
                            use_normalized_coordinates, keypoint_edges, keypoint_edge_color,
                            keypoint_edge_width)
    np.copyto(image, np.asarray(canvas))


def draw_keypoints_on_image(
        image: Image.Image, keypoints: np.ndarray, keypoint_scores: np.ndarray | None = None,
        min_score_thresh: float = 0.5, color: str = "red", radius: float = 2,
        use_normalized_coordinates: bool = True,
        keypoint_edges: Sequence[tuple[int, int]] | None = None,
        keypoint_edge_color: str = "green", keypoint_edge_width: int = 2) -> None:
    """Draws keypoints [K, 2], y and x, on a PIL image; NaN is a point that is not there.

    Args:
        keypoint_scores: [K]; points at or below `min_score_thresh` are left out, with their edges.
        keypoint_edges: pairs of keypoint numbers to join by a line.
    """
    draw_keypoints(image, keypoints, keypoint_scores, use_normalized_coordinates,
                   KeypointStyle(min_score_thresh, color, radius, keypoint_edges,
                                 keypoint_edge_color, keypoint_edge_width))
