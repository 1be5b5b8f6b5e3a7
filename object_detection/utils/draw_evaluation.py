"""Draws batches of tensors: detections beside ground truth, as evaluation shows them.

Users find these in visualization_utils. Drawing itself runs in NumPy, also inside `tf.function`.
"""

import abc
import dataclasses
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import tensorflow as tf
from PIL import Image

from object_detection.utils.draw_detections import visualize_boxes_and_labels_on_image_array

CategoryIndex = Mapping[int, Mapping[str, Any]]
KeypointEdges = Sequence[tuple[int, int]]

_SEPARATE_FIELDS = ("original_image", "image_additional_channels")


@dataclasses.dataclass(frozen=True)
class _Style:
    """What is the same for every image of a batch."""

    category_index: CategoryIndex
    keypoint_edges: KeypointEdges | None
    max_boxes: int | None
    min_score: float
    is_normalized: bool


def draw_bounding_boxes_on_image_tensors(
        images: tf.Tensor, boxes: tf.Tensor, classes: tf.Tensor, scores: tf.Tensor,
        category_index: CategoryIndex, original_image_spatial_shape: tf.Tensor | None = None,
        true_image_shape: tf.Tensor | None = None, instance_masks: tf.Tensor | None = None,
        keypoints: tf.Tensor | None = None, keypoint_scores: tf.Tensor | None = None,
        keypoint_edges: KeypointEdges | None = None, track_ids: tf.Tensor | None = None,
        max_boxes_to_draw: int | None = 20, min_score_thresh: float = 0.2,
        use_normalized_coordinates: bool = True) -> tf.Tensor:
    """Draws the detections of a batch.

    Args:
        images: uint8 [B, H, W, C]; one channel is shown as gray, channels past three are left out.
        boxes: float32 [B, N, 4], relative to the image without padding.
        classes: [B, N], ids of `category_index`.
        scores: float32 [B, N].
        original_image_spatial_shape: int32 [B, 2], the size that each image is scaled to before
            drawing.
        true_image_shape: int32 [B, 3], the size that each image is cut to before that.
        instance_masks: [B, N, H', W'], of the size that is drawn, or of the images' size.
        keypoints: float32 [B, N, K, 2].
        keypoint_scores: float32 [B, N, K].
        track_ids: int32 [B, N].
    Returns:
        uint8 [B, H, W, 3]; if sizes differ, smaller images are padded at the bottom and right.
    """
    given = {"boxes": boxes, "classes": classes, "scores": scores, "masks": instance_masks,
             "keypoints": keypoints, "keypoint_scores": keypoint_scores, "track_ids": track_ids,
             "original": original_image_spatial_shape, "true": true_image_shape}
    names = [name for name, value in given.items() if value is not None]
    style = _Style(category_index, keypoint_edges, max_boxes_to_draw, min_score_thresh,
                   use_normalized_coordinates)

    def draw_batch(batch: np.ndarray, *values: np.ndarray) -> np.ndarray:
        fields = dict(zip(names, values))
        drawn = [_draw_one(image, {name: value[number] for name, value in fields.items()}, style)
                 for number, image in enumerate(batch)]
        return _stack(drawn, batch.shape)

    drawn = tf.numpy_function(draw_batch, [images, *(given[name] for name in names)], tf.uint8,
                              stateful=False)
    resized = original_image_spatial_shape is not None or true_image_shape is not None
    height, width = (None, None) if resized else images.shape[1:3]
    return tf.ensure_shape(drawn, [images.shape[0], height, width, 3])


