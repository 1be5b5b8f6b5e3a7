"""Second-stage predictor of Faster and Mask R-CNN: heads over the features of one region."""

import dataclasses

import tensorflow as tf

from object_detection.core.structures import HeadOutput
from object_detection.nets.hyperparams import Hyperparams
from object_detection.predictors.heads.box_head import BoxHead
from object_detection.predictors.heads.class_head import ClassHead
from object_detection.predictors.heads.mask_head import MaskHead


@dataclasses.dataclass(frozen=True)
class MaskRCNNBoxPredictor:
    """Averages the features of a region and predicts its class, box and, with a mask head, mask.

    Attributes:
        hyperparams: of the dense layers.
        dropout_keep_probability: of each pooled feature in training; None: no dropout.
    """

    hyperparams: Hyperparams
    box_head: BoxHead
    class_head: ClassHead
    mask_head: MaskHead | None = None
    dropout_keep_probability: float | None = None

    def predict_boxes(self, features: tf.Tensor, training: bool) -> HeadOutput:
        """Predicts from float [regions, h, w, depth]."""
        pooled = tf.reduce_mean(features, axis=[1, 2])
        if training and self.dropout_keep_probability is not None:
            pooled = tf.nn.dropout(pooled, rate=1.0 - self.dropout_keep_probability)
        with self.hyperparams.arg_scope():
            return HeadOutput(self.box_head.predict(pooled), self.class_head.predict(pooled))

    def predict_masks(self, features: tf.Tensor) -> tf.Tensor:
        """Predicts float32 logits [regions, C or 1, mask height, mask width].

        Raises:
            ValueError: if the predictor was built without a mask head.
        """
        if self.mask_head is None:
            raise ValueError("mask_rcnn_box_predictor: set predict_instance_masks: true for masks")
        return self.mask_head.predict(features)
