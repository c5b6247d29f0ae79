"""Field paths: where a value sits in an object, in the spellings that Kubernetes uses.

Called by the writer (to name what was read), the API server (managedFields, conflict messages) and the checker (last writer
per path). A path never says what is there; `find` does, and answers ABSENT, which is not None. Mirrors `fieldpath.PathElement`
of structured-merge-diff: a step is a member name, the key of an entry of a map list, the value of a member of a set, or an index.

    text        status.conditions[Ready].reason     what people read and write (`parse`, `render`)
    server      .status.conditions[type="Ready"].reason    what the API server prints in conflicts (`server_text`)
    FieldsV1    f:status, k:{"type":"Ready"}        what managedFields store (`fields_v1`, `from_fields_v1`)
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import TYPE_CHECKING, TypeAlias

import msgspec

from . import gotext
from .tree import ABSENT, Absent, Json, same

if TYPE_CHECKING:
    from collections.abc import Container, Iterable, Sequence


class Key(msgspec.Struct, frozen=True, order=True):
    """The step into an entry of a map list: its key fields, sorted by name, with their values."""

    fields: tuple[tuple[str, Json], ...]

    @classmethod
    def of(cls, **fields: Json) -> Key:
        """`Key.of(type="Ready")`."""
        return cls(tuple(sorted(fields.items())))

    def matches(self, entry: Json) -> bool:
        """Whether a list entry carries exactly these key values."""
        return isinstance(entry, dict) and all(same(entry.get(name, ABSENT), value) for name, value in self.fields)


class Value(msgspec.Struct, frozen=True):
    """The step into a member of a set: the member itself."""

    value: Json


#: A member name (str), an index (int), an entry's key, or a set member.
Step: TypeAlias = "str | int | Key | Value"
Path: TypeAlias = "tuple[Step, ...]"


def locate(tree: Json, path: Sequence[Step]) -> tuple[str | int, ...] | None:
    """The concrete location of a path in this tree: keys and set members become the indices where they stand. None when absent."""
    location: list[str | int] = []
    for step in path:
        if isinstance(step, str):
            if not isinstance(tree, dict) or step not in tree:
                return None
            concrete: str | int = step
        else:
            index = index_of(tree, step)
            if index is None:
                return None
            concrete = index
        tree = tree[concrete]
        location.append(concrete)
    return tuple(location)


def find(tree: Json, path: Sequence[Step]) -> Json | Absent:
    """The value at the path, or ABSENT. A keyed step finds its entry wherever it stands in the list."""
    for step in path:
        if type(step) is str or isinstance(step, str):
            if type(tree) is not dict and not isinstance(tree, dict):
                return ABSENT
            tree = tree.get(step, ABSENT)
        else:
            index = index_of(tree, step)
            if index is None:
                return ABSENT
            tree = tree[index]
    return tree


def index_of(tree: Json, step: int | Key | Value) -> int | None:
    """Where in a list the step leads, or None."""
    if type(tree) is not list and not isinstance(tree, list):
        return None
    if not isinstance(step, Key):
        if isinstance(step, int):
            return step if 0 <= step < len(tree) else None
        return next((index for index, entry in enumerate(tree) if same(entry, step.value)), None)
    name, value = step.fields[0]
    if len(step.fields) > 1 or type(value) is not str:
        return next((index for index, entry in enumerate(tree) if step.matches(entry)), None)
    try:
        for index, entry in enumerate(tree):  # conditions and nearly all else: one key member, a text; this is the hot path
            if entry[name] == value:
                return index
    except (KeyError, TypeError):  # an entry without the key, or no object at all
        return next((index for index, entry in enumerate(tree) if step.matches(entry)), None)
    return None


def meet(one: Path, other: Path) -> bool:
    """Whether the paths are the same, or one lies above the other."""
    return one[: len(other)] == other[: len(one)]


def is_within(path: Path, paths: Container[Path]) -> bool:
    """Whether the path is one of these, or lies below one."""
    return any(path[:length] in paths for length in range(1, len(path) + 1))


def outermost(paths: Iterable[Path]) -> list[Path]:
    """Each once, and without those that lie below another."""
    wanted = dict.fromkeys(paths)
    if len(wanted) == 1:
        return list(wanted)
    return [path for path in wanted if not any(path[:length] in wanted for length in range(len(path)))]


def pointer(location: Sequence[str | int]) -> str:
    """A concrete location as a JSON pointer (RFC 6901)."""
    return "".join([token(step) for step in location])


def token(step: str | int) -> str:
    """One step of a JSON pointer, with its slash."""
    if type(step) is str and ("~" in step or "/" in step):
        step = step.replace("~", "~0").replace("/", "~1")
    return f"/{step}"


# The text form. Bare words are text, unless they read as a number, true, false or null: then text is quoted.
_WORD = re.compile(r"[^\s.\[\]=,\"']+")
_NUMBER = re.compile(r"-?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][-+]?[0-9]+)?\Z")
_INTEGER = re.compile(r"[-+]?[0-9]{1,18}\Z")
_CONSTANTS: dict[str, Json] = {"true": True, "false": False, "null": None}


@lru_cache(maxsize=1024)  # a reconcile says the same few again and again
def parse(text: str) -> Path:
    """The path that a person wrote.

    `status.conditions[Ready].reason`: `[Ready]` is the entry with type=Ready. `[kind=X,port=80]` names other keys, `[=x]` a
    member of a set, `[0]` an index. Names or text with dots, brackets or spaces are quoted: `metadata.labels."a.b/c"`.
    """
    steps: list[Step] = []
    position = 0
    while position < len(text):
        if text[position] == "[":
            step, position = _bracket(text, position + 1)
        else:
            dotted = text[position] == "."
            if not dotted and steps:
                raise ValueError(f"expected '.' or '[' in path {text!r} at {position}, got {text[position]!r}")
            name, position, _ = _token(text, position + 1 if dotted else position)
            step = name
        steps.append(step)
    return tuple(steps)


def _token(text: str, position: int) -> tuple[str, int, bool]:
    """A quoted text or a bare word: what it says, where it ends, whether it was quoted."""
    if text[position : position + 1] == '"':
        end = position + 1
        while end < len(text) and text[end] != '"':
            end += 2 if text[end] == "\\" else 1
        try:
            return msgspec.json.decode(text[position : end + 1], type=str), end + 1, True
        except msgspec.DecodeError:
            raise ValueError(f"unfinished quoted text in path {text!r} at {position}") from None
    match = _WORD.match(text, position)
    if match is None:
        raise ValueError(f"expected a name in path {text!r} at {position}")
    return match.group(), match.end(), False


def _bracket(text: str, position: int) -> tuple[Step, int]:
    """What stands between `[` and `]`."""
    if text[position : position + 1] == "=":
        word, position, is_quoted = _token(text, position + 1)
        return Value(_scalar(word, is_quoted)), _closed(text, position)
    word, position, is_quoted = _token(text, position)
    if text[position : position + 1] != "=":
        step: Step = int(word) if not is_quoted and word.isascii() and word.isdigit() else Key.of(type=word)
        return step, _closed(text, position)
    fields: dict[str, Json] = {}
    while True:
        raw, position, is_quoted = _token(text, position + 1)
        fields[word] = _scalar(raw, is_quoted)
        if text[position : position + 1] != ",":
            return Key.of(**fields), _closed(text, position)
        word, position, _ = _token(text, position + 1)
        if text[position : position + 1] != "=":
            raise ValueError(f"expected '=' after key {word!r} in path {text!r} at {position}")


def _closed(text: str, position: int) -> int:
    if text[position : position + 1] != "]":
        raise ValueError(f"expected ']' in path {text!r} at {position}")
    return position + 1


def _scalar(word: str, is_quoted: bool) -> Json:
    if is_quoted:
        return word
    if word in _CONSTANTS:
        return _CONSTANTS[word]
    if not _NUMBER.match(word):
        return word
    try:
        return msgspec.json.decode(word)
    except msgspec.DecodeError:
        raise ValueError(f"{word} is too large for a number; quote it to mean the text") from None


def render(path: Sequence[Step]) -> str:
    """The path as a person reads it; `parse` reads it back."""
    texts: list[str] = []
    for step in path:
        if isinstance(step, str):
            texts.append(("." if texts else "") + _word(step))
        elif isinstance(step, int):
            texts.append(f"[{step}]")
        elif isinstance(step, Value):
            texts.append(f"[={_written(step.value)}]")
        elif len(step.fields) == 1 and step.fields[0][0] == "type" and isinstance(step.fields[0][1], str):
            kind = step.fields[0][1]
            texts.append(f"[{_quoted(kind) if kind.isdigit() else _word(kind)}]")
        else:
            texts.append("[" + ",".join(f"{_word(name)}={_written(value)}" for name, value in step.fields) + "]")
    return "".join(texts)


def _word(text: str) -> str:
    return text if _WORD.fullmatch(text) else _quoted(text)


def _written(value: Json) -> str:
    if not isinstance(value, str):
        return msgspec.json.encode(value).decode()
    return _quoted(value) if value in _CONSTANTS or _NUMBER.match(value) else _word(value)


def _quoted(text: str) -> str:
    return msgspec.json.encode(text).decode()


def server_text(path: Sequence[Step]) -> str:
    """The path as the API server prints it: `.status.conditions[type="Ready"].reason`."""
    return "".join(map(_server_step, path))


def _server_step(step: Step) -> str:
    if isinstance(step, str):
        return f".{step}"
    if isinstance(step, int):
        return f"[{step}]"
    if isinstance(step, Value):
        return f"[={_server_value(step.value)}]"
    return "[" + ",".join(f"{name}={_server_value(value)}" for name, value in step.fields) + "]"


def _server_value(value: Json) -> str:
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int):
        return str(value)
    if isinstance(value, float):
        return gotext.general(value)
    if isinstance(value, str):
        return gotext.quoted(value)
    if isinstance(value, list):
        return "[" + ",".join(map(_server_value, value)) + "]"
    return "".join(f"{name}={_server_value(member)}" for name, member in value.items())


def fields_v1(step: Step) -> str:
    """One step as managedFields spell it: `f:status`, `k:{"type":"Ready"}`, `v:"x"`, `i:0`."""
    if isinstance(step, str):
        return "f:" + step
    if isinstance(step, int):
        return f"i:{step}"
    if isinstance(step, Value):
        return "v:" + _go_json(step.value)
    return "k:{" + ",".join(f"{_go_json(name)}:{_go_json(value)}" for name, value in step.fields) + "}"


def _go_json(value: Json) -> str:
    if type(value) is int and abs(value) > _EXACT:
        value = float(value)  # the server reads them back as floats, and compares them so
    if isinstance(value, str) and value.isascii() and value.isprintable() and _UNUSUAL.isdisjoint(value):
        return f'"{value}"'
    from .gojson import encode  # rare: text with escapes, numbers

    return encode(value).decode()


#: Integers up to here are the same as floats.
_EXACT = 2**53
_UNUSUAL = frozenset('"\\<>&')


def from_fields_v1(text: str) -> Step | None:
    """The step that managedFields spell so. None for a spelling of the future, which the server drops; ValueError for nonsense."""
    if len(text) < 2:
        raise ValueError("key must be 2 characters long:")
    if text[1] != ":":
        raise ValueError(f"missing colon: {text}")
    kind, content = text[0], text[2:]
    if kind == "f":
        return content
    if kind == "i":
        if not _INTEGER.match(content):
            raise ValueError(f"strconv.Atoi: parsing {gotext.quoted(content)}: invalid syntax")
        return int(content)
    if kind not in "kv":
        return None
    try:
        value = msgspec.json.decode(content)
    except msgspec.DecodeError as error:
        raise ValueError(f"{content}: {error}") from None
    if kind == "v":
        return Value(value)
    if not isinstance(value, dict):
        raise ValueError(f"expected an object after k:, got {content}")
    return Key(tuple(sorted(value.items(), key=lambda field: field[0])))
