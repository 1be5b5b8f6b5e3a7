"""The detector as a whole: keys and shapes per stage, empty images, batches, errors."""

import functools

import numpy as np
import pytest
import small_detector
import tensorflow as tf

from object_detection.builders import model_builder

IMAGES = tf.random.stateless_uniform([2, 48, 80, 3], seed=[1, 2], maxval=255.0)
BOX = tf.constant([[0.1, 0.1, 0.6, 0.6]])
ONE_HOT = tf.constant([[0.0, 1.0]])
NO_BOXES, NO_CLASSES = tf.zeros([0, 4]), tf.zeros([0, 2])


@functools.cache
def detector(stages, is_training):
    tf.random.set_seed(5)
    return model_builder.build(small_detector.config(stages), is_training)


def run(model, images):
    pixels, shapes = model.preprocess(images)
    predictions = model.predict(pixels, shapes)
    return predictions, model.postprocess(predictions, shapes)


def losses_of(model, boxes, classes, **more):
    pixels, shapes = model.preprocess(IMAGES)
    model.provide_groundtruth(boxes, classes, **more)
    with tf.GradientTape() as tape:
        losses = model.loss(model.predict(pixels, shapes), shapes)
        total = tf.add_n(list(losses.values()))
    gradients = tape.gradient(total, model.trainable_variables)
    return losses, [g for g in gradients if g is not None]


@pytest.mark.parametrize("stages", [1, 2, 3])
def test_detections_have_fixed_shapes(stages):
    _, found = run(detector(stages, False), IMAGES)
    rows = 8 if stages == 1 else 5
    assert found["detection_boxes"].shape == [2, rows, 4]
    assert found["detection_scores"].shape == [2, rows]
    assert ("detection_classes" in found) == (stages > 1)
    assert ("detection_masks" in found) == (stages == 3)
    if stages == 3:
        assert found["detection_masks"].shape == [2, rows, 5, 5]


@pytest.mark.parametrize("stages", [1, 2, 3])
def test_a_batch_gives_what_its_images_give_alone(stages):
    model = detector(stages, False)
    _, together = run(model, IMAGES)
    for index in range(2):
        _, alone = run(model, IMAGES[index:index + 1])
        for key, value in alone.items():
            np.testing.assert_allclose(value[0], together[key][index], atol=1e-5, err_msg=key)


@pytest.mark.parametrize("stages", [1, 2, 3])
def test_images_without_objects_give_finite_losses_and_no_box_loss(stages):
    masks = [tf.zeros([0, 64, 64])] * 2 if stages == 3 else None
    losses, gradients = losses_of(detector(stages, True), [NO_BOXES] * 2, [NO_CLASSES] * 2,
                                  groundtruth_masks_list=masks)
    for name, value in losses.items():
        assert np.isfinite(value), name
        if "localization" in name or "mask" in name:
            assert value == 0.0, name
    assert all(np.isfinite(g).all() for g in map(np.asarray, gradients))


def test_three_stages_train_their_masks():
    losses, _ = losses_of(detector(3, True), [BOX, NO_BOXES], [ONE_HOT, NO_CLASSES],
                          groundtruth_masks_list=[tf.ones([1, 64, 64]), tf.zeros([0, 64, 64])])
    assert set(losses) == {
        "Loss/RPNLoss/localization_loss", "Loss/RPNLoss/objectness_loss",
        "Loss/BoxClassifierLoss/localization_loss", "Loss/BoxClassifierLoss/classification_loss",
        "Loss/BoxClassifierLoss/mask_loss"}


def test_a_mask_model_without_masks_says_which_field_to_set():
    with pytest.raises(ValueError, match="load_instance_masks: true"):
        losses_of(detector(3, True), [BOX] * 2, [ONE_HOT] * 2)


def test_training_without_ground_truth_is_refused():
    model = model_builder.build(small_detector.config(), True)
    with pytest.raises(ValueError, match="call provide_groundtruth before predict"):
        run(model, IMAGES)


def test_an_unannotated_image_counts_for_nothing():
    model = detector(1, False)
    both, _ = losses_of(model, [BOX, BOX], [ONE_HOT] * 2, is_annotated_list=[True, False])
    alone = model.preprocess(IMAGES[:1])
    model.provide_groundtruth([BOX], [ONE_HOT])
    expected = model.loss(model.predict(*alone), alone[1])
    name = "Loss/RPNLoss/localization_loss"  # has no random sampling: few anchors match
    np.testing.assert_allclose(both[name], expected[name], rtol=1e-5)


def test_crowd_boxes_are_neither_object_nor_background():
    model = detector(2, False)
    crowd, _ = losses_of(model, [BOX, BOX], [ONE_HOT] * 2,
                         groundtruth_is_crowd_list=[[True], [True]])
    assert crowd["Loss/RPNLoss/localization_loss"] == 0.0


