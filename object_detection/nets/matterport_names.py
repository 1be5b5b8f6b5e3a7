"""Names of the layers of Matterport's Mask_RCNN.

The networks ask for variables by the names this project gives them (`conv2/block1/conv1/weights`);
`variable_name` turns such a name into `<layer>/<kind>` as Keras has it in a `.h5` file
(`res2a_branch2a/kernel`), by rules.
"""

import re

_VARIABLES = {"weights": "kernel", "biases": "bias"}
_BRANCHES = {"conv1": "branch2a", "conv2": "branch2b", "conv3": "branch2c", "shortcut": "branch1"}

_FIRST = "FirstStageFeatureExtractor/"
_SECOND = "SecondStageBoxPredictor/"
# Scope, as a pattern, to layer.
_LAYERS = (
    (r"Conv", "rpn_conv_shared"),
    (r"FirstStageBoxPredictor/ClassPredictor", "rpn_class_raw"),
    (r"FirstStageBoxPredictor/BoxEncodingPredictor", "rpn_bbox_pred"),
    (_FIRST + r"fpn/lateral_(\d)", r"fpn_c\1p\1"),
    (_FIRST + r"fpn/smooth_(\d)", r"fpn_p\1"),
    (_SECOND + r"(mrcnn_\w+)", r"\1"))
_BLOCK = re.compile(rf"{_FIRST}conv(\d)/block(\d+)/(conv[123]|shortcut)")


def variable_name(canonical: str) -> str:
    """Returns Matterport's name of a variable.

    Args:
        canonical: the name that network code asks for. Layers of a backbone that is no ResNet keep
            their scope as name, and their batch norms are called after them, `bn_<scope>`.
    """
    scope, _, variable = canonical.rpartition("/")
    scope, normalized, _ = scope.partition("/BatchNorm")
    layer = _layer(scope)
    if normalized:
        layer = _batch_norm(layer)
    return f"{layer}/{_VARIABLES.get(variable, variable)}"


def _layer(scope: str) -> str:
    block = _BLOCK.fullmatch(scope)
    if block:
        stage, number, layer = block.groups()
        # Blocks are counted by letters: a, b, ... w in the longest stage of ResNet-101.
        return f"res{stage}{chr(ord('a') + int(number) - 1)}_{_BRANCHES[layer]}"
    for pattern, layer in _LAYERS:
        match = re.fullmatch(pattern, scope)
        if match:
            return match.expand(layer)
    return scope.removeprefix(_FIRST)


def _batch_norm(layer: str) -> str:
    if re.fullmatch(r"res\d\w+_branch\w+", layer):
        return f"bn{layer.removeprefix('res')}"
    if re.fullmatch(r"mrcnn_\w+_conv\d", layer):
        return layer.replace("_conv", "_bn")
    return f"bn_{layer}"
