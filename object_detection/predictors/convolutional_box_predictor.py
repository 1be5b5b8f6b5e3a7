"""Box predictor that slides over a feature map: the second half of the region proposal network."""

import dataclasses

import tensorflow as tf

from object_detection.nets import slim_layers as layers
from object_detection.nets.hyperparams import Hyperparams

BOX_SCOPE = "BoxEncodingPredictor"
CLASS_SCOPE = "ClassPredictor"


@dataclasses.dataclass(frozen=True)
class ConvolutionalBoxPredictor:
    """One convolution for box encodings and one for class logits, per anchor of each cell.

    Attributes:
        num_classes: foreground classes; 1 for a region proposal network.
        kernel_size: side of both convolutions.
        box_code_size: numbers that encode a box.
    """

    num_classes: int
    hyperparams: Hyperparams
    kernel_size: int = 1
    box_code_size: int = 4

    def predict(self, features: tf.Tensor, num_anchors: int) -> tuple[tf.Tensor, tf.Tensor]:
        """Predicts for the `num_anchors` anchors of each cell.

        Args:
            features: float [B, h, w, depth].
        Returns:
            box encodings, float32 [B, h * w * num_anchors, box_code_size], and class logits with
            background first, float32 [B, h * w * num_anchors, num_classes + 1].
        """
        slots = self.num_classes + 1
        with self.hyperparams.arg_scope(), layers.arg_scope(
                [layers.conv2d], activation_fn=None, normalizer=None):
            boxes = layers.conv2d(features, num_anchors * self.box_code_size, self.kernel_size,
                                  scope=BOX_SCOPE)
            classes = layers.conv2d(features, num_anchors * slots, self.kernel_size,
                                    scope=CLASS_SCOPE)
        return (_per_anchor(boxes, num_anchors, self.box_code_size),
                _per_anchor(classes, num_anchors, slots))


def _per_anchor(outputs: tf.Tensor, num_anchors: int, width: int) -> tf.Tensor:
    """Reshapes [B, h, w, num_anchors * width] to float32 [B, h * w * num_anchors, width]."""
    shape = tf.shape(outputs)
    flat = tf.reshape(tf.cast(outputs, tf.float32), [shape[0], -1, width])
    batch, height, map_width, _ = outputs.shape
    if height is not None and map_width is not None:
        flat = tf.ensure_shape(flat, [batch, height * map_width * num_anchors, width])
    return flat
