"""JSON patch as the API server applies it, which is not quite RFC 6902.

Called by the API server's patch verb. Mirrors evanphx/json-patch v4 and what the patch handler wraps around it: `replace` of a
missing member adds it, negative indices count from the end, a path need not begin with a slash, `add` without a value adds
null, and `test` compares scalars by their encoded bytes. Where that library would crash the request (a `test` that meets null
inside a list), `PatchError.panics` is set.

`apply` copies the containers on the way to what it changes and shares everything else; it never changes the document.
"""

from __future__ import annotations

import re
from enum import Enum
from typing import TYPE_CHECKING, Final

import msgspec

from ..errors import Unsupported
from . import gojson, gotext, spelling
from .spelling import Spelled

if TYPE_CHECKING:
    from collections.abc import Iterator

    from .tree import Json

MAX_OPERATIONS = 10000
MAX_COPIED_BYTES = 3 * 1024 * 1024
#: What the server answers to any patch that does not apply, whatever the cause.
REJECTED = "the server rejected our request due to an error in our request"

_FIELDS = frozenset({"op", "path", "from", "value"})
_INDEX = re.compile(r"[+-]?[0-9]{1,20}")


class PatchError(Exception):
    """The patch is refused: `.code` and `.message` of the answer; `.detail` says what really failed, which the server keeps to itself."""

    def __init__(self, code: int, message: str, *, detail: str = "", panics: bool = False) -> None:
        super().__init__(f"{message} ({detail})" if detail else message)
        self.code = code
        self.message = message
        self.detail = detail
        #: The real server closes the connection without an answer.
        self.panics = panics


class _Odd(Enum):
    """Three things that all read as null in the result, and that the library tells apart while it works."""

    MISSING = "no value was given"
    NULL = "a null that came as an operation's value"
    COPIED_NULL = "a copy of such a null: reads as an empty object, and breaks when written to"


MISSING: Final = _Odd.MISSING
NULL: Final = _Odd.NULL
COPIED_NULL: Final = _Odd.COPIED_NULL


class Operation(msgspec.Struct, frozen=True, eq=False):
    """One operation. A path is its decoded tokens; () is the whole document; None leads nowhere."""

    kind: str
    path: tuple[str, ...] | None
    source: tuple[str, ...] | None
    value: Json


class Patch(msgspec.Struct, frozen=True, eq=False):
    """A parsed patch. `strict_errors`: what fieldValidation Strict refuses and Warn warns about, in the server's words."""

    operations: tuple[Operation, ...]
    strict_errors: tuple[str, ...] = ()
    plain: bool = False  # no value in it is spelled in another way than Go's


def parse(body: bytes, *, strict: bool = True) -> Patch:
    """Read a patch; PatchError 400 or 413. `strict`: fieldValidation is Warn (the default) or Strict, not Ignore."""
    try:
        sent, plain = spelling.read(body)
    except gojson.DecodeError as error:
        raise _unreadable(error, strict) from None
    complaints = _checked(sent, body, plain) if strict else ()
    if sent is None:
        sent = []
    if not isinstance(sent, list):
        raise PatchError(400, f"json: cannot unmarshal {_go_kind(sent)} into Go value of type jsonpatch.Patch")
    for entry in sent:
        if entry is not None and not isinstance(entry, dict):
            raise PatchError(400, f"json: cannot unmarshal {_go_kind(entry)} into Go value of type jsonpatch.Operation")
    if len(sent) > MAX_OPERATIONS:
        raise PatchError(413, f"The allowed maximum operations in a JSON patch is {MAX_OPERATIONS}, got {len(sent)}")
    return Patch(tuple(map(_operation, sent)), complaints, plain)


def apply(patch: Patch, document: Json) -> Json:
    """The document after the patch; PatchError 422 when it does not apply."""
    work = _Work(document, patch.plain)
    for operation in patch.operations:
        act = _ACTIONS.get(operation.kind)
        if act is None:
            raise _rejected(f"Unexpected kind: {operation.kind}")
        act(work, operation)
    return work.result()


def _rejected(detail: str) -> PatchError:
    return PatchError(422, REJECTED, detail=detail)


def _panic(detail: str) -> PatchError:
    return PatchError(500, f"the real server closes the connection here: {detail}", detail=detail, panics=True)


# Reading


