"""Nothing of a model stays in memory when it is dropped: no graph, and so no variable."""

import gc

import numpy as np
import pytest
import small_detector
import tensorflow as tf
from engine import fake_model

from object_detection.builders import model_builder
from object_detection.core.standard_fields import InputDataFields as Fields
from object_detection.engine.train_step import TrainSettings, TrainStep


def graphs():
    """Returns how many traced graphs are alive."""
    gc.collect()
    return sum(isinstance(thing, tf.__internal__.FuncGraph) for thing in gc.get_objects())


def train_once(stages):
    model = model_builder.build(small_detector.config(stages), is_training=True)
    step = TrainStep(model, fake_model.plan(rate=0.1), TrainSettings())
    pixels, shapes = model.preprocess(tf.zeros([1, 64, 64, 3]))
    step({Fields.image: pixels, Fields.true_image_shape: shapes},
         {Fields.groundtruth_boxes: tf.constant([[[0.1, 0.1, 0.6, 0.5]]]),
          Fields.groundtruth_classes: tf.constant([[[0.0, 1.0]]]),
          Fields.groundtruth_weights: tf.ones([1, 1]),
          Fields.groundtruth_is_crowd: tf.zeros([1, 1], tf.bool),
          Fields.groundtruth_instance_masks: tf.constant(np.ones([1, 1, 64, 64], np.uint8))})


def detect_once(stages):
    model = model_builder.build(small_detector.config(stages), is_training=False)

    @tf.function
    def detect(images):
        pixels, shapes = model.preprocess(images)
        return model.postprocess(model.predict(pixels, shapes), shapes)

    detect(tf.zeros([1, 64, 64, 3]))


@pytest.mark.parametrize("stages", [1, 3])
@pytest.mark.parametrize("use", [train_once, detect_once])
def test_a_dropped_model_leaves_no_graph(use, stages):
    use(stages)  # functions that all models share are traced now
    before = graphs()
    use(stages)
    assert graphs() == before
