"""Reads label maps: files that give each class an id (1 and up), a name and a display name."""

import collections
import os
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from absl import logging
from google.protobuf import message as message_lib

from object_detection.protos import string_int_label_map_pb2
from object_detection.utils import config_text
from object_detection.utils.config_text import ConfigError

StringIntLabelMap = string_int_label_map_pb2.StringIntLabelMap
PathOrMap = str | os.PathLike | StringIntLabelMap
_BACKGROUND = "background"
_FREQUENCY_LETTERS = {
    string_int_label_map_pb2.FREQUENT: "f",
    string_int_label_map_pb2.COMMON: "c",
    string_int_label_map_pb2.RARE: "r",
}


def load_labelmap(path: str | os.PathLike) -> StringIntLabelMap:
    """Reads a label map, as text or as a serialized message.

    Raises:
        ConfigError: a ValueError that names the file and what is wrong: not there, not UTF-8, not a
            label map, empty, a negative id, or id 0 for anything but `background`.
    """
    name = os.fspath(path)
    label_map = _parse(config_text.read_bytes(name), name)
    if not label_map.item:
        raise ConfigError(f"{name}: the label map is empty; want item {{ id: 1 name: \"...\" }} "
                          "for each class")
    _validate(label_map, name)
    return label_map


def _parse(data: bytes, name: str) -> StringIntLabelMap:
    label_map = StringIntLabelMap()
    try:
        findings = config_text.merge(config_text.decode(data, name), label_map, name)
    except ConfigError as error:
        binary = _parse_binary(data)
        if binary is None:
            raise _explained(error, data) from error
        return binary
    config_text.warn(findings, name)
    return label_map


def _parse_binary(data: bytes) -> StringIntLabelMap | None:
    """Parses a serialized message; None unless it is one, to the last byte."""
    try:
        label_map = StringIntLabelMap.FromString(data)
    except message_lib.DecodeError:
        return None
    # Nearly any bytes can pass for a message of unknown fields; a label map has none of those.
    known = StringIntLabelMap()
    known.CopyFrom(label_map)
    known.DiscardUnknownFields()
    whole = label_map.item and known.ByteSize() == len(data)
    return label_map if whole else None


def _explained(error: ConfigError, data: bytes) -> ConfigError:
    start = data.lstrip(b"\xef\xbb\xbf \t\r\n")[:1]
    if start in (b"{", b"["):
        return ConfigError(f"{error}. This looks like JSON; a label map is protobuf text: "
                           "item { id: 1 name: \"cat\" }")
    return error


def _validate(label_map: StringIntLabelMap, source: str) -> None:
    for number, item in enumerate(label_map.item, 1):
        where = f"{source}: item {number} (name {item.name!r}, id {item.id})"
        if item.id < 0:
            raise ConfigError(f"{where}: ids start at 1, this one is negative")
        is_background = _BACKGROUND in (item.name.lower(), item.display_name.lower())
        if item.id == 0 and not is_background:
            reason = "has no id" if not item.HasField("id") else "has id 0"
            raise ConfigError(f"{where} {reason}: ids start at 1, and 0 is for the item named "
                              f"{_BACKGROUND!r} alone")
    for field in ("name", "display_name"):
        ids = collections.defaultdict(set)
        for item in label_map.item:
            if getattr(item, field):
                ids[getattr(item, field)].add(item.id)
        for text, numbers in ids.items():
            if len(numbers) > 1:
                logging.warning("%s: %s %r has several ids: %s", source, field, text,
                                sorted(numbers))


def _as_map(label_map_path_or_proto: PathOrMap) -> StringIntLabelMap:
    if isinstance(label_map_path_or_proto, StringIntLabelMap):
        _validate(label_map_path_or_proto, "label map")
        return label_map_path_or_proto
    return load_labelmap(label_map_path_or_proto)


def get_label_map_dict(label_map_path_or_proto: PathOrMap, use_display_name: bool = False,
                       fill_in_gaps_and_background: bool = False) -> dict[str, int]:
    """Maps class names to ids.

    Args:
        label_map_path_or_proto: a file or a message.
        use_display_name: take display names instead of names.
        fill_in_gaps_and_background: add `background: 0`, and `"<id>": id` for ids left out below
            the highest one.
    Raises:
        ConfigError: a label map that cannot be used, or filling that would need an id twice.
    """
    label_map = _as_map(label_map_path_or_proto)
    names = {(item.display_name if use_display_name else item.name): item.id
             for item in label_map.item}
    if fill_in_gaps_and_background:
        taken = set(names.values())
        if 0 not in taken:
            names[_BACKGROUND] = 0
        for value in range(1, max(taken) + 1):
            if value in taken:
                continue
            if str(value) in names:
                raise ConfigError(f"label map: cannot fill the gap at id {value}: an item with id "
                                  f"{names[str(value)]} has that name")
            names[str(value)] = value
    return names


