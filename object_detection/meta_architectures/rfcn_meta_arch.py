"""R-FCN: the second half of the backbone sees the whole image, not one region after the other.

Dai et al., R-FCN (arXiv:1605.06409). All else is Faster R-CNN.
"""

import tensorflow as tf

from object_detection.core.feature_extractor import SECOND_STAGE_SCOPE
from object_detection.core.structures import HeadOutput, Regions
from object_detection.meta_architectures.faster_rcnn_meta_arch import FasterRCNNMetaArch
from object_detection.meta_architectures.region_stage import BOX_PREDICTOR_SCOPE, RegionStage


class PositionSensitiveStage(RegionStage):
    """Reads score maps of whole images at the regions; `features` are those of the images."""

    def heads(self, maps: list[tf.Tensor], regions: Regions) -> tuple[tf.Tensor, HeadOutput]:
        if len(maps) != 1:
            raise ValueError(f"rfcn_box_predictor reads one feature map, got {len(maps)}; choose a "
                             "feature_extractor without a pyramid")
        with self.store.scope(SECOND_STAGE_SCOPE):
            features = self.extractor.box_features(maps[0])
        with self.store.scope(BOX_PREDICTOR_SCOPE):
            return features, self.parts.predictor.predict_boxes(
                features, regions.boxes, self.parts.cropper)


class RFCNMetaArch(FasterRCNNMetaArch):
    """A two-stage detector whose `second.predictor` is an RfcnBoxPredictor.

    `box_classifier_features` in the predictions are those of the whole images.
    """

    _region_stage = PositionSensitiveStage

    @tf.autograph.experimental.do_not_convert
    def predict(self, preprocessed_inputs: tf.Tensor,
                true_image_shapes: tf.Tensor) -> dict[str, tf.Tensor]:
        """As Faster R-CNN, but `final_anchors` is in pixels, as the original has it."""
        predicted = super().predict(preprocessed_inputs, true_image_shapes)
        return {**predicted, "final_anchors": predicted["proposal_boxes"]}
