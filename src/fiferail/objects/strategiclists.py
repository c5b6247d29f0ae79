"""How strategic merge patch merges and orders lists. Called by `strategic`, which passes in how two objects are merged.

Order of a merged list: what the patch (or its $setElementOrder) names stands in that order, the rest in the order it had, and the
two are interleaved by where they stood before.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from . import gotext
from .schema.model import Schema
from .strategicerrors import bad_argument, bad_patch_type, failed, lists_of_lists, no_merge_key, panic
from .tree import same

if TYPE_CHECKING:
    from collections.abc import Callable

    from .tree import Json

    Merge = Callable[[dict[str, Json], dict[str, Json], Schema], dict[str, Json]]

_DIRECTIVE = "$patch"
_ANYTHING = Schema()


def merge_lists(original: list[Json], patch: list[Json], field: Schema, merge: Merge, *, deletes: bool = False) -> list[Json]:
    """A list with the patch for it; `merge` merges two entries of the same key. `deletes`: the patch lists the scalars that go."""
    if not original and not patch:
        return original
    key = field.patch_merge_key
    maps = _element_type(original, patch) is dict
    if not maps:
        if deletes:
            return [entry for entry in original if not _contains(patch, entry)]
        merged = _deduplicated([*original, *patch])
    else:
        if not key:
            raise failed("cannot merge lists without merge key for struct")
        original, patch = _special_entries(original, patch, key)
        merged = _merged_entries(original, patch, key, field.items or _ANYTHING, merge)
    return _interleaved(merged, _named(merged, patch, key), patch, original, key if maps else None)


def ordered(merged: list[Json], order: list[Json], key: str, before: list[Json], patch: list[Json]) -> list[Json]:
    """A merged list in the order that a $setElementOrder gives; `before` is the list as it was, `patch` what was merged into it."""
    named = _named(merged, order, key)
    maps = _element_type(before, patch) is dict
    return _interleaved(merged, named, order, _overwritten(before, patch, key), key if maps else None)


def _named(merged: list[Json], order: list[Json], key: str) -> list[bool]:
    """Which entries of the merged list the order names."""
    if key:
        return [_position(order, key, _key_value(entry, key)) is not None for entry in merged]
    if any(isinstance(entry, dict | list) for entry in (*order, *merged)):
        raise panic("objects or lists where a list expects scalars")
    return [_contains(order, entry) for entry in merged]


def _overwritten(before: list[Json], patch: list[Json], key: str) -> list[Json]:
    """The list as it was, seen after the merge. The server deletes and appends in the memory of the old list, and still asks it
    for the order: entries that were deleted leave their room at the end, and new ones move in there."""
    if not key:
        return before
    seen, size = list(before), len(before)
    for entry in patch:
        if entry.get(_DIRECTIVE) == "delete":
            while (at := _position(seen[:size], key, entry[key])) is not None:
                seen[at : size - 1] = seen[at + 1 : size]
                size -= 1
    if any(entry.get(_DIRECTIVE) == "replace" for entry in patch):
        return seen
    for entry in patch:
        if size < len(seen) and _DIRECTIVE not in entry and _position(seen[:size], key, entry[key]) is None:
            seen[size] = entry
            size += 1
    return seen


def check_order(patch: list[Json], order: list[Json], key: str) -> None:
    """The patch must name its entries in the order that the $setElementOrder gives, and none that is not in it."""
    if not order or not patch:
        return
    entries = [entry for entry in patch if _directive(entry, key) != "delete"]
    at = 0
    for wanted in order:
        while at < len(entries) and isinstance(entries[at], dict) and _DIRECTIVE in entries[at]:
            at += 1
        if at == len(entries):
            return
        if _same_key(entries[at], wanted, key):
            at += 1
    if at < len(entries):
        raise failed(f"The order in patch list:\n{gotext.plain(patch)}\n doesn't match $setElementOrder list:\n{gotext.plain(order)}\n")


def _directive(entry: Json, key: str) -> Json:
    if not key:
        return None
    if not isinstance(entry, dict):
        raise bad_argument({}, entry)
    return entry.get(_DIRECTIVE)


def _same_key(left: Json, right: Json, key: str) -> bool:
    if not key:
        return _comparable(left, right) and same(left, right)
    return same(_key_value(left, key), _key_value(right, key))


def _special_entries(original: list[Json], patch: list[Json], key: str) -> tuple[list[Json], list[Json]]:
    """Carry out the entries that are directives; what is left of the list and of its patch."""
    plain: list[Json] = []
    replaces = False
    for entry in patch:
        if _DIRECTIVE not in entry:
            plain.append(entry)
        elif entry[_DIRECTIVE] == "delete":
            gone = _key_value(entry, key)
            original = [other for other in original if not (key in other and _comparable(other[key], gone) and same(other[key], gone))]
        elif entry[_DIRECTIVE] == "replace":
            replaces = True
        elif entry[_DIRECTIVE] == "merge":
            raise failed("merging lists cannot yet be specified in the patch")
        else:
            raise bad_patch_type(entry[_DIRECTIVE], entry)
    return (plain, []) if replaces else (original, plain)


def _merged_entries(original: list[Json], patch: list[Json], key: str, schema: Schema, merge: Merge) -> list[Json]:
    merged = list(original)
    for entry in patch:
        at = _position(merged, key, _key_value(entry, key))
        if at is None:
            merged.append(entry)
        else:
            merged[at] = merge(merged[at], entry, schema)
    return merged


def _interleaved(merged: list[Json], named: list[bool], order: list[Json], before: list[Json], key: str | None) -> list[Json]:
    """Those that the patch names in the given order, the others as they stood, each of the latter before what it stood before."""
    ours = _sorted([entry for entry, is_ours in zip(merged, named, strict=True) if is_ours], order, key)
    theirs = _sorted([entry for entry, is_ours in zip(merged, named, strict=True) if not is_ours], before, key)
    result: list[Json] = []
    while ours and theirs:
        left, right = _rank(theirs[0], before, key), _rank(ours[0], before, key)
        stood_first = left is not None and right is not None and left < right
        result.append((theirs if stood_first else ours).pop(0))
    return result + ours + theirs


def _sorted(entries: list[Json], order: list[Json], key: str | None) -> list[Json]:
    """By rank in the order. An entry without one sorts before its neighbour, whichever that is: the server's comparison says so."""
    if key is not None:
        for entry in (*entries, *order):
            _key_value(entry, key)
    if len(entries) < 2:
        return entries
    ranked = [(_rank(entry, order, key), entry) for entry in entries]
    for end in range(1, len(ranked)):
        at = end
        while at and _goes_before(ranked[at][0], ranked[at - 1][0]):
            ranked[at], ranked[at - 1] = ranked[at - 1], ranked[at]
            at -= 1
    return [entry for _, entry in ranked]


