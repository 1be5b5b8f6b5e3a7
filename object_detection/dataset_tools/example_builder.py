"""Builds the tf.Example of one annotated image; the same for every annotation format."""

import dataclasses
import hashlib
import io
from collections.abc import Mapping
from typing import NamedTuple

import numpy as np
import PIL.Image
import tensorflow as tf

from object_detection.core.standard_fields import TfExampleFields
from object_detection.dataset_tools import boxes, coco_masks, image_check, sources
from object_detection.utils import dataset_util


@dataclasses.dataclass(frozen=True)
class ExampleSettings:
    """What goes into an example."""

    labels: Mapping[str, int]  # class name to label
    include_masks: bool = False
    ignore_difficult_instances: bool = False


class DroppedObject(NamedTuple):
    """An annotated object that is not in the record, and why."""

    file: str
    object: int  # place in the annotation of its image, from 0
    reason: str
    detail: str


class BuiltExample(NamedTuple):
    """An example and what happened on the way."""

    example: tf.train.Example
    num_objects: int
    dropped: list[DroppedObject]
    notes: list[str]  # one word per event, with repetition


class _KeptObject(NamedTuple):
    source: sources.SourceObject
    box: tuple[float, float, float, float]  # normalized xmin, ymin, xmax, ymax
    mask_png: bytes | None


def build_example(source: sources.SourceImage, image: image_check.PreparedImage,
                  settings: ExampleSettings) -> BuiltExample:
    """Turns an annotation and its checked image into an example.

    Boxes are divided by the size that the annotation states: `xmin / width` and so on, without
    the shift by one that PASCAL VOC's 1-based coordinates would suggest, as the Object Detection
    API has always done. Objects that break a rule are left out and listed.

    Raises:
        ImageError: if the stated size and the image do not fit together.
    """
    frame = image_check.box_frame(image, source.size)
    notes = list(image.notes)
    if frame != (image.width, image.height):
        if settings.include_masks:
            raise image_check.ImageError(
                f"size mismatch: masks are for {frame[0]}x{frame[1]}, image is "
                f"{image.width}x{image.height} (width x height)")
        notes.append("boxes_scaled_from_annotated_size")
    kept, dropped = [], []
    for obj in source.objects:
        try:
            kept.append(_keep(obj, frame, settings, notes))
        except _DropObject as drop:
            detail = " ".join(filter(None, (obj.name, str(obj.box), obj.note)))
            dropped.append(DroppedObject(source.where, obj.number, str(drop), detail))
    features = _image_features(source, image) | _object_features(kept, settings)
    example = tf.train.Example(features=tf.train.Features(feature=features))
    return BuiltExample(example, len(kept), dropped, notes)


class _DropObject(Exception):  # noqa: N818 - control flow inside this file
    """Carries the reason why an object is left out."""


def _keep(obj: sources.SourceObject, frame: tuple[int, int], settings: ExampleSettings,
          notes: list[str]) -> _KeptObject:
    width, height = frame
    if obj.fault:
        raise _DropObject(obj.fault)
    if settings.ignore_difficult_instances and obj.difficult:
        raise _DropObject("difficult")
    if obj.name not in settings.labels:
        raise _DropObject("unknown_class")
    verdict = boxes.clean_box(obj.box, width, height)
    if verdict.box is None:
        raise _DropObject(verdict.reason)
    mask_png = None
    if settings.include_masks:
        mask_png = _mask_png(obj, frame)
    if verdict.clipped:
        notes.append("box_clipped")
    xmin, ymin, xmax, ymax = verdict.box
    return _KeptObject(obj, (xmin / width, ymin / height, xmax / width, ymax / height), mask_png)


def _mask_png(obj: sources.SourceObject, frame: tuple[int, int]) -> bytes:
    try:
        mask = coco_masks.decode_segmentation(obj.segmentation, height=frame[1], width=frame[0])
    except coco_masks.MaskError as error:
        raise _DropObject(str(error)) from error
    if not mask.any():
        raise _DropObject("empty_mask")
    return encode_mask(mask)


def serialize(example: tf.train.Example) -> bytes:
    """Returns the same bytes for the same example in every process: features in order of key."""
    return example.SerializeToString(deterministic=True)


def encode_mask(mask: np.ndarray) -> bytes:
    """Returns a [height, width] mask of 0 and 1 as an 8-bit gray PNG with these values."""
    buffer = io.BytesIO()
    PIL.Image.fromarray(mask.astype(np.uint8)).save(buffer, "PNG")
    return buffer.getvalue()


def _image_features(source: sources.SourceImage, image: image_check.PreparedImage) -> dict:
    return {
        TfExampleFields.height: dataset_util.int64_feature(image.height),
        TfExampleFields.width: dataset_util.int64_feature(image.width),
        TfExampleFields.filename: dataset_util.bytes_feature(source.filename),
        TfExampleFields.source_id: dataset_util.bytes_feature(source.source_id),
        TfExampleFields.key: dataset_util.bytes_feature(hashlib.sha256(image.encoded).hexdigest()),
        TfExampleFields.image_encoded: dataset_util.bytes_feature(image.encoded),
        TfExampleFields.image_format: dataset_util.bytes_feature(image.format),
    }


def _object_features(kept: list[_KeptObject], settings: ExampleSettings) -> dict:
    fields = TfExampleFields
    objects = [item.source for item in kept]
    features = {
        key: dataset_util.float_list_feature([item.box[edge] for item in kept])
        for edge, key in enumerate((fields.object_bbox_xmin, fields.object_bbox_ymin,
                                    fields.object_bbox_xmax, fields.object_bbox_ymax))}
    features[fields.object_class_text] = dataset_util.bytes_list_feature(
        [obj.name for obj in objects])
    features[fields.object_class_label] = dataset_util.int64_list_feature(
        [settings.labels[obj.name] for obj in objects])
    for key, name in ((fields.object_difficult, "difficult"), (fields.object_is_crowd, "is_crowd"),
                      (fields.object_truncated, "truncated")):
        values = [getattr(obj, name) for obj in objects]
        if values and None not in values:
            features[key] = dataset_util.int64_list_feature([int(value) for value in values])
    if objects and all(obj.area is not None for obj in objects):
        features[fields.object_area] = dataset_util.float_list_feature(
            [obj.area for obj in objects])
    if objects and all(obj.view is not None for obj in objects):
        features[fields.object_view] = dataset_util.bytes_list_feature(
            [obj.view for obj in objects])
    if settings.include_masks:
        features[fields.instance_masks] = dataset_util.bytes_list_feature(
            [item.mask_png for item in kept])
    return features
