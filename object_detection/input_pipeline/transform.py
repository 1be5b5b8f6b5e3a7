"""Turns one decoded record into the features and labels of one image at network size."""

import dataclasses
from collections.abc import Sequence

import tensorflow as tf

from object_detection.core import preprocessor, resizers
from object_detection.core.augment import crops
from object_detection.core.augment.tensors import OBJECT_KEYS, Tensors, keep_objects
from object_detection.core.standard_fields import InputDataFields as Fields
from object_detection.input_pipeline import notices

# Masks at the size of the original image, in evaluation only; ours, not in the OD API.
ORIGINAL_MASKS = "groundtruth_original_instance_masks"

_LABEL_KEYS = (
    Fields.groundtruth_boxes, Fields.groundtruth_weights, Fields.groundtruth_area,
    Fields.groundtruth_is_crowd, Fields.groundtruth_difficult, Fields.groundtruth_group_of)


@dataclasses.dataclass(frozen=True)
class TransformSettings:
    """How records become examples."""

    num_classes: int
    resizer: resizers.Resizer
    training: bool
    steps: Sequence[preprocessor.Step] = ()  # augmentations, in order
    max_number_of_boxes: int = 100  # in training, further boxes are cut off
    load_masks: bool = False
    keep_original_image: bool = False
    use_multiclass_scores: bool = False  # class targets are the record's scores, not one-hot
    merge_multiple_label_boxes: bool = False  # equal boxes become one with several classes
    keep_crowds: bool = False  # in training too, for losses that leave out what lies in a crowd
    # An image without image-level labels counts as searched for all classes.
    unlabeled_means_all_classes: bool = True

    def __post_init__(self) -> None:
        if self.num_classes < 1:
            raise ValueError(f"model: want num_classes of at least 1, got {self.num_classes}")
        if self.max_number_of_boxes < 1:
            raise ValueError("input_reader.max_number_of_boxes: want at least 1, got "
                             f"{self.max_number_of_boxes}")


