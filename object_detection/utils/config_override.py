"""Changes single values of a config message by dotted path, as given on a command line."""

import difflib
import re
from collections.abc import Sequence

from google.protobuf import descriptor as descriptor_lib
from google.protobuf import message as message_lib

from object_detection.utils import config_text
from object_detection.utils.config_text import ConfigError

_Field = descriptor_lib.FieldDescriptor
_ASSIGNMENT = re.compile(r"\s*([A-Za-z_][\w.\[\]]*)\s*=(?!=)\s*(.*)", re.DOTALL)
_STEP = re.compile(r"([A-Za-z_]\w*)(?:\[(\d+)\])?")
# The keys of the OD API's config dicts, which its dotted keys start with.
ALIASES = {
    "train_input_config": "train_input_reader",
    "eval_input_config": "eval_input_reader",
    "eval_input_configs": "eval_input_reader",
    "graph_rewriter_config": "graph_rewriter",
}

Value = bool | int | float | str | Sequence


def apply_all(message: message_lib.Message, overrides: Sequence[str]) -> None:
    """Applies overrides in order: `dotted.path[0].field=value`, or protobuf text to merge.

    Raises:
        ConfigError: names the override, the part of it that is wrong and what would fit.
    """
    if isinstance(overrides, str):
        overrides = [overrides]
    for number, override in enumerate(overrides, 1):
        assignment = _ASSIGNMENT.fullmatch(override)
        if assignment:
            set_path(message, assignment.group(1), assignment.group(2).strip())
        else:
            source = f"override {number}"
            config_text.warn(config_text.merge(override, message, source), source)


def set_path(message: message_lib.Message, path: str, value: Value) -> None:
    """Sets one field of a message, or of a message inside it.

    A repeated field without an index is replaced by the list of values given (a Python list, or
    text as `[a, b]` or `a`); with an index that one element is set. A repeated message without an
    index stands for its only element.

    Args:
        message: changed in place.
        path: for example `eval_input_reader[0].label_map_path`; the keys of the OD API's config
            dicts (`train_input_config`) may stand for the fields they hold.
        value: a Python value, or text; a message takes protobuf text. Strings need no quotes.
    Raises:
        ConfigError: names the path, the step of it that is wrong and what would fit.
    """
    steps = path.split(".")
    steps[0] = _alias(steps[0], message)
    for position, step in enumerate(steps[:-1]):
        message = _descend(message, step, ".".join(steps[:position + 1]), path)
    field, index = _resolve(message, steps[-1], path)
    if field.message_type is not None:
        _set_message(message, field, index, value, path)
    elif field.is_repeated:
        _set_repeated(getattr(message, field.name), field, index, value, path)
    else:
        if index is not None:
            raise ConfigError(f"override {path}: {field.name} is one value, it takes no [{index}]")
        setattr(message, field.name, convert(field, value, path))


def _alias(step: str, message: message_lib.Message) -> str:
    name, bracket, rest = step.partition("[")
    if name in message.DESCRIPTOR.fields_by_name:
        return step
    return ALIASES.get(name, name) + bracket + rest


def _resolve(message: message_lib.Message, step: str,
             path: str) -> tuple[descriptor_lib.FieldDescriptor, int | None]:
    found = _STEP.fullmatch(step)
    if found is None:
        raise ConfigError(f"override {path}: want name or name[index], got {step!r}")
    kind = message.DESCRIPTOR
    field = kind.fields_by_name.get(found.group(1))
    if field is None:
        reason = config_text.unknown_field(kind, found.group(1), "", kind)
        raise ConfigError(f"override {path}: {reason}")
    return field, None if found.group(2) is None else int(found.group(2))


def _descend(message: message_lib.Message, step: str, upto: str,
             path: str) -> message_lib.Message:
    field, index = _resolve(message, step, path)
    if field.message_type is None:
        raise ConfigError(f"override {path}: {upto} is a value and has no fields")
    inner = getattr(message, field.name)
    if not field.is_repeated:
        if index is not None:
            raise ConfigError(f"override {path}: there is one {field.name}, it takes no [{index}]")
        return inner
    if index is None:
        if len(inner) > 1:
            raise ConfigError(f"override {path}: there are {len(inner)} {field.name}, say which: "
                              f"{upto}[0] to {upto}[{len(inner) - 1}]")
        return inner[0] if inner else inner.add()
    if index == len(inner):
        return inner.add()
    if index > len(inner):
        raise ConfigError(f"override {path}: there are only {len(inner)} {field.name}")
    return inner[index]


