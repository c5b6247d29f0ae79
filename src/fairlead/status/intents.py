"""What a session wants: small changes that can be applied to any snapshot, not only to the one it was decided on.

A session stages by editing a tree. When it flushes, the edited tree is compared with the base and the difference becomes
intents; on a refusal the same intents are applied to the live object. Members of objects and entries of keyed lists are
separate intents, so two writers of neighbouring fields never meet. Pure.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias

import msgspec

from ..objects.conditions import settled
from ..objects.paths import Key, Path, Value, find
from ..objects.tree import ABSENT, Json, same
from .shapes import Shapes, identities, key_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator


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


def derive(base: Json, staged: Json, shapes: Shapes, at: Path = ()) -> Iterator[Put | Drop]:
    """The intents that turn the base into what was staged. Shared subtrees cost nothing."""
    if base is staged:
        return
    if type(base) is dict and type(staged) is dict:
        for name, member in staged.items():
            yield from derive(base.get(name, ABSENT), member, shapes, (*at, name))
        for name in base:
            if name not in staged:
                yield Drop((*at, name))
    elif base is ABSENT and type(staged) is dict and staged:
        # Leaf by leaf: another writer may make the same parent meanwhile.
        for name, member in staged.items():
            yield from derive(ABSENT, member, shapes, (*at, name))
    elif type(staged) is list and (base is ABSENT or type(base) is list):
        yield from _derive_list(base, staged, shapes, at)
    elif not same(base, staged):
        yield Put(at, staged)


def _derive_list(base: Json, staged: Json, shapes: Shapes, at: Path) -> Iterator[Put | Drop]:
    before = [] if base is ABSENT else base
    names = shapes.keys(at, before)
    if names is not None and staged and shapes.keys(at, staged) is not None:
        old = dict(zip(identities(before, names) or (), before, strict=True))
        for identity, entry in zip(identities(staged, names) or (), staged, strict=True):
            stood = old.pop(identity, ABSENT)
            if stood is ABSENT:
                yield Put((*at, key_of(entry, names)), entry)
            elif stood is not entry:
                yield from derive(stood, entry, shapes, (*at, key_of(entry, names)))
        yield from (Drop((*at, key_of(entry, names))) for entry in old.values())
    elif shapes.is_set(at, before) and shapes.is_set(at, staged):
        yield from (Put((*at, Value(item)), item) for item in staged if item not in before)
        yield from (Drop((*at, Value(item))) for item in before if item not in staged)
    elif not same(base, staged):
        yield Put(at, staged)


def applied(intents: Iterable[Intent], snapshot: Json) -> Json:
    """The snapshot as the intents want it. The same object when they want nothing that is not there already."""
    tree = snapshot
    for intent in intents:
        match intent:
            case Put(path, value):
                tree = _put(tree, path, value)
            case Drop(path):
                tree = _drop(tree, path)
            case Raise(path, floor):
                current = find(tree, path)
                if not isinstance(current, (int, float)) or isinstance(current, bool) or current < floor:
                    tree = _put(tree, path, floor)
            case Condition(path, fields, now):
                tree = _put(tree, path, settled(find(tree, path), fields, now))
    return tree


def _put(tree: Json, path: Path, value: Json) -> Json:
    if not path:
        return tree if same(tree, value) else value
    step, rest = path[0], path[1:]
    if isinstance(step, str):
        members = tree if isinstance(tree, dict) else {}
        child = members.get(step, ABSENT)
        changed = _put(child, rest, value)
        return tree if changed is child else {**members, step: changed}
    entries = tree if isinstance(tree, list) else []
    for index, entry in enumerate(entries):
        if _is(entry, step, index):
            changed = _put(entry, rest, value)
            return tree if changed is entry else [*entries[:index], changed, *entries[index + 1 :]]
    fresh = dict(step.fields) if isinstance(step, Key) else ABSENT
    return [*entries, _put(fresh, rest, value) if rest else value]


def _drop(tree: Json, path: Path) -> Json:
    step, rest = path[0], path[1:]
    if isinstance(step, str):
        if not isinstance(tree, dict) or step not in tree:
            return tree
        if not rest:
            return {name: member for name, member in tree.items() if name != step}
        changed = _drop(tree[step], rest)
        return tree if changed is tree[step] else {**tree, step: changed}
    if not isinstance(tree, list):
        return tree
    for index, entry in enumerate(tree):
        if _is(entry, step, index):
            if not rest:
                return [*tree[:index], *tree[index + 1 :]]
            changed = _drop(entry, rest)
            return tree if changed is entry else [*tree[:index], changed, *tree[index + 1 :]]
    return tree


def _is(entry: Json, step: int | Key | Value, index: int) -> bool:
    if isinstance(step, Key):
        return step.matches(entry)
    return same(entry, step.value) if isinstance(step, Value) else step == index
