"""End to end against the original: same weights, same numbers.

A case's config is read as it is, plus `original_faults` where the recorded numbers hold one.
"""

import functools

import golden
import numpy as np
import pytest
import shared_files
import tensorflow as tf
from google.protobuf import text_format

from object_detection.builders import model_builder
from object_detection.protos import pipeline_pb2

CASES = [
    "faster_rcnn_resnet50", "faster_rcnn_resnet50_rpn_only",
    *(pytest.param(case, marks=pytest.mark.slow) for case in (
        "faster_rcnn_mobilenet_v1", "mask_rcnn_resnet50", "mask_rcnn_resnet50_agnostic_masks",
        "faster_rcnn_inception_v2", "faster_rcnn_inception_resnet_v2_atrous",
        "faster_rcnn_resnet50_batch_norm", "faster_rcnn_resnet101_atrous",
        "faster_rcnn_resnet50_static", "faster_rcnn_resnet50_agnostic_sigmoid_ohem",
        "faster_rcnn_resnet50_agnostic_softmax_ohem", "rfcn_resnet101"))]


def pipeline(case):
    path = shared_files.require(f"fixtures/tf1/{case}") / "pipeline.config"
    config = text_format.Merge(path.read_text(), pipeline_pb2.TrainEvalPipelineConfig())
    faults = config.model.faster_rcnn.original_faults
    for field in faults.DESCRIPTOR.fields:
        setattr(faults, field.name, True)
    return config


def build(config, is_training):
    model = model_builder.build(config.model, is_training)
    golden.fill(model.variables_by_name)
    return model


@functools.lru_cache(maxsize=2)
def run_inference(case):
    inputs, expected = golden.load(case)
    model = build(pipeline(case), is_training=False)
    data = golden.images_and_truth(inputs)
    pixels, shapes = golden.preprocess(model, data["image"])
    golden.provide(model, data)

    @tf.function
    def step():
        predictions = model.predict(pixels, shapes)
        return predictions, model.postprocess(predictions, shapes), model.loss(predictions, shapes)

    return pixels, shapes, step(), expected


@pytest.mark.parametrize("case", CASES)
def test_preprocess_predict_postprocess(case):
    pixels, shapes, (predictions, detections, _), expected = run_inference(case)
    np.testing.assert_allclose(pixels, expected["preprocessed_images"], rtol=0, atol=2e-3)
    np.testing.assert_array_equal(shapes, expected["true_image_shapes"])
    assert golden.compare(predictions, expected, "predict/") > 5
    assert golden.compare(detections, expected, "postprocess/") >= 6


@pytest.mark.parametrize("case", CASES)
def test_losses_of_the_inference_model(case):
    *_, (_, _, losses), expected = run_inference(case)
    assert set(losses) == {key[len("eval_loss/"):] for key in expected
                           if key.startswith("eval_loss/")}
    for name, value in losses.items():
        np.testing.assert_allclose(value, expected[f"eval_loss/{name}"], rtol=1e-4, err_msg=name)


@pytest.mark.parametrize("case", CASES)
def test_training_predictions_losses_and_gradients(case):
    inputs, expected = golden.load(case)
    model = build(pipeline(case), is_training=True)
    data = golden.images_and_truth(inputs)
    pixels, shapes = golden.preprocess(model, data["image"])
    variables = {v.name.split(":")[0]: v for v in model.trainable_variables}

    @tf.function
    def step():
        golden.provide(model, data)
        with tf.GradientTape() as tape:
            predictions = model.predict(pixels, shapes)
            losses = model.loss(predictions, shapes)
            regularization = tf.add_n(model.regularization_losses() or [tf.zeros([])])
            total = tf.add_n(list(losses.values())) + regularization
        return predictions, losses, regularization, total, tape.gradient(total, variables)

    predictions, losses, regularization, total, gradients = step()
    assert golden.compare(predictions, expected, "train/predict/") > 5
    losses = {**losses, "Loss/total_loss": total, "Loss/regularization_loss": regularization}
    for key in expected:
        if key.startswith("train/loss/"):
            np.testing.assert_allclose(losses[key[len("train/loss/"):]], expected[key], rtol=1e-4,
                                       err_msg=key)
    compare_gradients(gradients, expected)


def compare_gradients(gradients, expected):
    for key in expected:
        if key.startswith("train/grad_norm/"):
            gradient = gradients[key[len("train/grad_norm/"):]]
            np.testing.assert_allclose(tf.norm(gradient), expected[key], rtol=2e-2, err_msg=key)
        elif key.startswith("train/grad/"):
            golden.assert_close(gradients[key[len("train/grad/"):]], expected[key], 2e-2, key)
    norm = tf.linalg.global_norm([g for g in gradients.values() if g is not None])
    np.testing.assert_allclose(norm, expected["train/grad_global_norm"], rtol=2e-2)
