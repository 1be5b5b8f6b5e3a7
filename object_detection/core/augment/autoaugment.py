"""AutoAugment for detection: learned policies (Zoph et al., arXiv:1906.11172)."""

from collections.abc import Callable

import tensorflow as tf

from object_detection.core.augment import autoaugment_moves as moves
from object_detection.core.augment import autoaugment_pixels as pixels
from object_detection.core.augment.autoaugment_policies import POLICIES, SubPolicy
from object_detection.core.augment.tensors import (
    Tensors,
    changed,
    maybe,
    split,
    uniform,
    uniform_int,
)
from object_detection.core.standard_fields import InputDataFields as Fields

_Operation = Callable[[Tensors, tf.Tensor, float], Tensors]  # record, seed, level from 0 to 10
_MAX_LEVEL = 10.0
_ONE_BOX = 1.0 / 3.0  # operations inside boxes have their probability times this, for each box


def autoaugment_image(tensors: Tensors, seed: tf.Tensor, policy_name: str) -> Tensors:
    """Applies one of the sub-policies of a policy, chosen at random.

    Boxes, masks and keypoints move with the pixels; objects that leave the image are dropped.
    Operations inside boxes change the content of a box and its masks, but not the box.

    Args:
        policy_name: v0 to v3, or test.
    """
    if policy_name not in POLICIES:
        raise ValueError(f"autoaugment_image.policy_name: want one of {sorted(POLICIES)}, got "
                         f"{policy_name!r}")
    if tensors[Fields.image].shape[-1] != 3:
        raise ValueError("autoaugment_image: wants images with 3 channels, got "
                         f"{tensors[Fields.image].shape[-1]}")
    tensors = changed(tensors, Fields.image,
                      lambda image: tf.floor(tf.clip_by_value(image, 0.0, 255.0)))
    seeds = split(seed, 2)
    branches = [lambda policy=policy: _apply(tensors, seeds[1], policy)
                for policy in POLICIES[policy_name]]
    return tf.switch_case(uniform_int(seeds[0], 0, len(branches)), branches)


def _apply(tensors: Tensors, seed: tf.Tensor, policy: SubPolicy) -> Tensors:
    for (name, probability, level), own_seed in zip(policy, split(seed, len(policy))):
        seeds = split(own_seed, 2)
        if name in _IN_BOXES:
            tensors = moves.inside_boxes(
                tensors, seeds[0], probability * _ONE_BOX,
                lambda t, s, name=name, level=level: _IN_BOXES[name](t, s, level))
        else:
            tensors = maybe(
                tensors, seeds[0], probability,
                lambda t, s=seeds[1], name=name, level=level: _OPERATIONS[name](t, s, level))
    return tensors


def _scaled(most: float) -> Callable[[float], int]:
    return lambda level: int(level / _MAX_LEVEL * most)


def _strength(level: float) -> float:
    return level / _MAX_LEVEL * 1.8 + 0.1


def _recolored(function: Callable[..., tf.Tensor],
               argument: Callable[[float], float] | None = None) -> _Operation:
    """An operation on pixels without randomness; `argument` turns the level into its argument."""
    def operation(tensors: Tensors, seed: tf.Tensor, level: float) -> Tensors:
        given = () if argument is None else (argument(level),)
        return changed(tensors, Fields.image, lambda image: function(image, *given))
    return operation


def _cut_out(most: float) -> _Operation:
    size = _scaled(most)
    return lambda tensors, seed, level: changed(
        tensors, Fields.image, lambda image: pixels.cutout(image, seed, size(level)))


def _moved(matrix: Callable[[tf.Tensor, tf.Tensor], tf.Tensor], most: float) -> _Operation:
    """An operation by a matrix of the image's size and an amount, either way at random."""
    def operation(tensors: Tensors, seed: tf.Tensor, level: float) -> Tensors:
        amount = tf.where(uniform(seed) < 0.5, -1.0, 1.0) * (level / _MAX_LEVEL * most)
        size = tf.cast(tf.shape(tensors[Fields.image])[:2], tf.float32)
        return moves.moved(tensors, matrix(amount, size))
    return operation


_OPERATIONS: dict[str, _Operation] = {
    "AutoContrast": _recolored(pixels.autocontrast),
    "Equalize": _recolored(pixels.equalize),
    "Posterize": _recolored(pixels.posterize, _scaled(4)),
    "Solarize": _recolored(pixels.solarize, _scaled(256)),
    "SolarizeAdd": _recolored(pixels.solarize_add, _scaled(110)),
    "Color": _recolored(pixels.color, _strength),
    "Contrast": _recolored(pixels.contrast, _strength),
    "Brightness": _recolored(pixels.brightness, _strength),
    "Sharpness": _recolored(pixels.sharpness, _strength),
    "Cutout": _cut_out(100),
    "BBox_Cutout": lambda tensors, seed, level: moves.cutout_in_one_box(
        tensors, seed, level / _MAX_LEVEL * 0.75),
    "TranslateX_BBox": _moved(moves.translation_x, 250.0),
    "TranslateY_BBox": _moved(moves.translation_y, 250.0),
    "ShearX_BBox": _moved(moves.shear_x, 0.3),
    "ShearY_BBox": _moved(moves.shear_y, 0.3),
    "Rotate_BBox": _moved(moves.rotation, 30.0),
}

_IN_BOXES: dict[str, _Operation] = {
    "TranslateX_Only_BBoxes": _moved(moves.translation_x, 120.0),
    "TranslateY_Only_BBoxes": _moved(moves.translation_y, 120.0),
    "ShearX_Only_BBoxes": _moved(moves.shear_x, 0.3),
    "ShearY_Only_BBoxes": _moved(moves.shear_y, 0.3),
    "Rotate_Only_BBoxes": _moved(moves.rotation, 30.0),
    "Flip_Only_BBoxes": lambda tensors, seed, level: moves.flipped(tensors),
    "Solarize_Only_BBoxes": _recolored(pixels.solarize, _scaled(256)),
    "Equalize_Only_BBoxes": _recolored(pixels.equalize),
    "Cutout_Only_BBoxes": _cut_out(50),
}
