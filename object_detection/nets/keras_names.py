"""Names of the TF2 models of the Object Detection API.

The networks ask for variables by the names this project gives them (`conv2/block1/conv1/weights`);
`variable_name` turns such a name into Keras's (`conv2_block1_1_conv/kernel`), and
`checkpoint_keys` gives the path under which a checkpoint of the original holds the variable.
Both work by rule; the backbone's layers and their numbers come from nets/keras_graph.py.
"""

import re
from collections.abc import Iterable, Mapping, Sequence

FIRST_EXTRACTOR = "_feature_extractor_for_proposal_features"
SECOND_EXTRACTOR = "_feature_extractor_for_box_classifier_features"

_SECOND_STAGE = "SecondStageBoxPredictor/"
_BOX_HEAD = "mask_rcnn_keras_box_predictor/mask_rcnn_box_head/"
_CLASS_HEAD = "mask_rcnn_keras_box_predictor/mask_rcnn_class_head/"
_MASK_HEAD = "mask_rcnn_keras_box_predictor/mask_rcnn_mask_head/"
_VARIABLES = {"weights": "kernel", "biases": "bias"}

# Scope outside the backbone, as a pattern, to Keras's layer.
_HEAD_LAYERS = (
    (r"Conv", "RPNConv"),
    (r"Conv/BatchNorm", "RPNBatchNorm"),
    (r"FirstStageBoxPredictor/BoxPredictor_(\d+)/BoxEncodingPredictor",
     r"FirstStageBoxPredictor/ConvolutionalBoxHead_\1/BoxEncodingPredictor"),
    (r"FirstStageBoxPredictor/BoxPredictor_(\d+)/ClassPredictor",
     r"FirstStageBoxPredictor/ConvolutionalClassHead_\1/ClassPredictor"),
    (r"FirstStageBoxPredictor/BoxEncodingPredictor",
     r"FirstStageBoxPredictor/ConvolutionalBoxHead_0/BoxEncodingPredictor"),
    (r"FirstStageBoxPredictor/ClassPredictor",
     r"FirstStageBoxPredictor/ConvolutionalClassHead_0/ClassPredictor"),
    (_SECOND_STAGE + r"BoxEncodingPredictor", _BOX_HEAD + r"BoxEncodingPredictor_dense"),
    (_SECOND_STAGE + r"BoxEncodingPredictor/BatchNorm",
     _BOX_HEAD + r"BoxEncodingPredictor_batchnorm"),
    (_SECOND_STAGE + r"ClassPredictor", _CLASS_HEAD + r"ClassPredictor_dense"),
    (_SECOND_STAGE + r"ClassPredictor/BatchNorm", _CLASS_HEAD + r"ClassPredictor_batchnorm"),
    (_SECOND_STAGE + r"(MaskPredictor_\w+)", _MASK_HEAD + r"\1"),
    (_SECOND_STAGE + r"MaskPredictor_conv2d_(\d+)/BatchNorm",
     _MASK_HEAD + r"MaskPredictor_batchnorm_\1"),
    (_SECOND_STAGE + r"MaskPredictor_upsample_conv2d/BatchNorm",
     _MASK_HEAD + r"MaskPredictor_upsample_batchnorm"))


def variable_name(canonical: str, backbone: Mapping[str, str]) -> str:
    """Returns Keras's name of a variable.

    Args:
        canonical: the name that network code asks for, `<stage>/<scope>/weights` in a backbone.
        backbone: Keras's layer by scope, without the stage.
    Raises:
        ValueError: if no rule covers the name.
    """
    scope, _, variable = canonical.rpartition("/")
    layer = backbone.get(scope.partition("/")[2]) or _head_layer(scope)
    if layer is None:
        raise ValueError(f"variable {canonical}: Keras models have no such layer; add its scope to "
                         "the extractor's network() or to nets/keras_names.py")
    return f"{layer}/{_VARIABLES.get(variable, variable)}"