def _goes_before(left: int | None, right: int | None) -> bool:
    return left is None or right is None or left < right


def _rank(entry: Json, order: list[Json], key: str | None) -> int | None:
    for at, other in enumerate(order):
        left, right = (entry, other) if key is None else (entry.get(key), other.get(key) if isinstance(other, dict) else None)
        if _comparable(left, right) and same(left, right):
            return at
    return None


def _position(entries: list[Json], key: str, value: Json) -> int | None:
    for at, entry in enumerate(entries):
        if not isinstance(entry, dict):
            raise failed(f"value for key {at} is not a map")
        if key in entry and _comparable(entry[key], value) and same(entry[key], value):
            return at
    return None


def _key_value(entry: Json, key: str) -> Json:
    if not isinstance(entry, dict):
        raise bad_argument({}, entry)
    if key not in entry:
        raise no_merge_key(entry, key)
    return entry[key]


def _comparable(left: Json, right: Json) -> bool:
    """Go compares no objects and no lists: it crashes."""
    if isinstance(left, dict | list) and type(left) is type(right):
        raise panic("objects or lists where a list expects scalars")
    return True


def _contains(entries: list[Json], value: Json) -> bool:
    return any(same(entry, value) for entry in entries)


def _deduplicated(entries: list[Json]) -> list[Json]:
    kept: list[Json] = []
    for entry in entries:
        if not _contains(kept, entry):
            kept.append(entry)
    return kept


def _element_type(*lists: list[Json]) -> type:
    """The one type that all entries have."""
    first: type | None = None
    for entry in (entry for each in lists for entry in each):
        kind = type(entry)
        if first is None:
            if entry is None:
                raise panic("null in a list that is merged")
            if kind is list:
                raise lists_of_lists()
            first = kind
        elif kind is not first:
            raise failed(f"list element types are not identical: {gotext.plain(list(lists))}")
    if first is None:
        raise failed("no elements in any of the given slices")
    return first
