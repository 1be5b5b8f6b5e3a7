"""The ready configs, and the published and users' ones: they load, and their models build."""

import logging
import pathlib
import re

import pytest
import shared_files
from absl import logging as absl_logging

from object_detection.builders import (
    faster_rcnn_builder,
    feature_extractor_builder,
    model_builder,
    optimizer_builder,
    preprocessor_builder,
)
from object_detection.protos import pipeline_pb2
from object_detection.utils import config_text, config_util

CONFIGS = sorted((pathlib.Path(__file__).resolve().parents[1] / "configs").glob("*.config"))
READY = pytest.mark.parametrize("path", CONFIGS, ids=lambda path: path.stem)


def load_without_warning(path, caplog):
    absl_logging.set_verbosity(absl_logging.WARNING)
    with caplog.at_level(logging.WARNING, logger="absl"):
        pipeline = config_util.load_pipeline(path)
    assert not caplog.messages
    return pipeline


def given_configs():
    """Returns the published and users' configs of this family, empty without ../shared."""
    folders = [shared_files.find(f"fixtures/{name}") for name in ("upstream_configs",
                                                                   "user_configs")]
    return [path for folder in folders if folder for path in sorted(folder.glob("*.config"))
            if not path.stem.endswith("_unsupported")]


def read(path):
    """Parses a config without the checks and warnings of `load_pipeline`."""
    pipeline = pipeline_pb2.TrainEvalPipelineConfig()
    config_text.merge(path.read_text(encoding="utf-8"), pipeline, path.name)
    return pipeline


def is_built_here(pipeline):
    rcnn = pipeline.model.faster_rcnn
    return (rcnn.feature_extractor.type
            in feature_extractor_builder.FASTER_RCNN_FEATURE_EXTRACTOR_CLASS_MAP
            and not rcnn.HasField("context_config"))


def test_there_is_a_config_of_each_network():
    types = {read(path).model.faster_rcnn.feature_extractor.type for path in CONFIGS}
    assert types == set(feature_extractor_builder.FASTER_RCNN_FEATURE_EXTRACTOR_CLASS_MAP)


def test_the_keras_networks_have_a_config_of_each_size():
    resizers = [read(path).model.faster_rcnn.image_resizer for path in CONFIGS
                if "coco17" in path.stem]
    keeping = {(one.keep_aspect_ratio_resizer.min_dimension,
                one.keep_aspect_ratio_resizer.max_dimension) for one in resizers}
    fixed = {one.fixed_shape_resizer.height for one in resizers}
    assert {(640, 640), (800, 1333)} < keeping
    assert 1024 in fixed


@READY
def test_a_ready_config_loads_without_warning_and_builds(path, caplog):
    pipeline = load_without_warning(path, caplog)
    assert not config_util.validate(pipeline)
    for is_training in (True, False):
        model = faster_rcnn_builder.build(pipeline.model.faster_rcnn, is_training)
        assert model.num_classes == pipeline.model.faster_rcnn.num_classes
    optimizer_builder.build(pipeline.train_config.optimizer)
    preprocessor_builder.build_all(pipeline.train_config.data_augmentation_options)


@READY
def test_a_ready_config_runs_without_a_checkpoint_and_ends(path):
    pipeline = read(path)
    assert not pipeline.train_config.fine_tune_checkpoint
    assert pipeline.train_config.num_steps > 0  # 0 would train without end
    assert [reader.shuffle for reader in pipeline.eval_input_reader] == [False]


@pytest.mark.parametrize("path", [path for path in CONFIGS if "_coco" in path.stem],
                         ids=lambda path: path.stem)
def test_the_checkpoint_lines_can_be_uncommented(path, tmp_path, caplog):
    text = path.read_text(encoding="utf-8")
    changed = tmp_path / path.name
    changed.write_text(text.replace("# fine_tune_checkpoint", "fine_tune_checkpoint"),
                       encoding="utf-8")
    # The head of the file lists fine_tune_checkpoint after three spaces, which stays a comment.
    config = load_without_warning(changed, caplog).train_config
    assert config.fine_tune_checkpoint.startswith("checkpoints/")
    assert config.fine_tune_checkpoint_type in ("classification", "detection")


