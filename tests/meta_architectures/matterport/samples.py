"""Ground truth by hand, and the recorded arrays of Matterport's functions."""

import functools

import numpy as np
import shared_files
import tensorflow as tf

from object_detection.core.structures import GroundTruth


def truth(boxes, class_ids, num_classes=3, masks=None, known=None):
    """Makes a batch of one [n, 4] and [n] per image: a class below 0 is a crowd, 0 padding."""
    boxes = tf.constant(np.asarray(boxes, np.float32).reshape(len(class_ids), -1, 4))
    ids = np.asarray(class_ids).reshape(boxes.shape[:2])
    if known is None:
        known = np.ones([len(ids), num_classes], bool)
    return GroundTruth(
        boxes, tf.one_hot(np.abs(ids) - 1, num_classes), tf.constant(ids > 0, tf.float32),
        tf.ones([len(ids)], tf.bool), tf.constant(ids < 0), tf.constant(known),
        None if masks is None else tf.constant(masks, tf.float32))


def first_ones(candidates, most, wanted=None):
    """Keeps the first of the candidates, where production keeps random ones."""
    limit = most if wanted is None else tf.minimum(most, wanted)[:, None]
    return candidates & (tf.cumsum(tf.cast(candidates, tf.int32), axis=1) <= limit)


def last_ones(candidates, most, wanted=None):
    """Drops the first of the candidates."""
    return first_ones(candidates[:, ::-1], most, wanted)[:, ::-1]


@functools.cache
def _arrays(topic):
    with np.load(shared_files.require(f"fixtures/matterport/utils/{topic}.npz")) as arrays:
        return dict(arrays)


def recorded(topic, case):
    """Returns arguments and results of a recorded call."""
    arrays = _arrays(topic)
    return tuple({key.removeprefix(prefix): value for key, value in arrays.items()
                  if key.startswith(prefix)} for prefix in (f"{case}/in/", f"{case}/out/"))
