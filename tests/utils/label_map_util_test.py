"""Label maps: what scripts read from them, and the messages for broken ones."""

import numpy as np
import pytest

from object_detection.protos import string_int_label_map_pb2
from object_detection.utils import config_text, label_map_util

_PETS = """
item { id: 1 name: "n02" display_name: "cat" }
item { id: 5 name: "n03" }
item { id: 3 name: "n04" display_name: "fox" frequency: RARE instance_count: 7 }
"""


@pytest.fixture(name="write")
def _write(tmp_path):
    def write(content, name="map.pbtxt"):
        path = tmp_path / name
        path.write_bytes(content if isinstance(content, bytes) else content.encode("utf-8"))
        return path
    return write


def _parse(text):
    label_map = string_int_label_map_pb2.StringIntLabelMap()
    config_text.merge(text, label_map, "text")
    return label_map


def test_category_index_uses_display_names_and_falls_back_to_names(write):
    index = label_map_util.create_category_index_from_labelmap(write(_PETS))
    assert index == {
        1: {"id": 1, "name": "cat"}, 5: {"id": 5, "name": "n03"},
        3: {"id": 3, "name": "fox", "frequency": "r", "instance_count": 7}}
    index = label_map_util.create_category_index_from_labelmap(str(write(_PETS)), False)
    assert [category["name"] for category in index.values()] == ["n02", "n03", "n04"]


def test_chain_of_three_calls_that_inference_scripts_make(write):
    label_map = label_map_util.load_labelmap(write(_PETS))
    categories = label_map_util.convert_label_map_to_categories(
        label_map, max_num_classes=3, use_display_name=True)
    assert [category["id"] for category in categories] == [1, 3]  # 5 is above 3; file order
    assert label_map_util.create_category_index(categories)[3]["name"] == "fox"


def test_no_label_map_gives_numbered_categories():
    assert label_map_util.convert_label_map_to_categories(None, 2) == [
        {"id": 1, "name": "category_1"}, {"id": 2, "name": "category_2"}]


def test_first_of_several_items_with_one_id_counts():
    label_map = _parse('item { id: 1 name: "a" } item { id: 1 name: "b" }')
    assert label_map_util.convert_label_map_to_categories(label_map, 3) == [
        {"id": 1, "name": "a"}]


def test_keypoints_are_mapped_by_label():
    label_map = _parse('item { id: 1 name: "a" keypoints { id: 4 label: "eye" } }')
    category, = label_map_util.convert_label_map_to_categories(label_map, 1)
    assert category["keypoints"] == {"eye": 4}
    label_map = _parse('item { id: 1 name: "a" keypoints { id: 4 label: "eye" } '
                       'keypoints { id: 5 label: "eye" } }')
    with pytest.raises(ValueError, match="'a' names keypoint 'eye' twice"):
        label_map_util.convert_label_map_to_categories(label_map, 1)


def test_label_map_dict_of_a_file_and_of_a_message(write):
    assert label_map_util.get_label_map_dict(write(_PETS)) == {"n02": 1, "n03": 5, "n04": 3}
    assert label_map_util.get_label_map_dict(_parse(_PETS), use_display_name=True) == {
        "cat": 1, "": 5, "fox": 3}


def test_gaps_and_background_are_filled():
    names = label_map_util.get_label_map_dict(_parse(_PETS), fill_in_gaps_and_background=True)
    assert names == {"background": 0, "n02": 1, "2": 2, "n04": 3, "4": 4, "n03": 5}
    with pytest.raises(ValueError, match="cannot fill the gap at id 1"):
        label_map_util.get_label_map_dict(
            _parse('item { id: 2 name: "1" }'), fill_in_gaps_and_background=True)


def test_highest_id_and_class_agnostic_index():
    assert label_map_util.get_max_label_map_index(_parse(_PETS)) == 5
    assert label_map_util.create_class_agnostic_category_index() == {
        1: {"id": 1, "name": "object"}}


def test_hierarchy_tables():
    label_map = _parse('item { id: 1 name: "animal" descendant_ids: [2, 3] } '
                       'item { id: 2 name: "cat" ancestor_ids: 1 } '
                       'item { id: 3 name: "dog" ancestor_ids: 1 }')
    ancestors, descendants = label_map_util.get_label_map_hierarchy_lut(label_map)
    np.testing.assert_array_equal(ancestors, [[0, 0, 0], [1, 0, 0], [1, 0, 0]])
    np.testing.assert_array_equal(descendants, [[0, 1, 1], [0, 0, 0], [0, 0, 0]])
    ancestors, _ = label_map_util.get_label_map_hierarchy_lut(label_map, include_identity=True)
    np.testing.assert_array_equal(ancestors, [[1, 0, 0], [1, 1, 0], [1, 0, 1]])


def test_binary_label_map_is_read(write):
    data = _parse(_PETS).SerializeToString()
    assert len(label_map_util.load_labelmap(write(data, "map.pb")).item) == 3


@pytest.mark.parametrize(("text", "message"), [
    # BR-10
    ('item { id: 0 name: "cat" } item { id: 1 name: "dog" }',
     r"map.pbtxt: item 1 \(name 'cat', id 0\) has id 0: ids start at 1"),
    ('item { id: 1 name: "dog" } item { name: "cat" }', r"item 2 \(name 'cat', id 0\) has no id"),
    ('item { id: -1 name: "cat" }', "this one is negative"),
    # BR-13
    ("", "map.pbtxt: the label map is empty"),
    ("# nothing\n", "the label map is empty"),
    # Syntax
    ("item { id: 1 nam: 'a' }", r"map.pbtxt:1:14: item \(StringIntLabelMapItem\) has no field "
     "'nam'; did you mean 'name'"),
    ("item { id: 1 name: cat }", "want a string in quotes, got cat"),
    ("item { id: 1 name: 'a'", "not closed"),
    ('[{"id": 1, "name": "cat"}]', "looks like JSON"),
    ("cat\ndog\n", "map.pbtxt:1:1: StringIntLabelMap has no field 'cat'"),
])
def test_broken_label_maps_say_where_and_what(write, text, message):
    with pytest.raises(ValueError, match=message):
        label_map_util.load_labelmap(write(text))


def test_id_0_is_allowed_for_the_background(write):
    label_map = label_map_util.load_labelmap(write('item { id: 0 name: "background" } ' + _PETS))
    assert label_map_util.get_label_map_dict(label_map)["background"] == 0


def test_encodings_of_br_15(write, tmp_path):
    text = "# 標籤\nitem { id: 1 name: '猫' }"
    for data in (text.encode(), text.encode("utf-8-sig")):
        assert label_map_util.get_label_map_dict(write(data)) == {"猫": 1}
    with pytest.raises(ValueError, match="map.pbtxt:1: byte 0x.. is not UTF-8"):
        label_map_util.load_labelmap(write(text.encode("gbk", errors="replace")))
    with pytest.raises(FileNotFoundError, match="map.bptxt: no such file"):
        label_map_util.load_labelmap(tmp_path / "map.bptxt")


def test_one_name_with_two_ids_is_a_warning(write, monkeypatch):
    caught = []
    monkeypatch.setattr(label_map_util.logging, "warning", lambda text, *args: caught.append(
        text % args))
    label_map_util.load_labelmap(write('item { id: 1 name: "a" } item { id: 2 name: "a" }'))
    assert "name 'a' has several ids: [1, 2]" in caught[0]
