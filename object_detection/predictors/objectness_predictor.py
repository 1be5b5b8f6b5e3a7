"""Region proposal head with one logit per anchor, whose sigmoid says that there is an object."""

import dataclasses

import tensorflow as tf

from object_detection.nets.hyperparams import Hyperparams
from object_detection.predictors.convolutional_box_predictor import ConvolutionalBoxPredictor


@dataclasses.dataclass(frozen=True)
class ObjectnessPredictor:
    """As a ConvolutionalBoxPredictor of one class, but background has the logit 0.

    Softmax of (0, logit) is the sigmoid of the logit, and so are the losses: whatever reads two
    logits reads these.
    """

    hyperparams: Hyperparams

    def predict(self, features: tf.Tensor, num_anchors: int) -> tuple[tf.Tensor, tf.Tensor]:
        """Predicts for the `num_anchors` anchors of each cell of float [B, h, w, depth].

        Returns:
            box encodings, float32 [B, h * w * num_anchors, 4], and logits of background and object,
            float32 [B, h * w * num_anchors, 2].
        """
        one_logit = ConvolutionalBoxPredictor(num_classes=0, hyperparams=self.hyperparams)
        boxes, logits = one_logit.predict(features, num_anchors)
        return boxes, tf.pad(logits, [[0, 0], [0, 0], [1, 0]])
