"""Detections as torchvision's detectors make them."""

import dataclasses

import tensorflow as tf

from object_detection.meta_architectures.results import DetectionPostprocessor
from object_detection.meta_architectures.torchvision.proposals import clipped, wide_enough

MIN_SIDE = 1e-2  # pixels; boxes with a shorter side after clipping are dropped


@dataclasses.dataclass(frozen=True)
class ClipFirstPostprocessor(DetectionPostprocessor):
    """Cuts boxes at the image's edge before they are compared with each other, not after."""

    def candidates(self, boxes: tf.Tensor, scores: tf.Tensor,
                   windows: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
        boxes = clipped(boxes, windows)
        return boxes, tf.where(wide_enough(boxes, MIN_SIDE), scores, float("-inf"))
