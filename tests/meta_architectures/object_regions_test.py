"""The mask loss with the regions of objects alone: by hand, and the same as with all regions."""

import dataclasses

import numpy as np
import pytest
import small_detector
import tensorflow as tf
import torchvision_configs

from object_detection.builders import faster_rcnn_builder, model_builder
from object_detection.meta_architectures import faster_rcnn_meta_arch as arch
from object_detection.meta_architectures import object_regions


def test_objects_come_first_and_in_order():
    objects = tf.constant([[False, True, False, True], [False, False, True, False]])
    np.testing.assert_array_equal(object_regions.in_front(objects), [[1, 3], [2, 0]])


def test_without_objects_there_is_one_row():
    np.testing.assert_array_equal(object_regions.in_front(tf.zeros([1, 3], tf.bool)), [[0]])
    assert object_regions.in_front(tf.zeros([2, 0], tf.bool)).shape == [2, 0]


def test_rows_of_every_part_are_picked():
    rows = tf.constant([[1], [0]])
    first, (second,) = object_regions.pick(
        (tf.constant([[1, 2], [3, 4]]), (tf.constant([[[1.0], [2.0]], [[3.0], [4.0]]]),)), rows)
    np.testing.assert_array_equal(first, [[2], [3]])
    np.testing.assert_array_equal(second, [[[2.0]], [[3.0]]])


def torchvision():
    model = faster_rcnn_builder.build(torchvision_configs.thin(classes=2), is_training=True)
    model.build()
    return model


DETECTORS = {
    "three_stages": lambda: model_builder.build(small_detector.config(3), is_training=True),
    "masks_in_two_stages": lambda: model_builder.build(small_detector.config(
        2, "second_stage_box_predictor { mask_rcnn_box_predictor { predict_instance_masks: true } "
        "}"), is_training=True),
    "torchvision": torchvision,
}


@pytest.mark.parametrize("objects", [0, 2])
@pytest.mark.parametrize("name", DETECTORS)
def test_losses_and_gradients_are_those_of_all_regions(name, objects):
    tf.random.set_seed(7)
    lazy = DETECTORS[name]()
    assert lazy._second.masks_of_objects
    whole = arch.FasterRCNNMetaArch(
        lazy.settings, lazy._first, dataclasses.replace(lazy._second, masks_of_objects=False))
    whole.build()
    for key, variable in lazy.variables_by_name.items():
        whole.variables_by_name[key].assign(variable)
    pixels, shapes = lazy.preprocess(
        tf.random.stateless_uniform([2, 64, 64, 3], [1, 2], maxval=255.0))
    lazy.provide_groundtruth([tf.zeros([0, 4])] * 2, [tf.zeros([0, 2])] * 2)
    # Objects where there are proposals, so that some are matched.
    boxes = lazy.predict(pixels, shapes)["proposal_boxes_normalized"][0, :objects]
    found = []
    for model in (lazy, whole):
        tf.random.set_seed(11)  # of the samplers
        masks = tf.cast(tf.random.stateless_uniform(
            [objects, *pixels.shape[1:3]], [3, 4]) > 0.4, tf.float32)
        model.provide_groundtruth([boxes, boxes[:1]], [tf.one_hot([0, 1], 2)[:objects],
                                                       tf.one_hot([1], 2)[:objects]],
                                  [masks, masks[:1]])
        with tf.GradientTape() as tape:
            losses = model.loss(model.predict(pixels, shapes), shapes)
            mask_loss = losses[arch.MASK_LOSS]
        assert (mask_loss.numpy() > 0.0) == bool(objects)
        named = dict(model.variables_by_name)
        found.append((losses, tape.gradient(mask_loss, named)))
    tf.nest.map_structure(lambda a, b: np.testing.assert_allclose(a, b, rtol=1e-5), *[
        one[0] for one in found])
    scale = max(tf.norm(g).numpy() for g in found[1][1].values() if g is not None)
    for key, gradient in found[1][1].items():
        if gradient is None:
            assert found[0][1][key] is None
        else:
            np.testing.assert_allclose(found[0][1][key], gradient, atol=1e-5 * scale, err_msg=key)


def test_masks_of_a_dictionary_without_features_are_judged_as_they_are():
    model = model_builder.build(small_detector.config(3), is_training=True)
    pixels, shapes = model.preprocess(tf.zeros([1, 64, 64, 3]))
    model.provide_groundtruth([tf.zeros([0, 4])], [tf.zeros([0, 2])])
    predicted = model.predict(pixels, shapes)
    box = predicted["proposal_boxes_normalized"][0, :1]
    model.provide_groundtruth([box], [tf.one_hot([0], 2)], [tf.ones([1, 64, 64])])
    del predicted["box_classifier_features"]
    for logit, wanted in ((0.0, np.log(2.0)), (20.0, 0.0), (-20.0, 20.0)):  # the mask is all ones
        predicted["mask_predictions"] = tf.fill(predicted["mask_predictions"].shape, logit)
        loss = model.loss(predicted, shapes)[arch.MASK_LOSS]
        np.testing.assert_allclose(loss, wanted, atol=1e-5)
