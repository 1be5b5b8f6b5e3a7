"""The second half of the detector: from regions and feature maps to boxes, classes and masks."""

import dataclasses

import tensorflow as tf

from object_detection.core.feature_extractor import (
    SECOND_STAGE_SCOPE,
    FasterRCNNFeatureExtractor,
)
from object_detection.core.structures import HeadOutput, ImageExtent, Proposals, Regions
from object_detection.meta_architectures import results
from object_detection.meta_architectures.settings import DetectorSettings, SecondStage
from object_detection.nets.variable_store import VariableStore

BOX_PREDICTOR_SCOPE = "SecondStageBoxPredictor"


@dataclasses.dataclass(frozen=True)
class RegionStage:
    """Runs the parts of the second stage on regions.

    Boxes are [B, P, 4] in pixels.
    """

    settings: DetectorSettings
    store: VariableStore
    extractor: FasterRCNNFeatureExtractor
    parts: SecondStage

    def to_regions(self, boxes: tf.Tensor, images: ImageExtent) -> Regions:
        """Returns where to crop; no gradient, even if that of a fault passes through the boxes."""
        size = images.size
        if not self.settings.crops_ignore_map_padding:
            size = self.extractor.covered_size(size)
        return Regions(tf.stop_gradient(self.settings.frame.to_normalized(boxes, size)), size)

    def heads(self, maps: list[tf.Tensor], regions: Regions) -> tuple[tf.Tensor, HeadOutput]:
        """Returns the features of regions and what the heads read from them."""
        features = self._box_features(self.parts.cropper.crop(maps, *regions))
        with self.store.scope(BOX_PREDICTOR_SCOPE):
            return features, self.parts.predictor.predict_boxes(
                features, self.settings.is_training)

    def masks(self, maps: list[tf.Tensor], regions: Regions,
              features: tf.Tensor | None = None) -> tf.Tensor:
        """Draws masks, float32 logits [B * P, C or 1, height, width].

        Args:
            features: of these regions as `heads` returns them, if they are known.
        """
        if self.parts.mask_cropper is not None:
            crops = self.parts.mask_cropper.crop(maps, *regions)
            with self.store.scope(SECOND_STAGE_SCOPE):
                features = self.extractor.mask_features(crops)
        elif features is None:
            features = self._box_features(self.parts.cropper.crop(maps, *regions))
        with self.store.scope(BOX_PREDICTOR_SCOPE):
            return self.parts.predictor.predict_masks(features)

    def masks_of_detections(self, maps: list[tf.Tensor], head: HeadOutput, proposals: Proposals,
                            images: ImageExtent) -> dict[str, tf.Tensor]:
        """Detects, and draws masks of the final boxes."""
        detections = self.parts.postprocessor.detect(head, proposals, images)
        boxes = self.drawn_boxes(detections, images)
        return {**detections.as_dict(), "mask_boxes": boxes,
                "mask_predictions": self.masks(maps, self.to_regions(boxes, images))}

    def drawn_boxes(self, detections: results.Detections, images: ImageExtent) -> tf.Tensor:
        """Returns where detections are cropped again."""
        if self.settings.masks_cropped_in_true_frame:
            return self.settings.frame.from_normalized(detections.boxes, images.size)
        return detections.input_boxes

    def final_features(self, maps: list[tf.Tensor], boxes: tf.Tensor,
                       images: ImageExtent) -> dict[str, tf.Tensor]:
        """Returns what the settings ask for of the features of final boxes."""
        found = {}
        if not (self.settings.box_features_in_output or self.settings.rpn_features_in_output):
            return found
        crops = self.parts.cropper.crop(maps, *self.to_regions(boxes, images))
        batch = tf.shape(boxes)[:2]
        if self.settings.rpn_features_in_output:
            found["cropped_rpn_box_features"] = _per_box(crops, batch)
        if self.settings.box_features_in_output:
            found["detection_features"] = _per_box(self._box_features(crops), batch)
        return found

    def _box_features(self, crops: tf.Tensor) -> tf.Tensor:
        with self.store.scope(SECOND_STAGE_SCOPE):
            return self.extractor.box_features(crops)


def _per_box(features: tf.Tensor, batch: tf.Tensor) -> tf.Tensor:
    """Reshapes [B * D, h, w, depth] to [B, D, h, w, depth]."""
    return tf.reshape(features, tf.concat([batch, features.shape[1:]], axis=0))
