"""Second-stage predictor of R-FCN: score maps of the whole image, read at each region.

Dai et al., R-FCN (arXiv:1605.06409), section 3.
"""

import dataclasses

import tensorflow as tf

from object_detection.core.roi_cropper import RoiCropper
from object_detection.core.structures import HeadOutput
from object_detection.nets import slim_layers as layers
from object_detection.nets.hyperparams import Hyperparams

DEPTH_SCOPE = "reduce_depth"
BOX_SCOPE = "refined_locations"
CLASS_SCOPE = "class_predictions"


@dataclasses.dataclass(frozen=True)
class RfcnBoxPredictor:
    """A 1x1 convolution to fewer channels, and one each for the box and the class maps.

    Attributes:
        num_classes: foreground classes C; every class has a box of its own.
        hyperparams: of all three convolutions; the last two have no activation. A batch norm
            applies to all three, as checkpoints of the original have it.
        num_bins: parts of a region (rows times columns), each with its own group of channels.
        depth: channels after the first convolution.
        box_code_size: numbers that encode a box.
    """

    num_classes: int
    hyperparams: Hyperparams
    num_bins: int = 9
    depth: int = 1024
    box_code_size: int = 4

    def predict_boxes(self, features: tf.Tensor, boxes_normalized: tf.Tensor,
                      cropper: RoiCropper) -> HeadOutput:
        """Predicts for boxes from the features of whole images.

        Args:
            features: float [B, h, w, channels].
            boxes_normalized: float32 [B, P, 4].
            cropper: pools [B, h, w, num_bins * n] to [B * P, 1, 1, n].
        """
        locations, classes = self.score_maps(features)
        encodings = tf.cast(cropper.crop([locations], boxes_normalized), tf.float32)
        logits = tf.cast(cropper.crop([classes], boxes_normalized), tf.float32)
        return HeadOutput(
            tf.reshape(encodings, [-1, self.num_classes, self.box_code_size]),
            tf.reshape(logits, [-1, self.num_classes + 1]))

    def score_maps(self, features: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
        """Maps float [B, h, w, channels] to the box and the class maps, part by part.

        Returns:
            [B, h, w, num_bins * C * box_code_size] and [B, h, w, num_bins * (C + 1)], with
            background first in each part.
        """
        box_depth = self.num_bins * self.num_classes * self.box_code_size
        class_depth = self.num_bins * (self.num_classes + 1)
        with self.hyperparams.arg_scope():
            reduced = layers.conv2d(features, self.depth, 1, scope=DEPTH_SCOPE)
            locations = layers.conv2d(reduced, box_depth, 1, activation_fn=None, scope=BOX_SCOPE)
            classes = layers.conv2d(reduced, class_depth, 1, activation_fn=None,
                                    scope=CLASS_SCOPE)
        return locations, classes
