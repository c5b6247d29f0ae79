"""JSON values as immutable trees.

A tree is what a JSON decoder gives: dict, list, str, int, float, bool, None. By contract nobody changes one in place: every
change copies the containers on the path from the root and shares all else, so snapshots, forks of a world and histories cost
nothing, and `is` tells quickly that a whole subtree did not change. Whoever receives a tree from outside and cannot trust
its owner takes a private copy first (`thaw`).

Equality on the server is typed: true is not 1, and 1 is not 1.0. Python's `==` says otherwise, so compare with `same`.
"""

from __future__ import annotations

from enum import Enum
from itertools import repeat
from typing import TYPE_CHECKING, Any, Final, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

# Recursive aliases make every line that walks a tree a cast; the invariant is stated above and checked by tests instead.
Json: TypeAlias = Any


class Absent(Enum):
    """The type of ABSENT."""

    ABSENT = "ABSENT"

    def __repr__(self) -> str:
        return "ABSENT"

    def __bool__(self) -> bool:
        return False


#: No value at all. Not None: null and missing differ on the server.
ABSENT: Final = Absent.ABSENT

Location: TypeAlias = "Sequence[str | int]"  # concrete members and indices, as in a JSON pointer


def lookup(tree: Json, location: Location) -> Json | Absent:
    """The value at a concrete location, or ABSENT."""
    for step in location:
        if isinstance(tree, dict):
            tree = tree.get(step, ABSENT)
        elif isinstance(tree, list) and isinstance(step, int) and 0 <= step < len(tree):
            tree = tree[step]
        else:
            return ABSENT
    return tree


def replaced(tree: Json, location: Location, value: Json) -> Json:
    """The tree with the value at the location; missing objects on the way are made, everything off the path is shared."""
    if not location:
        return value
    step, rest = location[0], location[1:]
    if isinstance(step, int):
        if not isinstance(tree, list) or not 0 <= step <= len(tree):
            raise LookupError(f"no index {step} here")
        changed = list(tree)
        child = replaced(tree[step] if step < len(tree) else ABSENT, rest, value)
        changed[step : step + 1] = [child]
        return changed
    members = tree if isinstance(tree, dict) else {}
    return {**members, step: replaced(members.get(step, ABSENT), rest, value)}


def removed(tree: Json, location: Location) -> Json:
    """The tree without what is at the location; the same tree when nothing is there."""
    if not location or lookup(tree, location) is ABSENT:
        return tree
    step, rest = location[0], location[1:]
    if rest:
        return replaced(tree, [step], removed(tree[step], rest))
    if isinstance(tree, list):
        return [*tree[:step], *tree[step + 1 :]]  # type: ignore[index, operator]
    return {name: member for name, member in tree.items() if name != step}


def same(left: Json, right: Json) -> bool:
    """Typed equality, as the server sees it. Shared subtrees are recognised without a walk."""
    if left is right:
        return True
    kind = type(left)
    if kind is not type(right):
        return False
    if kind is dict:
        if len(left) != len(right):
            return False
        for name, member in left.items():  # a loop, not a generator: this is the hottest function of all
            other = right.get(name, ABSENT)
            if member is not other and (member != other if type(member) is str else not same(member, other)):
                return False
        return True
    if kind is list:
        return len(left) == len(right) and all(map(same, left, right))
    return bool(left == right)


def differences(
    old: Json, new: Json, at: tuple[str | int, ...] = ()
) -> Iterator[tuple[tuple[str | int, ...], Json | Absent, Json | Absent]]:
    """Where two trees differ: (location, old, new), objects compared member by member, anything else as one value."""
    if old is new:
        return
    if type(old) is dict and type(new) is dict:
        for name in {**old, **new}:
            yield from differences(old.get(name, ABSENT), new.get(name, ABSENT), (*at, name))
    elif not same(old, new):
        yield at, old, new


def counterparts(entries: list[Json], before: Json | Absent) -> Iterable[Json | Absent]:
    """For each entry of a list one of an older list, to tell what the two share: that of the same place, or the entry itself."""
    if type(before) is not list:
        return repeat(ABSENT, len(entries))
    if len(before) == len(entries):
        return before
    held = set(map(id, before))
    return [entry if id(entry) in held else ABSENT for entry in entries]


def thaw(tree: Json) -> Json:
    """A private deep copy, for a value that someone else may change or that is about to be handed to someone who might."""
    kind = type(tree)
    if kind is dict:
        return {name: thaw(member) for name, member in tree.items()}
    if kind is list:
        return [thaw(member) for member in tree]
    return tree
