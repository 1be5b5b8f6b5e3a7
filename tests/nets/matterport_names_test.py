import pytest

from object_detection.nets import matterport_names

FIRST, SECOND = "FirstStageFeatureExtractor", "SecondStageBoxPredictor"


@pytest.mark.parametrize("canonical, name", [
    (f"{FIRST}/conv1/weights", "conv1/kernel"),
    (f"{FIRST}/conv1/BatchNorm/gamma", "bn_conv1/gamma"),
    (f"{FIRST}/conv2/block1/shortcut/biases", "res2a_branch1/bias"),
    (f"{FIRST}/conv2/block1/shortcut/BatchNorm/beta", "bn2a_branch1/beta"),
    (f"{FIRST}/conv3/block4/conv1/weights", "res3d_branch2a/kernel"),
    (f"{FIRST}/conv4/block23/conv3/BatchNorm/moving_mean", "bn4w_branch2c/moving_mean"),
    (f"{FIRST}/fpn/lateral_5/weights", "fpn_c5p5/kernel"),
    (f"{FIRST}/fpn/smooth_2/biases", "fpn_p2/bias"),
    (f"{FIRST}/tiny_c1/weights", "tiny_c1/kernel"),
    (f"{FIRST}/tiny_c1/BatchNorm/moving_variance", "bn_tiny_c1/moving_variance"),
    ("Conv/weights", "rpn_conv_shared/kernel"),
    ("FirstStageBoxPredictor/ClassPredictor/biases", "rpn_class_raw/bias"),
    ("FirstStageBoxPredictor/BoxEncodingPredictor/weights", "rpn_bbox_pred/kernel"),
    (f"{SECOND}/mrcnn_class_conv1/weights", "mrcnn_class_conv1/kernel"),
    (f"{SECOND}/mrcnn_class_conv2/BatchNorm/gamma", "mrcnn_class_bn2/gamma"),
    (f"{SECOND}/mrcnn_mask_conv4/BatchNorm/beta", "mrcnn_mask_bn4/beta"),
    (f"{SECOND}/mrcnn_mask_deconv/weights", "mrcnn_mask_deconv/kernel"),
    (f"{SECOND}/mrcnn_bbox_fc/biases", "mrcnn_bbox_fc/bias")])
def test_names(canonical, name):
    assert matterport_names.variable_name(canonical) == name
