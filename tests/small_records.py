"""Small records for tests of decoders and input pipelines."""

import io

import numpy as np
import PIL.Image
import tensorflow as tf

from object_detection.utils import dataset_util


def png(array):
    buffer = io.BytesIO()
    PIL.Image.fromarray(np.asarray(array, np.uint8)).save(buffer, "PNG")
    return buffer.getvalue()


def feature(value):
    if isinstance(value, (bytes, str)):
        return dataset_util.bytes_feature(value)
    if isinstance(value, int):
        return dataset_util.int64_feature(value)
    values = list(value)
    if values and isinstance(values[0], (bytes, str)):
        return dataset_util.bytes_list_feature(values)
    if values and isinstance(values[0], (int, np.integer)):
        return dataset_util.int64_list_feature(values)
    return dataset_util.float_list_feature(values)


def record(boxes=(), height=4, width=6, **fields):
    """A record with a black image; `fields` are keys with '__' for '/', without 'image/'."""
    content = {"image/encoded": png(np.zeros([height, width, 3])), "image/height": height,
               "image/width": width, "image/source_id": "17", "image/filename": "a.png"}
    for edge, key in enumerate(("ymin", "xmin", "ymax", "xmax")):
        content[f"image/object/bbox/{key}"] = [float(box[edge]) for box in boxes]
    content |= {"image/" + key.replace("__", "/"): value for key, value in fields.items()}
    return tf.train.Example(features=tf.train.Features(feature={
        key: feature(value) for key, value in content.items()
        if value is not None})).SerializeToString()
