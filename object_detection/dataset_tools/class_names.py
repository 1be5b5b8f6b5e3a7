"""Finds or makes the label map of a conversion, and checks that it knows every class."""

import os
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

import tensorflow as tf

from object_detection.data_decoders import label_lookup
from object_detection.dataset_tools import sources

LABEL_MAP_NAME = "label_map.pbtxt"
_MAX_LISTED = 20


class ClassLabels(NamedTuple):
    """The label of every class name, and the label map that says so."""

    ids: dict[str, int]
    path: str
    new_text: str = ""  # content of a label map that is still to be written to `path`


def resolve_labels(images: Sequence[sources.SourceImage], label_map_path: str, output_path: str,
                   category_ids: Mapping[str, int] | None = None) -> ClassLabels:
    """Finds or makes the label map.

    Without `label_map_path`, a `label_map.pbtxt` beside the output is used if there is one, so
    that a training and a validation set converted one after the other get the same labels.
    Failing that, one is made for that place: from `category_ids` if given, else from the names
    found in the data, numbered from 1 in alphabetical order.

    Raises:
        ValueError: if there is no class to make a map from, or the map is faulty.
    """
    if label_map_path:
        return ClassLabels(label_lookup.read_labels(label_map_path), label_map_path)
    beside = os.path.join(os.path.dirname(output_path), LABEL_MAP_NAME)
    if tf.io.gfile.exists(beside):
        return ClassLabels(label_lookup.read_labels(beside), beside)
    labels = dict(category_ids or {}) or number_names(
        obj.name for image in images for obj in image.objects if not obj.fault)
    if not labels:
        raise ValueError("no object is annotated, so no label map can be made: "
                         "pass one with --label_map_path")
    return ClassLabels(labels, beside, label_map_text(labels))


def number_names(names: Iterable[str]) -> dict[str, int]:
    """Returns {name: 1, 2, ...} in alphabetical order."""
    return {name: number for number, name in enumerate(sorted(set(names)), start=1)}


def label_map_text(labels: Mapping[str, int]) -> str:
    """Returns the label map as text, in the order of the ids."""
    items = sorted(labels.items(), key=lambda item: item[1])
    return "".join(f'item {{\n  id: {label}\n  name: "{_escaped(name)}"\n}}\n'
                   for name, label in items)


def check_known(images: Iterable[sources.SourceImage], labels: ClassLabels) -> None:
    """Raises ValueError if an object has a class that the label map lacks.

    The message lists every such class with a file to look at, and the known names.
    """
    first_seen: dict[str, str] = {}
    counts: dict[str, int] = {}
    for image in images:
        for obj in image.objects:
            if obj.name not in labels.ids and not obj.fault:
                first_seen.setdefault(obj.name, f"{image.where} object {obj.number}")
                counts[obj.name] = counts.get(obj.name, 0) + 1
    if not counts:
        return
    found = "; ".join(f"{name!r} ({counts[name]} times, first in {first_seen[name]})"
                      for name in sorted(counts)[:_MAX_LISTED])
    known = ", ".join(repr(name) for name in sorted(labels.ids)[:_MAX_LISTED])
    raise ValueError(
        f"{len(counts)} class name(s) that {labels.path} does not have: {found}. "
        f"Known names: {known}{' ...' if len(labels.ids) > _MAX_LISTED else ''}. "
        "Add them to the label map, correct the annotations, or pass --skip_unknown_classes")


def _escaped(name: str) -> str:
    return name.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
