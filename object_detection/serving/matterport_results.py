"""Detections in the form of Matterport's `detect`: boxes and masks in pixels of the given images.

    model = model_builder.build(pipeline.model, is_training=False)
    table.load(model, "mask_rcnn_coco.h5")
    for found in matterport_results.detect(model, images):
        print(found.rois, found.class_ids, found.scores, found.masks.shape)
"""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
import tensorflow as tf

from object_detection.core.model import DetectionModel

_FAR_PIXEL = np.array([0.0, 0.0, 1.0, 1.0], np.float32)


class ImageResult(NamedTuple):
    """The N detections of one image, best first."""

    rois: np.ndarray  # int32 [N, 4]: y1, x1, y2, x2, the far corner outside the object
    class_ids: np.ndarray  # int32 [N], 1 for the first class of the label map
    scores: np.ndarray  # float32 [N]
    masks: np.ndarray  # bool [image height, image width, N]


def detect(model: DetectionModel, images: Sequence[np.ndarray]) -> list[ImageResult]:
    """Detects objects, one image after the other.

    Args:
        model: of a config with `matterport`, built for inference.
        images: uint8 [height, width, 3], of any sizes.
    """
    results = []
    for image in images:
        pixels, true_shapes = model.preprocess(tf.cast(image, tf.float32)[tf.newaxis])
        found = model.postprocess(model.predict(pixels, true_shapes), true_shapes)
        first = {name: value[0].numpy() for name, value in found.items()}
        results.append(unmold(first, true_shapes[0].numpy(), image.shape))
    return results


def unmold(found: Mapping[str, np.ndarray], true_shape: Sequence[int],
           image_shape: Sequence[int]) -> ImageResult:
    """Brings the detections of one image to its size before resizing.

    Args:
        found: results of `postprocess` for this image, without the batch dimension.
        true_shape: height and width in the network input, without padding.
        image_shape: height and width of the result.
    Returns:
        the detections whose boxes have an area in whole pixels.
    """
    count = int(found["num_detections"])
    rois = original_boxes(found["detection_boxes"][:count], true_shape, image_shape)
    has_area = ((rois[:, 2:] - rois[:, :2]) > 0).all(axis=1)
    rois = rois[has_area]
    masks = np.zeros([image_shape[0], image_shape[1], len(rois)], bool)
    if "detection_masks" in found:
        for place, mask in enumerate(found["detection_masks"][:count][has_area]):
            y1, x1, y2, x2 = rois[place]
            masks[y1:y2, x1:x2, place] = resize_mask(mask, (y2 - y1, x2 - x1)) >= 0.5
    return ImageResult(rois, found["detection_classes"][:count][has_area].astype(np.int32) + 1,
                       found["detection_scores"][:count][has_area], masks)


def original_boxes(boxes: np.ndarray, true_shape: Sequence[int],
                   image_shape: Sequence[int]) -> np.ndarray:
    """Returns int32 [N, 4] pixels of the image before resizing.

    First and last pixels of the resized image go to first and last pixels, which is not quite what
    resizing does, but is what Matterport's boxes are.

    Args:
        boxes: float32 [N, 4], edges relative to the image.
    """
    inside = np.tile(np.asarray(true_shape[:2], np.float32), 2)
    outside = np.tile(np.asarray(image_shape[:2], np.float32), 2)
    pixels = boxes * inside - _FAR_PIXEL
    scale = (outside - 1.0) / np.maximum(inside - 1.0, 1.0)
    return np.around(pixels * scale + _FAR_PIXEL).astype(np.int32)


def resize_mask(mask: np.ndarray, shape: tuple[int, int]) -> np.ndarray:
    """Resizes float [h, w] linearly, with half-pixel centres and zeros beyond the border."""
    rows = _interpolated(mask.astype(np.float64), shape[0])
    resized = _interpolated(rows.T, shape[1]).T
    # The zeros around darken the border, but no more than to the least value of the mask.
    return np.clip(resized, mask.min(), mask.max())


def _interpolated(values: np.ndarray, count: int) -> np.ndarray:
    """Samples [rows, columns] at `count` rows."""
    positions = (np.arange(count) + 0.5) * (len(values) / count) - 0.5
    below = np.floor(positions).astype(int)
    share = (positions - below)[:, None]
    padded = np.pad(values, [[1, 1], [0, 0]])
    return padded[below + 1] * (1.0 - share) + padded[below + 2] * share
