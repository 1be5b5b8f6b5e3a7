import pytest

from object_detection.nets import torchvision_names

FIRST, SECOND = "FirstStageFeatureExtractor", "SecondStageBoxPredictor"


@pytest.mark.parametrize("canonical, name", [
    (f"{FIRST}/conv1/weights", "backbone/body/conv1/weight"),
    (f"{FIRST}/conv1/BatchNorm/gamma", "backbone/body/bn1/weight"),
    # Our stages count the stem as the first, and blocks from 1.
    (f"{FIRST}/conv2/block1/shortcut/weights", "backbone/body/layer1/0/downsample/0/weight"),
    (f"{FIRST}/conv2/block1/shortcut/BatchNorm/beta", "backbone/body/layer1/0/downsample/1/bias"),
    (f"{FIRST}/conv3/block4/conv1/weights", "backbone/body/layer2/3/conv1/weight"),
    (f"{FIRST}/conv4/block6/conv3/BatchNorm/moving_mean",
     "backbone/body/layer3/5/bn3/running_mean"),
    (f"{FIRST}/conv5/block1/conv2/BatchNorm/moving_variance",
     "backbone/body/layer4/0/bn2/running_var"),
    (f"{FIRST}/fpn/lateral_2/weights", "backbone/fpn/inner_blocks/0/0/weight"),
    (f"{FIRST}/fpn/smooth_5/biases", "backbone/fpn/layer_blocks/3/0/bias"),
    ("Conv/weights", "rpn/head/conv/0/0/weight"),
    ("FirstStageBoxPredictor/ClassPredictor/biases", "rpn/head/cls_logits/bias"),
    ("FirstStageBoxPredictor/BoxEncodingPredictor/weights", "rpn/head/bbox_pred/weight"),
    (f"{SECOND}/mrcnn_class_conv1/weights", "roi_heads/box_head/fc6/weight"),
    (f"{SECOND}/mrcnn_class_conv2/biases", "roi_heads/box_head/fc7/bias"),
    (f"{SECOND}/mrcnn_class_logits/weights", "roi_heads/box_predictor/cls_score/weight"),
    (f"{SECOND}/mrcnn_bbox_fc/biases", "roi_heads/box_predictor/bbox_pred/bias"),
    (f"{SECOND}/mrcnn_mask_conv4/weights", "roi_heads/mask_head/3/0/weight"),
    (f"{SECOND}/mrcnn_mask_deconv/weights", "roi_heads/mask_predictor/conv5_mask/weight"),
    (f"{SECOND}/mrcnn_mask/biases", "roi_heads/mask_predictor/mask_fcn_logits/bias"),
    ("SecondStageBoxPredictor/ClassPredictor/weights",
     "SecondStageBoxPredictor/ClassPredictor/weights")])  # another head keeps its name
def test_names(canonical, name):
    assert torchvision_names.variable_name(canonical) == name
