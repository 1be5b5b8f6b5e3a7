"""Names of the pyramids of the TF2 models of the Object Detection API; see nets/keras_names.py.

Scopes are those of nets/fpn.py under `fpn`, and `fc6` and `fc7` for the two dense layers of the
second stage. A pyramid numbers its projections from 1 at its finest level, and its lists of layers
from 0 at the coarsest.
"""

from object_detection.nets import keras_names

PYRAMID_SCOPE = "fpn"
# Coarsest level of a ResNet; coarser ones are convolved from it.
BACKBONE_MAX_LEVEL = 5

_ROOT = "private__resnet_fpn/"
_TOP_DOWN = _ROOT + "FeatureMaps/top_down/"
_GENERATOR = f"{keras_names.FIRST_EXTRACTOR}/fpn_features_generator/"
_COARSE = f"{keras_names.FIRST_EXTRACTOR}/coarse_feature_layers/"

# The second stage's layers: ours, Keras's, in order.
_DENSE = (("fc6", "dense"), ("fc6/BatchNorm", "freezable_batch_norm"), ("fc7", "dense_1"))


def keras_layers(min_level: int, max_level: int) -> dict[str, str]:
    """Returns Keras's layer by scope, for the pyramid and the dense layers behind it."""
    found = {}
    for level in range(min_level, _top(max_level) + 1):
        found[f"{PYRAMID_SCOPE}/lateral_{level}"] = _projection(level, min_level)
    for level in range(min_level, _top(max_level)):
        scope = f"{PYRAMID_SCOPE}/smooth_{level}"
        found[scope], found[f"{scope}/BatchNorm"] = _smoothing(level, min_level)
    for level in range(_top(max_level) + 1, max_level + 1):
        scope = f"{PYRAMID_SCOPE}/coarse_{level}"
        found[scope], found[f"{scope}/BatchNorm"] = _bottom_up(level)
    return {**found, **dict(_DENSE)}


def layer_paths(min_level: int, max_level: int, dense_batch_norm: bool) -> dict[str, str]:
    """Returns where a checkpoint of the original keeps each Keras layer, below the model.

    Args:
        dense_batch_norm: there is a batch norm between the dense layers.
    """
    top = _top(max_level)
    paths = {_projection(top, min_level): f"{_GENERATOR}top_layers/0"}
    for index, level in enumerate(reversed(range(min_level, top))):
        paths[_projection(level, min_level)] = f"{_GENERATOR}residual_blocks/{index}/0"
        for place, layer in enumerate(_smoothing(level, min_level)):
            paths[layer] = f"{_GENERATOR}conv_layers/{index}/{place}"
    for index, level in enumerate(range(top + 1, max_level + 1)):
        for place, layer in enumerate(_bottom_up(level)):
            paths[layer] = f"{_COARSE}{index}/{place}"
    dense = [name for scope, name in _DENSE if dense_batch_norm or "BatchNorm" not in scope]
    return {**paths, **keras_names.numbered(f"{keras_names.SECOND_EXTRACTOR}/", dense)}


def _top(max_level: int) -> int:
    return min(max_level, BACKBONE_MAX_LEVEL)


def _projection(level: int, min_level: int) -> str:
    return f"{_TOP_DOWN}projection_{level - min_level + 1}"


def _smoothing(level: int, min_level: int) -> tuple[str, str]:
    """Returns the convolution and its batch norm."""
    name = f"{_TOP_DOWN}smoothing_{level - min_level + 1}"
    return f"{name}_conv", f"{name}_batchnorm"


def _bottom_up(level: int) -> tuple[str, str]:
    """Returns the convolution and its batch norm; block n of a ResNet gives level n + 1."""
    name = f"{_ROOT}bottom_up_block{level - 1}"
    return f"{name}_conv", f"{name}_batchnorm"
