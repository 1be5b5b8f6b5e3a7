"""Backbones: maps equal to the original's, sizes, names, refusals."""

import golden
import numpy as np
import pytest
import tensorflow as tf

from object_detection.core.feature_extractor import FIRST_STAGE_SCOPE, SECOND_STAGE_SCOPE
from object_detection.models.faster_rcnn_mobilenet_v1_feature_extractor import (
    FasterRCNNMobilenetV1FeatureExtractor,
)
from object_detection.models.faster_rcnn_resnet_v1_feature_extractor import (
    FasterRCNNResnetV1FeatureExtractor,
)
from object_detection.nets.variable_store import VariableStore

CASES = (("faster_rcnn_mobilenet_v1", FasterRCNNMobilenetV1FeatureExtractor()),
         ("faster_rcnn_resnet101_atrous", FasterRCNNResnetV1FeatureExtractor(101, stride=8)))


@pytest.mark.parametrize("case,extractor", CASES, ids=[case for case, _ in CASES])
def test_maps_equal_the_original(case, extractor):
    _, expected = golden.load(case)
    golden.check_map(extractor, expected, golden.fill)


@pytest.mark.parametrize("extractor,side,depth", [
    (FasterRCNNMobilenetV1FeatureExtractor(stride=8, depth_multiplier=0.25), 8, 128),
    (FasterRCNNMobilenetV1FeatureExtractor(depth_multiplier=0.5), 4, 256)])
def test_stride_and_depth_of_mobilenet_maps(extractor, side, depth):
    store = VariableStore()
    with store.scope(FIRST_STAGE_SCOPE):
        (feature_map,) = extractor.feature_maps(tf.zeros([1, 64, 64, 3]))
    assert feature_map.shape == [1, side, side, depth]


def test_box_features_keep_the_regions():
    store = VariableStore()
    with store.scope(SECOND_STAGE_SCOPE):
        features = FasterRCNNResnetV1FeatureExtractor(50).box_features(tf.zeros([2, 3, 3, 1024]))
        halved = FasterRCNNMobilenetV1FeatureExtractor().box_features(tf.zeros([2, 7, 7, 512]))
    assert features.shape == [2, 3, 3, 2048]
    assert halved.shape == [2, 4, 4, 1024]


def test_preprocessing_by_hand():
    pixels = tf.constant([[[123.68, 116.779, 103.939], [255.0, 0.0, 0.0]]])
    got = FasterRCNNResnetV1FeatureExtractor(50).preprocess(pixels)
    np.testing.assert_allclose(got[0], [[0, 0, 0], [131.32, -116.779, -103.939]], atol=1e-4)
    got = FasterRCNNMobilenetV1FeatureExtractor().preprocess(tf.constant([[0.0, 127.5, 255.0]]))
    np.testing.assert_allclose(got, [[-1.0, 0.0, 1.0]], atol=1e-6)


def test_a_small_image_is_refused_with_its_size():
    with pytest.raises(ValueError, match="image height after resizing must be at least 33.*got 32"):
        FasterRCNNResnetV1FeatureExtractor(50).feature_maps(tf.zeros([1, 32, 64, 3]))


def test_classification_names_drop_the_stage():
    store = VariableStore()
    store.get(f"{FIRST_STAGE_SCOPE}/resnet_v1_50/conv1/weights", [1], tf.zeros_initializer())
    store.get("Conv/weights", [1], tf.zeros_initializer())
    names = FasterRCNNResnetV1FeatureExtractor(50).classification_names(store.by_name)
    assert list(names) == ["resnet_v1_50/conv1/weights"]
