"""Reads protobuf text files and says exactly what is wrong with them, or what they silently lose.

`google.protobuf.text_format` does the reading. It cannot tell a user that two values were merged
into one or where a misplaced field belongs, so every text is first walked here against the
descriptors.
"""

import difflib
import os
import re
from typing import Any, NamedTuple

from absl import logging
from google.protobuf import descriptor as descriptor_lib
from google.protobuf import message as message_lib
from google.protobuf import text_format

from object_detection.utils import config_notes

_Field = descriptor_lib.FieldDescriptor
_INTEGER_RANGES = {
    _Field.TYPE_INT32: (-2**31, 2**31 - 1), _Field.TYPE_UINT32: (0, 2**32 - 1),
    _Field.TYPE_INT64: (-2**63, 2**63 - 1), _Field.TYPE_UINT64: (0, 2**64 - 1)}
_FLOATS = frozenset({_Field.TYPE_FLOAT, _Field.TYPE_DOUBLE})
_BOOLS = frozenset({"true", "false", "True", "False", "t", "f", "1", "0"})
_TOKEN = re.compile(
    r"""(?P<skip>[ \t\r\f\v\n]+|\#[^\n]*)
      | (?P<string>"(?:[^"\\\n]|\\.)*"|'(?:[^'\\\n]|\\.)*')
      | (?P<number>-?[ ]*(?:0[xX][0-9a-fA-F]+|(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?)[fF]?(?![\w.]))
      | (?P<word>-?[A-Za-z_]\w*)
      | (?P<mark>[{}<>\[\]:;,])""", re.VERBOSE)
_TYPOGRAPHIC_QUOTES = "\u201c\u201d\u201e\u201f\u2018\u2019\u201a\u201b\u00ab\u00bb\u2033\u2032"
_PATH_FIELD = re.compile(r"path|checkpoint|_dir$")
_LONE_BACKSLASH = re.compile(r"(?:^|[^\\])(?:\\\\)*\\[^\\\"'\n]")
_BAD_ESCAPE = re.compile(r"(?:^|[^\\])(?:\\\\)*\\[^abfnrtvxuU0-7\\\"'?]")


class ConfigError(ValueError):
    """A config, label map or override that cannot be used; the message says where and why."""


class MissingFileError(ConfigError, FileNotFoundError):
    """A config or label map that is not there."""


class Finding(NamedTuple):
    """Something that a text says and that has no effect."""

    line: int    # from 1
    column: int  # from 1
    field: str   # dotted, from the root of the text
    text: str    # what happens, for people


class _Token(NamedTuple):
    kind: str  # string, number, word, mark or end
    text: str
    line: int
    column: int


class _Instance:
    """What has been set in one message so far, and where."""

    def __init__(self) -> None:
        self.first_line: dict[str, int] = {}
        self.children: dict[str, _Instance] = {}
        self.oneof_member: dict[str, str] = {}


def is_remote(path: str) -> bool:
    """Whether a path names another file system, as gs:// does; TensorFlow then opens it."""
    return "://" in path


def read_bytes(path: str | os.PathLike[str]) -> bytes:
    """Returns the content of a file. Raises MissingFileError, or ConfigError for a folder."""
    name = os.fspath(path)
    if is_remote(name):
        import tensorflow as tf
        if not tf.io.gfile.exists(name):
            raise MissingFileError(f"{name}: no such file")
        with tf.io.gfile.GFile(name, "rb") as file:
            return file.read()
    if not name:
        raise MissingFileError("the path of the file is empty")
    if os.path.isdir(name):
        raise ConfigError(f"{name}: this is a folder, want a file")
    if not os.path.exists(name):
        hint = "; its folder does not exist either" if not os.path.isdir(
            os.path.dirname(name) or ".") else ""
        raise MissingFileError(f"{name}: no such file (looked from {os.getcwd()}){hint}")
    with open(name, "rb") as file:
        return file.read()


