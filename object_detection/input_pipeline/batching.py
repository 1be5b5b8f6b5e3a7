"""Batches images of unlike sizes and unlike numbers of objects."""

import dataclasses

import tensorflow as tf

from object_detection.core import resizers
from object_detection.core.augment.tensors import Tensors
from object_detection.core.standard_fields import InputDataFields as Fields

_WHOLE_IMAGE = (Fields.num_groundtruth_boxes, Fields.is_annotated,
                Fields.groundtruth_labeled_classes)


@dataclasses.dataclass(frozen=True)
class BatchSettings:
    """How examples are put together."""

    batch_size: int
    drop_remainder: bool
    num_boxes: int | None = None  # rows per image; None: as many as the batch's fullest image has
    # Says where the true image lies in its frame.
    resizer: resizers.Resizer = dataclasses.field(default_factory=resizers.IdentityResizer)
    parallel: bool = True  # False keeps memory low where images are kept at original size

    def __post_init__(self) -> None:
        if self.batch_size < 1:
            raise ValueError(f"batch_size: want at least 1, got {self.batch_size}")


def batch(examples: tf.data.Dataset, settings: BatchSettings) -> tf.data.Dataset:
    """Pads (features, labels) to common shapes and stacks them.

    Labels of the whole image have as many rows as they need: none, or one per class.

    Images are padded at the bottom and right with zeros to the largest of the batch; their true
    shapes stay in `true_image_shape`. Boxes, normalized to the true image before, are normalized to
    the padded image afterwards. Rows without an object are zeros and have weight 0.
    """
    features_spec, labels_spec = examples.element_spec
    shapes = ({key: spec.shape for key, spec in features_spec.items()},
              {key: _label_shape(key, spec.shape, settings.num_boxes)
               for key, spec in labels_spec.items()})
    batches = examples.padded_batch(settings.batch_size, padded_shapes=shapes,
                                    drop_remainder=settings.drop_remainder)
    return batches.map(lambda features, labels: _renormalize_boxes(
        features, labels, settings.resizer), num_parallel_calls=tf.data.AUTOTUNE)


def _label_shape(key: str, shape: tf.TensorShape, num_boxes: int | None) -> tf.TensorShape:
    if key in _WHOLE_IMAGE or num_boxes is None:
        return shape
    return tf.TensorShape([num_boxes, *shape[1:]])


def _renormalize_boxes(features: Tensors, labels: Tensors,
                       resizer: resizers.Resizer) -> tuple[Tensors, Tensors]:
    size = tf.shape(features[Fields.image])[1:3]
    window = resizer.window(features[Fields.true_image_shape], size[0], size[1])
    window /= tf.tile(tf.cast(size, tf.float32), [2])
    sides = tf.tile(window[:, 2:] - window[:, :2], [1, 2])
    corner = tf.tile(window[:, :2], [1, 2])
    boxes = labels[Fields.groundtruth_boxes]
    boxes = boxes * sides[:, tf.newaxis] + corner[:, tf.newaxis]
    is_object = tf.sequence_mask(labels[Fields.num_groundtruth_boxes], tf.shape(boxes)[1])
    boxes = tf.where(is_object[..., tf.newaxis], boxes, 0.0)
    return features, {**labels, Fields.groundtruth_boxes: boxes}
