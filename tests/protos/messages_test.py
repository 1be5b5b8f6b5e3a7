"""The compiled messages against the wire-format facts of the OD API."""

import importlib
import json
import pathlib
import re

import pytest
import shared_files
from google.protobuf import descriptor, descriptor_pool

from object_detection import protos

_Field = descriptor.FieldDescriptor
_TYPES = {getattr(_Field, name): name[5:].lower() for name in dir(_Field)
          if name.startswith("TYPE_")}
_OURS_FROM = 10000  # numbers from here on are fields of this project


def _of_the_original(kind):
    return {field.name for field in kind.fields if field.number < _OURS_FROM}


def _facts():
    return json.loads(shared_files.require("fixtures/protos/facts.json").read_text())


def _short(kind):
    return kind.full_name.removeprefix("object_detection.protos.")


def _all_messages():
    for path in pathlib.Path(protos.__file__).parent.glob("*_pb2.py"):
        importlib.import_module(f"object_detection.protos.{path.stem}")
    pool = descriptor_pool.Default()
    facts = _facts()
    return facts, {name: pool.FindMessageTypeByName(f"{facts['package']}.{name}")
                   for name in facts["messages"]}


def _label(field):
    return "repeated" if field.is_repeated else "required" if field.is_required else "optional"


def _default(field):
    if field.is_repeated:
        return []
    if field.message_type is not None:
        return None
    if field.enum_type is not None:
        return field.enum_type.values_by_number[field.default_value].name
    return field.default_value


def test_every_field_has_the_number_type_label_and_default_of_the_original():
    facts, messages = _all_messages()
    compared = 0
    for name, kind in messages.items():
        wanted = {field["name"]: field for field in facts["messages"][name]["fields"]}
        assert _of_the_original(kind) == set(wanted), name
        for field_name, want in wanted.items():
            got = kind.fields_by_name[field_name]
            where = f"{name}.{field_name}"
            assert got.number == want["number"], where
            assert _label(got) == want["label"], where
            assert _TYPES[got.type] == want["type"], where
            assert got.has_default_value == want["has_explicit_default"], where
            if got.type == _Field.TYPE_FLOAT and not got.is_repeated:
                # The descriptor holds the 32-bit value, the facts its shortest decimal.
                assert got.default_value == pytest.approx(want["default"], rel=1e-7), where
            else:
                assert _default(got) == want["default"], where
            assert bool(got.GetOptions().deprecated) == bool(want.get("deprecated")), where
            oneof = got.containing_oneof.name if got.containing_oneof else None
            assert oneof == want["oneof"], where
            kinds = got.message_type or got.enum_type
            if kinds is not None:
                assert _short(kinds) == want["type_name"], where
            compared += 1
    assert compared == facts["counts"]["fields"] == 667


def test_maps_have_the_key_and_value_types_of_the_original():
    facts, messages = _all_messages()
    maps = [(name, field) for name in messages for field in facts["messages"][name]["fields"]
            if "map" in field]
    assert len(maps) == 4
    for name, want in maps:
        entry = messages[name].fields_by_name[want["name"]].message_type
        key, value = entry.fields_by_name["key"], entry.fields_by_name["value"]
        assert entry.GetOptions().map_entry
        assert _TYPES[key.type] == want["map"]["key"]
        assert _TYPES[value.type] == want["map"]["value"]
        if value.message_type is not None:
            assert _short(value.message_type) == want["map"]["value_type_name"]


def test_messages_lie_in_the_files_of_the_original_with_its_extension_ranges():
    facts, messages = _all_messages()
    for name, kind in messages.items():
        want = facts["messages"][name]
        assert kind.file.name == want["file"], name
        got = [[first, "max" if last == 2**29 else last - 1]
               for first, last in kind.extension_ranges]
        assert got == want["extension_ranges"], name
    for path, want in facts["files"].items():
        file = descriptor_pool.Default().FindFileByName(path)
        assert file.package == want["package"]
        assert sorted(one.name for one in file.dependencies) == sorted(want["imports"]), path


def test_enums_have_the_values_of_the_original():
    facts, _ = _all_messages()
    for name, want in facts["enums"].items():
        kind = descriptor_pool.Default().FindEnumTypeByName(f"{facts['package']}.{name}")
        assert {one.name: one.number for one in kind.values} == {
            one["name"]: one["number"] for one in want["values"]}, name
    assert len(facts["enums"]) == facts["counts"]["enums"] == 17


def test_own_fields_have_numbers_from_10000_and_faults_are_off():
    from object_detection.protos import faster_rcnn_pb2
    model = faster_rcnn_pb2.FasterRcnn()
    assert model.DESCRIPTOR.fields_by_name["original_faults"].number == 10000
    faults = model.original_faults
    assert len(faults.DESCRIPTOR.fields) >= 7
    assert not any(getattr(faults, field.name) for field in faults.DESCRIPTOR.fields)


def test_enum_values_are_module_attributes_as_scripts_expect():
    from object_detection.protos import input_reader_pb2
    assert input_reader_pb2.PNG_MASKS == 2
    assert input_reader_pb2.InstanceMaskType.Name(1) == "NUMERICAL_MASKS"


def test_the_bazel_target_lists_the_modules_of_all_sources():
    root = pathlib.Path(__file__).resolve().parents[2]
    listed = re.findall(r'^            "(\w+)",$', (root / "BUILD.bazel").read_text(), re.MULTILINE)
    assert listed == sorted(path.stem for path in (root / "protos").glob("*.proto"))
