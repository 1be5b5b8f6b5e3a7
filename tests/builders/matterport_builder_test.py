import golden_matterport
import numpy as np
import pytest
import tensorflow as tf

from object_detection.builders import faster_rcnn_builder, feature_extractor_builder
from object_detection.builders import mask_rcnn_fpn_builder as fpn_builder
from object_detection.nets import slim_layers as layers
from object_detection.protos import pipeline_pb2
from object_detection.utils import config_text

COCO = golden_matterport.ROOT / "configs" / "mask_rcnn_resnet101_fpn_coco.config"


@pytest.fixture
def config():
    """The ready config with a tiny backbone and thin heads."""
    def tiny(pixels, hyperparams):
        maps = []
        with hyperparams.arg_scope():
            for number in range(1, 6):
                pixels = layers.conv2d(pixels, 4, 3, stride=2, scope=f"tiny_c{number}")
                maps.append(pixels)
        return maps[1:]

    table = feature_extractor_builder.FASTER_RCNN_FEATURE_EXTRACTOR_CLASS_MAP
    table["tiny"] = fpn_builder.from_backbone(tiny)
    config = ready()
    config.feature_extractor.type = "tiny"
    config.feature_extractor.fpn.additional_layer_depth = 8
    config.image_resizer.centered_square_resizer.min_dimension = 64
    config.image_resizer.centered_square_resizer.max_dimension = 128
    config.first_stage_box_predictor_depth = 8
    config.first_stage_max_proposals = 20
    config.second_stage_batch_size = 8
    config.matterport.training_proposals = 30
    config.matterport.box_head_depth = 8
    head = config.second_stage_box_predictor.mask_rcnn_box_predictor
    head.mask_prediction_conv_depth = 4
    config.num_classes = 3
    yield config
    del table["tiny"]


def ready():
    pipeline = pipeline_pb2.TrainEvalPipelineConfig()
    config_text.merge(COCO.read_text(encoding="utf-8"), pipeline, COCO.name)
    return pipeline.model.faster_rcnn


def built(config, is_training=False):
    model = faster_rcnn_builder.build(config, is_training)
    model.build()
    return model


def test_inference_from_images_of_another_shape(config):
    model = built(config)
    images = tf.random.stateless_uniform([2, 60, 100, 3], [1, 2], maxval=255.0)
    pixels, shapes = model.preprocess(images)
    assert pixels.shape == [2, 128, 128, 3] and shapes.numpy().tolist() == [[64, 107, 3]] * 2
    predicted = model.predict(pixels, shapes)
    assert predicted["proposal_boxes"].shape == [2, 20, 4]
    found = model.postprocess(predicted, shapes)
    assert found["detection_masks"].shape == [2, 100, 28, 28]
    boxes = found["detection_boxes"].numpy()
    assert boxes.min() >= 0.0 and boxes.max() <= 1.0


def test_a_training_step_has_losses_and_gradients(config):
    model = built(config, is_training=True)
    pixels = tf.random.stateless_uniform([1, 128, 128, 3], [1, 2], maxval=100.0)
    shapes = tf.constant([[77, 128, 3]])
    mask = np.zeros([1, 128, 128], np.uint8)
    mask[0, 40:70, 20:90] = 1
    model.provide_groundtruth(
        [tf.constant([[40, 20, 70, 90]], tf.float32) / 128.0], [tf.one_hot([1], 3)], [mask])
    with tf.GradientTape() as tape:
        predicted = model.predict(pixels, shapes)
        losses = model.loss(predicted, shapes)
        total = tf.add_n([*losses.values(), *model.regularization_losses()])
    assert len(losses) == 5
    penalised = [name for name in model.variables_by_name if name.endswith(("kernel", "bias"))]
    assert len(model.regularization_losses()) == len(penalised)
    assert all(np.isfinite(value) for value in losses.values())
    assert predicted["proposal_boxes"].shape == [1, 8, 4]
    gradients = tape.gradient(total, model.trainable_variables)
    assert all(gradient is not None for gradient in gradients)


def test_boxes_alone(config):
    config.number_of_stages = 2
    config.second_stage_box_predictor.mask_rcnn_box_predictor.predict_instance_masks = False
    names = set(built(config).variables_by_name)
    assert "mrcnn_bbox_fc/kernel" in names and "mrcnn_mask/kernel" not in names


def test_settings_reach_the_parts(config):
    config.matterport.pixel_mean[:] = [1.0, 2.0, 3.0]
    config.matterport.anchor_stride = 2
    for grid in config.first_stage_anchor_generator.flexible_grid_anchor_generator.anchor_grid:
        grid.height_stride, grid.width_stride = 2 * grid.height_stride, 2 * grid.width_stride
    model = built(config)
    np.testing.assert_allclose(model.normalize(tf.ones([1, 2, 2, 3]))[0, 0, 0], [0.0, -1.0, -2.0])
    predicted = model.predict(tf.zeros([1, 128, 128, 3]), tf.constant([[128, 128, 3]]))
    # Maps of 32, 16, 8, 4 and 2 cells, every second one in each direction, three anchors each.
    assert predicted["anchors"].shape[0] == 3 * (16 ** 2 + 8 ** 2 + 4 ** 2 + 2 ** 2 + 1)


@pytest.mark.parametrize("change, message", [
    (lambda c: c.matterport.first_stage_box_std_dev.append(0.1), "first_stage_box_std_dev"),
    (lambda c: c.matterport.second_stage_box_std_dev.extend([0.1, 0.1, 0.2, 0.0]),
     "second_stage_box_std_dev"),
    (lambda c: setattr(c.matterport, "pre_nms_limit", 0), "pre_nms_limit"),
    (lambda c: setattr(c.matterport, "mask_crop_size", 7), "set mask_height and mask_width to 14"),
    (lambda c: setattr(c, "initial_crop_size", 0), "initial_crop_size"),
    (lambda c: c.feature_extractor.CopyFrom(type(c.feature_extractor)(type="faster_rcnn_resnet50")),
     "does not go with `matterport`"),
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
