"""Reads PASCAL VOC folders (one XML file per image) for conversion to TFRecord files.

Pixel convention: coordinates are divided by the image size as they are (`xmin / width`). VOC
counts pixels from 1 and means the pixel, not its edge; like the Object Detection API, this
converter does not shift by that one pixel, so records from either tool are equal.
"""

import os
from collections.abc import Mapping
from typing import Any

import defusedxml
import tensorflow as tf
from absl import logging
from defusedxml import ElementTree

from object_detection.dataset_tools import example_builder, image_check, sources
from object_detection.utils import dataset_util


def read_pascal(data_dir: str, set_name: str = "", year: str = "",
                annotations_dir: str = "Annotations") -> list[sources.SourceImage]:
    """Reads the annotations of a VOC data set.

    Args:
        data_dir: folder with Annotations and JPEGImages, or, if `year` is given, the folder
            VOCdevkit that holds one such folder per year.
        set_name: image set to read, from ImageSets/Main; empty for every XML file.
        year: "VOC2007", "VOC2012", "merged" (both), another folder name, or empty.
        annotations_dir: name of the folder of XML files.
    Returns:
        One item per image, in the order of the image set or of the file names. What is wrong with
        single annotations is in their `fault`.
    Raises:
        ValueError: if a folder or the image set does not exist.
    """
    images = []
    for root in _roots(data_dir, year):
        annotations = os.path.join(root, annotations_dir)
        if not os.path.isdir(annotations):
            raise ValueError(f"{annotations}: no such folder. Want a folder with {annotations_dir}/"
                             " and JPEGImages/; set --year for VOCdevkit, --annotations_dir for "
                             "another name")
        for name in _names(root, annotations, set_name):
            images.append(read_annotation(root, os.path.join(annotations_dir, name + ".xml")))
    return images


def read_annotation(root: str, annotation: str) -> sources.SourceImage:
    """Reads one XML file, given relative to the data folder `root`.

    Only `filename` says where the image is (under JPEGImages); `folder` and `path` are those of
    the annotator's machine and are not followed. XML with entities is refused.
    """
    stem = os.path.splitext(os.path.basename(annotation))[0]
    try:
        data = _parse_xml(os.path.join(root, sources.relative_inside(annotation)))
    except ValueError as error:
        return sources.SourceImage("", stem, stem, annotation=annotation, fault=str(error))
    filename = (data.get("filename") or stem).strip()
    try:
        objects, size = _objects(data), _size(data)
        path = sources.find_image(os.path.join(root, "JPEGImages"), filename, stem)
    except (ValueError, FileNotFoundError) as error:
        return sources.SourceImage("", filename, filename, annotation=annotation, fault=str(error))
    return sources.SourceImage(path, filename, filename, tuple(objects), size, annotation)


def dict_to_tf_example(data: Mapping[str, Any], dataset_directory: str,
                       label_map_dict: Mapping[str, int], ignore_difficult_instances: bool = False,
                       image_subdirectory: str = "JPEGImages") -> tf.train.Example:
    """Converts one VOC annotation, as `dataset_util.recursive_parse_xml_to_dict` gives it.

    The image is looked for in `dataset_directory`/`folder`/`image_subdirectory` and then without
    the `folder` of the annotation. Boxes that are empty, inverted or outside are left out with a
    logged warning.

    Raises:
        ValueError: for a class that is not in label_map_dict, an unsafe file name, or an image
            that cannot be decoded.
        FileNotFoundError: if there is no such image.
    """
    filename = data["filename"].strip()
    try:
        folder = sources.relative_inside(data.get("folder") or ".")
        path = sources.find_image(os.path.join(dataset_directory, folder, image_subdirectory),
                                  filename)
    except (ValueError, FileNotFoundError):
        path = sources.find_image(os.path.join(dataset_directory, image_subdirectory), filename)
    source = sources.SourceImage(path, filename, filename, tuple(_objects(data)), _size(data))
    for obj in source.objects:
        if obj.name not in label_map_dict:
            raise ValueError(f"{filename} object {obj.number}: class {obj.name!r} is not in the "
                             f"label map, which has {sorted(label_map_dict)}")
    with open(path, "rb") as file:
        prepared = image_check.prepare_image(file.read(), source.size)
    built = example_builder.build_example(source, prepared, example_builder.ExampleSettings(
        label_map_dict, ignore_difficult_instances=ignore_difficult_instances))
    for drop in built.dropped:
        logging.warning("%s object %d left out: %s (%s)", drop.file, drop.object, drop.reason,
                        drop.detail)
    return built.example


