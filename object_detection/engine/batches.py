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


def to_tensors(features: Mapping[str, tf.Tensor], labels: Mapping[str, tf.Tensor]) -> Batch:
    """Picks the numeric tensors; text, such as source ids, stays outside of the traced step."""
    boxes = labels[Fields.groundtruth_boxes]
    return Batch(
        features[Fields.image], features[Fields.true_image_shape], boxes,
        labels[Fields.groundtruth_classes], labels[Fields.groundtruth_weights],
        labels[Fields.groundtruth_is_crowd], labels.get(Fields.groundtruth_instance_masks, ()))


def signature(batch: Batch) -> Batch:
    """Returns the types of batches with as many images, of any height, width and object count."""
    images = batch.images.shape[0]
    masks = batch.masks
    if not isinstance(masks, tuple):
        masks = tf.TensorSpec([images, None, None, None], masks.dtype)
    return Batch(
        tf.TensorSpec([images, None, None, batch.images.shape[3]], tf.float32),
        tf.TensorSpec([images, 3], tf.int32), tf.TensorSpec([images, None, 4], tf.float32),
        tf.TensorSpec([images, None, batch.classes.shape[2]], tf.float32),
        tf.TensorSpec([images, None], tf.float32), tf.TensorSpec([images, None], tf.bool), masks)


def provide_groundtruth(model: DetectionModel, batch: Batch) -> None:
    """Hands the objects of a batch to the model, image by image.

    Raises:
        ValueError: if the number of images is not known when tracing.
    """
    if batch.images.shape[0] is None:
        raise ValueError("training: the number of images per batch must be fixed; set "
                         "train_input_reader.drop_remainder: true")
    masks = None if isinstance(batch.masks, tuple) else tf.unstack(batch.masks)
    model.provide_groundtruth(
        tf.unstack(batch.boxes), tf.unstack(batch.classes), groundtruth_masks_list=masks,
        groundtruth_weights_list=tf.unstack(batch.weights),
        groundtruth_is_crowd_list=tf.unstack(batch.is_crowd))
