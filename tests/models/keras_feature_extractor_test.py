"""Keras backbones: keys of the original's checkpoints, preprocessing, sizes."""

import json

import numpy as np
import pytest
import shared_files
import tensorflow as tf
from google.protobuf import text_format

from object_detection.builders import feature_extractor_builder
from object_detection.core.feature_extractor import FIRST_STAGE_SCOPE, SECOND_STAGE_SCOPE
from object_detection.models.faster_rcnn_inception_resnet_v2_keras_feature_extractor import (
    FasterRCNNInceptionResnetV2KerasFeatureExtractor,
)
from object_detection.models.faster_rcnn_resnet_keras_feature_extractor import (
    FasterRCNNResnetKerasFeatureExtractor,
)
from object_detection.nets.variable_store import VariableStore
from object_detection.protos import faster_rcnn_pb2

SUFFIX = "/.ATTRIBUTES/VARIABLE_VALUE"


def extractor_of(kind):
    config = text_format.Parse(f'type: "{kind}"', faster_rcnn_pb2.FasterRcnnFeatureExtractor())
    return feature_extractor_builder.build(config, is_training=False)


def variables_of(extractor, depth):
    store = VariableStore()

    @tf.function(autograph=False)
    def trace():
        with store.scope(FIRST_STAGE_SCOPE):
            extractor.feature_maps(tf.zeros([1, 64, 64, 3]))
        with store.scope(SECOND_STAGE_SCOPE):
            extractor.box_features(tf.zeros([1, 4, 4, depth]))

    trace.get_concrete_function()
    return store.by_name


@pytest.mark.parametrize("kind,depth", [
    ("faster_rcnn_resnet50_keras", 1024),
    *(pytest.param(kind, depth, marks=pytest.mark.slow) for kind, depth in (
        ("faster_rcnn_resnet101_keras", 1024), ("faster_rcnn_resnet152_keras", 1024),
        ("faster_rcnn_inception_resnet_v2_keras", 1088)))])
def test_keys_of_a_classification_checkpoint(kind, depth):
    path = shared_files.require(f"fixtures/tf2/checkpoint_keys/{kind}.json")
    expected = {key.removesuffix(SUFFIX): shape
                for key, shape, *_ in json.loads(path.read_text())["classification"]
                if key.startswith("feature_extractor/")}
    extractor = extractor_of(kind)
    names = extractor.classification_names(variables_of(extractor, depth))
    assert {key: variable.shape.as_list() for key, variable in names.items()} == expected


def test_preprocessing_by_hand():
    pixels = tf.constant([[[123.68, 116.779, 103.939], [255.0, 0.0, 0.0]]])
    resnet = FasterRCNNResnetKerasFeatureExtractor(50).preprocess(pixels)
    np.testing.assert_allclose(resnet, [[[0, 0, 0], [131.32, -116.779, -103.939]]], atol=1e-4)
    inception = FasterRCNNInceptionResnetV2KerasFeatureExtractor().preprocess(pixels)
    np.testing.assert_allclose(inception[0, 1], [1, -1, -1], atol=1e-6)


@pytest.mark.parametrize("extractor", [FasterRCNNResnetKerasFeatureExtractor(50),
                                       FasterRCNNInceptionResnetV2KerasFeatureExtractor()])
def test_images_too_small_for_a_map_are_refused(extractor):
    with VariableStore().scope(), pytest.raises(ValueError, match="at least 33 pixels, got 32"):
        extractor.feature_maps(tf.zeros([1, 32, 64, 3]))


def test_a_network_has_one_width():
    config = text_format.Parse('type: "faster_rcnn_resnet50_keras" depth_multiplier: 0.5',
                               faster_rcnn_pb2.FasterRcnnFeatureExtractor())
    with pytest.raises(ValueError, match="depth_multiplier: ResNet has one width, got 0.5"):
        feature_extractor_builder.build(config, is_training=False)
