import pytest

from object_detection.dataset_tools import class_names, sources


def _images(*names):
    objects = tuple(sources.SourceObject(number, name, (0, 0, 1, 1))
                    for number, name in enumerate(names))
    return [sources.SourceImage("", "a.jpg", "a", objects, annotation="a.xml")]


def test_a_label_map_is_made_from_the_names(tmp_path):
    labels = class_names.resolve_labels(_images("b", "20", "b"), "", str(tmp_path / "x.record"))
    assert labels.ids == {"20": 1, "b": 2}  # BR-14: a number is a name like any other
    assert labels.path == str(tmp_path / "label_map.pbtxt")
    assert labels.new_text == ('item {\n  id: 1\n  name: "20"\n}\n'
                               'item {\n  id: 2\n  name: "b"\n}\n')


def test_a_label_map_beside_the_output_is_used(tmp_path):
    (tmp_path / "label_map.pbtxt").write_text('item { id: 4 name: "z" }')
    labels = class_names.resolve_labels(_images("z"), "", str(tmp_path / "x.record"))
    assert labels.ids == {"z": 4}
    assert not labels.new_text


def test_names_survive_the_label_map(tmp_path):
    path = tmp_path / "map.pbtxt"
    labels = {'a "b" \\ c': 1, "Gürteltier": 2}
    path.write_text(class_names.label_map_text(labels), encoding="utf-8")
    assert class_names.resolve_labels([], str(path), "").ids == labels


def test_no_object_at_all_needs_a_label_map(tmp_path):
    with pytest.raises(ValueError, match="--label_map_path"):
        class_names.resolve_labels(_images(), "", str(tmp_path / "x"))


def test_unknown_classes_are_listed_with_their_place():
    labels = class_names.ClassLabels({"cat": 1, "dog": 2}, "map.pbtxt")
    class_names.check_known(_images("cat", "dog"), labels)
    with pytest.raises(ValueError) as caught:
        class_names.check_known(_images("cat", "kursi", ".3", "kursi"), labels)
    message = str(caught.value)
    assert "'kursi' (2 times, first in a.xml object 1)" in message
    assert "'.3'" in message
    assert "Known names: 'cat', 'dog'." in message
    assert "--skip_unknown_classes" in message
