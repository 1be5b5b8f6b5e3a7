"""What notebooks do with TF2 models: restore by object, detect, and train a part under a tape."""

import functools

import numpy as np
import pytest
import tensorflow as tf
from google.protobuf import text_format

from object_detection.builders import model_builder
from object_detection.protos import pipeline_pb2

CONFIG = """
model { faster_rcnn {
  num_classes: %d
  image_resizer { fixed_shape_resizer { height: 64 width: 96 } }
  feature_extractor { type: "faster_rcnn_resnet50_keras" }
  first_stage_anchor_generator {
    grid_anchor_generator { scales: [0.25, 0.5] aspect_ratios: 1 } }
  first_stage_box_predictor_conv_hyperparams {
    initializer { truncated_normal_initializer { stddev: 0.01 } } }
  first_stage_max_proposals: 8
  initial_crop_size: 4 maxpool_kernel_size: 2 maxpool_stride: 2
  second_stage_batch_size: 4
  second_stage_box_predictor { mask_rcnn_box_predictor {
    share_box_across_classes: true
    fc_hyperparams { op: FC initializer { truncated_normal_initializer { stddev: 0.01 } } } } }
  second_stage_post_processing {
    batch_non_max_suppression { max_total_detections: 5 } score_converter: SOFTMAX }
} }
"""
HEADS = "mask_rcnn_keras_box_predictor/"


def config(num_classes):
    text = CONFIG % num_classes
    return text_format.Parse(text, pipeline_pb2.TrainEvalPipelineConfig()).model


@functools.cache
def pretrained(folder):
    """Returns a detector of 90 classes and the prefix of its checkpoint."""
    tf.random.set_seed(3)
    model = model_builder.build(config(90), is_training=False)
    return model, tf.train.Checkpoint(model=model).save(f"{folder}/ckpt")


@pytest.fixture(scope="module", name="trained")
def _trained(tmp_path_factory):
    return pretrained(str(tmp_path_factory.mktemp("zoo")))


@pytest.mark.slow
def test_a_checkpoint_is_restored_and_detects_the_same(trained):
    original, path = trained
    detection_model = model_builder.build(model_config=config(90), is_training=False)
    ckpt = tf.train.Checkpoint(model=detection_model)
    ckpt.restore(path).expect_partial()

    def detect(model, image):
        image, shapes = model.preprocess(image)
        prediction_dict = model.predict(image, shapes)
        return model.postprocess(prediction_dict, shapes)

    image = tf.random.stateless_uniform([1, 64, 96, 3], seed=[5, 6], maxval=255.0)
    got, expected = detect(detection_model, image), detect(original, image)
    for key in ("detection_boxes", "detection_scores", "detection_classes"):
        np.testing.assert_allclose(got[key], expected[key], atol=1e-5, err_msg=key)


@pytest.mark.slow
def test_the_few_shot_pattern(trained):
    """Backbone, proposals and box head from 90 classes; a new class head is trained alone."""
    original, path = trained
    detection_model = model_builder.build(model_config=config(2), is_training=True)
    fake_box_predictor = tf.train.Checkpoint(
        _box_prediction_head=detection_model._mask_rcnn_box_predictor._box_prediction_head)
    fake_model = tf.train.Checkpoint(
        _feature_extractor_for_proposal_features=(
            detection_model._feature_extractor_for_proposal_features),
        _feature_extractor_for_box_classifier_features=(
            detection_model._feature_extractor_for_box_classifier_features),
        _first_stage_box_predictor_first_conv=(
            detection_model._first_stage_box_predictor_first_conv),
        _first_stage_box_predictor=detection_model._first_stage_box_predictor,
        _mask_rcnn_box_predictor=fake_box_predictor)
    ckpt = tf.train.Checkpoint(model=fake_model)
    ckpt.restore(path).expect_partial()

    before = {name: variable.numpy()
              for name, variable in detection_model.variables_by_name.items()}
    for name, variable in original.variables_by_name.items():
        if "ClassPredictor_dense" not in name:
            np.testing.assert_array_equal(before[name], variable, err_msg=name)

    to_fine_tune = [variable for variable in detection_model.trainable_variables
                    if variable.name.startswith(HEADS)]
    assert len(to_fine_tune) == 4
    optimizer = tf.keras.optimizers.SGD(learning_rate=1e-6, momentum=0.9)

    @tf.function
    def train_step_fn(images, boxes, classes):
        detection_model.provide_groundtruth(groundtruth_boxes_list=boxes,
                                            groundtruth_classes_list=classes)
        with tf.GradientTape() as tape:
            preprocessed, shapes = detection_model.preprocess(images)
            prediction_dict = detection_model.predict(preprocessed, shapes)
            losses = detection_model.loss(prediction_dict, shapes)
            total = tf.add_n(list(losses.values()))
        gradients = tape.gradient(total, to_fine_tune)
        optimizer.apply_gradients(zip(gradients, to_fine_tune))
        return losses["Loss/BoxClassifierLoss/classification_loss"]

    images = tf.random.stateless_uniform([2, 64, 96, 3], seed=[7, 8], maxval=255.0)
    boxes = [tf.constant([[0.1, 0.1, 0.7, 0.6]]), tf.constant([[0.2, 0.3, 0.9, 0.9]])]
    classes = [tf.constant([[0.0, 1.0]]), tf.constant([[1.0, 0.0]])]
    losses = [float(train_step_fn(images, boxes, classes)) for _ in range(8)]
    assert losses[-1] < losses[0]
    changed = {name for name, variable in detection_model.variables_by_name.items()
               if np.any(variable.numpy() != before[name])}
    assert changed and all(name.startswith(HEADS) for name in changed)
