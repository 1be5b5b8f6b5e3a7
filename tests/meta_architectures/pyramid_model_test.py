"""Pyramid detectors: any image size, the faults of the original, region pooling, static shapes."""

import functools

import numpy as np
import pytest
import tensorflow as tf
from google.protobuf import text_format

from object_detection.builders import (
    feature_extractor_builder,
    model_builder,
    resnet_fpn_keras_builder,
)
from object_detection.core.structures import ImageExtent
from object_detection.nets import resnet_keras
from object_detection.protos import model_pb2

CONFIG = """
  faster_rcnn {
    num_classes: 3
    image_resizer { identity_resizer {} }
    feature_extractor {
      type: "tiny_fpn"
      fpn { min_level: 2 max_level: 6 additional_layer_depth: 8 }
      conv_hyperparams {
        regularizer { l2_regularizer { weight: 0.5 } }
        initializer { truncated_normal_initializer { stddev: 0.03 } }
        batch_norm { scale: true }
      }
      override_base_feature_extractor_hyperparams: true
    }
    first_stage_anchor_generator { multiscale_anchor_generator {
      min_level: 2 max_level: 6 anchor_scale: 2.0 aspect_ratios: 1.0 scales_per_octave: 1
      normalize_coordinates: false } }
    first_stage_box_predictor_conv_hyperparams {
      regularizer { l2_regularizer { weight: 0.0 } }
      initializer { truncated_normal_initializer { stddev: 0.01 } } }
    first_stage_box_predictor_depth: 8
    first_stage_max_proposals: 12
    second_stage_batch_size: 6
    initial_crop_size: 4 maxpool_kernel_size: 2 maxpool_stride: 2
    second_stage_box_predictor { mask_rcnn_box_predictor { fc_hyperparams {
      op: FC regularizer { l2_regularizer { weight: 0.0 } }
      initializer { variance_scaling_initializer {} } } } }
    second_stage_post_processing { batch_non_max_suppression {
      max_detections_per_class: 5 max_total_detections: 5 } score_converter: SOFTMAX }
  }
"""
BOXES = [tf.constant([[0.1, 0.1, 0.6, 0.5], [0.7, 0.6, 1.0, 1.0]])]
CLASSES = [tf.constant([[1.0, 0, 0], [0, 0, 1.0]])]


@pytest.fixture(autouse=True)
def tiny_type(monkeypatch):
    """A ResNet with one block per stage."""
    monkeypatch.setitem(resnet_keras.NUM_BLOCKS, 14, (1, 1, 1, 1))
    monkeypatch.setitem(feature_extractor_builder.FASTER_RCNN_FEATURE_EXTRACTOR_CLASS_MAP,
                        "tiny_fpn", resnet_fpn_keras_builder.resnet(14))


@functools.cache
def _model(more="", is_training=False):
    config = text_format.Parse(CONFIG, model_pb2.DetectionModel())
    text_format.Merge(f"faster_rcnn {{ {more} }}", config)
    return model_builder.build(config, is_training)


def _image(height, width):
    return (tf.random.stateless_uniform([1, height, width, 3], seed=[height, width], maxval=255.0),
            tf.constant([[height, width, 3]]))


@pytest.mark.parametrize("height, width, sizes", [
    # Padded to 128 x 160 and to 224 x 352, then halved and rounded up.
    (97, 131, [(32, 40), (16, 20), (8, 10), (4, 5), (2, 3)]),
    (200, 333, [(56, 88), (28, 44), (14, 22), (7, 11), (4, 6)]),
    (5, 33, [(8, 16), (4, 8), (2, 4), (1, 2), (1, 1)])])
def test_any_image_size(height, width, sizes):
    model = _model()
    pixels, shapes = model.preprocess(_image(height, width)[0])
    predictions = tf.function(model.predict)(pixels, shapes)
    maps = predictions["rpn_features_to_crop"]
    assert [tuple(m.shape[1:3]) for m in maps] == sizes
    anchors = predictions["anchors"].numpy()
    assert len(anchors) == sum(h * w for h, w in sizes)
    assert predictions["rpn_box_encodings"].shape == [1, len(anchors), 4]
    # Cells of the finest level lie side by side: the second of the second row is at 6, 6 pixels,
    # with 8 x 8 pixels around it, whatever the size; those beyond the image are cut to nothing.
    if height > 10:
        np.testing.assert_allclose(anchors[sizes[0][1] + 1], [2, 2, 10, 10])
        assert np.any(np.prod(anchors[:, 2:] - anchors[:, :2], axis=1) == 0)
    assert anchors[:, 2].max() == height and anchors[:, 3].max() == width
    detections = model.postprocess(predictions, shapes)
    assert np.isfinite(detections["detection_boxes"]).all()
    assert np.all(detections["detection_boxes"] >= 0) and np.all(detections["detection_boxes"] <= 1)