def _unreadable(error: gojson.DecodeError, strict: bool) -> Exception:
    if error.syntax:
        return PatchError(400, f"error decoding patch: {error.message}" if strict else error.message)
    if strict:
        return PatchError(400, f"error decoding patch: {error.message.replace('Go value', 'Go struct field jsonPatchOp.value')}")
    return Unsupported("numbers past float64 in a patch with fieldValidation=Ignore")


def _operation(sent: dict[str, Json] | None) -> Operation:
    if sent is None:
        return Operation("unknown", None, None, MISSING)
    kind = _plain(sent.get("op"))
    value = sent.get("value", MISSING)
    return Operation(
        kind if isinstance(kind, str) else "unknown",
        tokens_of(_plain(sent.get("path"))),
        tokens_of(_plain(sent["from"])) if "from" in sent else None,
        NULL if value is None else value,
    )


def tokens_of(path: Json) -> tuple[str, ...] | None:
    """The tokens of a path, decoded; () is the whole document; None leads nowhere. What stands before the first slash is ignored."""
    if path == "":
        return ()
    if not isinstance(path, str) or "/" not in path:
        return None
    tokens = path.split("/")[1:]
    return tuple(token.replace("~1", "/").replace("~0", "~") for token in tokens) if "~" in path else tuple(tokens)


def _plain(value: Json) -> Json:
    return value.value if type(value) is Spelled else value


def _checked(sent: Json, body: bytes, plain: bool) -> tuple[str, ...]:
    """What the strict decoder finds: it raises for wrong types, and returns complaints about unknown and duplicate members."""
    if sent is None:
        return ()
    if not isinstance(sent, list):
        raise PatchError(400, f"error decoding patch: json: cannot unmarshal {_go_kind(sent)} into Go value of type []handlers.jsonPatchOp")
    suspicious = not all(map(_well_typed, sent))
    # Trees with `Spelled` leaves cannot be asked whether they read back as they were sent.
    if not suspicious and not gojson.duplicates(body, sent if plain else None):
        return ()
    entries = gojson.decode_pairs(body)
    for entry in entries:
        _check_types(entry)
    return tuple(f"json patch {complaint}" for complaint in list(dict.fromkeys(_complaints(entries)))[:100])


def _well_typed(entry: Json) -> bool:
    if type(entry) is not dict:
        return False
    for name, member in entry.items():
        if name != "value" and (name not in _FIELDS or (type(member) is not str and type(_plain(member)) is not str)):
            return False
    return True


def _check_types(entry: Json) -> None:
    if entry is None:
        return
    if not isinstance(entry, gojson.Pairs):
        raise PatchError(400, f"error decoding patch: json: cannot unmarshal {_go_kind(entry)} into Go value of type handlers.jsonPatchOp")
    for name, member in entry:
        if name in ("op", "path", "from") and member is not None and not isinstance(member, str):
            wrong = f"cannot unmarshal {_go_kind(member)} into Go struct field jsonPatchOp.{name} of type string"
            raise PatchError(400, f"error decoding patch: json: {wrong}")


def _complaints(entries: list[Json]) -> Iterator[str]:
    for index, entry in enumerate(entries):
        seen: set[str] = set()
        for name, member in entry or ():
            if name not in _FIELDS:
                yield f"unknown field {gotext.quoted(f'[{index}].{name}')}"
                continue
            if name in seen:
                yield f"duplicate field {gotext.quoted(f'[{index}].{name}')}"
            seen.add(name)
            yield from gojson.complaints(member, f"[{index}].{name}")


def _go_kind(value: Json) -> str:
    """The word Go's decoder has for a JSON value."""
    value = _plain(value)
    if isinstance(value, gojson.Pairs | dict):
        return "object"
    if isinstance(value, list):
        return "array"
    if isinstance(value, bool):
        return "bool"
    return "string" if isinstance(value, str) else "number"


# Applying


