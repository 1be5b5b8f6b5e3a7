"""Reads records back, for tests of converters."""

import tensorflow as tf

from object_detection.data_decoders import tf_example_decoder


def examples(*paths):
    return [tf.train.Example.FromString(data.numpy())
            for data in tf.data.TFRecordDataset([str(path) for path in paths])]


def values(example, key):
    feature = example.features.feature[key]
    kind = feature.WhichOneof("kind")
    return list(getattr(feature, kind).value) if kind else []


def decoded(path, **options):
    decoder = tf_example_decoder.TfExampleDecoder(**options)
    dataset = tf.data.TFRecordDataset([str(path)]).map(decoder.decode)
    return [{key: value.numpy() for key, value in item.items()} for item in dataset]
