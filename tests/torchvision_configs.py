"""The ready config of torchvision's detector, and a thin one."""

import pathlib

from object_detection.protos import pipeline_pb2
from object_detection.utils import config_text

PATH = (pathlib.Path(__file__).resolve().parents[1] / "configs"
        / "mask_rcnn_resnet50_fpn_torchvision_coco.config")


def ready(min_dimension=64, max_dimension=128):
    """Returns the FasterRcnn message, for small images."""
    pipeline = pipeline_pb2.TrainEvalPipelineConfig()
    config_text.merge(PATH.read_text(encoding="utf-8"), pipeline, PATH.name)
    config = pipeline.model.faster_rcnn
    config.image_resizer.half_pixel_resizer.min_dimension = min_dimension
    config.image_resizer.half_pixel_resizer.max_dimension = max_dimension
    return config


def thin(depth=8, dense=16, classes=3):
    """Returns the ready config with an eighth of the channels in the backbone, fewer elsewhere."""
    config = ready()
    config.feature_extractor.depth_multiplier = 0.125
    config.feature_extractor.fpn.additional_layer_depth = depth
    config.first_stage_box_predictor_depth = depth
    config.first_stage_max_proposals = 20
    config.second_stage_batch_size = 8
    config.torchvision.pre_nms_limit = 30
    config.torchvision.training_pre_nms_limit = 40
    config.torchvision.training_proposals = 25
    config.torchvision.box_head_depth = dense
    head = config.second_stage_box_predictor.mask_rcnn_box_predictor
    head.mask_prediction_conv_depth = depth
    config.num_classes = classes
    return config
