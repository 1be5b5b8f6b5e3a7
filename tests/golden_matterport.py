"""Builds the models that the Matterport fixtures were recorded from, with their weights."""

import importlib.util
import json
import pathlib

import h5_files
import numpy as np
import shared_files

from object_detection.builders import feature_extractor_builder, mask_rcnn_fpn_builder
from object_detection.nets import slim_layers as layers
from object_detection.protos import pipeline_pb2
from object_detection.utils import config_text

ROOT = pathlib.Path(__file__).resolve().parents[1]
FAULTS = ("boxes_without_area_suppress", "far_edge_crops_blank")


def folder(case):
    return shared_files.require(f"fixtures/matterport/{case}")


def load(case, name="outputs"):
    with np.load(folder(case) / f"{name}.npz") as arrays:
        return dict(arrays)


def settings(case):
    return json.loads((folder(case) / "config.json").read_text())


def variables(case):
    """Returns the recorded [layer, weight name, shape] of each variable."""
    return json.loads((folder(case) / "variables.json").read_text())


def rule():
    """Returns the function that gives each variable its value by name and shape."""
    file = shared_files.require("fixtures/matterport/deterministic_weights.py")
    spec = importlib.util.spec_from_file_location("matterport_weights", file)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.deterministic_value


def write_weights(case, path):
    """Writes the rule's weights of a case as Keras does."""
    value = rule()
    h5_files.write(path, [(layer, name, value(name, shape))
                          for layer, name, shape in variables(case)])


def faster_rcnn(case, faults=FAULTS):
    """Returns the FasterRcnn message of a case, from the ready config and the case's settings."""
    pipeline = pipeline_pb2.TrainEvalPipelineConfig()
    ready = ROOT / "configs" / "mask_rcnn_resnet50_fpn_coco.config"
    config_text.merge(ready.read_text(encoding="utf-8"), pipeline, ready.name)
    config, recorded = pipeline.model.faster_rcnn, settings(case)
    config.num_classes = recorded["NUM_CLASSES"] - 1
    if recorded["IMAGE_RESIZE_MODE"] == "none":
        config.image_resizer.identity_resizer.SetInParent()
    else:
        square = config.image_resizer.centered_square_resizer
        square.min_dimension = recorded["IMAGE_MIN_DIM"]
        square.max_dimension = recorded["IMAGE_MAX_DIM"]
    backbone = recorded["BACKBONE"].removeprefix("callable:")
    config.feature_extractor.type = f"mask_rcnn_{backbone}_fpn"
    grids = config.first_stage_anchor_generator.flexible_grid_anchor_generator.anchor_grid
    for grid, size in zip(grids, recorded["RPN_ANCHOR_SCALES"], strict=True):
        grid.base_sizes[:] = [size] * 3
    config.first_stage_max_proposals = recorded["POST_NMS_ROIS_INFERENCE"]
    config.matterport.training_proposals = recorded["POST_NMS_ROIS_TRAINING"]
    nms = config.second_stage_post_processing.batch_non_max_suppression
    nms.score_threshold = recorded["DETECTION_MIN_CONFIDENCE"]
    nms.max_total_detections = recorded["DETECTION_MAX_INSTANCES"]
    nms.max_detections_per_class = recorded["DETECTION_MAX_INSTANCES"]
    for fault in faults:
        setattr(config.original_faults, fault, True)
    return config


def register_toy_backbone():
    """Registers the network of the case `infer_callable_backbone`, as a user would."""
    def backbone(pixels, hyperparams):
        maps = []
        with hyperparams.arg_scope():
            for number, depth in enumerate([16, 32, 64, 128, 256], start=1):
                pixels = layers.conv2d(pixels, depth, 3, stride=2, scope=f"toy_c{number}")
                maps.append(pixels)
        return maps[1:]

    feature_extractor_builder.FASTER_RCNN_FEATURE_EXTRACTOR_CLASS_MAP[
        "mask_rcnn_toy_backbone_fpn"] = mask_rcnn_fpn_builder.from_backbone(backbone)


def assert_stored(name, got, stored, atol, skip=None):
    """Compares an array with what a fixture holds of it; rows of `skip` are left out."""
    got = np.asarray(got)
    keys = [key for key in stored if key == name or key.startswith(f"{name}@flat")]
    assert keys, name
    if keys[0] == name:
        expected = stored[name]
        assert got.shape == expected.shape, name
        if skip is not None:
            got, expected = got[~skip], expected[~skip]
    else:
        assert list(got.shape) == stored[f"{name}@shape"].tolist(), name
        expected = stored[keys[0]]
        got = got.reshape(-1)[::int(keys[0].partition("@flat")[2])]
    np.testing.assert_allclose(got, expected, rtol=0, atol=atol, err_msg=name)
