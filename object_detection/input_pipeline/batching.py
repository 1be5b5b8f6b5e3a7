"""Batches images of unlike sizes and unlike numbers of objects."""

import dataclasses

import tensorflow as tf

from object_detection.core.augment.tensors import Tensors
from object_detection.core.standard_fields import InputDataFields as Fields


@dataclasses.dataclass(frozen=True)
class BatchSettings:
    """How examples are put together."""

    batch_size: int
    drop_remainder: bool
    num_boxes: int | None = None  # rows per image; None: as many as the batch's fullest image has
    parallel: bool = True  # False keeps memory low where images are kept at original size

    def __post_init__(self) -> None:
        if self.batch_size < 1:
            raise ValueError(f"batch_size: want at least 1, got {self.batch_size}")


def batch(examples: tf.data.Dataset, settings: BatchSettings) -> tf.data.Dataset:
    """Pads (features, labels) to common shapes and stacks them.

    Images are padded at the bottom and right with zeros to the largest of the batch; their true
    shapes stay in `true_image_shape`. Boxes, normalized to the true image before, are normalized to
    the padded image afterwards. Rows without an object are zeros and have weight 0.
    """
    features_spec, labels_spec = examples.element_spec
    shapes = ({key: spec.shape for key, spec in features_spec.items()},
              {key: _label_shape(spec.shape, settings.num_boxes)
               for key, spec in labels_spec.items()})
    batches = examples.padded_batch(settings.batch_size, padded_shapes=shapes,
                                    drop_remainder=settings.drop_remainder)
    return batches.map(_renormalize_boxes, num_parallel_calls=tf.data.AUTOTUNE)


def _label_shape(shape: tf.TensorShape, num_boxes: int | None) -> tf.TensorShape:
    if shape.rank == 0 or num_boxes is None:
        return shape
    return tf.TensorShape([num_boxes, *shape[1:]])


def _renormalize_boxes(features: Tensors, labels: Tensors) -> tuple[Tensors, Tensors]:
    padded = tf.cast(tf.shape(features[Fields.image])[1:3], tf.float32)
    true = tf.cast(features[Fields.true_image_shape][:, :2], tf.float32)
    ratio = tf.tile(true / padded, [1, 2])
    boxes = labels[Fields.groundtruth_boxes] * ratio[:, tf.newaxis]
    return features, {**labels, Fields.groundtruth_boxes: boxes}