class _Work:
    """A document while a patch is applied to it: containers are copied when first written to, and then belong to the work."""

    def __init__(self, document: Json, plain: bool) -> None:
        self.root: Json = document
        self._document = document
        self._plain = plain
        self.copied_bytes = 0
        self.odd = False
        # By id, and kept alive by being here: an id must not be used again while it counts as ours.
        self._ours: dict[int, Json] = {}

    def result(self) -> Json:
        return spelling.changed(self.root, _as_stored, self._document) if self.odd else self.root

    def read(self, path: tuple[str, ...] | None) -> Json:
        """The container that holds the last token of the path, or MISSING."""
        if not path:
            return MISSING
        node = self.root
        for token in path[:-1]:
            node = _member(node, token)
            if type(node) is not dict and type(node) is not list and node is not COPIED_NULL:
                return MISSING
        return node

    def write(self, path: tuple[str, ...] | None) -> Json:
        """The same container, ours to change; MISSING when there is none, and then the patch is refused."""
        if not path:
            return MISSING
        node = self.root = self._owned(self.root)
        for token in path[:-1]:
            child = _member(node, token)
            if type(child) is not dict and type(child) is not list and child is not COPIED_NULL:
                return MISSING
            owned = self._owned(child)
            if owned is not child:
                node[token if type(node) is dict else index_of(token, len(node))] = owned
            node = owned
        return node

    def share(self) -> None:
        """Some subtree is about to stand in two places: whoever writes next copies again."""
        self._ours.clear()

    def place(self, value: Json) -> Json:
        """A value that comes from the patch, noted when the result will need cleaning."""
        if value is MISSING:
            return None
        if value is NULL or (not (self._plain or self.odd) and _has_odd(value)):
            self.odd = True
        return value

    def _owned(self, node: Json) -> Json:
        if node is COPIED_NULL or id(node) in self._ours:
            return node
        copy = dict(node) if type(node) is dict else list(node)
        self._ours[id(copy)] = copy
        return copy


def _has_odd(value: Json) -> bool:
    if type(value) is dict:
        return any(map(_has_odd, value.values()))
    if type(value) is list:
        return any(map(_has_odd, value))
    return type(value) is Spelled


def _as_stored(leaf: Json) -> Json:
    return leaf.value if type(leaf) is Spelled else None


def _member(node: Json, token: str) -> Json:
    """What stands under the token: None where there is nothing, or null; raises for an index that a list does not have."""
    if type(node) is dict:
        return node.get(token)
    if type(node) is list:
        index = index_of(token, len(node))
        return MISSING if index is None else node[index]
    return None


def index_of(token: str, size: int) -> int | None:
    """The position a token names in a list of that size; None when it names none."""
    if _INDEX.fullmatch(token) is None:
        return None
    index = int(token)
    if index < 0:
        index += size
    return index if 0 <= index < size else None


def _lookup(node: Json, token: str, operation: Operation) -> Json:
    value = _member(node, token)
    if value is MISSING:
        raise _rejected(f"{operation.kind}: {gotext.quoted(token)} is no index of the list")
    return value


def _put(node: Json, token: str, value: Json, operation: Operation) -> None:
    """What the library calls add: sets a member, or makes room in a list."""
    if type(node) is dict:
        node[token] = value
    elif node is COPIED_NULL:
        raise _panic(f"{operation.kind} writes into a copied null")
    elif token == "-":
        node.append(value)
    else:
        index = index_of(token, len(node) + 1)
        if index is None:
            raise _rejected(f"{operation.kind}: {gotext.quoted(token)} is no place in the list")
        node.insert(index, value)


def _drop(node: Json, token: str, operation: Operation) -> None:
    if type(node) is dict and token in node:
        del node[token]
        return
    index = index_of(token, len(node)) if type(node) is list else None
    if index is None:
        raise _rejected(f"{operation.kind}: there is no {gotext.quoted(token)} to remove")
    del node[index]


def _found(container: Json, operation: Operation, what: str = "path") -> Json:
    if container is MISSING:
        raise _rejected(f"{operation.kind}: the document has no such {what}: {operation.path if what == 'path' else operation.source}")
    return container


def _add(work: _Work, operation: Operation) -> None:
    container = _found(work.write(operation.path), operation)
    _put(container, operation.path[-1], work.place(operation.value), operation)  # type: ignore[index]


def _remove(work: _Work, operation: Operation) -> None:
    container = _found(work.write(operation.path), operation)
    _drop(container, operation.path[-1], operation)  # type: ignore[index]


