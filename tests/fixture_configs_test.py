"""Configs as people have them: each of the family builds its model and trains one step."""

import numpy as np
import pytest
import shared_files
import tensorflow as tf

from object_detection.builders import model_builder, optimizer_builder
from object_detection.core.standard_fields import InputDataFields as Fields
from object_detection.engine.train_step import TrainSettings, TrainStep
from object_detection.utils import config_util

SHRINK = 4
# Other families, and Context R-CNN: refused with a message that says so.
REFUSED = {
    "centernet_resnet50_v1_fpn_512x512_kpts_coco17_tpu-8_unsupported.config": "center_net",
    "ssd_mobilenet_v2_coco_unsupported.config": "ssd",
    "context_rcnn_camera_trap.config": "context_config",
    "context_rcnn_resnet101_snapshot_serengeti.config": "context_config",
    "context_rcnn_resnet101_snapshot_serengeti_sync.config": "context_config",
}


def config_files():
    """Returns the config files of the shared folder; one placeholder where it is absent."""
    folder = shared_files.find("fixtures")
    if folder is None:
        return [pytest.param(None, id="absent")]
    return [pytest.param(path, id=path.stem) for kind in ("upstream_configs", "user_configs")
            for path in sorted((folder / kind).glob("*.config"))]


def optimizer_of(config):
    """Returns the config's optimizer; plain momentum for a config that is for serving only."""
    message = config.train_config.optimizer
    if not config.HasField("train_config"):
        message.momentum_optimizer.learning_rate.constant_learning_rate.learning_rate = 0.001
    return optimizer_builder.build(message)


def shrunk(detector):
    """Divides the sizes of the config's resizer; returns height and width of an image for it."""
    kind = detector.image_resizer.WhichOneof("image_resizer_oneof")
    resizer = getattr(detector.image_resizer, kind)
    names = {"keep_aspect_ratio_resizer": ("min_dimension", "max_dimension"),
             "fixed_shape_resizer": ("height", "width")}[kind]
    for name in names:
        setattr(resizer, name, getattr(resizer, name) // SHRINK)
    return [getattr(resizer, name) for name in names]


def random_batch(model, height, width):
    """Returns one image of noise with two objects and their masks."""
    images = tf.random.stateless_uniform([1, height, width, 3], seed=[3, 4], maxval=255.0)
    pixels, shapes = model.preprocess(images)
    boxes = tf.constant([[[0.1, 0.1, 0.6, 0.5], [0.3, 0.4, 0.9, 0.9]]])
    masks = np.zeros([1, 2, *pixels.shape[1:3]], np.uint8)
    masks[:, :, : height // 2, : width // 2] = 1
    features = {Fields.image: pixels, Fields.true_image_shape: shapes}
    labels = {Fields.groundtruth_boxes: boxes,
              Fields.groundtruth_classes: tf.one_hot([[0, model.num_classes - 1]],
                                                     model.num_classes),
              Fields.groundtruth_weights: tf.ones([1, 2]),
              Fields.groundtruth_is_crowd: tf.zeros([1, 2], tf.bool),
              Fields.groundtruth_instance_masks: tf.constant(masks)}
    return features, labels


@pytest.mark.slow
@pytest.mark.parametrize("path", config_files())
def test_a_config_of_the_family_trains_one_step(path):
    if path is None:
        shared_files.require("fixtures")
    if path.name in REFUSED:
        with pytest.raises(ValueError, match=REFUSED[path.name]):
            model_builder.build(config_util.load_pipeline(str(path)).model, True)
        return
    config = config_util.load_pipeline(str(path))
    height, width = shrunk(config.model.faster_rcnn)
    tf.random.set_seed(11)
    model = model_builder.build(config.model, is_training=True)
    step = TrainStep(model, optimizer_of(config), TrainSettings.from_config(config.train_config))
    before = {name: variable.numpy() for name, variable in step.trained.items()}

    result = step(*random_batch(model, height, width))

    assert all(np.isfinite(loss) for loss in result.losses.values())
    assert result.gradient_norm > 0.0
    if result.learning_rate > 0.0:  # a warm-up may start from 0
        assert any(np.any(variable.numpy() != before[name])
                   for name, variable in step.trained.items())
