"""From the input pipeline's dictionaries to what the model's verbs take."""

from collections.abc import Mapping
from typing import NamedTuple

import tensorflow as tf

from object_detection.core.model import DetectionModel
from object_detection.core.standard_fields import InputDataFields as Fields


class Batch(NamedTuple):
    """The tensors of a batch that the network and its losses read; N rows per image, padded."""

    images: tf.Tensor  # float32 [B, H, W, 3], what the network wants
    true_shapes: tf.Tensor  # int32 [B, 3]
    boxes: tf.Tensor  # float32 [B, N, 4], normalized to the padded input
    classes: tf.Tensor  # float32 [B, N, C]
    weights: tf.Tensor  # float32 [B, N], 0 in padding
    is_crowd: tf.Tensor  # bool [B, N]
    masks: tf.Tensor | tuple = ()  # uint8 [B, N, H, W], or () without masks
    is_annotated: tf.Tensor | tuple = ()  # bool [B], or (): all are
    labeled_classes: tf.Tensor | tuple = ()  # float32 [B, C], or (): all are


def to_tensors(features: Mapping[str, tf.Tensor], labels: Mapping[str, tf.Tensor]) -> Batch:
    """Picks the numeric tensors; text, such as source ids, stays outside of the traced step."""
    boxes = labels[Fields.groundtruth_boxes]
    return Batch(
        features[Fields.image], features[Fields.true_image_shape], boxes,
        labels[Fields.groundtruth_classes], labels[Fields.groundtruth_weights],
        labels[Fields.groundtruth_is_crowd], labels.get(Fields.groundtruth_instance_masks, ()),
        labels.get(Fields.is_annotated, ()), labels.get(Fields.groundtruth_labeled_classes, ()))


def signature(batch: Batch) -> Batch:
    """Returns the types of batches with as many images, of any height, width and object count."""
    images, classes = batch.images.shape[0], batch.classes.shape[2]

    def spec(value: tf.Tensor | tuple, *shape: int | None) -> tf.TensorSpec | tuple:
        return () if isinstance(value, tuple) else tf.TensorSpec([images, *shape], value.dtype)

    return Batch(
        spec(batch.images, None, None, batch.images.shape[3]), spec(batch.true_shapes, 3),
        spec(batch.boxes, None, 4), spec(batch.classes, None, classes), spec(batch.weights, None),
        spec(batch.is_crowd, None), spec(batch.masks, None, None, None), spec(batch.is_annotated),
        spec(batch.labeled_classes, classes))


def provide_groundtruth(model: DetectionModel, batch: Batch) -> None:
    """Hands the objects of a batch to the model, image by image.

    Raises:
        ValueError: if the number of images is not known when tracing.
    """
    if batch.images.shape[0] is None:
        raise ValueError("training: the number of images per batch must be fixed; set "
                         "train_input_reader.drop_remainder: true")
    def images(value: tf.Tensor | tuple) -> list[tf.Tensor] | None:
        return None if isinstance(value, tuple) else tf.unstack(value)

    model.provide_groundtruth(
        tf.unstack(batch.boxes), tf.unstack(batch.classes),
        groundtruth_masks_list=images(batch.masks),
        groundtruth_weights_list=images(batch.weights),
        groundtruth_is_crowd_list=images(batch.is_crowd),
        is_annotated_list=images(batch.is_annotated),
        groundtruth_labeled_classes=images(batch.labeled_classes))
