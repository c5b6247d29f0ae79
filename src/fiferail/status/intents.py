"""What a session wants: small changes that can be applied to any snapshot, not only to the one it was decided on.

A session stages by editing a tree. When it flushes, the edited tree is compared with the base and the difference becomes
intents; on a refusal the same intents are applied to the live object. Members of objects and entries of keyed lists are
separate intents, so two writers of neighbouring fields never meet. Pure.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias

import msgspec

from ..objects.conditions import settled
from ..objects.paths import Key, Path, Value, find, index_of
from ..objects.tree import ABSENT, Json, same
from .shapes import Shapes, identities, key_of

if TYPE_CHECKING:
    from collections.abc import Container, Iterable


class Put(msgspec.Struct, frozen=True):
    """The value shall stand at the path. The last step may be a key (a whole entry) or a set member."""

    path: Path
    value: Json


class Drop(msgspec.Struct, frozen=True):
    """Nothing shall stand at the path."""

    path: Path


class Raise(msgspec.Struct, frozen=True):
    """The number at the path shall be at least this: never lowered, whoever wrote the higher one."""

    path: Path
    floor: int


class Condition(msgspec.Struct, frozen=True):
    """A condition shall say this. When it began to say so depends on the snapshot, so the time is settled there."""

    path: Path  # ends in the entry's key
    fields: dict[str, Json]
    now: str


Intent: TypeAlias = "Put | Drop | Raise | Condition"


def derive(base: Json, staged: Json, shapes: Shapes, skip: Container[Path] = ()) -> list[Put | Drop]:
    """The intents that turn the base into what was staged. Shared subtrees cost nothing; `skip`: what is not to be looked at."""
    found: list[Put | Drop] = []
    _derive(base, staged, shapes, (), skip, found)
    return found


def _derive(base: Json, staged: Json, shapes: Shapes, at: Path, skip: Container[Path], found: list[Put | Drop]) -> None:
    if base is staged or (skip and at in skip):
        return
    if type(staged) is dict and (type(base) is dict or (base is ABSENT and staged)):
        # Leaf by leaf, also where nothing stood: another writer may make the same parent meanwhile.
        before: Json = base or {}
        for name, member in staged.items():
            stood = before.get(name, ABSENT)
            if stood is not member:
                _derive(stood, member, shapes, (*at, name), skip, found)
        if before.keys() - staged.keys():
            found.extend(Drop((*at, name)) for name in before if name not in staged)
    elif type(staged) is list and (base is ABSENT or type(base) is list):
        _derive_list(base, staged, shapes, at, skip, found)
    elif not same(base, staged):
        found.append(Put(at, staged))


def _derive_list(base: Json, staged: Json, shapes: Shapes, at: Path, skip: Container[Path], found: list[Put | Drop]) -> None:
    before = [] if base is ABSENT else base
    names = shapes.names(at)
    # Entries one by one, also when the last of them goes; only from nothing to an empty list is a value of its own.
    stood_by = identities(before, names) if names is not None and (staged or before) else None
    stand = identities(staged, names) if names is not None and stood_by is not None else None
    if names is not None and stood_by is not None and stand is not None:
        old = dict(zip(stood_by, before, strict=True))
        for identity, entry in zip(stand, staged, strict=True):
            stood = old.pop(identity, ABSENT)
            if stood is entry:
                continue
            path = (*at, key_of(entry, names))
            if stood is not ABSENT:
                _derive(stood, entry, shapes, path, skip, found)
            elif path not in skip:
                found.append(Put(path, entry))
        found.extend(Drop((*at, key_of(entry, names))) for entry in old.values())
    elif shapes.is_set(at, before) and shapes.is_set(at, staged) and (staged or before):
        found.extend(Put((*at, Value(item)), item) for item in staged if item not in before)
        found.extend(Drop((*at, Value(item))) for item in before if item not in staged)
    elif not same(base, staged):
        found.append(Put(at, staged))


def holds(intents: Iterable[Intent], tree: Json) -> bool:
    """Whether the tree has every leaf that the intents assert. What it has beside them (defaults, others' members) does not count."""
    return all(_holds(intent, find(tree, intent.path)) for intent in intents)


def _holds(intent: Intent, there: Json) -> bool:
    match intent:
        case Put(_, value):
            return asserted(there, value)
        case Drop():
            return there is ABSENT
        case Raise(_, floor):
            return is_number(there) and bool(there >= floor)
        case Condition(_, fields, _):
            return isinstance(there, dict) and says(there, fields)


def asserted(there: Json, wanted: Json) -> bool:
    """Whether all that is wanted is there, whatever else is."""
    if type(wanted) is dict:
        return type(there) is dict and all(asserted(there.get(name, ABSENT), member) for name, member in wanted.items())
    if type(wanted) is list:
        return type(there) is list and len(there) == len(wanted) and all(map(asserted, there, wanted))
    return same(there, wanted)


def says(entry: Json, fields: dict[str, Json]) -> bool:
    """Whether a condition says it already: the usual case, recognised without building anything."""
    get = entry.get
    if get("status") != fields["status"] or get("reason") != fields["reason"] or get("message") != fields["message"]:
        return False
    newer, seen = fields.get("observedGeneration"), get("observedGeneration")
    since = fields.get("lastTransitionTime")
    same_since = since is None or since == get("lastTransitionTime")
    return bool(get("lastTransitionTime")) and same_since and (newer is None or (type(seen) is int and seen >= newer))


def is_number(value: Json) -> bool:
    """A JSON number; true and false are none."""
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def applied(intents: Iterable[Intent], snapshot: Json) -> Json:
    """The snapshot as the intents want it. The same object when they want nothing that is not there already."""
    tree = snapshot
    for intent in intents:
        match intent:
            case Put(path, value):
                tree = put(tree, path, value)
            case Drop(path):
                tree = drop(tree, path)
            case Raise(path, floor):
                current: Json = find(tree, path)
                if not is_number(current) or current < floor:
                    tree = put(tree, path, floor)
            case Condition(path, fields, now):
                tree = put(tree, path, settled(find(tree, path), fields, now))
    return tree


def put(tree: Json, path: Path, value: Json) -> Json:
    """The tree with the value at the path; the same tree when it is there already."""
    if not path:
        return tree if same(tree, value) else value
    step, rest = path[0], path[1:]
    if isinstance(step, str):
        members = tree if isinstance(tree, dict) else {}
        child = members.get(step, ABSENT)
        changed = put(child, rest, value)
        return tree if changed is child else {**members, step: changed}
    entries = tree if isinstance(tree, list) else []
    index = index_of(entries, step)
    if index is not None:
        entry = entries[index]
        changed = put(entry, rest, value)
        return tree if changed is entry else [*entries[:index], changed, *entries[index + 1 :]]
    fresh = dict(step.fields) if isinstance(step, Key) else ABSENT
    return [*entries, put(fresh, rest, value) if rest else value]


def placed(tree: Json, path: Path, value: Json) -> Json:
    """The tree with the value at the path, or with nothing there where the value is ABSENT."""
    return drop(tree, path) if value is ABSENT else put(tree, path, value)


def put_below(tree: Json, path: Path, value: Json) -> Json:
    """The same where every step is a member that is there, and the value is known to differ."""
    step, rest = path[0], path[1:]
    return {**tree, step: put_below(tree[step], rest, value) if rest else value}


def drop(tree: Json, path: Path) -> Json:
    """The tree with nothing at the path."""
    step, rest = path[0], path[1:]
    if isinstance(step, str):
        if not isinstance(tree, dict) or step not in tree:
            return tree
        if not rest:
            return {name: member for name, member in tree.items() if name != step}
        changed = drop(tree[step], rest)
        return tree if changed is tree[step] else {**tree, step: changed}
    if not isinstance(tree, list):
        return tree
    index = index_of(tree, step)
    if index is None:
        return tree
    if not rest:
        return [*tree[:index], *tree[index + 1 :]]
    changed = drop(tree[index], rest)
    return tree if changed is tree[index] else [*tree[:index], changed, *tree[index + 1 :]]
