"""The ready configs, and the published and users' ones: they load, and their models build."""

import logging
import pathlib

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
    for name in ("resnet50", "resnet101", "resnet152", "inception_v2", "inception_resnet_v2",
                 "mobilenet_v1"):
        assert f"faster_rcnn_{name}" in types


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


@pytest.mark.parametrize("path", [path for path in CONFIGS if path.stem.endswith("_coco")],
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
    assert cells[4] == str(rcnn.feature_extractor.first_stage_features_stride)
    keep, fixed = (getattr(rcnn.image_resizer, f"{kind}_resizer")
                   for kind in ("keep_aspect_ratio", "fixed_shape"))
    assert cells[5] in (f"{keep.min_dimension} to {keep.max_dimension}",
                        f"{fixed.height}x{fixed.width}")


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


@pytest.mark.parametrize("path", given_configs(), ids=lambda path: path.stem)
def test_a_given_config_builds_in_both_modes(path):
    pipeline = read(path)
    if not is_built_here(pipeline):
        pytest.skip("its network is not built here")
    config_util.validate(pipeline)
    for is_training in (True, False):
        model = faster_rcnn_builder.build(pipeline.model.faster_rcnn, is_training)
        assert model.number_of_stages == pipeline.model.faster_rcnn.number_of_stages


@pytest.mark.slow
@READY
def test_the_variables_of_a_ready_config(path):
    pipeline = read(path)
    model = model_builder.build(pipeline.model, is_training=True)
    names = set(model.variables_by_name)
    assert {"Conv/weights", "FirstStageBoxPredictor/ClassPredictor/weights"} <= names
    assert any(name.startswith("FirstStageFeatureExtractor/") for name in names)
    assert any(name.startswith("SecondStageBoxPredictor/") for name in names)
