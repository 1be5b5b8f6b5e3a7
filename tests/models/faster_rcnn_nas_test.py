"""NASNet and PNASNet as backbones: settings, names, refusals; slow: whole detectors."""

import json
import math

import numpy as np
import pytest
import shared_files
import tensorflow as tf
from google.protobuf import text_format

from object_detection.builders import feature_extractor_builder, model_builder
from object_detection.core.feature_extractor import FIRST_STAGE_SCOPE, SECOND_STAGE_SCOPE
from object_detection.models.faster_rcnn_nas_feature_extractor import FasterRCNNNASFeatureExtractor
from object_detection.models.faster_rcnn_pnas_feature_extractor import (
    FasterRCNNPNASFeatureExtractor,
)
from object_detection.nets import drop_path, nasnet, pnasnet
from object_detection.nets.variable_store import VariableStore
from object_detection.protos import faster_rcnn_pb2, pipeline_pb2

BOTH = pytest.mark.parametrize("extractor", [FasterRCNNNASFeatureExtractor(filters=8),
                                             FasterRCNNPNASFeatureExtractor(filters=8)])


def extractor_from(text, is_training=True):
    config = text_format.Parse(text, faster_rcnn_pb2.FasterRcnnFeatureExtractor())
    return feature_extractor_builder.build(config, is_training)


@pytest.mark.parametrize("kind,network,decay", [
    ("nas", nasnet, 5e-5), ("pnas", pnasnet, 4e-5)])
def test_the_settings_of_the_original(kind, network, decay):
    extractor = extractor_from(f'type: "faster_rcnn_{kind}"')
    assert extractor.filters == network.FILTERS
    assert extractor.weight_decay == decay  # also without conv_hyperparams
    assert extractor.drop_path == network.DROP_PATH
    norm = extractor.batch_norm
    assert (norm.is_training, norm.decay, norm.epsilon, norm.scale) == (False, 0.9997, 0.001, True)
    at_inference = extractor_from(f'type: "faster_rcnn_{kind}"', is_training=False)
    assert at_inference.drop_path == drop_path.NO_DROP_PATH


@pytest.mark.parametrize("kind", ["nas", "pnas"])
def test_the_config_changes_batch_norm_and_weight_decay(kind):
    text = (f'type: "faster_rcnn_{kind}" batch_norm_trainable: true '
            "conv_hyperparams { regularizer { l2_regularizer { weight: 0.5 } } }")
    extractor = extractor_from(text)
    assert extractor.weight_decay == 0.5
    assert extractor.batch_norm.is_training
    assert not extractor_from(text, is_training=False).batch_norm.is_training


@pytest.mark.parametrize("text,message", [
    ('type: "faster_rcnn_nas" first_stage_features_stride: 8', "NASNet has stride 16, got 8"),
    ('type: "faster_rcnn_pnas" first_stage_features_stride: 8', "PNASNet has stride 16, got 8"),
    ('type: "faster_rcnn_pnas" depth_multiplier: 0.5', "PNASNet has one width, got 0.5")])
def test_what_the_networks_do_not_have_is_refused(text, message):
    with pytest.raises(ValueError, match=message):
        extractor_from(text)


@BOTH
def test_preprocessing_and_smallest_image(extractor):
    got = extractor.preprocess(tf.constant([[0.0, 127.5, 255.0]]))
    np.testing.assert_allclose(got, [[-1.0, 0.0, 1.0]], atol=1e-6)
    with pytest.raises(ValueError, match="image height after resizing must be at least 33.*got 32"):
        extractor.feature_maps(tf.zeros([1, 32, 64, 3]))


@BOTH
def test_classification_checkpoints_hold_moving_averages(extractor):
    store = VariableStore(extractor.variable_name)
    for name in (f"{FIRST_STAGE_SCOPE}/cell_0/1x1/BatchNorm/gamma",
                 f"{SECOND_STAGE_SCOPE}/cell_12/1x1/weights", "Conv/weights"):
        store.get(name, [1], tf.zeros_initializer())
    assert list(extractor.classification_names(store.by_name)) == [
        "cell_0/beginning_bn/gamma/ExponentialMovingAverage",
        "cell_12/1x1/weights/ExponentialMovingAverage"]


def small_detector(kind):
    """Returns the published pipeline with five classes, 96x128 images and few proposals."""
    path = shared_files.require("fixtures/upstream_configs/faster_rcnn_nas_coco.config")
    pipeline = text_format.Parse(path.read_text(), pipeline_pb2.TrainEvalPipelineConfig())
    rcnn = pipeline.model.faster_rcnn
    rcnn.num_classes = 5
    rcnn.feature_extractor.type = f"faster_rcnn_{kind}"
    rcnn.image_resizer.fixed_shape_resizer.height = 96
    rcnn.image_resizer.fixed_shape_resizer.width = 128
    rcnn.first_stage_max_proposals = rcnn.second_stage_batch_size = 3
    return pipeline.model


def check_detections(model):
    images = tf.random.stateless_uniform([1, 50, 60, 3], [1, 2], 0.0, 255.0)
    pixels, true_shapes = model.preprocess(images)
    predictions = model.predict(pixels, true_shapes)
    assert predictions["rpn_features_to_crop"].shape[1:3] == [6, 8]
    assert predictions["box_classifier_features"].shape[1:3] == [9, 9]  # crops of 17x17
    detections = model.postprocess(predictions, true_shapes)
    assert np.isfinite(detections["detection_boxes"]).all()
    assert np.isfinite(detections["detection_scores"]).all()


@pytest.mark.slow
def test_a_nasnet_detector_has_the_original_variables_and_predicts():
    model = model_builder.build(small_detector("nas"), is_training=False)
    listed = json.loads(shared_files.require("fixtures/tf1/names/faster_rcnn_nas.json").read_text())
    expected = {name: (shape, trainable) for name, shape, trainable in listed}
    got = {name: (variable.shape.as_list(), variable.trainable)
           for name, variable in model.variables_by_name.items()}
    assert got == expected
    check_detections(model)


@pytest.mark.slow
def test_a_pnasnet_detector_predicts():
    model = model_builder.build(small_detector("pnas"), is_training=False)
    backbone = [variable for name, variable in model.variables_by_name.items()
                if "StageFeatureExtractor/" in name]
    counts = [math.prod(variable.shape) for variable in backbone if variable.trainable]
    assert sum(counts) == 81_736_668  # as tests/nets/pnasnet_test.py derives
    check_detections(model)