def draw_side_by_side_evaluation_image(
        eval_dict: Mapping[str, tf.Tensor], category_index: CategoryIndex,
        max_boxes_to_draw: int | None = 20, min_score_thresh: float = 0.2,
        use_normalized_coordinates: bool = True,
        keypoint_edges: KeypointEdges | None = None) -> list[tf.Tensor]:
    """Draws detections (left) beside all of the ground truth (right).

    Args:
        eval_dict: `original_image` uint8 [B, H, W, C], and of each image `detection_boxes`,
            `detection_classes`, `detection_scores`, `groundtruth_boxes`, `groundtruth_classes`; if
            there, also masks, keypoints, `num_groundtruth_boxes_per_image`,
            `original_image_spatial_shape` and `true_image_shape`. With one image, the batch
            dimension of all but the image may be missing. Classes are ids of `category_index`.
    Returns:
        One uint8 [1, H, 2 * W, 3] per image.
    """
    fields = dict(eval_dict)
    if fields["detection_classes"].shape.rank == 1:
        fields = {name: value if name in _SEPARATE_FIELDS or value is None
                  else tf.expand_dims(value, 0) for name, value in fields.items()}
    pictures = []
    for number in range(fields["original_image"].shape[0]):
        one = {name: value[number:number + 1] for name, value in fields.items()
               if isinstance(value, tf.Tensor) and value.shape.rank}
        count = one.get("num_groundtruth_boxes_per_image", one.get("num_groundtruth_boxes"))
        truth = [one[name] for name in ("groundtruth_boxes", "groundtruth_classes")]
        masks = one.get("groundtruth_instance_masks")
        points = one.get("groundtruth_keypoints")
        if count is not None:
            rows = tf.reshape(count, [])
            truth = [value[:, :rows] for value in truth]
            masks = None if masks is None else masks[:, :rows]
            points = None if points is None else points[:, :rows]
        shapes = {"original_image_spatial_shape": one.get("original_image_spatial_shape"),
                  "true_image_shape": one.get("true_image_shape")}
        found = draw_bounding_boxes_on_image_tensors(
            one["original_image"], one["detection_boxes"], one["detection_classes"],
            one["detection_scores"], category_index, **shapes,
            instance_masks=one.get("detection_masks"), keypoints=one.get("detection_keypoints"),
            keypoint_scores=one.get("detection_keypoint_scores"), keypoint_edges=keypoint_edges,
            max_boxes_to_draw=max_boxes_to_draw, min_score_thresh=min_score_thresh,
            use_normalized_coordinates=use_normalized_coordinates)
        true = draw_bounding_boxes_on_image_tensors(
            one["original_image"], truth[0], truth[1], tf.ones(tf.shape(truth[1])), category_index,
            **shapes, instance_masks=masks, keypoints=points, keypoint_edges=keypoint_edges,
            max_boxes_to_draw=None, min_score_thresh=0.0,
            use_normalized_coordinates=use_normalized_coordinates)
        pictures.append(tf.concat([found, true], axis=2))
    return pictures


class EvalMetricOpsVisualization(abc.ABC):
    """Collects pictures over an evaluation; subclasses say what a picture shows."""

    def __init__(self, category_index: CategoryIndex, max_examples_to_draw: int = 5,
                 max_boxes_to_draw: int | None = 20, min_score_thresh: float = 0.2,
                 use_normalized_coordinates: bool = True,
                 summary_name_prefix: str = "evaluation_image",
                 keypoint_edges: KeypointEdges | None = None) -> None:
        self._category_index = category_index
        self._max_examples = max_examples_to_draw
        self._max_boxes = max_boxes_to_draw
        self._min_score = min_score_thresh
        self._is_normalized = use_normalized_coordinates
        self._prefix = summary_name_prefix
        self._keypoint_edges = keypoint_edges
        self._images: list[tf.Tensor] = []

    @abc.abstractmethod
    def images_from_evaluation_dict(self, eval_dict: Mapping[str, tf.Tensor]) -> list[tf.Tensor]:
        """Returns the pictures of a batch, each uint8 [1, H, W, 3]."""

    def clear(self) -> None:
        """Forgets all pictures, before the next evaluation."""
        self._images = []

    def add_images(self, images: Sequence[tf.Tensor]) -> None:
        """Keeps pictures until `max_examples_to_draw` are there."""
        self._images.extend(images[:max(0, self._max_examples - len(self._images))])

    def get_estimator_eval_metric_ops(
            self, eval_dict: Mapping[str, tf.Tensor]) -> dict[str, tf.Tensor]:
        """Adds the pictures of a batch; returns all that are kept, by their summary tags.

        Once enough are kept, nothing more is drawn. Call it eagerly, then write_summaries.
        """
        if len(self._images) < self._max_examples:
            self.add_images(self.images_from_evaluation_dict(eval_dict))
        return {f"{self._prefix}/{number}": image for number, image in enumerate(self._images)}

    def write_summaries(self, step: int) -> None:
        """Writes the pictures that are kept to the default tf.summary writer."""
        for number, image in enumerate(self._images):
            _write_picture(f"{self._prefix}/{number}", image[0], step)


