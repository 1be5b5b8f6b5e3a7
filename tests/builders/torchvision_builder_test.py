import numpy as np
import pytest
import tensorflow as tf
import torchvision_configs

from object_detection.builders import (
    faster_rcnn_builder,
    feature_extractor_builder,
    mask_rcnn_fpn_builder,
)
from object_detection.models.mask_rcnn_torchvision_feature_extractor import (
    TorchvisionFpnFeatureExtractor,
)
from object_detection.nets import slim_layers as layers


@pytest.fixture
def config():
    """The thin config, with a tiny backbone instead of the ResNet."""
    def tiny(pixels):
        maps = []
        for number in range(1, 6):
            pixels = layers.conv2d(pixels, 4, 3, stride=2, scope=f"tiny_c{number}")
            maps.append(pixels)
        return maps[1:]

    def create(config, settings):
        plain = mask_rcnn_fpn_builder.layer_settings(config)
        return TorchvisionFpnFeatureExtractor(
            tiny, mask_rcnn_fpn_builder.pyramid_settings(config, plain))

    table = feature_extractor_builder.FASTER_RCNN_FEATURE_EXTRACTOR_CLASS_MAP
    table["tiny"] = create
    config = torchvision_configs.thin()
    config.feature_extractor.type = "tiny"
    yield config
    del table["tiny"]


def built(config, is_training=False):
    model = faster_rcnn_builder.build(config, is_training)
    model.build()
    return model


def test_inference_from_images_of_another_shape(config):
    model = built(config)
    images = tf.random.stateless_uniform([2, 60, 100, 3], [1, 2], maxval=255.0)
    pixels, shapes = model.preprocess(images)
    assert pixels.shape == [2, 64, 106, 3] and shapes.numpy().tolist() == [[64, 106, 3]] * 2
    predicted = tf.function(model.predict)(pixels, shapes)
    assert predicted["proposal_boxes"].shape == [2, 20, 4]
    # Maps of 16 x 32, 8 x 16, 4 x 8, 2 x 4 and 1 x 2 cells: the sides are padded to 64 x 128.
    assert predicted["anchors"].shape[0] == 3 * (512 + 128 + 32 + 8 + 2)
    found = model.postprocess(predicted, shapes)
    assert found["detection_masks"].shape == [2, 100, 28, 28]
    boxes = found["detection_boxes"].numpy()
    assert boxes.min() >= 0.0 and boxes.max() <= 1.0


def test_a_training_step_has_losses_and_gradients(config):
    model = built(config, is_training=True)
    pixels = tf.random.stateless_normal([1, 96, 128, 3], [1, 2])
    shapes = tf.constant([[77, 128, 3]])
    mask = np.zeros([1, 96, 128], np.uint8)
    mask[0, 40:70, 20:90] = 1
    model.provide_groundtruth([tf.constant([[40 / 96, 20 / 128, 70 / 96, 90 / 128]])],
                              [tf.one_hot([1], 3)], [mask])
    with tf.GradientTape() as tape:
        predicted = model.predict(pixels, shapes)
        losses = model.loss(predicted, shapes)
        total = tf.add_n([*losses.values(), *model.regularization_losses()])
    assert len(losses) == 5 and all(np.isfinite(value) for value in losses.values())
    assert predicted["proposal_boxes"].shape == [1, 8, 4]
    gradients = tape.gradient(total, model.trainable_variables)
    assert all(gradient is not None for gradient in gradients)


def test_boxes_alone(config):
    config.number_of_stages = 2
    config.second_stage_box_predictor.mask_rcnn_box_predictor.predict_instance_masks = False
    names = set(built(config).variables_by_name)
    assert "roi_heads/box_head/fc7/weight" in names
    assert not [name for name in names if "mask" in name]


def test_pixels_are_scaled_and_normalized(config):
    config.torchvision.pixel_mean[:] = [0.0, 0.5, 1.0]
    config.torchvision.pixel_std[:] = [1.0, 0.5, 0.25]
    model = faster_rcnn_builder.build(config, is_training=False)
    np.testing.assert_allclose(model.normalize(tf.fill([1, 1, 1, 3], 255.0))[0, 0, 0],
                               [1.0, 1.0, 0.0], atol=1e-6)


@pytest.mark.parametrize("change, message", [
    (lambda c: c.torchvision.pixel_mean.append(0.1), "pixel_mean: want 3 numbers"),
    (lambda c: c.torchvision.pixel_std.extend([0.1, 0.1, 0.0]), "pixel_std: want 3 numbers"),
    (lambda c: setattr(c.torchvision, "pre_nms_limit", 0), "pre_nms_limit"),
    (lambda c: setattr(c.torchvision, "mask_crop_size", 7), "set mask_height and mask_width to 14"),
    (lambda c: setattr(c, "initial_crop_size", 0), "initial_crop_size"),
    (lambda c: setattr(c.feature_extractor, "type", "mask_rcnn_resnet50_fpn"),
     "does not go with `torchvision`"),
    (lambda c: setattr(c, "number_of_stages", 1), "wants 2 or, with masks, 3, got 1"),
    (lambda c: c.hard_example_miner.SetInParent(), "hard_example_miner"),
    (lambda c: c.second_stage_box_predictor.rfcn_box_predictor.SetInParent(),
     "wants mask_rcnn_box_predictor"),
    (lambda c: setattr(c.second_stage_post_processing, "score_converter", 0), "SOFTMAX"),
    (lambda c: c.ClearField("image_resizer"), "image_resizer: must be set")])
def test_settings_that_cannot_work(config, change, message):
    change(config)
    with pytest.raises(ValueError, match=message):
        faster_rcnn_builder.build(config, is_training=False)
