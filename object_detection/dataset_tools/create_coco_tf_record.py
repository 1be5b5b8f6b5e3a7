"""Reads COCO instance annotations (JSON) for conversion to TFRecord files."""

import dataclasses
import hashlib
import json
import os
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import tensorflow as tf

from object_detection.dataset_tools import example_builder, image_check, sources


class CocoAnnotations(NamedTuple):
    """The content of an annotation file."""

    images: list[sources.SourceImage]
    category_ids: dict[str, int]  # label of every class name
    warnings: list[str]


def read_coco(annotations_file: str, image_dir: str) -> CocoAnnotations:
    """Reads a COCO instances file, or an image_info file without annotations.

    Labels are the ids of the categories, gaps and all, as in the label map of the Object Detection
    API. If a file numbers its categories from 0, which is the background's label, they are
    numbered anew from 1 in the order of their ids, and a warning says so.

    Args:
        annotations_file: the JSON file.
        image_dir: folder of the images; `file_name` may name subfolders, but not leave it.
    Raises:
        ValueError: if the file is not COCO JSON; the message says what is missing.
    """
    content = _load(annotations_file)
    warnings: list[str] = []
    names = _category_names(content.get("categories", []), annotations_file)
    category_ids = _labels(names, warnings)
    by_image: dict[Any, list] = {image["id"]: [] for image in content["images"]}
    strays = 0
    for annotation in content.get("annotations", []):
        if annotation.get("image_id") in by_image:
            by_image[annotation["image_id"]].append(annotation)
        else:
            strays += 1
    if strays:
        warnings.append(f"{strays} annotation(s) belong to no image of {annotations_file}")
    images = [_source_image(image, by_image[image["id"]], image_dir, names)
              for image in content["images"]]
    return CocoAnnotations(images, category_ids, warnings)


def create_tf_example(
        image: Mapping[str, Any], annotations_list: Sequence[Mapping[str, Any]], image_dir: str,
        category_index: Mapping[int, Mapping[str, Any]], include_masks: bool = False,
        keypoint_annotations_dict: None = None, densepose_annotations_dict: None = None,
        remove_non_person_annotations: bool = False, remove_non_person_images: bool = False,
) -> tuple[str, tf.train.Example | None, int, int, int, int, int]:
    """Converts one image of a COCO file. The signature is that of the Object Detection API.

    Args:
        image: an item of `images`: file_name, height, width, id.
        annotations_list: the items of `annotations` with that image id; `bbox` is
            [x, y, width, height] in pixels.
        image_dir: folder of the image.
        category_index: {category id: {"id": ..., "name": ...}}; the id becomes the label.
        include_masks: whether to write `image/object/mask` as PNG.
        keypoint_annotations_dict, densepose_annotations_dict: must be None, this family of models
            has no use for them.
        remove_non_person_annotations: keep only objects of the class "person".
        remove_non_person_images: return no example for an image that has no person.
    Returns:
        SHA-256 of the image, the example (or None), the number of objects left out, and four zeros
        where the Object Detection API counts keypoints and DensePose annotations.
    Raises:
        ValueError: for an unknown category, keypoints, or an image that cannot be decoded.
        FileNotFoundError: if there is no such image.
    """
    if keypoint_annotations_dict is not None or densepose_annotations_dict is not None:
        raise ValueError("create_tf_example: keypoints and DensePose are not converted, "
                         "want None for both")
    names = {label: str(item["name"]) for label, item in category_index.items()}
    source = _source_image(image, annotations_list, image_dir, names)
    if source.fault:
        raise FileNotFoundError(source.fault)
    for obj in source.objects:
        if obj.name not in names.values():
            raise ValueError(f"{source.filename} object {obj.number} ({obj.note}): {obj.name} is "
                             f"not in the category index, which has ids {sorted(names)}")
    persons = [obj for obj in source.objects if obj.name == "person"]
    if remove_non_person_annotations:
        source = dataclasses.replace(source, objects=tuple(persons))
    with open(source.path, "rb") as file:
        prepared = image_check.prepare_image(file.read(), source.size)
    key = hashlib.sha256(prepared.encoded).hexdigest()
    if remove_non_person_images and not persons:
        return key, None, len(annotations_list), 0, 0, 0, 0
    built = example_builder.build_example(source, prepared, example_builder.ExampleSettings(
        {name: label for label, name in names.items()}, include_masks))
    return key, built.example, len(annotations_list) - built.num_objects, 0, 0, 0, 0


def _load(path: str) -> dict[str, Any]:
    try:
        with open(path, encoding="utf-8-sig") as file:
            content = json.load(file)
    except (UnicodeDecodeError, json.JSONDecodeError) as error:
        raise ValueError(f"{path}: not JSON in UTF-8: {error}") from error
    if not isinstance(content, dict) or not isinstance(content.get("images"), list):
        raise ValueError(f"{path}: no COCO annotations, want an object with 'images' (list), "
                         "'annotations' and 'categories'")
    for position, image in enumerate(content["images"]):
        if not isinstance(image, dict) or "id" not in image or "file_name" not in image:
            raise ValueError(f"{path}: images[{position}] has no 'id' or no 'file_name'")
    return content


def _category_names(categories: Sequence[Mapping[str, Any]], path: str) -> dict[int, str]:
    try:
        names = {int(item["id"]): str(item["name"]).strip() for item in categories}
    except (KeyError, TypeError, ValueError) as error:
        raise ValueError(f"{path}: every item of 'categories' needs an 'id' and a 'name'"
                         ) from error
    if len(set(names.values())) != len(categories):
        raise ValueError(f"{path}: 'categories' has an id or a name more than once")
    return names


def _labels(names: Mapping[int, str], warnings: list[str]) -> dict[str, int]:
    if not names or min(names) >= 1:
        return {name: label for label, name in names.items()}
    warnings.append("category ids start below 1 and were numbered anew from 1: "
                    "0 is the label of the background")
    return {names[label]: number for number, label in enumerate(sorted(names), start=1)}


def _source_image(image: Mapping[str, Any], annotations: Sequence[Mapping[str, Any]],
                  image_dir: str, names: Mapping[int, str]) -> sources.SourceImage:
    filename, path, fault = str(image["file_name"]), "", ""
    try:
        path = os.path.join(image_dir, sources.relative_inside(filename))
    except ValueError as error:
        fault = str(error)
    if not fault and not os.path.isfile(path):
        fault = f"image file not found: {path}"
    objects = tuple(_object(number, item, names) for number, item in enumerate(annotations))
    size = None
    if image.get("width") and image.get("height"):
        size = (int(image["width"]), int(image["height"]))
    return sources.SourceImage(path, filename, str(image["id"]), objects, size, fault=fault)


def _object(number: int, item: Mapping[str, Any], names: Mapping[int, str]
            ) -> sources.SourceObject:
    try:
        x, y, width, height = (float(value) for value in item["bbox"])
        box = (x, y, x + width, y + height)
    except (KeyError, TypeError, ValueError):
        box = (float("nan"),) * 4  # dropped and reported later, like any other bad box
    label = item.get("category_id")
    area = item.get("area")
    return sources.SourceObject(
        number, names.get(label, f"category id {label}"), box,
        note=f"annotation id {item.get('id', 'missing')}", is_crowd=bool(item.get("iscrowd", 0)),
        area=None if area is None else float(area), segmentation=item.get("segmentation"))
