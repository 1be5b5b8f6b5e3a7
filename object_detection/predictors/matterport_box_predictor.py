"""Second-stage predictor of Matterport's Mask_RCNN."""

import dataclasses

import tensorflow as tf

from object_detection.core.structures import HeadOutput
from object_detection.nets import slim_layers as layers
from object_detection.nets.hyperparams import Hyperparams
from object_detection.predictors.heads.matterport_mask_head import MatterportMaskHead


@dataclasses.dataclass(frozen=True)
class MatterportBoxPredictor:
    """Two layers over all features of a region, then its class and its box for each class.

    Attributes:
        num_classes: foreground classes C. The box layer has a box for background as well, which
            nobody reads.
        hyperparams: of the two layers, with batch norm; the dense layers after them have none.
        depth: channels of the two layers.
    """

    num_classes: int
    hyperparams: Hyperparams
    depth: int = 1024
    mask_head: MatterportMaskHead | None = None

    def predict_boxes(self, features: tf.Tensor, training: bool) -> HeadOutput:
        """Predicts from float [regions, h, w, depth]; the same in training and elsewhere."""
        del training
        slots = self.num_classes + 1
        with self.hyperparams.arg_scope():
            net = layers.conv2d(features, self.depth, features.shape[1:3].as_list(),
                                padding="VALID", scope="mrcnn_class_conv1")
            net = layers.conv2d(net, self.depth, 1, scope="mrcnn_class_conv2")
            net = net[:, 0, 0, :]
            logits = layers.fully_connected(net, slots, activation_fn=None, normalizer=None,
                                            scope="mrcnn_class_logits")
            boxes = layers.fully_connected(net, slots * 4, activation_fn=None, normalizer=None,
                                           scope="mrcnn_bbox_fc")
        encodings = tf.reshape(tf.cast(boxes, tf.float32), [-1, slots, 4])
        return HeadOutput(encodings[:, 1:], tf.cast(logits, tf.float32))

    def predict_masks(self, features: tf.Tensor) -> tf.Tensor:
        """Predicts float32 logits [regions, C, mask height, mask width].

        Raises:
            ValueError: if the predictor was built without a mask head.
        """
        if self.mask_head is None:
            raise ValueError("mask_rcnn_box_predictor: set predict_instance_masks: true for masks")
        return self.mask_head.predict(features)
