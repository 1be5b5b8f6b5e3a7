"""Reads event files back."""

import os

import tensorflow as tf


def read(folder):
    """Returns arrays by (tag, step)."""
    found = {}
    for name in sorted(os.listdir(folder)):
        if "tfevents" not in name:
            continue
        for record in tf.data.TFRecordDataset(os.path.join(folder, name)):
            event = tf.compat.v1.Event.FromString(record.numpy())
            for value in event.summary.value:
                found[value.tag, event.step] = tf.make_ndarray(value.tensor)
    return found
