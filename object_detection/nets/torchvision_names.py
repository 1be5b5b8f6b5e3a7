"""Names of the layers of torchvision's `maskrcnn_resnet50_fpn`.

The networks ask for variables by the names this project gives them (`conv2/block1/conv1/weights`);
`variable_name` turns such a name into the one of a state_dict, with slashes for dots
(`backbone/body/layer1/0/conv1/weight`), by rules.
"""

import re

_VARIABLES = {"weights": "weight", "biases": "bias", "gamma": "weight", "beta": "bias",
              "moving_mean": "running_mean", "moving_variance": "running_var"}

_FIRST = "FirstStageFeatureExtractor/"
_SECOND = "SecondStageBoxPredictor/"
_LAYERS = {
    "Conv": "rpn/head/conv/0/0",
    "FirstStageBoxPredictor/ClassPredictor": "rpn/head/cls_logits",
    "FirstStageBoxPredictor/BoxEncodingPredictor": "rpn/head/bbox_pred",
    _SECOND + "mrcnn_class_conv1": "roi_heads/box_head/fc6",
    _SECOND + "mrcnn_class_conv2": "roi_heads/box_head/fc7",
    _SECOND + "mrcnn_class_logits": "roi_heads/box_predictor/cls_score",
    _SECOND + "mrcnn_bbox_fc": "roi_heads/box_predictor/bbox_pred",
    _SECOND + "mrcnn_mask_deconv": "roi_heads/mask_predictor/conv5_mask",
    _SECOND + "mrcnn_mask": "roi_heads/mask_predictor/mask_fcn_logits",
}
_BLOCK = re.compile(rf"{_FIRST}conv(\d)/block(\d+)/(conv\d|shortcut)")
_PYRAMID = re.compile(rf"{_FIRST}fpn/(lateral|smooth)_(\d)")
_MASK_CONVOLUTION = re.compile(rf"{_SECOND}mrcnn_mask_conv(\d+)")
_FINEST = 2  # level of the finest map


def variable_name(canonical: str) -> str:
    """Returns torchvision's name of a variable, or the name itself if it has no such layer."""
    scope, _, variable = canonical.rpartition("/")
    scope, normalized, _ = scope.partition("/BatchNorm")
    layer = _layer(scope)
    if layer is None:
        return canonical
    if normalized:
        layer = _batch_norm(layer)
    return f"{layer}/{_VARIABLES.get(variable, variable)}"


def _layer(scope: str) -> str | None:
    if scope == f"{_FIRST}conv1":
        return "backbone/body/conv1"
    block = _BLOCK.fullmatch(scope)
    if block:
        stage, number, layer = block.groups()
        layer = "downsample/0" if layer == "shortcut" else layer
        return f"backbone/body/layer{int(stage) - 1}/{int(number) - 1}/{layer}"
    pyramid = _PYRAMID.fullmatch(scope)
    if pyramid:
        kind = {"lateral": "inner_blocks", "smooth": "layer_blocks"}[pyramid.group(1)]
        return f"backbone/fpn/{kind}/{int(pyramid.group(2)) - _FINEST}/0"
    mask = _MASK_CONVOLUTION.fullmatch(scope)
    if mask:
        return f"roi_heads/mask_head/{int(mask.group(1)) - 1}/0"
    return _LAYERS.get(scope)


def _batch_norm(layer: str) -> str:
    """Returns the name of the batch norm behind a convolution of the backbone."""
    parent, _, last = layer.rpartition("/")
    return f"{parent}/1" if last == "0" else f"{parent}/{last.replace('conv', 'bn')}"
