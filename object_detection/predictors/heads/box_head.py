"""Head that refines the box of each region."""

import dataclasses

import tensorflow as tf

from object_detection.nets import slim_layers as layers


@dataclasses.dataclass(frozen=True)
class BoxHead:
    """One dense layer from pooled features to box encodings.

    Attributes:
        num_classes: foreground classes C.
        share_across_classes: one box per region instead of one per class.
        box_code_size: numbers that encode a box.
        batch_norm: behind the dense layer, as Keras checkpoints may have it.
    """

    num_classes: int
    share_across_classes: bool = False
    box_code_size: int = 4
    batch_norm: layers.BatchNorm | None = None

    def predict(self, pooled: tf.Tensor) -> tf.Tensor:
        """Maps float [regions, depth] to float32 [regions, C or 1, box_code_size]."""
        boxes = 1 if self.share_across_classes else self.num_classes
        encodings = layers.fully_connected(
            pooled, boxes * self.box_code_size, activation_fn=None, normalizer=self.batch_norm,
            scope="BoxEncodingPredictor")
        return tf.reshape(tf.cast(encodings, tf.float32), [-1, boxes, self.box_code_size])