def get_max_label_map_index(label_map: StringIntLabelMap) -> int:
    """Returns the highest id."""
    if not label_map.item:
        raise ConfigError("the label map has no items, so it has no highest id")
    return max(item.id for item in label_map.item)


def convert_label_map_to_categories(label_map: StringIntLabelMap | None, max_num_classes: int,
                                    use_display_name: bool = True) -> list[dict[str, Any]]:
    """Lists the classes with ids 1 to `max_num_classes`, in the order of the file.

    Args:
        label_map: None stands for classes `category_1` to `category_<max_num_classes>`.
        max_num_classes: items with other ids are left out, with a log line.
        use_display_name: names are display names where an item has one.
    Returns:
        Dicts with `id` and `name`, and with `frequency`, `instance_count` and `keypoints` where the
        item has them. Of several items with one id the first counts.
    """
    if label_map is None:
        return [{"id": number, "name": f"category_{number}"}
                for number in range(1, max_num_classes + 1)]
    categories, seen = [], set()
    for item in label_map.item:
        if not 0 < item.id <= max_num_classes:
            logging.info("label map: item %r has id %d, outside 1 to %d; left out", item.name,
                         item.id, max_num_classes)
            continue
        if item.id not in seen:
            seen.add(item.id)
            categories.append(_category(item, use_display_name))
    return categories


def _category(item: string_int_label_map_pb2.StringIntLabelMapItem,
              use_display_name: bool) -> dict[str, Any]:
    named = use_display_name and item.HasField("display_name")
    category: dict[str, Any] = {
        "id": item.id, "name": item.display_name if named else item.name}
    if item.HasField("frequency") and item.frequency in _FREQUENCY_LETTERS:
        category["frequency"] = _FREQUENCY_LETTERS[item.frequency]
    if item.HasField("instance_count"):
        category["instance_count"] = item.instance_count
    if item.keypoints:
        labels: dict[str, int] = {}
        for keypoint in item.keypoints:
            if keypoint.label in labels:
                raise ConfigError(f"label map: item {item.name!r} names keypoint "
                                  f"{keypoint.label!r} twice")
            labels[keypoint.label] = keypoint.id
        category["keypoints"] = labels
    return category


def create_category_index(categories: Sequence[Mapping[str, Any]]) -> dict[int, Mapping[str, Any]]:
    """Maps ids to categories."""
    return {category["id"]: category for category in categories}


def create_categories_from_labelmap(label_map_path: str | os.PathLike,
                                    use_display_name: bool = True) -> list[dict[str, Any]]:
    """Reads a label map and lists all its classes, as `convert_label_map_to_categories` does."""
    label_map = load_labelmap(label_map_path)
    return convert_label_map_to_categories(
        label_map, get_max_label_map_index(label_map), use_display_name)


def create_category_index_from_labelmap(
        label_map_path: str | os.PathLike,
        use_display_name: bool = True) -> dict[int, Mapping[str, Any]]:
    """Reads a label map and maps ids to categories."""
    return create_category_index(
        create_categories_from_labelmap(label_map_path, use_display_name))


def create_class_agnostic_category_index() -> dict[int, dict[str, Any]]:
    """Returns the index of a model that knows one class, `object`."""
    return {1: {"id": 1, "name": "object"}}


def get_label_map_hierarchy_lut(
        label_map_path_or_proto: PathOrMap,
        include_identity: bool = False) -> tuple[np.ndarray, np.ndarray]:
    """Builds tables of the class hierarchy.

    Args:
        label_map_path_or_proto: a file or a message whose items list ancestor_ids, descendant_ids.
        include_identity: count each class among its own ancestors and descendants.
    Returns:
        int32 (ancestors, descendants), each [n, n] for the highest id n. Entry [a - 1, b - 1] is 1
        where class b is an ancestor (a descendant) of class a.
    """
    label_map = _as_map(label_map_path_or_proto)
    size = get_max_label_map_index(label_map)
    start = np.eye(size, dtype=np.int32) if include_identity else np.zeros([size, size], np.int32)
    ancestors, descendants = start.copy(), start.copy()
    for item in label_map.item:
        for table, field in ((ancestors, "ancestor_ids"), (descendants, "descendant_ids")):
            for other in getattr(item, field):
                if not 1 <= other <= size:
                    raise ConfigError(f"label map: item {item.name!r} lists {other} in {field}, "
                                      f"outside 1 to {size}")
                if item.id > 0:
                    table[item.id - 1, other - 1] = 1
    return ancestors, descendants