def decode(data: bytes, source: str) -> str:
    """Decodes UTF-8, with or without a byte order mark. Raises ConfigError for other encodings."""
    if data[:2] in (b"\xff\xfe", b"\xfe\xff"):
        raise ConfigError(f"{source}: the file is UTF-16, not UTF-8; save it as UTF-8")
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise ConfigError(f"{source}:{line}: byte 0x{data[error.start]:02x} is not UTF-8; "
                          "save the file as UTF-8") from error


def merge(text: str, message: message_lib.Message, source: str) -> list[Finding]:
    """Merges a text into `message`; a later value replaces an earlier one, as in the OD API.

    Args:
        text: protobuf text format.
        message: changed in place.
        source: name of the text in messages, usually the path of the file.
    Returns:
        What the text says without effect: replaced values, and fields that are ignored here.
    Raises:
        ConfigError: "source:line:column: ..." for the first thing that cannot be read.
    """
    walker = _Walker(text.removeprefix("\ufeff"), source, message.DESCRIPTOR)
    walker.walk()
    try:
        text_format.Merge(walker.text, message)
    except text_format.ParseError as error:
        reason = re.sub(r"^\d+:\d+ : ('.*': )?", "", str(error))
        raise ConfigError(f"{source}:{error.GetLine()}:{error.GetColumn()}: {reason}") from error
    return walker.findings


def warn(findings: list[Finding], source: str) -> None:
    """Logs one warning per finding."""
    for finding in findings:
        logging.warning("%s:%d:%d: %s: %s", source, finding.line, finding.column, finding.field,
                        finding.text)