class VisualizeSingleFrameDetections(EvalMetricOpsVisualization):
    """Pictures of detections (left) beside the ground truth (right)."""

    def __init__(self, category_index: CategoryIndex, max_examples_to_draw: int = 5,
                 max_boxes_to_draw: int | None = 20, min_score_thresh: float = 0.2,
                 use_normalized_coordinates: bool = True,
                 summary_name_prefix: str = "Detections_Left_Groundtruth_Right",
                 keypoint_edges: KeypointEdges | None = None) -> None:
        super().__init__(category_index, max_examples_to_draw, max_boxes_to_draw, min_score_thresh,
                         use_normalized_coordinates, summary_name_prefix, keypoint_edges)

    def images_from_evaluation_dict(self, eval_dict: Mapping[str, tf.Tensor]) -> list[tf.Tensor]:
        """Returns one picture per image; see draw_side_by_side_evaluation_image."""
        return draw_side_by_side_evaluation_image(
            eval_dict, self._category_index, self._max_boxes, self._min_score, self._is_normalized,
            self._keypoint_edges)


def _write_picture(tag: str, image: tf.Tensor, step: int) -> None:
    """Writes an image summary; tf.summary.image would need TensorBoard, which only reads them."""
    metadata = tf.compat.v1.SummaryMetadata()
    metadata.plugin_data.plugin_name = "images"
    height, width = image.shape[:2]
    content = [str(width).encode(), str(height).encode(), tf.io.encode_png(image).numpy()]
    tf.summary.write(tag, tf.constant(content), step=step, metadata=metadata)


def _draw_one(image: np.ndarray, fields: dict[str, np.ndarray], style: _Style) -> np.ndarray:
    padded = image.shape[:2]
    true = tuple(fields["true"][:2]) if "true" in fields else padded
    size = tuple(fields["original"][:2]) if "original" in fields else true
    image = _scaled(_three_channels(image), true, size)
    masks = fields.get("masks")
    if masks is not None:
        masks = [_fitted(mask, padded, true, size) for mask in masks]
    return visualize_boxes_and_labels_on_image_array(
        np.array(image), fields["boxes"], fields["classes"], fields["scores"],
        style.category_index, masks, keypoints=fields.get("keypoints"),
        keypoint_scores=fields.get("keypoint_scores"), keypoint_edges=style.keypoint_edges,
        track_ids=fields.get("track_ids"), use_normalized_coordinates=style.is_normalized,
        max_boxes_to_draw=style.max_boxes, min_score_thresh=style.min_score, line_thickness=4)


def _three_channels(image: np.ndarray) -> np.ndarray:
    image = image.astype(np.uint8)
    return np.repeat(image, 3, axis=2) if image.shape[2] == 1 else image[:, :, :3]


def _scaled(image: np.ndarray, true: tuple[int, int], size: tuple[int, int]) -> np.ndarray:
    """Cuts [H, W] or [H, W, 3] to `true` height and width, then scales it to `size`."""
    image = image[:true[0], :true[1]]
    if image.shape[:2] == tuple(size):
        return image
    resized = Image.fromarray(image).resize((int(size[1]), int(size[0])), Image.Resampling.NEAREST)
    return np.asarray(resized)


def _fitted(mask: np.ndarray, padded: tuple[int, int], true: tuple[int, int],
            size: tuple[int, int]) -> np.ndarray:
    """Brings a mask to the size that is drawn; evaluation pads masks of a batch to one size."""
    mask = (mask > (0.5 if mask.dtype.kind == "f" else 0)).astype(np.uint8)
    if mask.shape == padded and padded != size:
        return _scaled(mask, true, size)
    return mask[:size[0], :size[1]]


def _stack(images: list[np.ndarray], batch_shape: tuple[int, ...]) -> np.ndarray:
    if not images:
        return np.zeros([0, *batch_shape[1:3], 3], np.uint8)
    height, width = np.max([image.shape[:2] for image in images], axis=0)
    stacked = np.zeros([len(images), height, width, 3], np.uint8)
    for number, image in enumerate(images):
        stacked[number, :image.shape[0], :image.shape[1]] = image
    return stacked
