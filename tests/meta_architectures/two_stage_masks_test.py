"""Masks without a third stage: drawn on the proposals, read at those that become detections."""

import numpy as np
import pytest
import small_detector
import tensorflow as tf

from object_detection.builders import model_builder

MASKS = "second_stage_box_predictor { mask_rcnn_box_predictor { predict_instance_masks: true } } "


def detector(is_training, more=""):
    return model_builder.build(small_detector.config(changes=MASKS + more), is_training)


def test_the_mask_of_a_detection_is_that_of_its_proposal_and_class():
    model = detector(False)
    images = tf.random.stateless_uniform([2, 64, 64, 3], [1, 2], 0.0, 255.0)
    pixels, shapes = model.preprocess(images)
    predictions = model.predict(pixels, shapes)
    assert predictions["mask_predictions"].shape == [16, 2, 5, 5]  # 2 images of 8 proposals
    found = model.postprocess(predictions, shapes)
    assert found["detection_masks"].shape == [2, 5, 5, 5]
    proposal = 8 + int(found["detection_anchor_indices"][1, 0])
    logits = predictions["mask_predictions"][proposal, int(found["detection_classes"][1, 0])]
    np.testing.assert_allclose(found["detection_masks"][1, 0], tf.sigmoid(logits), rtol=1e-5)


@pytest.mark.parametrize("agnostic", ["false", "true"])
def test_masks_train_on_the_sampled_proposals(agnostic):
    model = detector(True, "second_stage_box_predictor { mask_rcnn_box_predictor { "
                           f"masks_are_class_agnostic: {agnostic} }} }}")
    pixels, shapes = model.preprocess(tf.zeros([1, 64, 64, 3]))
    model.provide_groundtruth([tf.constant([[0.0, 0.0, 1.0, 1.0]])], [tf.constant([[1.0, 0.0]])],
                              [tf.ones([1, 64, 64])])
    predictions = model.predict(pixels, shapes)
    masks = 1 if agnostic == "true" else 2
    assert predictions["mask_predictions"].shape == [4, masks, 5, 5]  # second_stage_batch_size
    assert "Loss/BoxClassifierLoss/mask_loss" in model.loss(predictions, shapes)
