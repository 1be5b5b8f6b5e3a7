"""Reads annotations of the VGG Image Annotator (VIA) for conversion to TFRecord files.

Read are the JSON that VIA exports, its projects, and its CSV. `regions` may be a list (VIA 2) or
an object with the numbers of the regions as keys (VIA 1).
"""

import csv
import dataclasses
import json
import re
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from object_detection.dataset_tools import sources, via_shapes

_METADATA = "_via_img_metadata"


@dataclasses.dataclass(frozen=True)
class ViaSettings:
    """Where classes come from, and what an image without regions means."""

    class_attribute: str = ""  # region attribute that holds the class
    class_name: str = ""  # or the one class that all regions have
    include_empty_images: bool = False  # VIA saves images that nobody has annotated, too

    def __post_init__(self) -> None:
        if bool(self.class_attribute) == bool(self.class_name):
            raise ValueError("want either --class_attribute, the region attribute that holds the "
                             "class, or --class_name, the class of all regions")


class ViaAnnotations(NamedTuple):
    """The content of an annotation file."""

    images: list[sources.SourceImage]
    warnings: list[str]


def read_via(annotations_file: str, image_dir: str, settings: ViaSettings) -> ViaAnnotations:
    """Reads a VIA file.

    Args:
        annotations_file: JSON or, by its name, CSV.
        image_dir: folder of the images; their names may have subfolders, but not leave it.
    Returns:
        One item per image, in the order of the file. Objects have boxes around their outlines, and
        polygons. Those that are no region, or have no class, carry a fault.
    Raises:
        ValueError: if the file is no VIA file, or no region has the attribute.
    """
    read = _read_csv if annotations_file.lower().endswith(".csv") else _read_json
    entries = read(annotations_file)
    if settings.class_attribute:
        _check_attribute(entries, settings.class_attribute, annotations_file)
    images = [_source_image(entry, image_dir, settings) for entry in entries]
    empty = sum(not entry.regions for entry in entries)
    warnings = []
    if empty and not settings.include_empty_images:
        warnings.append(f"{empty} of {len(entries)} images have no region and are left out; "
                        "--include_empty_images takes them as images without objects")
    return ViaAnnotations(images, warnings)


class _Entry(NamedTuple):
    filename: str
    regions: list[tuple[str, Mapping[str, Any], Mapping[str, Any]]]  # key, shape, attributes


def _read_json(path: str) -> list[_Entry]:
    try:
        with open(path, encoding="utf-8-sig") as file:
            content = json.load(file)
    except (UnicodeDecodeError, json.JSONDecodeError) as error:
        raise ValueError(f"{path}: not JSON in UTF-8: {error}") from error
    if isinstance(content, dict):
        content = content.get(_METADATA, content)
    items = list(content.items()) if isinstance(content, dict) else []
    if not items:
        raise ValueError(f"{path}: no VIA annotations, want an object with one entry per image, or "
                         f"a VIA project with {_METADATA!r}")
    return [_json_entry(str(key), item, path) for key, item in items]


def _json_entry(key: str, item: Any, path: str) -> _Entry:
    if not isinstance(item, dict) or "filename" not in item or "regions" not in item:
        raise ValueError(
            f"{path}: entry {key!r} has no 'filename' or no 'regions', so this is no VIA "
            "annotation; COCO files have a converter of their own, and files of attribute "
            "definitions hold no annotation")
    regions = item["regions"] or []
    if isinstance(regions, list):
        regions = {str(number): region for number, region in enumerate(regions)}
    if not isinstance(regions, dict):
        raise ValueError(f"{path}: entry {key!r}: 'regions' is neither a list nor an object")
    found = []
    for number, region in regions.items():
        shape = region.get("shape_attributes") if isinstance(region, dict) else None
        if not isinstance(shape, dict):
            raise ValueError(f"{path}: entry {key!r}: region {number} has no 'shape_attributes'")
        found.append((str(number), shape, region.get("region_attributes") or {}))
    return _Entry(str(item["filename"]), found)