def _replace(work: _Work, operation: Operation) -> None:
    if operation.path == ():
        if operation.value is MISSING:
            raise _panic("replace of the whole document without a value")
        if type(operation.value) not in (dict, list):
            raise _rejected("replace: the whole document must become an object or an array")
        work.root = work.place(operation.value)
        return
    container = _found(work.write(operation.path), operation)
    token: str = operation.path[-1]  # type: ignore[index]
    _lookup(container, token, operation)
    if container is COPIED_NULL:
        raise _panic("replace writes into a copied null")
    container[token if type(container) is dict else index_of(token, len(container))] = work.place(operation.value)


def _move(work: _Work, operation: Operation) -> None:
    container = _found(work.write(operation.source), operation, "from")
    token: str = operation.source[-1]  # type: ignore[index]
    value = _lookup(container, token, operation)
    _drop(container, token, operation)
    target = _found(work.write(operation.path), operation)
    _put(target, operation.path[-1], value, operation)  # type: ignore[index]


def _copy(work: _Work, operation: Operation) -> None:
    container = _found(work.read(operation.source), operation, "from")
    value = _lookup(container, operation.source[-1], operation)  # type: ignore[index]
    work.share()
    target = _found(work.write(operation.path), operation)
    if value is not None:
        if work.odd:
            value = spelling.changed(value, _as_copied)
        work.copied_bytes += len(gojson.encode(spelling.changed(value, _as_text) if work.odd else value))
        if work.copied_bytes > MAX_COPIED_BYTES:
            raise _rejected(f"copy: {work.copied_bytes} bytes copied, the limit is {MAX_COPIED_BYTES}")
    _put(target, operation.path[-1], value, operation)  # type: ignore[index]


def _as_copied(leaf: Json) -> Json:
    """A copy is encoded on the way, which escapes what Go escapes, and makes of an operation's null a null of a third kind."""
    if type(leaf) is not Spelled:
        return COPIED_NULL
    text = gojson.escaped(leaf.text)
    return leaf.value if text == gojson.encode(leaf.value) else Spelled(text, leaf.value)


def _as_text(leaf: Json) -> Json:
    return msgspec.Raw(leaf.text) if type(leaf) is Spelled else None


def _test(work: _Work, operation: Operation) -> None:
    if operation.path == ():
        if operation.value is MISSING:
            raise _panic("test of the whole document without a value")
        value = work.root
    else:
        container = _found(work.read(operation.path), operation)
        value = _lookup(container, operation.path[-1], operation)  # type: ignore[index]
    if value is None:
        passed = operation.value is MISSING or operation.value is NULL
    else:
        passed = operation.value is not MISSING and _equal(value, operation.value)
    if not passed:
        raise _rejected(f"test: another value stands at /{'/'.join(operation.path or ())}")


# Comparing


def _equal(ours: Json, theirs: Json) -> bool:
    """Whether a value of the document (not null) equals one of the patch. Nulls inside lists break the library, on either side."""
    if theirs is None:
        raise _panic("test compares with a null inside a list")
    kind = type(ours)
    if kind is dict or ours is COPIED_NULL:
        return type(theirs) is dict and _equal_objects({} if ours is COPIED_NULL else ours, theirs)
    if kind is list:
        return type(theirs) is list and len(ours) == len(theirs) and all(map(_equal_entries, ours, theirs))
    if kind is Spelled:
        return type(theirs) is Spelled and ours.text == theirs.text
    if kind is type(theirs):
        return bool(ours == theirs)
    if kind in (int, float) and type(theirs) in (int, float):
        return gojson.number_text(ours) == gojson.number_text(theirs)
    return False


def _equal_entries(ours: Json, theirs: Json) -> bool:
    if ours is None:
        raise _panic("test compares a list that contains null")
    return _equal(ours, theirs)


def _equal_objects(ours: dict[str, Json], theirs: dict[str, Json]) -> bool:
    if len(ours) != len(theirs):
        return False
    crash: PatchError | None = None
    for name, member in ours.items():
        other = theirs.get(name, MISSING)
        if other is MISSING or (member is None) != (other is None):
            return False
        if member is None:
            continue
        try:
            if not _equal(member, other):
                return False
        except PatchError as panic:
            # Go walks members in random order: a difference elsewhere may be met first. The answer that is an answer wins.
            crash = panic
    if crash is not None:
        raise crash
    return True


_ACTIONS = {"add": _add, "remove": _remove, "replace": _replace, "move": _move, "copy": _copy, "test": _test}
