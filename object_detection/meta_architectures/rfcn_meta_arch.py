"""R-FCN: the second half of the backbone sees the whole image, not one region after the other.

Dai et al., R-FCN (arXiv:1605.06409). All else is Faster R-CNN.
"""

import tensorflow as tf

from object_detection.core.feature_extractor import SECOND_STAGE_SCOPE
from object_detection.core.structures import HeadOutput
from object_detection.meta_architectures.faster_rcnn_meta_arch import (
    BOX_PREDICTOR_SCOPE,
    FasterRCNNMetaArch,
)


class RFCNMetaArch(FasterRCNNMetaArch):
    """A two-stage detector whose `second.predictor` is an RfcnBoxPredictor.

    `box_classifier_features` in the predictions are those of the whole images.
    """

    @tf.autograph.experimental.do_not_convert
    def predict(self, preprocessed_inputs: tf.Tensor,
                true_image_shapes: tf.Tensor) -> dict[str, tf.Tensor]:
        """As Faster R-CNN, but `final_anchors` is in pixels, as the original has it."""
        predictions = super().predict(preprocessed_inputs, true_image_shapes)
        return {**predictions, "final_anchors": predictions["proposal_boxes"]}

    def _box_stage(self, maps: list[tf.Tensor],
                   boxes_normalized: tf.Tensor) -> tuple[tf.Tensor, HeadOutput]:
        if len(maps) != 1:
            raise ValueError(f"rfcn_box_predictor reads one feature map, got {len(maps)}; choose a "
                             "feature_extractor without a pyramid")
        with self.store.scope(SECOND_STAGE_SCOPE):
            features = self._first.extractor.box_features(maps[0])
        with self.store.scope(BOX_PREDICTOR_SCOPE):
            return features, self._second.predictor.predict_boxes(
                features, boxes_normalized, self._second.cropper)
