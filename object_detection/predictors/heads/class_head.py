"""Head that names what each region holds."""

import dataclasses

import tensorflow as tf

from object_detection.nets import slim_layers as layers


@dataclasses.dataclass(frozen=True)
class ClassHead:
    """One dense layer from pooled features to logits of background and C classes.

    Attributes:
        num_classes: foreground classes C.
        batch_norm: behind the dense layer, as Keras checkpoints may have it.
    """

    num_classes: int
    batch_norm: layers.BatchNorm | None = None

    def predict(self, pooled: tf.Tensor) -> tf.Tensor:
        """Maps float [regions, depth] to float32 [regions, C + 1], background first."""
        logits = layers.fully_connected(pooled, self.num_classes + 1, activation_fn=None,
                                        normalizer=self.batch_norm, scope="ClassPredictor")
        return tf.cast(logits, tf.float32)