def test_postprocess_leaves_the_predictions_as_they_are():
    model = detector(3, False)
    pixels, shapes = model.preprocess(IMAGES)
    predictions = model.predict(pixels, shapes)
    before = dict(predictions)
    model.postprocess(predictions, shapes)
    assert predictions.keys() == before.keys()
    assert all(predictions[key] is before[key] for key in before)


def test_a_second_model_has_variables_of_its_own():
    first, second = (model_builder.build(small_detector.config(), False) for _ in range(2))
    name = "Conv/weights"
    second.variables_by_name[name].assign(tf.zeros_like(second.variables_by_name[name]))
    assert np.abs(first.variables_by_name[name]).max() > 0.0


def test_restore_map_by_type():
    model = detector(2, False)
    stages = {name.split("/")[0] for name in model.restore_map("detection")}
    assert stages == {"FirstStageFeatureExtractor", "SecondStageFeatureExtractor"}
    assert "MobilenetV1/Conv2d_0/weights" in model.restore_map("classification")
    assert "Conv/weights" in model.restore_map("full")
    assert "Conv/weights" in model.restore_map("detection", True)
    with pytest.raises(ValueError, match="set classification, detection, full or fine_tune"):
        model.restore_map("all")


def test_integer_images_are_refused():
    with pytest.raises(ValueError, match="images must be float32 in 0..255, got uint8"):
        detector(1, False).preprocess(tf.zeros([1, 64, 64, 3], tf.uint8))


def test_masks_follow_the_image_when_it_is_padded():
    """A detection's mask is cropped where its box lies on the padded map."""
    changes = ("image_resizer { keep_aspect_ratio_resizer { min_dimension: 64 max_dimension: 64 "
               "pad_to_max_dimension: true } }")
    config = small_detector.config(3)
    config.faster_rcnn.ClearField("image_resizer")
    config = small_detector.config(3, changes)
    model = model_builder.build(config, False)
    pixels, shapes = model.preprocess(IMAGES)  # 48 x 80 becomes 38 x 64, padded to 64 x 64
    np.testing.assert_array_equal(shapes[0], [38, 64, 3])
    predictions = model.predict(pixels, shapes)
    boxes = predictions["mask_boxes"]
    np.testing.assert_allclose(
        boxes[0, :, 2], predictions["detection_boxes"][0, :, 2] * 38.0, rtol=1e-5)


@pytest.mark.parametrize("stages", [2, 3])
def test_features_of_final_boxes(stages):
    """The features of a detection are those the second stage makes of its box."""
    model = model_builder.build(small_detector.config(
        stages, "output_final_box_features: true output_final_box_rpn_features: true"), False)
    predictions, found = run(model, IMAGES)
    crops = found["cropped_rpn_box_features"]
    maps = predictions["rpn_features_to_crop"]
    assert crops.shape == [2, 5, 2, 2, maps.shape[-1]]
    assert found["detection_features"].shape[:2] == [2, 5]
    cut = tf.image.crop_and_resize(maps, found["detection_boxes"][1], [1] * 5, [4, 4])
    np.testing.assert_allclose(crops[1], tf.nn.max_pool2d(cut, 2, 2, "VALID"), atol=1e-5)


def test_masks_in_given_boxes():
    """A detected box, given back, gets the mask that was drawn for it."""
    model = detector(3, False)
    predictions, found = run(model, IMAGES)
    _, shapes = model.preprocess(IMAGES)
    drawn = model.predict_masks_from_boxes(
        predictions, shapes, [found["detection_boxes"][0][:2], found["detection_boxes"][1][:1]],
        [found["detection_classes"][0][:2], found["detection_classes"][1][:1]])
    assert drawn["detection_masks"].shape == [2, 2, 5, 5]
    np.testing.assert_array_equal(drawn["num_detections"], [2, 1])
    for image, count in ((0, 2), (1, 1)):
        np.testing.assert_allclose(drawn["detection_masks"][image, :count],
                                   found["detection_masks"][image, :count], atol=1e-5)


def test_masks_in_no_boxes():
    model = detector(3, False)
    predictions, _ = run(model, IMAGES[:1])
    _, shapes = model.preprocess(IMAGES[:1])
    drawn = model.predict_masks_from_boxes(predictions, shapes, [tf.zeros([0, 4])], [tf.zeros([0])])
    assert drawn["num_detections"].numpy() == [0]


def test_a_model_without_masks_draws_none():
    with pytest.raises(ValueError, match="draws no masks; set .*predict_instance_masks"):
        detector(2, False).predict_masks_from_boxes({}, tf.zeros([1, 3]), [], [])


@pytest.mark.parametrize("changes,stages", [("output_final_box_features: true", 1)])
def test_features_of_boxes_need_a_second_stage(changes, stages):
    with pytest.raises(ValueError, match="output_final_box_features: needs a second stage"):
        model_builder.build(small_detector.config(stages, changes), False)