@READY
def test_a_ready_config_is_listed_in_the_readme(path):
    readme = (path.parent / "README.md").read_text(encoding="utf-8")
    rows = [line for line in readme.splitlines() if line.startswith(f"| `{path.stem}` |")]
    assert len(rows) == 1
    rcnn = read(path).model.faster_rcnn
    cells = [cell.strip() for cell in rows[0].split("|")]
    assert cells[3] == ("boxes, masks" if rcnn.number_of_stages == 3 else "boxes")
    extractor = rcnn.feature_extractor
    strides = [2 ** level for level in (extractor.fpn.min_level, extractor.fpn.max_level)]
    assert cells[4] == (f"{strides[0]} to {strides[1]}" if extractor.HasField("fpn")
                        else str(extractor.first_stage_features_stride))
    resizer = rcnn.image_resizer
    sizes = getattr(resizer, resizer.WhichOneof("image_resizer_oneof"))
    assert cells[5] == (f"{sizes.height}x{sizes.width}" if hasattr(sizes, "height")
                        else f"{sizes.min_dimension} to {sizes.max_dimension}")


@READY
def test_a_ready_config_has_the_published_settings(path):
    published = shared_files.find(f"fixtures/upstream_configs/{path.name}")
    if published is None:
        pytest.skip("no published config of this name beside this checkout")
    ours, theirs = read(path), read(published)
    assert ours.model == theirs.model
    for field in ("optimizer", "batch_size", "gradient_clipping_by_norm"):
        assert getattr(ours.train_config, field) == getattr(theirs.train_config, field)
    assert (list(ours.train_config.data_augmentation_options)
            == list(theirs.train_config.data_augmentation_options))
    assert ours.train_input_reader.mask_type == theirs.train_input_reader.mask_type


def without_masks(model):
    rcnn = model.faster_rcnn
    rcnn.ClearField("number_of_stages")
    for field in ("second_stage_mask_prediction_loss_weight", "resize_masks"):
        rcnn.ClearField(field)
    head = rcnn.second_stage_box_predictor.mask_rcnn_box_predictor
    for field in ("predict_instance_masks", "mask_height", "mask_width", "conv_hyperparams",
                  "mask_prediction_conv_depth", "mask_prediction_num_conv_layers"):
        head.ClearField(field)
    return model


@pytest.mark.parametrize(("name", "published"), [
    ("faster_rcnn_pnas_coco", "faster_rcnn_nas_coco"),
    ("faster_rcnn_resnet101_v1_fpn_640x640_coco17",
     "faster_rcnn_resnet50_v1_fpn_640x640_coco17_tpu-8"),
    ("faster_rcnn_resnet152_v1_fpn_640x640_coco17",
     "faster_rcnn_resnet50_v1_fpn_640x640_coco17_tpu-8"),
    ("faster_rcnn_inception_resnet_v2_640x640_coco17",
     "mask_rcnn_inception_resnet_v2_1024x1024_coco17_gpu-8"),
    ("faster_rcnn_inception_resnet_v2_1024x1024_coco17",
     "mask_rcnn_inception_resnet_v2_1024x1024_coco17_gpu-8")])
def test_a_config_without_a_published_one_differs_only_where_its_head_says(name, published):
    by_name = {path.stem: path for path in CONFIGS}
    ours, theirs = read(by_name[name]), read(by_name[published])
    assert ours.train_config == theirs.train_config
    if "inception" in name:
        without_masks(theirs.model)
    theirs.model.faster_rcnn.feature_extractor.type = ours.model.faster_rcnn.feature_extractor.type
    if "640x640" in name:
        theirs.model.faster_rcnn.image_resizer.CopyFrom(ours.model.faster_rcnn.image_resizer)
    assert ours.model == theirs.model


@pytest.mark.parametrize("path", given_configs(), ids=lambda path: path.stem)
def test_a_given_config_builds_in_both_modes(path):
    pipeline = read(path)
    if not is_built_here(pipeline):
        pytest.skip("its network is not built here")
    config_util.validate(pipeline)
    for is_training in (True, False):
        model = faster_rcnn_builder.build(pipeline.model.faster_rcnn, is_training)
        assert model.number_of_stages == pipeline.model.faster_rcnn.number_of_stages


# One of the Keras networks is enough: the golden tests have the variables of the others.
BUILT = [path for path in CONFIGS
         if "coco17" not in path.stem or path.stem.startswith("faster_rcnn_resnet50_v1_fpn")]


@pytest.mark.slow
@pytest.mark.parametrize("path", BUILT, ids=lambda path: path.stem)
def test_the_variables_of_a_ready_config(path):
    pipeline = read(path)
    model = model_builder.build(pipeline.model, is_training=True)
    names = {model.store.asked_name(name) for name in model.variables_by_name}
    assert "Conv/weights" in names
    # The levels of a pyramid may have heads of their own.
    assert any(re.fullmatch(r"FirstStageBoxPredictor/(\w+/)?ClassPredictor/weights", name)
               for name in names)
    assert any(name.startswith("FirstStageFeatureExtractor/") for name in names)
    assert any(name.startswith("SecondStageBoxPredictor/") for name in names)