class _Walker:
    """Walks one text along the descriptors; `walk` raises ConfigError or fills `findings`."""

    def __init__(self, text: str, source: str, root: descriptor_lib.Descriptor) -> None:
        self.text = text
        self.findings: list[Finding] = []
        self._source = source
        self._root = root
        self._noted: set[str] = set()
        self._position = 0
        self._line, self._line_start = 1, 0
        self._token = self._next()

    def walk(self) -> None:
        self._message(self._root, "", _Instance(), None)

    # --- tokens

    def _next(self) -> _Token:
        while self._position < len(self.text):
            column = self._position - self._line_start + 1
            found = _TOKEN.match(self.text, self._position)
            if found is None:
                self._fail_at(self._line, column, self._bad_character(self._position))
            line = self._line
            self._position = found.end()
            if found.lastgroup == "skip":
                breaks = found.group().count("\n")
                if breaks:
                    self._line += breaks
                    self._line_start = found.start() + found.group().rindex("\n") + 1
                continue
            return _Token(str(found.lastgroup), found.group(), line, column)
        return _Token("end", "", self._line, self._position - self._line_start + 1)

    def _take(self) -> _Token:
        token, self._token = self._token, self._next()
        return token

    def _bad_character(self, position: int) -> str:
        character = self.text[position]
        if character in _TYPOGRAPHIC_QUOTES:
            return f"typographic quote {character}; write a plain \" instead"
        if character in "\"'":
            rest = self.text[position:].split("\n", 1)[0]
            if any(quote in rest for quote in _TYPOGRAPHIC_QUOTES):
                return "this string ends with a typographic quote; write a plain \" instead"
            return f"this string is not closed on its line: {rest[:60]}"
        if character == "=":
            return "unexpected '='; write 'field: value'"
        if character == "/" and self.text[position:position + 2] == "//":
            return "comments start with #, not with //"
        return f"unexpected {self.text[position:position + 20].split()[0]!r}"

    def _fail(self, token: _Token, reason: str) -> None:
        self._fail_at(token.line, token.column, reason)

    def _fail_at(self, line: int, column: int, reason: str) -> None:
        raise ConfigError(f"{self._source}:{line}:{column}: {reason}")

    # --- messages

    def _message(self, kind: descriptor_lib.Descriptor, path: str, instance: _Instance,
                 opening: _Token | None) -> None:
        closing = {"{": "}", "<": ">"}.get(opening.text if opening else "", "")
        while True:
            token = self._take()
            if token.kind == "end":
                if opening is not None:
                    self._fail(token, f"the file ends, but {path} {opening.text} of line "
                                      f"{opening.line} is not closed: {closing} is missing")
                return
            if token.kind == "mark" and opening is not None and token.text == closing:
                return
            if token.kind == "mark" and token.text in "}>":
                self._fail(token, f"{token.text} closes nothing" if opening is None else
                           f"want {closing} to close {path} of line {opening.line}, "
                           f"got {token.text}")
            if token.kind != "word":
                self._fail(token, f"want the name of a field of {path or kind.name}, "
                                  f"got {token.text}")
            self._field(kind, path, instance, token)
            if self._token.kind == "mark" and self._token.text in ",;":
                self._take()

    def _field(self, kind: descriptor_lib.Descriptor, path: str, instance: _Instance,
               name: _Token) -> None:
        full = f"{path}.{name.text}" if path else name.text
        if refusal := config_notes.other_family(kind.full_name, name.text):
            self._fail(name, f"{full}: {refusal}")
        field = kind.fields_by_name.get(name.text)
        if field is None:
            self._fail(name, unknown_field(kind, name.text, path, self._root))
        self._note(field, full, name)
        has_colon = self._token.text == ":" and self._token.kind == "mark"
        if has_colon:
            self._take()
        if field.type not in (_Field.TYPE_MESSAGE, _Field.TYPE_GROUP) and not has_colon:
            self._fail(self._token, f"{full}: want ':' and a value, got "
                                    f"{self._token.text or 'the end of the file'}")
        self._record(field, full, instance, name)
        if self._token.text == "[" and self._token.kind == "mark":
            self._list(field, full)
        else:
            self._value(field, full, instance)

    def _list(self, field: descriptor_lib.FieldDescriptor, path: str) -> None:
        opening = self._take()
        if not field.is_repeated:
            self._fail(opening, f"{path} takes one value, got a list")
        while not (self._token.kind == "mark" and self._token.text == "]"):
            if self._token.kind == "end":
                self._fail(opening, f"{path}: the list [ is not closed")
            self._value(field, path, _Instance())
            if self._token.text == ",":
                self._take()
        self._take()

    def _value(self, field: descriptor_lib.FieldDescriptor, path: str,
               instance: _Instance) -> None:
        if field.message_type is None:
            self._scalar(field, path)
            return
        opening = self._take()
        if opening.kind != "mark" or opening.text not in "{<":
            self._fail(opening, f"{path} is a message: want {{ ... }}, got "
                                f"{opening.text or 'the end of the file'}")
        inner = _Instance() if field.is_repeated else instance.children.setdefault(
            field.name, _Instance())
        self._message(field.message_type, path, inner, opening)

    def _scalar(self, field: descriptor_lib.FieldDescriptor, path: str) -> None:
        token = self._take()
        problem = scalar_problem(field, token.kind, token.text)
        if problem:
            self._fail(token, f"{path}: {problem}")
        while token.kind == "string" and self._token.kind == "string":  # "a" "b" is one string
            self._take()

    # --- what has no effect

    def _record(self, field: descriptor_lib.FieldDescriptor, path: str, instance: _Instance,
                name: _Token) -> None:
        """Notes a value that replaces an earlier one of the same message."""
        oneof = field.containing_oneof.name if field.containing_oneof else ""
        other = instance.oneof_member.get(oneof) if oneof else None
        if other and other != field.name:
            line = instance.first_line.pop(other)
            instance.children.pop(other, None)
            advice = config_notes.oneof_advice(field.containing_type.full_name)
            self.findings.append(Finding(
                line, 1, path.rpartition(".")[0] + f".{other}" if "." in path else other,
                f"has no effect: {field.name} in line {name.line} replaces it (one of "
                f"'{oneof}' can be set){advice}"))
        if oneof:
            instance.oneof_member[oneof] = field.name
        if field.is_repeated:
            return
        if field.name in instance.first_line and field.message_type is None:
            self.findings.append(Finding(
                instance.first_line[field.name], 1, path,
                f"this value has no effect: line {name.line} sets the field again"))
        if field.message_type is None or field.name not in instance.first_line:
            instance.first_line[field.name] = name.line

    def _note(self, field: descriptor_lib.FieldDescriptor, path: str, name: _Token) -> None:
        """Notes a field that is deprecated or that nothing reads, once per field."""
        reason = config_notes.no_effect(field.containing_type.full_name, field.name)
        if reason is None and field.GetOptions().deprecated:
            reason = "is deprecated"
        if reason and field.full_name not in self._noted:
            self._noted.add(field.full_name)
            self.findings.append(Finding(name.line, name.column, path, reason))


