"""Builds augmentations from `data_augmentation_options` blocks."""

import dataclasses
import functools
from collections.abc import Sequence

from google.protobuf.descriptor import FieldDescriptor
from google.protobuf.message import Message

from object_detection.core import preprocessor
from object_detection.core.augment import crops
from object_detection.protos import preprocessor_pb2

_RULE_FIELDS = {field.name for field in dataclasses.fields(crops.CropRule)}
_WITH_ONE_RULE = ("random_crop_image", "random_crop_pad_image")


def build(step: preprocessor_pb2.PreprocessingStep) -> preprocessor.Step:
    """Builds one augmentation: a function of (tensors, seed) with its settings bound.

    The fields of a message have the names of the function's parameters.

    Raises:
        ValueError: if no step is set.
    """
    kind = step.WhichOneof("preprocessing_step")
    if kind is None:
        raise ValueError("data_augmentation_options: the block is empty; set one of "
                         f"{sorted(preprocessor.AUGMENTATIONS)}")
    return functools.partial(preprocessor.AUGMENTATIONS[kind],
                             **_settings(kind, getattr(step, kind)))


def build_all(steps: Sequence[preprocessor_pb2.PreprocessingStep]) -> list[preprocessor.Step]:
    """Builds all augmentations of a training config, in order."""
    return [build(step) for step in steps]


def _settings(kind: str, config: Message) -> dict[str, object]:
    settings = {field.name: _value(config, field) for field in config.DESCRIPTOR.fields}
    if kind in _WITH_ONE_RULE:
        rule = {name: settings.pop(name) for name in sorted(_RULE_FIELDS)}
        settings["rule"] = crops.CropRule(**rule)
    elif kind == "ssd_random_crop_pad":
        settings = {"rules": tuple(_pad_rule(operation) for operation in config.operations)}
    elif "operations" in settings:
        settings["rules"] = settings.pop("operations")
    return settings


def _value(config: Message, field: FieldDescriptor) -> object:
    value = getattr(config, field.name)
    if field.name == "operations":
        return tuple(_rule(operation) for operation in value)
    if field.enum_type is not None:
        return field.enum_type.values_by_number[value].name
    return tuple(value) if field.is_repeated else value


def _rule(operation: Message) -> crops.CropRule:
    """Builds a crop rule; the SSD operations without aspect ratio leave the window's free."""
    fields = {field.name for field in operation.DESCRIPTOR.fields} & _RULE_FIELDS
    rule = crops.CropRule(**{name: getattr(operation, name) for name in sorted(fields)})
    if "min_aspect_ratio" not in fields:
        rule = dataclasses.replace(rule, min_aspect_ratio=0.5, max_aspect_ratio=2.0)
    return rule


def _pad_rule(operation: preprocessor_pb2.SSDRandomCropPadOperation) -> crops.CropPadRule:
    """Builds a rule with padding; a colour that is not set is black, as in the OD API."""
    return crops.CropPadRule(
        rule=_rule(operation),
        min_padded_size_ratio=tuple(operation.min_padded_size_ratio),
        max_padded_size_ratio=tuple(operation.max_padded_size_ratio),
        pad_color=(operation.pad_color_r, operation.pad_color_g, operation.pad_color_b))
