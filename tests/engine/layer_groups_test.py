"""Stages by variable name, for every network whose names are recorded."""

import collections
import json

import pytest
import shared_files

from object_detection.engine import layer_groups


def recorded():
    """Returns the trainable names of each recorded case."""
    root = shared_files.require("fixtures")
    cases = {}
    for path in sorted(root.glob("tf[12]/*/variables.json")):
        rows = json.loads(path.read_text())
        cases[path.parent.name] = [row[-3] for row in rows if row[-1]]
    cases["nas"] = [row[0] for row in json.loads(
        (root / "tf1/names/faster_rcnn_nas.json").read_text()) if row[2]]
    return cases


def matterport(case):
    path = shared_files.require(f"fixtures/matterport/{case}/variables.json")
    names = [row[1].removesuffix(":0") for row in json.loads(path.read_text())]
    return [name for name in names if "/moving_" not in name]


def test_every_recorded_variable_has_a_stage():
    for case, names in recorded().items():
        found = layer_groups.stages_of(names)
        counts = collections.Counter(found.values())
        assert None not in counts, (case, [name for name in names if found[name] is None][0])
        stages = 4 if case.endswith("rpn_only") and 5 not in counts else 5
        assert set(counts) == set(range(stages + 1)), case
        assert counts[layer_groups.HEADS] < 70, case  # no part of a backbone among the heads


def test_heads_of_matterport_are_as_many_as_it_reports():
    names = matterport("train_subsample")
    assert len(names) == 266
    assert len(layer_groups.select(names, "heads")) == 54
    assert layer_groups.select(names, "all") == names


def test_presets_nest():
    for names in (matterport("infer_resnet101_batch2_conf0"), recorded()["faster_rcnn_resnet50"]):
        groups = [set(layer_groups.select(names, preset))
                  for preset in ("heads", "5+", "4+", "3+", "all")]
        for inner, outer in zip(groups, groups[1:]):
            assert inner < outer


@pytest.mark.parametrize("name, stage", [
    ("FirstStageFeatureExtractor/resnet_v1_50/conv1/weights", 1),
    ("FirstStageFeatureExtractor/resnet_v1_101/block1/unit_1/x/weights", 2),
    ("FirstStageFeatureExtractor/MobilenetV1/Conv2d_1_pointwise/weights", 1),
    ("FirstStageFeatureExtractor/MobilenetV1/Conv2d_11_pointwise/weights", 4),
    ("SecondStageFeatureExtractor/MobilenetV1/Conv2d_12_depthwise/depthwise_weights", 5),
    ("conv2d/kernel", 1), ("conv2d_4/kernel", 2), ("freezable_batch_norm_71/beta", 3),
    ("conv2d_72/kernel", 4), ("conv2d_202/kernel", 5), ("conv2_block1_1_conv/kernel", 2),
    ("bn4k_branch2c/gamma", 4), ("bn_conv1/beta", 1), ("rpn_conv_shared/kernel", 0),
    ("mrcnn_class_conv1/kernel", 0), ("Conv/weights", 0), ("toy_c1/kernel", None)])
def test_stage_by_name(name, stage):
    assert layer_groups.stages_of([name]) == {name: stage}


def test_two_cells_have_another_stage_in_nasnet_than_in_pnasnet():
    cell, reduction = (f"FirstStageFeatureExtractor/{name}/weights"
                       for name in ("cell_4", "reduction_cell_0"))
    assert layer_groups.stages_of([cell]) == {cell: 4}
    assert layer_groups.stages_of([cell, reduction]) == {cell: 3, reduction: 4}


def test_what_cannot_be_chosen():
    with pytest.raises(ValueError, match="want one of heads, 5\\+, 4\\+, 3\\+, all, got '2\\+'"):
        layer_groups.select(["conv1/kernel"], "2+")
    with pytest.raises(ValueError, match="nothing about 'toy_c1/kernel'"):
        layer_groups.select(["toy_c1/kernel"], "heads")
    assert layer_groups.select(["toy_c1/kernel"], "all") == ["toy_c1/kernel"]