def scalar_problem(field: descriptor_lib.FieldDescriptor, kind: str, text: str) -> str | None:
    """Says why a token is no value for a scalar field, or None if it is one."""
    got = text or "the end of the file"
    word = text.replace(" ", "")
    if field.type in _INTEGER_RANGES:
        if kind != "number" or not re.fullmatch(r"-?(0[xX][0-9a-fA-F]+|\d+)", word):
            return f"want a whole number, got {got}"
        least, most = _INTEGER_RANGES[field.type]
        value = int(word, 16) if "x" in word.lower() else int(word)
        return None if least <= value <= most else f"want {least} to {most}, got {got}"
    if field.type in _FLOATS:
        fine = kind == "number" or word.lstrip("-").lower() in ("inf", "infinity", "nan")
        return None if fine else f"want a number, got {got}"
    if field.type == _Field.TYPE_BOOL:
        return None if word in _BOOLS else f"want true or false, got {got}"
    if field.type == _Field.TYPE_ENUM:
        names = list(field.enum_type.values_by_name)
        if kind == "word" and word in names or kind == "number":
            return None
        near = difflib.get_close_matches(text.strip("\"'").upper(), names, 1, 0.6)
        hint = f"; did you mean {near[0]}?" if near else ""
        quoted = " (without quotes)" if kind == "string" else ""
        return f"want one of {', '.join(names)}{quoted}, got {got}{hint}"
    if kind != "string":
        return f"want a string in quotes, got {got}"
    if any(quote in text for quote in "\u201c\u201d"):
        return f"typographic quotes inside the string {text}; write plain ones"
    if _PATH_FIELD.search(field.name) and _LONE_BACKSLASH.search(text[1:-1]):
        return (f"backslashes in {text} start escapes such as \\t; use forward slashes, which "
                "Windows understands too")
    if _BAD_ESCAPE.search(text[1:-1]):
        return f"unknown escape in {text}; write \\\\ for a backslash"
    return None


def unknown_field(kind: descriptor_lib.Descriptor, name: str, path: str,
                  root: descriptor_lib.Descriptor) -> str:
    """Explains an unknown field: what it may be a slip of, or which message it belongs in."""
    where = f"{path} ({kind.name})" if path else kind.name
    start = f"{where} has no field '{name}'"
    removed = config_notes.removed_field(kind.full_name, name)
    if removed:
        return f"{start}: {removed}"
    near = difflib.get_close_matches(name, list(kind.fields_by_name), 1, 0.8)
    if near:
        return f"{start}; did you mean '{near[0]}'?"
    homes = field_paths(root, name)
    if homes:
        return f"{start}; it belongs in {' or '.join(homes[:3])}"
    near = difflib.get_close_matches(name, list(kind.fields_by_name), 1, 0.6)
    if near:
        return f"{start}; did you mean '{near[0]}'?"
    choices = sorted(kind.fields_by_name)
    listed = ", ".join(choices) if len(choices) <= 12 else ", ".join(choices[:12]) + ", ..."
    return f"{start}; it has {listed or 'no fields at all'}"


def field_paths(root: descriptor_lib.Descriptor, name: str) -> list[str]:
    """Lists the dotted paths of messages under `root` that have a field `name`, shortest first."""
    found: list[str] = []
    level: list[tuple[str, Any, tuple[str, ...]]] = [("", root, ())]
    while level:
        deeper = []
        for path, kind, above in level:
            if name in kind.fields_by_name:
                found.append(path or kind.name)
            for field in kind.fields:
                inner = field.message_type
                if inner is not None and inner.full_name not in above:
                    below = f"{path}.{field.name}" if path else field.name
                    deeper.append((below, inner, above + (kind.full_name,)))
        level = deeper
    return found