def _roots(data_dir: str, year: str) -> list[str]:
    if not os.path.isdir(data_dir):
        raise ValueError(f"{data_dir}: no such folder (--data_dir)")
    if not year:
        return [data_dir]
    years = ["VOC2007", "VOC2012"] if year == "merged" else [year]
    return [os.path.join(data_dir, name) for name in years]


def _names(root: str, annotations: str, set_name: str) -> list[str]:
    """Returns the stems of the annotations of an image set, each once."""
    if not set_name:
        return sorted(os.path.splitext(name)[0] for name in os.listdir(annotations)
                      if name.lower().endswith(".xml"))
    sets = os.path.join(root, "ImageSets", "Main")
    # The second is what the Object Detection API reads; it lists the same images.
    for list_name in (set_name, "aeroplane_" + set_name):
        path = os.path.join(sets, list_name + ".txt")
        if os.path.isfile(path):
            return list(dict.fromkeys(dataset_util.read_examples_list(path)))
    there = sorted(name[:-4] for name in os.listdir(sets)) if os.path.isdir(sets) else []
    raise ValueError(f"{sets}: no image set {set_name!r} (--set). There is: "
                     f"{', '.join(there) or 'nothing'}; leave --set out to read every XML file")


def _parse_xml(path: str) -> dict[str, Any]:
    try:
        root = ElementTree.parse(path, forbid_dtd=True).getroot()
    except FileNotFoundError:
        raise ValueError("annotation file not found") from None
    except defusedxml.DefusedXmlException as error:
        raise ValueError(f"XML with a DTD or entities is refused: {error}") from error
    except (ElementTree.ParseError, UnicodeError, LookupError, OSError) as error:
        raise ValueError(f"not readable as XML: {error}") from error
    data = dataset_util.recursive_parse_xml_to_dict(root).get("annotation")
    if not isinstance(data, dict):
        raise ValueError(f"no VOC annotation: the root element is <{root.tag}>, want <annotation>")
    return data


def _size(data: Mapping[str, Any]) -> tuple[int, int] | None:
    size = data.get("size")
    if not isinstance(size, Mapping):
        return None
    try:
        return int(float(size["width"])), int(float(size["height"]))
    except (KeyError, TypeError, ValueError, OverflowError):
        return None


def _objects(data: Mapping[str, Any]) -> list[sources.SourceObject]:
    return [_object(number, obj) for number, obj in enumerate(data.get("object", []))]


def _object(number: int, obj: Any) -> sources.SourceObject:
    if not isinstance(obj, Mapping) or not isinstance(obj.get("name"), str):
        raise ValueError(f"object {number} has no name")
    if not isinstance(obj.get("bndbox"), Mapping):
        raise ValueError(f"object {number} ({obj['name'].strip()}) has no bndbox")
    box = tuple(_number(obj["bndbox"].get(edge)) for edge in ("xmin", "ymin", "xmax", "ymax"))
    return sources.SourceObject(
        number, obj["name"].strip(), box, difficult=_flag(obj.get("difficult")),
        truncated=_flag(obj.get("truncated")), view=str(obj.get("pose") or "").strip())


def _number(text: Any) -> float:
    try:
        return float(text)
    except (TypeError, ValueError):
        return float("nan")  # dropped and reported later, like any other bad box


def _flag(text: Any) -> bool:
    return str(text or "0").strip().lower() not in ("0", "false", "")
