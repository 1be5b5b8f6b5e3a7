import pytest
import tensorflow as tf

from object_detection.data_decoders import label_lookup


def _write(tmp_path, text):
    path = tmp_path / "map.pbtxt"
    path.write_text(text)
    return str(path)


def test_names_and_display_names(tmp_path):
    path = _write(tmp_path, """
        item { id: 5 name: '/m/01' display_name: 'Cat ' }
        item { id: 1 name: 'dog' }""")
    assert label_lookup.read_labels(path) == {"/m/01": 5, "Cat": 5, "dog": 1}


def test_a_name_wins_over_the_display_name_of_another(tmp_path):
    path = _write(tmp_path, """
        item { id: 1 name: 'a' display_name: 'b' }
        item { id: 2 name: 'b' display_name: 'c' }""")
    assert label_lookup.read_labels(path)["b"] == 2
    assert label_lookup.read_labels(path, use_display_name=True)["b"] == 1


def test_a_map_of_background_only_is_an_error(tmp_path):
    with pytest.raises(ValueError, match="map.pbtxt"):
        label_lookup.read_labels(_write(tmp_path, "item { id: 0 name: 'background' }"))


def test_lookup_strips_and_gives_minus_one(tmp_path):
    lookup = label_lookup.LabelLookup(_write(tmp_path, "item { id: 3 name: 'cat' }"))
    got = tf.function(lookup)(tf.constant(["cat", " cat ", "Cat", ""]))
    assert got.numpy().tolist() == [3, 3, -1, -1]
    assert lookup(tf.constant([], tf.string)).shape == [0]
