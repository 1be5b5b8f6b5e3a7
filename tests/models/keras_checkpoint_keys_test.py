"""Keys of all variables against the listings of the original's checkpoints."""

import json

import golden_tf2
import pytest
import shared_files
from google.protobuf import text_format

from object_detection.builders import model_builder
from object_detection.protos import pipeline_pb2

QUICK = "faster_rcnn_resnet50_keras_masks"
SUFFIX = "/.ATTRIBUTES/VARIABLE_VALUE"
LISTINGS = [QUICK, *(pytest.param(name, marks=pytest.mark.slow) for name in sorted(
    f"faster_rcnn_{network}_keras{masks}" for masks in ("", "_masks")
    for network in ("resnet50", "resnet101", "resnet152", "inception_resnet_v2", "resnet50_fpn",
                    "resnet101_fpn", "resnet152_fpn")) if name != QUICK)]


@pytest.mark.parametrize("name", LISTINGS)
def test_every_variable_has_its_key_and_every_key_its_variable(name):
    folder = shared_files.require("fixtures/tf2/checkpoint_keys")
    listing = json.loads((folder / f"{name}.json").read_text())
    config = text_format.Parse((folder / f"{name}.config").read_text(),
                               pipeline_pb2.TrainEvalPipelineConfig())
    model = model_builder.build(config.model, is_training=False)
    keys = golden_tf2.model_keys(model)
    got = {keys[name]: (name, variable.shape.as_list())
           for name, variable in model.variables_by_name.items()}
    assert got == {key.removesuffix(SUFFIX): (full_name, shape)
                   for key, shape, _, full_name in listing["trained"]
                   if key.startswith("model/") and ".OPTIMIZER_SLOT" not in key}
    backbone = {keys[name] for name in model.restore_map("detection")}
    assert backbone == {key.removesuffix(SUFFIX) for key in listing["detection"]
                        if key.startswith("model/")}
    whole = model.restore_map("classification")
    assert {key: variable.shape.as_list() for key, variable in whole.items()} == {
        key.removesuffix(SUFFIX): shape for key, shape, *_ in listing["classification"]
        if key.startswith("feature_extractor/")}