def _set_message(message: message_lib.Message, field: descriptor_lib.FieldDescriptor,
                 index: int | None, value: Value, path: str) -> None:
    if isinstance(value, message_lib.Message):
        if value.DESCRIPTOR.full_name != field.message_type.full_name:
            raise ConfigError(f"override {path}: want {field.message_type.name}, "
                              f"got {value.DESCRIPTOR.name}")
        text = str(value)
    elif isinstance(value, str):
        text = value.strip()
        if text.startswith("{") and text.endswith("}"):
            text = text[1:-1]
    else:
        raise ConfigError(f"override {path}: {field.name} is a message; want protobuf text such as "
                          f"{{ field: value }}, got {value!r}")
    leaf = field.name if index is None else f"{field.name}[{index}]"
    target = _descend(message, leaf, leaf, path)
    target.SetInParent()
    source = f"override {path}"
    config_text.warn(config_text.merge(text, target, source), source)


def _set_repeated(values: list, field: descriptor_lib.FieldDescriptor, index: int | None,
                  value: Value, path: str) -> None:
    if index is not None:
        if index > len(values):
            raise ConfigError(f"override {path}: there are only {len(values)} values")
        converted = convert(field, value, path)
        if index == len(values):
            values.append(converted)
        else:
            values[index] = converted
        return
    if isinstance(value, str):
        text = value.strip()
        listed = text.startswith("[") and text.endswith("]")
        items = [part.strip() for part in text[1:-1].split(",")] if listed else [text]
        items = [item for item in items if item]
    elif isinstance(value, Sequence):
        items = list(value)
    else:
        items = [value]
    values[:] = [convert(field, item, path) for item in items]


def convert(field: descriptor_lib.FieldDescriptor, value: Value,
            path: str) -> bool | int | float | str:
    """Turns a value, or its text, into what a scalar field holds. Raises ConfigError."""
    if field.type == _Field.TYPE_STRING:
        text = str(value)
        quoted = len(text) > 1 and text[0] == text[-1] and text[0] in "\"'"
        return text[1:-1] if quoted else text
    if field.type == _Field.TYPE_BOOL and isinstance(value, bool):
        return value
    if field.cpp_type in (_Field.CPPTYPE_FLOAT, _Field.CPPTYPE_DOUBLE) and isinstance(
            value, (int, float)):
        return float(value)
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    text = str(value).strip()
    kind = "number" if re.fullmatch(r"[-+]?[\d.].*", text) else "word"
    problem = config_text.scalar_problem(field, kind, text)
    if problem:
        raise ConfigError(f"override {path}: {problem}")
    if field.type == _Field.TYPE_BOOL:
        return text in ("true", "True", "t", "1")
    if field.type == _Field.TYPE_ENUM:
        return _enum_number(field, text, path)
    if field.cpp_type in (_Field.CPPTYPE_FLOAT, _Field.CPPTYPE_DOUBLE):
        try:
            return float(text)
        except ValueError as error:
            raise ConfigError(f"override {path}: want a number, got {text}") from error
    return int(text, 16) if "x" in text.lower() else int(text)


def _enum_number(field: descriptor_lib.FieldDescriptor, text: str, path: str) -> int:
    if text in field.enum_type.values_by_name:
        return field.enum_type.values_by_name[text].number
    if text.isdigit() and int(text) in field.enum_type.values_by_number:
        return int(text)
    raise ConfigError(f"override {path}: want one of "
                      f"{', '.join(field.enum_type.values_by_name)}, got {text}")


def nearest(name: str, known: Sequence[str]) -> str:
    """Returns "; did you mean ...?" for a slip of a known name, else nothing."""
    near = difflib.get_close_matches(name, known, 1, 0.6)
    return f"; did you mean {near[0]!r}?" if near else ""