def _read_csv(path: str) -> list[_Entry]:
    try:
        with open(path, encoding="utf-8-sig", newline="") as file:
            reader = csv.DictReader(file)
            reader.fieldnames = [name.strip().lstrip("#") for name in reader.fieldnames or []]
            rows = [(reader.line_num, row) for row in reader]
    except UnicodeDecodeError as error:
        raise ValueError(f"{path}: not UTF-8: {error}") from error
    wanted = ("filename", "region_id", "region_shape_attributes", "region_attributes")
    missing = [name for name in wanted if name not in reader.fieldnames]
    if missing:
        raise ValueError(f"{path}: line 1 lacks the column(s) {missing} of VIA's CSV; "
                         f"it has {reader.fieldnames}")
    entries: dict[str, _Entry] = {}
    for line, row in rows:
        entry = entries.setdefault(row["filename"], _Entry(row["filename"], []))
        shape, attributes = (_json_cell(row[name], path, line) for name in wanted[2:])
        if shape:
            entry.regions.append((row["region_id"], shape, attributes))
    return list(entries.values())


def _json_cell(text: str, path: str, line: int) -> dict[str, Any]:
    try:
        # VIA writes attributes without a value as JavaScript's "undefined".
        value = json.loads(re.sub(r":\s*undefined\b", ":null", text or "{}"))
    except json.JSONDecodeError as error:
        raise ValueError(f"{path}: line {line}: not JSON: {text!r}: {error}") from error
    if not isinstance(value, dict):
        raise ValueError(f"{path}: line {line}: want a JSON object, got {text!r}")
    return value


def _check_attribute(entries: Sequence[_Entry], wanted: str, path: str) -> None:
    attributes = [region[2] for entry in entries for region in entry.regions]
    if attributes and not any(wanted in found for found in attributes):
        known = sorted({str(name) for found in attributes for name in found})
        raise ValueError(
            f"{path}: no region has an attribute {wanted!r}; there are {known or 'none at all'}. "
            "Set --class_attribute to one of them, or --class_name if all regions are of one class")


def _source_image(entry: _Entry, image_dir: str, settings: ViaSettings) -> sources.SourceImage:
    path = fault = ""
    try:
        path = sources.find_image(image_dir, entry.filename)
    except (ValueError, FileNotFoundError) as error:
        fault = str(error)
    if not entry.regions and not settings.include_empty_images:
        fault = fault or "no region is annotated"
    objects = tuple(_object(number, *region, settings)
                    for number, region in enumerate(entry.regions))
    return sources.SourceImage(path, entry.filename, entry.filename, objects, fault=fault)


def _object(number: int, key: str, shape: Mapping[str, Any], attributes: Mapping[str, Any],
            settings: ViaSettings) -> sources.SourceObject:
    name, fault = settings.class_name, ""
    if not name:
        name, fault = _class_of(attributes.get(settings.class_attribute))
    box, segmentation = (float("nan"),) * 4, None
    try:
        corners = via_shapes.outline(shape)
        box, segmentation = via_shapes.box_around(corners), [corners]
    except via_shapes.ShapeError as error:
        fault = fault or str(error)
    return sources.SourceObject(number, name, box, note=f"region {key}, {shape.get('name')}",
                                segmentation=segmentation, fault=fault)


def _class_of(value: Any) -> tuple[str, str]:
    """Returns the class that an attribute holds, and why it holds none.

    The value of text, radio and dropdown attributes is a text, that of checkboxes an object
    {option: whether it is ticked}.
    """
    if isinstance(value, dict):
        ticked = [str(option).strip() for option, is_ticked in value.items() if is_ticked]
        if len(ticked) > 1:
            return " + ".join(ticked), "several_classes"
        value = ticked[0] if ticked else ""
    name = "" if value is None else str(value).strip()
    return name, "" if name else "no_class"
