"""Convolutions in bfloat16: losses near those of float32, weights and slots float32."""

import numpy as np
import pytest
import small_detector
import tensorflow as tf
from engine import fake_model

from object_detection.builders import model_builder
from object_detection.core.standard_fields import InputDataFields as Fields
from object_detection.engine.train_step import TrainSettings, TrainStep

RFCN = """
  second_stage_box_predictor { rfcn_box_predictor {
    depth: 8 num_spatial_bins_height: 2 num_spatial_bins_width: 3 crop_height: 4 crop_width: 3
    conv_hyperparams { initializer { truncated_normal_initializer { stddev: 0.01 } } } } }
"""


def first_step(bfloat16, stages=2, changes=""):
    """Returns the step, its result, and the types that `predict` gave."""
    model = model_builder.build(small_detector.config(stages, changes + """
      first_stage_minibatch_size: 64 first_stage_positive_balance_fraction: 1.0
      second_stage_batch_size: 8 second_stage_balance_fraction: 1.0"""), is_training=True)
    for row, (name, variable) in enumerate(sorted(model.variables_by_name.items())):
        if name.endswith("weights"):
            # So wide that activations keep their size through the layers.
            *sides, depth, _ = variable.shape
            inputs = np.prod(sides) * (1 if name.endswith("depthwise_weights") else depth)
            variable.assign(tf.random.stateless_normal(variable.shape, [5, row])
                            * (2.0 / inputs) ** 0.5)
    types = {}
    predict = model.predict

    def watched(images, true_shapes):
        predictions = predict(images, true_shapes)
        types.update({name: value.dtype for name, value in predictions.items()
                      if isinstance(value, tf.Tensor)})
        return predictions

    model.predict = watched
    step = TrainStep(model, fake_model.plan(rate=0.01, average=0.9),
                     TrainSettings(clipping_norm=10.0, bfloat16=bfloat16))
    images = tf.random.stateless_uniform([2, 64, 64, 3], seed=[1, 2], maxval=255.0)
    features = {Fields.image: model.normalize(images),
                Fields.true_image_shape: tf.constant([[64, 64, 3]] * 2)}
    labels = {Fields.groundtruth_boxes: tf.constant([[[0.1, 0.1, 0.6, 0.6]]] * 2),
              Fields.groundtruth_classes: tf.constant([[[1.0, 0.0]]] * 2),
              Fields.groundtruth_weights: tf.ones([2, 1]),
              Fields.groundtruth_is_crowd: tf.zeros([2, 1], tf.bool)}
    if stages == 3:
        labels[Fields.groundtruth_instance_masks] = tf.ones([2, 1, 64, 64], tf.uint8)
    return step, step(features, labels), types


@pytest.mark.parametrize("stages, changes", [
    (2, ""), pytest.param(3, "", marks=pytest.mark.slow),
    pytest.param(2, RFCN, marks=pytest.mark.slow)])
def test_losses_are_near_those_of_float32(stages, changes):
    _, expected, _ = first_step(False, stages, changes)
    step, got, types = first_step(True, stages, changes)
    assert types["rpn_features_to_crop"] == tf.bfloat16
    for name in ("rpn_box_encodings", "rpn_objectness_predictions_with_background", "anchors",
                 "proposal_boxes", "refined_box_encodings", "class_predictions_with_background"):
        assert types[name] == tf.float32, name
    assert got.losses.keys() == expected.losses.keys()
    for name, value in got.losses.items():
        assert value.dtype == tf.float32
        np.testing.assert_allclose(value, expected.losses[name], rtol=0.05, err_msg=name)
    np.testing.assert_allclose(got.gradient_norm, expected.gradient_norm, rtol=0.1)
    for name, variable in step.state().items():
        assert variable.dtype == (tf.int64 if name == "global_step" else tf.float32), name
        assert np.all(np.isfinite(variable.numpy())), name
