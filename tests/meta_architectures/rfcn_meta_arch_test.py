"""R-FCN as a whole: what differs from Faster R-CNN, empty images, batches, refused settings."""

import functools

import numpy as np
import pytest
import small_detector
import tensorflow as tf

from object_detection.builders import faster_rcnn_builder, model_builder
from object_detection.meta_architectures.rfcn_meta_arch import RFCNMetaArch

IMAGES = tf.random.stateless_uniform([2, 48, 80, 3], seed=[1, 2], maxval=255.0)
BOX = tf.constant([[0.1, 0.1, 0.6, 0.6]])
ONE_HOT = tf.constant([[0.0, 1.0]])
HEAD = "second_stage_box_predictor { rfcn_box_predictor { %s } } "
CONV = "conv_hyperparams { initializer { truncated_normal_initializer { stddev: 0.5 } } } "
SIZES = ("depth: 8 num_spatial_bins_height: 2 num_spatial_bins_width: 3 "
         "crop_height: 4 crop_width: 3 ")


def config(changes="", head=CONV + SIZES):
    message = small_detector.config(changes=HEAD % head + changes)
    for field in ("initial_crop_size", "maxpool_kernel_size", "maxpool_stride"):
        message.faster_rcnn.ClearField(field)  # R-FCN has no use for them
    return message


@functools.cache
def detector(is_training):
    model = model_builder.build(config("return_raw_detections_during_predict: true"), is_training)
    for row, (name, variable) in enumerate(sorted(model.variables_by_name.items())):
        if name.endswith("weights"):
            # So wide that activations keep their size through the layers (the default fades out).
            height, width, depth, _ = variable.shape
            inputs = height * width * (1 if name.endswith("depthwise_weights") else depth)
            variable.assign(tf.random.stateless_normal(variable.shape, [5, row])
                            * (2.0 / inputs) ** 0.5)
    return model


def run(model, images):
    pixels, shapes = model.preprocess(images)
    predictions = model.predict(pixels, shapes)
    return predictions, model.postprocess(predictions, shapes)


def losses_of(boxes, classes):
    model = detector(True)
    pixels, shapes = model.preprocess(IMAGES)
    model.provide_groundtruth(boxes, classes)
    with tf.GradientTape() as tape:
        losses = model.loss(model.predict(pixels, shapes), shapes)
        total = tf.add_n(list(losses.values()))
    names = [v.name.split(":")[0] for v in model.trainable_variables]
    return losses, dict(zip(names, tape.gradient(total, model.trainable_variables), strict=True))


def test_box_features_are_those_of_the_whole_images():
    model = detector(False)
    predictions, found = run(model, IMAGES)
    assert isinstance(model, RFCNMetaArch)
    assert predictions["rpn_features_to_crop"].shape[:3] == [2, 4, 4]
    assert predictions["box_classifier_features"].shape[:3] == [2, 2, 2]  # the tail halves them
    assert predictions["refined_box_encodings"].shape == [16, 2, 4]
    assert predictions["class_predictions_with_background"].shape == [16, 3]
    assert found["detection_boxes"].shape == [2, 5, 4]


def test_final_anchors_are_in_pixels():
    predictions, _ = run(detector(False), IMAGES)
    np.testing.assert_array_equal(predictions["final_anchors"], predictions["proposal_boxes"])
    np.testing.assert_allclose(predictions["proposal_boxes_normalized"] * 64.0,
                               predictions["final_anchors"], rtol=1e-6)


def test_predict_gives_raw_detections_if_asked():
    predictions, found = run(detector(False), IMAGES)
    raw = predictions["raw_detection_boxes"]
    assert raw.shape == [2, 8, 2, 4]
    best = tf.argmax(found["raw_detection_scores"][..., 1:], axis=-1)
    chosen = tf.clip_by_value(tf.gather(raw, best, batch_dims=2), 0.0, 1.0)
    np.testing.assert_allclose(chosen, found["raw_detection_boxes"], atol=1e-6)


def test_a_batch_gives_what_its_images_give_alone():
    _, together = run(detector(False), IMAGES)
    for index in range(2):
        _, alone = run(detector(False), IMAGES[index:index + 1])
        for key, value in alone.items():
            np.testing.assert_allclose(value[0], together[key][index], atol=1e-5, err_msg=key)


@pytest.mark.parametrize("change,use_matmul", [
    ("", False), ("use_matmul_crop_and_resize: true", True), ("use_static_shapes: true", True)])
def test_crops_are_matrix_products_where_the_config_says_so(change, use_matmul):
    model = faster_rcnn_builder.build(config(change).faster_rcnn, is_training=False)
    assert model._second.cropper.use_matmul == use_matmul


def test_images_without_objects_give_finite_losses_and_no_box_loss():
    losses, gradients = losses_of([tf.zeros([0, 4])] * 2, [tf.zeros([0, 2])] * 2)
    assert all(np.isfinite(value) for value in losses.values())
    assert losses["Loss/BoxClassifierLoss/localization_loss"] == 0.0
    assert all(np.isfinite(g).all() for g in gradients.values() if g is not None)


def test_the_class_loss_trains_the_score_maps_and_the_backbone():
    losses, gradients = losses_of([BOX, BOX], [ONE_HOT, ONE_HOT])
    assert losses["Loss/BoxClassifierLoss/classification_loss"] > 0.0
    for name in ("SecondStageBoxPredictor/reduce_depth/weights",
                 "SecondStageBoxPredictor/class_predictions/weights",
                 "SecondStageFeatureExtractor/MobilenetV1/Conv2d_13_pointwise/pointwise_weights"):
        assert np.abs(gradients[name]).max() > 0.0, name


def test_one_stage_is_a_region_proposal_network_as_ever():
    model = faster_rcnn_builder.build(config("number_of_stages: 1").faster_rcnn, False)
    assert not isinstance(model, RFCNMetaArch)
    assert model.number_of_stages == 1


def test_a_pyramid_is_refused():
    model = detector(False)
    with pytest.raises(ValueError, match="reads one feature map, got 2; choose"):
        model._regions.heads([tf.zeros([1, 4, 4, 8])] * 2, tf.zeros([1, 1, 4]))


@pytest.mark.parametrize("changes,head,message", [
    ("number_of_stages: 3", CONV + SIZES, "3 draws masks, and rfcn_box_predictor has none"),
    ("", SIZES, "rfcn_box_predictor.conv_hyperparams: must be set"),
    ("", CONV + "depth: 0", "rfcn_box_predictor.depth: want at least 1, got 0"),
    ("", CONV + "box_code_size: 5", "rfcn_box_predictor.box_code_size: boxes have 4 numbers"),
    ("", CONV + "num_spatial_bins_width: 0", "num_spatial_bins_width: want at least 1, got 0"),
    ("", CONV + "crop_height: 0", "crop_height: want a multiple of num_spatial_bins_height"),
    ("", CONV + "crop_width: 10", "crop_width: want a multiple of.*which is 3, got 10")])
def test_settings_that_cannot_work_name_their_field(changes, head, message):
    with pytest.raises(ValueError, match=message):
        model_builder.build(config(changes, head), is_training=False)
