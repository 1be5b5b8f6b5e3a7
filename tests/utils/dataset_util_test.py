import numpy as np
import pytest
from defusedxml import ElementTree

from object_detection.utils import dataset_util


def test_features_hold_their_values():
    assert list(dataset_util.int64_feature(3).int64_list.value) == [3]
    assert list(dataset_util.int64_list_feature([1, 2]).int64_list.value) == [1, 2]
    assert list(dataset_util.float_feature(0.5).float_list.value) == [0.5]
    assert list(dataset_util.float_list_feature(np.float32([0.25])).float_list.value) == [0.25]
    assert list(dataset_util.bytes_feature(b"a").bytes_list.value) == [b"a"]
    assert list(dataset_util.bytes_list_feature([b"a", b""]).bytes_list.value) == [b"a", b""]


def test_text_is_stored_as_utf8():
    assert list(dataset_util.bytes_feature("é").bytes_list.value) == [b"\xc3\xa9"]


@pytest.mark.parametrize("make", [
    dataset_util.int64_list_feature, dataset_util.float_list_feature,
    dataset_util.bytes_list_feature])
def test_an_empty_list_is_a_feature_without_values(make):
    feature = make([])
    assert not getattr(feature, feature.WhichOneof("kind")).value


def test_examples_list_takes_the_first_word(tmp_path):
    path = tmp_path / "list.txt"
    path.write_text("a 1\n\nb  -1\n  c\n")
    assert dataset_util.read_examples_list(str(path)) == ["a", "b", "c"]


def test_xml_objects_become_a_list_and_other_repeats_keep_the_last():
    xml = ElementTree.fromstring(
        "<annotation><!-- note --><filename>a.jpg</filename><size><width>4</width></size>"
        "<part>1</part><part>2</part><object><name>x</name></object></annotation>")
    assert dataset_util.recursive_parse_xml_to_dict(xml) == {"annotation": {
        "filename": "a.jpg", "size": {"width": "4"}, "part": "2", "object": [{"name": "x"}]}}


def test_xml_without_objects_has_no_object_key():
    xml = ElementTree.fromstring("<annotation><filename>a.jpg</filename></annotation>")
    assert "object" not in dataset_util.recursive_parse_xml_to_dict(xml)["annotation"]