@pytest.mark.parametrize("clip", ["false", pytest.param("true", marks=pytest.mark.slow)])
def test_training_on_an_odd_size(clip):
    model = _model(f"clip_anchors_to_image: {clip}", is_training=True)
    pixels, shapes = model.preprocess(_image(97, 131)[0])

    @tf.function
    def step():
        model.provide_groundtruth(BOXES, CLASSES)
        with tf.GradientTape() as tape:
            losses = model.loss(model.predict(pixels, shapes), shapes)
            total = tf.add_n(list(losses.values()))
        return losses, tape.gradient(total, model.trainable_variables)

    losses, gradients = step()
    assert all(np.isfinite(value) for value in losses.values())
    moved = {v.name for v, g in zip(model.trainable_variables, gradients, strict=True)
             if g is not None}
    assert len(moved) == len(model.trainable_variables)
    assert all(np.isfinite(g).all() for g in gradients)


def test_crops_are_parts_of_the_padded_image():
    images = ImageExtent(tf.constant([[97, 131, 3]]), tf.constant([97.0, 131.0]))
    whole = tf.constant([[[0.0, 0.0, 97.0, 131.0]]])
    right = _model()._regions.to_regions(whole, images)
    np.testing.assert_allclose(right.boxes, [[[0, 0, 97 / 128, 131 / 160]]])
    np.testing.assert_allclose(right.size, [128, 160])
    faulty = _model("original_faults { pyramid_crops_use_unpadded_size: true }")
    old = faulty._regions.to_regions(whole, images)
    np.testing.assert_allclose(old.boxes, [[[0, 0, 1, 1]]])
    np.testing.assert_allclose(old.size, [97, 131])


def test_anchors_of_the_fault_start_at_the_edge():
    model = _model("original_faults { pyramid_crops_use_unpadded_size: true }")
    pixels, shapes = model.preprocess(_image(97, 131)[0])
    # 97 and 131 are no multiples of 4, so the first cell's centre is taken for the edge.
    anchors = tf.function(model.predict)(pixels, shapes)["anchors"]
    np.testing.assert_allclose(anchors[41], [0, 0, 8, 8])


def test_dense_layers_are_regularized_unless_the_fault_is_asked_for():
    model = _model(is_training=True)
    faulty = _model("original_faults { pyramid_dense_layers_unregularized: true }", True)
    assert len(model.regularization_losses()) == len(faulty.regularization_losses()) + 2
    kernels = [model.variables_by_name[name] for name in ("dense/kernel", "dense_1/kernel")]
    extra = sum(0.5 * 0.5 * np.square(kernel).sum() for kernel in kernels)
    for name, variable in faulty.variables_by_name.items():
        variable.assign(model.variables_by_name[name])
    np.testing.assert_allclose(sum(model.regularization_losses()),
                               sum(faulty.regularization_losses()) + extra, rtol=1e-5)


@pytest.mark.slow
@pytest.mark.parametrize("more", ["", "region_pooling { kind: ROI_ALIGN }"])
def test_static_shapes_compile(more):
    model = _model("use_static_shapes: true use_static_shapes_for_eval: true "
                   "use_matmul_crop_and_resize: true clip_anchors_to_image: true "
                   "second_stage_post_processing { batch_non_max_suppression { "
                   f"use_static_shapes: true }} }} {more}")
    pixels, shapes = model.preprocess(_image(97, 131)[0])
    spec = [tf.TensorSpec(pixels.shape), tf.TensorSpec(shapes.shape, tf.int32)]

    def run(pixels, shapes):
        return model.postprocess(model.predict(pixels, shapes), shapes)

    compiled = tf.function(run, spec, jit_compile=True)(pixels, shapes)
    plain = tf.function(run, spec)(pixels, shapes)
    for name, value in plain.items():
        np.testing.assert_allclose(compiled[name], value, atol=2e-3, err_msg=name)
