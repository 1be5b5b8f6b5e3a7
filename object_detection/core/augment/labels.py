"""Augmentations of the annotation alone: boxes and classes."""

from collections.abc import Sequence

import tensorflow as tf

from object_detection.core.augment.tensors import Tensors, changed, keep_objects
from object_detection.core.standard_fields import InputDataFields as Fields

JITTER_MODES = ("DEFAULT", "EXPAND", "SHRINK", "EXPAND_SYMMETRIC", "SHRINK_SYMMETRIC",
                "EXPAND_SYMMETRIC_XY", "SHRINK_SYMMETRIC_XY")


def random_jitter_boxes(tensors: Tensors, seed: tf.Tensor, ratio: float,
                        jitter_mode: str) -> Tensors:
    """Moves each side of each box by up to `ratio` of the box's height or width.

    DEFAULT moves sides either way, EXPAND only outwards, SHRINK only inwards. SYMMETRIC moves all
    four sides of a box by the same part, SYMMETRIC_XY opposite sides. Boxes are clipped to the
    image.
    """
    if jitter_mode not in JITTER_MODES:
        raise ValueError(f"random_jitter_boxes.jitter_mode: want one of {JITTER_MODES}, got "
                         f"{jitter_mode}")

    def jitter(boxes: tf.Tensor) -> tf.Tensor:
        columns = 1 if jitter_mode.endswith("SYMMETRIC") else (
            2 if jitter_mode.endswith("_XY") else 4)
        parts = tf.random.stateless_uniform([tf.shape(boxes)[0], columns], seed, -ratio, ratio)
        parts = tf.tile(parts, [1, 4 // columns])
        outwards = tf.constant([-1.0, -1.0, 1.0, 1.0])
        if jitter_mode.startswith("EXPAND"):
            parts = tf.abs(parts) * outwards
        elif jitter_mode.startswith("SHRINK"):
            parts = -tf.abs(parts) * outwards
        sides = tf.tile(boxes[:, 2:] - boxes[:, :2], [1, 2])
        return tf.clip_by_value(boxes + parts * sides, 0.0, 1.0)
    return changed(tensors, Fields.groundtruth_boxes, jitter)


def drop_label_probabilistically(tensors: Tensors, seed: tf.Tensor, label: int,
                                 drop_probability: float) -> Tensors:
    """Drops each object of one class with a probability."""
    classes = tensors[Fields.groundtruth_classes]
    draws = tf.random.stateless_uniform(tf.shape(classes), seed)
    dropped = (classes == tf.cast(label, classes.dtype)) & (draws < drop_probability)
    return keep_objects(tensors, tf.logical_not(dropped))


def remap_labels(tensors: Tensors, seed: tf.Tensor, original_labels: Sequence[int],
                 new_label: int) -> Tensors:
    """Gives all objects of the listed classes one new class."""
    def remap(classes: tf.Tensor) -> tf.Tensor:
        listed = tf.zeros_like(classes, tf.bool)
        for label in original_labels:
            listed |= classes == tf.cast(label, classes.dtype)
        return tf.where(listed, tf.cast(new_label, classes.dtype), classes)
    return changed(tensors, Fields.groundtruth_classes, remap)


def convert_class_logits_to_softmax(tensors: Tensors, seed: tf.Tensor,
                                    temperature: float) -> Tensors:
    """Turns multiclass scores that are logits into probabilities."""
    return changed(tensors, Fields.multiclass_scores,
                   lambda scores: tf.nn.softmax(scores / temperature, axis=-1))