def mask_layers(num_convolutions: int, upsampled: bool) -> list[str]:
    """Returns Keras's names of a mask head's convolutions: repeated ones, then the last.

    Args:
        num_convolutions: `mask_prediction_num_conv_layers`, which counts the last one, too.
        upsampled: the features are enlarged, and convolved once more, before the last one.
    """
    names = [f"MaskPredictor_conv2d_{number}" for number in range(num_convolutions - 1)]
    if upsampled:
        names.append("MaskPredictor_upsample_conv2d")
    return [*names, "MaskPredictor_last_conv2d"]


def numbered(prefix: str, layers: Sequence[str]) -> dict[str, str]:
    """Returns the path of each layer of a Keras functional model that is kept as `prefix`."""
    return {layer: f"{prefix}layer_with_weights-{number}" for number, layer in enumerate(layers)}


def checkpoint_keys(names: Iterable[str], backbone: Mapping[str, str],
                    dropout: bool = False) -> dict[str, str]:
    """Returns the path of each variable below the model in a checkpoint of the original.

    A key of `tf.train.Checkpoint(model=model)` is `model/<path>/.ATTRIBUTES/VARIABLE_VALUE`.

    Args:
        names: Keras's names of all of a model's variables.
        backbone: paths of the extractor's layers.
        dropout: the second stage has dropout, which counts as a layer.
    Raises:
        ValueError: for a variable of an unknown layer.
    """
    names = list(names)
    paths = {**backbone, **_head_paths({name.rpartition("/")[0] for name in names}, dropout)}
    keys = {}
    for name in names:
        layer, _, variable = name.rpartition("/")
        if layer not in paths:
            raise ValueError(f"variable {name}: checkpoints of the original have no such layer")
        keys[name] = f"{paths[layer]}/{variable}"
    return keys


def _head_layer(scope: str) -> str | None:
    for pattern, layer in _HEAD_LAYERS:
        match = re.fullmatch(pattern, scope)
        if match:
            return match.expand(layer)
    return None


def _head_paths(layers: set[str], dropout: bool) -> dict[str, str]:
    """Returns the paths of those layers that are not the backbone's."""
    paths = {"RPNConv": "_first_stage_box_predictor_first_conv/layer_with_weights-0",
             "RPNBatchNorm": "_first_stage_box_predictor_first_conv/layer_with_weights-1"}
    first = "_first_stage_box_predictor/_prediction_heads"
    for layer in layers:
        match = re.fullmatch(r"FirstStageBoxPredictor/Convolutional(Box|Class)Head_(\d+)/\w+",
                             layer)
        if match:
            kind, level = match.groups()
            paths[layer] = (
                f"{first}/box_encodings/{level}/_box_encoder_layers/0" if kind == "Box" else
                f"{first}/class_predictions_with_background/{level}/_class_predictor_layers/0")
    second = "_mask_rcnn_box_predictor"
    dense = 2 if dropout else 1  # behind a layer that flattens
    for head, stem, path in (
            (_BOX_HEAD, "BoxEncodingPredictor", "_box_prediction_head/_box_encoder_layers"),
            (_CLASS_HEAD, "ClassPredictor", "_class_prediction_head/_class_predictor_layers")):
        paths[f"{head}{stem}_dense"] = f"{second}/{path}/{dense}"
        paths[f"{head}{stem}_batchnorm"] = f"{second}/{path}/{dense + 1}"
    masks = f"{second}/_third_stage_heads/mask_predictions/_mask_predictor_layers"
    return {**paths, **{f"{_MASK_HEAD}{name}": f"{masks}/{index}"
                        for name, index in _mask_indices(layers).items()}}


def _mask_indices(layers: set[str]) -> dict[str, int]:
    """Returns the places of the mask head's layers in its list: convolution, norm, activation."""
    upsampled = f"{_MASK_HEAD}MaskPredictor_upsample_conv2d" in layers
    repeated = sum(layer.startswith(f"{_MASK_HEAD}MaskPredictor_conv2d_") for layer in layers)
    indices, place = {}, 0
    for name in mask_layers(repeated + 1, upsampled):
        if name.startswith("MaskPredictor_upsample"):
            place += 1  # the enlargement is a layer of its own
        indices[name] = place
        indices[_norm_of(name)] = place + 1
        place += 3
    return indices


def _norm_of(mask_layer: str) -> str:
    return mask_layer.replace("conv2d", "batchnorm")
