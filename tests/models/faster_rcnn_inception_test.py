"""Inception backbones: variables and maps equal to the original's, strides, names, refusals."""

import json

import golden
import numpy as np
import pytest
import shared_files
import tensorflow as tf
from google.protobuf import text_format

from object_detection.builders import feature_extractor_builder, model_builder
from object_detection.core.feature_extractor import FIRST_STAGE_SCOPE, SECOND_STAGE_SCOPE
from object_detection.models.faster_rcnn_inception_resnet_v2_feature_extractor import (
    FasterRCNNInceptionResnetV2FeatureExtractor,
)
from object_detection.models.faster_rcnn_inception_v2_feature_extractor import (
    FasterRCNNInceptionV2FeatureExtractor,
)
from object_detection.nets.inception_v2 import Width
from object_detection.nets.variable_store import VariableStore
from object_detection.protos import faster_rcnn_pb2, pipeline_pb2

V2_CASE = "faster_rcnn_inception_v2"
RESNET_CASE = "faster_rcnn_inception_resnet_v2_atrous"
CASES = [V2_CASE, pytest.param(RESNET_CASE, marks=pytest.mark.slow)]
RESNET_TYPE = 'type: "faster_rcnn_inception_resnet_v2" '
V2_TYPE = 'type: "faster_rcnn_inception_v2" '


def pipeline(case):
    path = shared_files.require(f"fixtures/tf1/{case}") / "pipeline.config"
    return text_format.Parse(path.read_text(), pipeline_pb2.TrainEvalPipelineConfig())


def extractor_from(text):
    config = text_format.Parse(text, faster_rcnn_pb2.FasterRcnnFeatureExtractor())
    return feature_extractor_builder.build(config, is_training=True)


@pytest.mark.parametrize("case", CASES)
def test_names_shapes_and_trainable_flags_equal_the_original(case):
    model = model_builder.build(pipeline(case).model, is_training=False)
    path = shared_files.require(f"fixtures/tf1/{case}") / "variables.json"
    expected = {name: (shape, trainable) for name, shape, trainable
                in json.loads(path.read_text())}
    got = {name: (variable.shape.as_list(), variable.trainable)
           for name, variable in model.variables_by_name.items()}
    assert got == expected


@pytest.mark.parametrize("case", CASES)
def test_maps_equal_the_original(case):
    _, expected = golden.load(case)
    extractor = feature_extractor_builder.build(
        pipeline(case).model.faster_rcnn.feature_extractor, is_training=False)
    golden.check_map(extractor, expected, golden.fill)


def thin_v2(stride):
    return FasterRCNNInceptionV2FeatureExtractor(stride, Width(0.25))


@pytest.mark.parametrize("make,side", [
    (thin_v2, 65), (thin_v2, 64),
    pytest.param(FasterRCNNInceptionResnetV2FeatureExtractor, 65, marks=pytest.mark.slow)])
def test_the_map_at_stride_8_holds_the_one_at_stride_16(make, side):
    store = VariableStore()
    pixels = tf.random.stateless_uniform([1, side, side, 3], [1, 2], -1.0, 1.0)
    with store.scope(FIRST_STAGE_SCOPE):
        make(16).feature_maps(pixels)
        golden.fill(store.by_name)
        store.freeze()  # the same variables serve both strides
        (coarse,) = make(16).feature_maps(pixels)
        (fine,) = make(8).feature_maps(pixels)
    assert fine.shape.as_list() == [1, -(-side // 8), -(-side // 8), coarse.shape[-1]]
    offset = 1 - side % 2  # SAME padding centres strided windows on 1, 3, ... of an even side
    golden.assert_close(fine[:, offset::2, offset::2], coarse.numpy(), 1e-5)


def test_width_of_the_thinned_network():
    store = VariableStore()
    extractor = extractor_from(V2_TYPE + "depth_multiplier: 0.25 min_depth: 8")
    with store.scope(FIRST_STAGE_SCOPE):
        (features,) = extractor.feature_maps(tf.zeros([1, 33, 48, 3]))
    assert features.shape == [1, 3, 3, 144]  # (96 + 192 + 192 + 96) / 4
    first = f"{FIRST_STAGE_SCOPE}/InceptionV2/Conv2d_1a_7x7/depthwise_weights"
    assert store.by_name[first].shape == [7, 7, 3, 5]  # 16 outputs / 3 channels


def test_box_features_shrink_the_regions():
    store = VariableStore()
    with store.scope(SECOND_STAGE_SCOPE):
        v2 = FasterRCNNInceptionV2FeatureExtractor().box_features(tf.zeros([2, 7, 7, 576]))
    assert v2.shape == [2, 4, 4, 1024]


def test_a_crop_too_small_for_its_last_block_is_refused():
    with pytest.raises(ValueError, match="pooled crops must be at least 3 pixels.*got 2"):
        FasterRCNNInceptionResnetV2FeatureExtractor().box_features(tf.zeros([1, 2, 7, 1088]))


@pytest.mark.parametrize("extractor", [FasterRCNNInceptionV2FeatureExtractor(),
                                       FasterRCNNInceptionResnetV2FeatureExtractor()])
def test_preprocessing_and_smallest_image(extractor):
    got = extractor.preprocess(tf.constant([[0.0, 127.5, 255.0]]))
    np.testing.assert_allclose(got, [[-1.0, 0.0, 1.0]], atol=1e-6)
    with pytest.raises(ValueError, match="image width after resizing must be at least 33.*got 20"):
        extractor.feature_maps(tf.zeros([1, 64, 20, 3]))


def test_the_second_stage_blocks_have_another_name_in_classification_checkpoints():
    scope = "InceptionResnetV2"
    store = VariableStore()
    for name in (f"{FIRST_STAGE_SCOPE}/{scope}/Repeat/block35_1/Conv2d_1x1/weights",
                 f"{SECOND_STAGE_SCOPE}/{scope}/Repeat/block8_1/Conv2d_1x1/weights",
                 f"{SECOND_STAGE_SCOPE}/{scope}/Block8/Conv2d_1x1/weights", "Conv/weights"):
        store.get(name, [1], tf.zeros_initializer())
    names = FasterRCNNInceptionResnetV2FeatureExtractor().classification_names(store.by_name)
    assert list(names) == [f"{scope}/Repeat/block35_1/Conv2d_1x1/weights",
                           f"{scope}/Repeat_2/block8_1/Conv2d_1x1/weights",
                           f"{scope}/Block8/Conv2d_1x1/weights"]


def test_settings_reach_the_networks():
    text = ("first_stage_features_stride: 8 batch_norm_trainable: true conv_hyperparams { "
            "regularizer { l2_regularizer { weight: 0.5 } } }")
    for kind, scale in ((V2_TYPE, True), (RESNET_TYPE, False)):
        extractor = extractor_from(kind + text)
        assert (extractor.stride, extractor.weight_decay) == (8, 0.5)
        assert extractor.batch_norm.is_training
        assert extractor.batch_norm.scale is scale


@pytest.mark.parametrize("text,message", [
    (RESNET_TYPE + "depth_multiplier: 0.5", "Inception-ResNet has one width, got 0.5"),
    (V2_TYPE + "depth_multiplier: 0", "depth_multiplier: want above 0")])
def test_a_width_that_cannot_be_is_refused(text, message):
    with pytest.raises(ValueError, match=message):
        extractor_from(text)
