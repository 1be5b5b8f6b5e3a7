"""Helpers for scripts that make tf.Example records: features, image lists, VOC annotations."""

from collections.abc import Iterable
from typing import Any

import tensorflow as tf


def int64_feature(value: int) -> tf.train.Feature:
    """Returns a feature that holds one integer."""
    return int64_list_feature([value])


def int64_list_feature(value: Iterable[int]) -> tf.train.Feature:
    """Returns a feature that holds a list of integers."""
    return tf.train.Feature(int64_list=tf.train.Int64List(value=value))


def bytes_feature(value: bytes | str) -> tf.train.Feature:
    """Returns a feature that holds one byte string; text is stored as UTF-8."""
    return bytes_list_feature([value])


def bytes_list_feature(value: Iterable[bytes | str]) -> tf.train.Feature:
    """Returns a feature that holds a list of byte strings; text is stored as UTF-8."""
    encoded = [item.encode("utf-8") if isinstance(item, str) else item for item in value]
    return tf.train.Feature(bytes_list=tf.train.BytesList(value=encoded))


def float_feature(value: float) -> tf.train.Feature:
    """Returns a feature that holds one number."""
    return float_list_feature([value])


def float_list_feature(value: Iterable[float]) -> tf.train.Feature:
    """Returns a feature that holds a list of numbers, stored as float32."""
    return tf.train.Feature(float_list=tf.train.FloatList(value=value))


def read_examples_list(path: str) -> list[str]:
    """Returns the first word of every line of a VOC image-set file; blank lines are left out.

    Lists of one class have a second column (1, 0 or -1), which is not returned.
    """
    with tf.io.gfile.GFile(path) as file:
        words = (line.split() for line in file.read().splitlines())
        return [line[0] for line in words if line]


def recursive_parse_xml_to_dict(xml: Any) -> dict[str, Any]:
    """Turns the element tree of a VOC annotation into nested dictionaries.

    Children called `object` are gathered in a list, in the order of the file, under that key (which
    is absent if there are none). Of other children with the same tag, the last one is kept.

    Args:
        xml: an element of lxml or of xml.etree; comments and processing instructions are ignored.
    Returns:
        {tag: text} for a leaf, else {tag: {child tag: value}}.
    """
    children = [child for child in xml if isinstance(child.tag, str)]
    if not children:
        return {xml.tag: xml.text}
    fields: dict[str, Any] = {}
    for child in children:
        value = recursive_parse_xml_to_dict(child)[child.tag]
        if child.tag == "object":
            fields.setdefault("object", []).append(value)
        else:
            fields[child.tag] = value
    return {xml.tag: fields}
