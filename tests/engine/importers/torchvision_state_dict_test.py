import sys

import numpy as np
import pytest
import torchvision_configs
import torchvision_weights

from object_detection.builders import faster_rcnn_builder
from object_detection.engine import checkpoints, layer_groups
from object_detection.engine.importers import table, torchvision_state_dict


@pytest.mark.parametrize("name, own", [
    ("backbone.body.layer1.0.bn1.running_var", "backbone/body/layer1/0/bn1/running_var"),
    ("rpn.head.conv.0.0.weight", "rpn/head/conv/0/0/weight"),
    # Files from before torchvision 0.13, the published COCO weights among them.
    ("rpn.head.conv.bias", "rpn/head/conv/0/0/bias"),
    ("backbone.fpn.inner_blocks.3.weight", "backbone/fpn/inner_blocks/3/0/weight"),
    ("backbone.fpn.layer_blocks.0.bias", "backbone/fpn/layer_blocks/0/0/bias"),
    ("roi_heads.mask_head.mask_fcn1.weight", "roi_heads/mask_head/0/0/weight")])
def test_names(name, own):
    assert torchvision_state_dict.variable_name(name) == own


def value(name, array, shape=None):
    return torchvision_state_dict.variable_value(name, np.asarray(array, np.float32), shape)


def test_a_convolution_has_its_channels_last():
    kernel = np.arange(2 * 3 * 5 * 7).reshape(2, 3, 5, 7)
    found = value("rpn/head/conv/0/0/weight", kernel)
    assert found.shape == (5, 7, 3, 2) and found[4, 6, 2, 1] == kernel[1, 2, 4, 6]


def test_a_dense_layer_over_a_crop_reads_its_pixels_one_after_the_other():
    flat = np.arange(2 * 12).reshape(2, 12)  # 2 outputs, 3 channels of 2 x 2 pixels
    found = value("roi_heads/box_head/fc6/weight", flat, [2, 2, 3, 2])
    # PyTorch flattens channels first: channel 2, row 1, column 0 is number 2 * 4 + 1 * 2 + 0.
    assert found.shape == (2, 2, 3, 2) and found[1, 0, 2, 1] == flat[1, 10]
    assert value("roi_heads/box_head/fc6/weight", flat, [3, 3, 3, 2]).shape == (12, 2)


def test_boxes_are_encoded_with_y_first():
    assert value("rpn/head/bbox_pred/bias", [1, 2, 3, 4, 5, 6, 7, 8]).tolist() == [
        2, 1, 4, 3, 6, 5, 8, 7]
    rows = value("roi_heads/box_predictor/bbox_pred/weight", [[1, 10], [2, 20], [3, 30], [4, 40]])
    assert rows.tolist() == [[2, 1, 4, 3], [20, 10, 40, 30]]
    assert value("rpn/head/cls_logits/bias", [1, 2, 3, 4]).tolist() == [1, 2, 3, 4]


@pytest.fixture(scope="module")
def model():
    model = faster_rcnn_builder.build(torchvision_configs.thin(), is_training=False)
    model.build()
    return model


def thin_values():
    return torchvision_weights.random_values(
        torchvision_weights.shapes(classes=4, width=8, depth=8, dense=16))


def test_the_whole_model_is_in_the_file(tmp_path, model):
    path = str(tmp_path / "model.npz")
    values = thin_values()
    np.savez(path, **values)
    assert table.kind_of(path) == "torchvision"
    report = table.load(model, path)
    assert not report.absent and not report.unused and not report.other_shape
    counters = [name for name in values if name.endswith("num_batches_tracked")]
    assert len(report.restored) == len(model.variables_by_name) == len(values) - len(counters)
    np.testing.assert_array_equal(
        model.variables_by_name["backbone/body/layer2/0/downsample/0/weight"][0, 0],
        values["backbone.body.layer2.0.downsample.0.weight"][:, :, 0, 0].T)


def test_what_is_missing_or_left_over_is_listed(tmp_path, model):
    values = thin_values()
    del values["rpn.head.cls_logits.bias"]
    values["roi_heads.keypoint_head.0.weight"] = np.zeros([1], np.float32)
    values["roi_heads.box_predictor.cls_score.weight"] = np.zeros([91, 16], np.float32)
    path = str(tmp_path / "model.npz")
    np.savez(path, **values)
    report = table.load(model, path, exclude=["roi_heads/mask_predictor/*"])
    assert report.absent == ("rpn/head/cls_logits/bias",)
    assert report.unused == ("roi_heads/keypoint_head/0/weight",)
    assert report.other_shape == (
        ("roi_heads/box_predictor/cls_score/weight", (16, 4), (16, 91)),)
    assert len(report.excluded) == 4


def test_a_classifier_gives_the_backbone(model):
    wanted = model.restore_map("classification")
    assert "layer4/2/bn3/running_var" in wanted and "conv1/weight" in wanted
    inside = [name for name in model.variables_by_name if name.startswith("backbone/body/")]
    assert len(wanted) == len(inside)


def test_stages_and_heads_are_known(model):
    stages = layer_groups.stages_of(model.variables_by_name)
    assert stages["backbone/body/bn1/weight"] == 1
    assert stages["backbone/body/layer4/0/downsample/1/bias"] == 5
    assert stages["backbone/fpn/inner_blocks/0/0/weight"] == layer_groups.HEADS
    assert None not in stages.values()


def test_files_that_cannot_be_read(tmp_path):
    broken = tmp_path / "broken.npz"
    broken.write_bytes(b"PK but no archive")
    with pytest.raises(checkpoints.CheckpointError, match="broken.npz: cannot be read"):
        torchvision_state_dict.read(str(broken))
    empty = str(tmp_path / "empty.npz")
    np.savez(empty)
    with pytest.raises(checkpoints.CheckpointError, match="holds no tensors"):
        torchvision_state_dict.read(empty)
    one = str(tmp_path / "one.npz")
    np.savez(one, **{"rpn.head.cls_logits.bias": np.zeros([3], np.float32)})
    with pytest.raises(checkpoints.CheckpointError, match="give its pipeline config"):
        table.read(one)


def test_without_pytorch_the_error_says_what_to_do(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "torch", None)
    path = tmp_path / "model.pth"
    path.write_bytes(b"")
    assert table.kind_of(str(path)) == "torchvision"
    with pytest.raises(checkpoints.CheckpointError, match="pip install torch.*numpy.savez"):
        torchvision_state_dict.read(str(path))