class Transform:
    """Callable of one decoded record, for `Dataset.map`.

    Training drops crowd boxes, unless asked to keep them: a box around many objects is no object to
    learn. Evaluation keeps them with their flag, and keeps all boxes, however many; metrics know
    what to do with them.
    """

    def __init__(self, settings: TransformSettings) -> None:
        self._settings = settings
        self.too_many = notices.CountedWarning(
            "input: record %s has %d boxes; only the first "
            f"{settings.max_number_of_boxes} are kept (input_reader.max_number_of_boxes)")

    def __call__(self, record: Tensors, seed: tf.Tensor) -> tuple[Tensors, Tensors]:
        """Returns the features and labels of one image.

        Args:
            record: as `TfExampleDecoder.decode` gives it.
            seed: int32 [2], the source of every random choice.
        """
        settings = self._settings
        features = {
            Fields.original_image_spatial_shape: tf.shape(record[Fields.image])[:2],
            Fields.source_id: record[Fields.source_id],
            Fields.key: record[Fields.key],
        }
        if settings.keep_original_image:
            features[Fields.original_image] = record[Fields.image]
        tensors = self._start(record)
        original_masks = tensors.get(Fields.groundtruth_instance_masks)
        tensors = preprocessor.preprocess(tensors, settings.steps, seed)
        if settings.training:
            tensors = self._cut(tensors, record[Fields.source_id])
        tensors, features[Fields.true_image_shape] = self._resized(tensors, seed)
        features[Fields.image] = tensors[Fields.image]
        labels = self._labels(tensors)
        labels[Fields.is_annotated] = record[Fields.is_annotated]
        labels[Fields.groundtruth_labeled_classes] = self._labeled_classes(record)
        if original_masks is not None:
            masks = tensors[Fields.groundtruth_instance_masks]
            labels[Fields.groundtruth_instance_masks] = masks
            if not settings.training:
                labels[ORIGINAL_MASKS] = original_masks
        return features, labels

    def _start(self, record: Tensors) -> Tensors:
        """Returns the image, with additional channels, and the objects that count."""
        settings = self._settings
        tensors = {key: record[key] for key in OBJECT_KEYS if key in record}
        if not settings.load_masks:
            tensors.pop(Fields.groundtruth_instance_masks, None)
        elif Fields.groundtruth_instance_masks not in tensors:
            raise ValueError("input_reader.load_instance_masks: the decoder gives no masks")
        tensors[Fields.image] = record[Fields.image]
        if Fields.image_additional_channels in record:
            tensors[Fields.image] = tf.concat(
                [record[Fields.image], record[Fields.image_additional_channels]], axis=-1)
        known = record[Fields.groundtruth_classes] > 0  # not in the label map: -1
        if settings.training and not settings.keep_crowds:
            known &= ~record[Fields.groundtruth_is_crowd]
        return keep_objects(tensors, known)

    def _cut(self, tensors: Tensors, record_name: tf.Tensor) -> Tensors:
        limit = self._settings.max_number_of_boxes
        count = tf.shape(tensors[Fields.groundtruth_boxes], tf.int64)[0]
        count = self.too_many.when(count > limit, record_name, count)
        return {key: value[:tf.minimum(count, limit)] if key in OBJECT_KEYS else value
                for key, value in tensors.items()}

    def _resized(self, tensors: Tensors, seed: tf.Tensor) -> tuple[Tensors, tf.Tensor]:
        """Returns the tensors at network size, and the true shape of the image (int32 [3])."""
        settings = self._settings
        resizer = settings.resizer.for_training() if settings.training else settings.resizer
        resized = resizer(tensors[Fields.image], tensors.get(Fields.groundtruth_instance_masks))
        tensors = {**tensors, Fields.image: resized.image}
        if resized.masks is not None:
            tensors[Fields.groundtruth_instance_masks] = resized.masks
        if resizer.crop_size is None:
            return tensors, resized.true_shape
        tensors = crops.random_crop_to_size(
            tensors, tf.random.fold_in(seed, len(settings.steps)), resizer.crop_size)
        return tensors, tf.shape(tensors[Fields.image])

    def _labels(self, tensors: Tensors) -> Tensors:
        labels = {key: tensors[key] for key in _LABEL_KEYS}
        labels[Fields.groundtruth_boxes] = tf.ensure_shape(
            tensors[Fields.groundtruth_boxes], [None, 4])
        labels[Fields.groundtruth_classes] = self._classes(tensors)
        if self._settings.merge_multiple_label_boxes:
            labels = _merge_equal_boxes(labels)
        labels[Fields.num_groundtruth_boxes] = tf.shape(labels[Fields.groundtruth_boxes])[0]
        return labels

    def _labeled_classes(self, record: Tensors) -> tf.Tensor:
        """Returns float32 [C], 1 where the image was searched for objects of the class.

        Image-level labels say so, of present and of absent classes; a box says so of its class.
        """
        depth = self._settings.num_classes
        stated = tf.concat([record[Fields.groundtruth_image_classes],
                            record[Fields.groundtruth_verified_neg_classes]], axis=0)
        labels = tf.concat([stated, record[Fields.groundtruth_classes]], axis=0)
        found = tf.reduce_any(tf.equal(labels[:, tf.newaxis], tf.range(1, depth + 1, 1, tf.int64)),
                              axis=0)
        if self._settings.unlabeled_means_all_classes:
            found |= tf.equal(tf.size(stated), 0)
        return tf.cast(found, tf.float32)

    def _classes(self, tensors: Tensors) -> tf.Tensor:
        """Returns float32 [N, C] targets, without a background column."""
        depth = self._settings.num_classes
        if not self._settings.use_multiclass_scores:
            classes = tf.cast(tensors[Fields.groundtruth_classes], tf.int32)
            return tf.one_hot(classes - 1, depth, dtype=tf.float32)
        if Fields.multiclass_scores not in tensors:
            raise ValueError("train_config.use_multiclass_scores needs "
                             "train_input_reader.load_multiclass_scores: true")
        return tf.reshape(tensors[Fields.multiclass_scores], [-1, depth])


def _merge_equal_boxes(labels: Tensors) -> Tensors:
    """Merges rows with the same box into the first of them, which gets the classes of all."""
    boxes = labels[Fields.groundtruth_boxes]
    same = tf.reduce_all(tf.equal(boxes[:, tf.newaxis], boxes[tf.newaxis]), axis=-1)
    first = tf.argmax(tf.cast(same, tf.int32), axis=1)
    is_first = tf.equal(first, tf.range(tf.shape(boxes, tf.int64)[0]))
    classes = tf.linalg.matmul(tf.cast(same, tf.float32), labels[Fields.groundtruth_classes])
    return keep_objects({**labels, Fields.groundtruth_classes: tf.minimum(classes, 1.0)}, is_first)
