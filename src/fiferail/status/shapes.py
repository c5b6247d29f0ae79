"""Which lists of a kind are keyed, which are sets, and whether the server keeps them so.

Everything the writer does to a list depends on this: entries of a keyed list are written one by one, wherever they stand; any
other list is one value. `conditions` is keyed by type by convention, whatever the schema says. What the schema adds is the
promise that the server refuses a second entry with the same key, and only with that promise may an entry be appended without
testing the whole list.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec

from ..errors import FiferailError
from ..objects.paths import Key, Path
from ..objects.tree import same

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from ..objects.tree import Json

CONDITIONS_KEY = ("type",)

#: Member names from the object's root to a list; steps through entries are left out, any member is ANY.
Place = tuple[str, ...]
ANY = "*"


class Shapes(msgspec.Struct, frozen=True):
    """The lists of one kind."""

    keyed: dict[Place, tuple[str, ...]] = {}
    sets: frozenset[Place] = frozenset({("metadata", "finalizers")})
    #: The keyed lists whose uniqueness the server enforces. None: not known yet (nobody has asked for the schema).
    enforced: frozenset[Place] | None = None
    #: Keyed lists that are written as one value all the same.
    wholes: frozenset[Place] = frozenset()

    def keys(self, path: Path, value: Json) -> tuple[str, ...] | None:
        """The key members of the list at the path, or None when the list is one value. Duplicates make it one value."""
        names = self.names(path)
        return names if names is not None and unique(value, names) else None

    def names(self, path: Path) -> tuple[str, ...] | None:
        """The key members of the list at the path, whatever stands in it; None where nobody says that it has any."""
        place = place_of(path)
        if self.wholes and place in self.wholes:
            return None
        return self.keyed.get(place) or (CONDITIONS_KEY if place and place[-1] == "conditions" else None)

    def is_set(self, path: Path, value: Json) -> bool:
        """Whether the list at the path is a set of scalars."""
        return place_of(path) in self.sets and isinstance(value, list) and all(isinstance(item, str) for item in value)

    def is_one_value(self, path: Path) -> bool:
        """Whether a list at the path is written as a whole, as far as is known: it has no keys and is no set."""
        return self.names(path) is None and not self.is_set(path, [])

    def may_append(self, path: Path) -> bool:
        """Whether the server refuses a second entry with the same key, so that an append needs no test."""
        return self.enforced is not None and place_of(path) in self.enforced

    def has_duplicates(self, obj: Json) -> bool:
        """Whether any keyed list or set of the object holds something twice: then the server's own check is off for all its lists."""
        if any(not unique(found, names) for place, names in self.keyed.items() for found in _lists_at(obj, place)):
            return True
        return any(repeats(found) for place in self.sets for found in _lists_at(obj, place))

    def declared(self, keys: Mapping[str, Sequence[str]]) -> Shapes:
        """A copy with lists that the caller declares to be keyed: {"referencingWorkloads": ("kind", "name")}, below status."""
        found = self
        for place, names in keys.items():
            found = found.with_entry(("status", *place.split(".")), tuple(names))
        return found

    def with_entry(self, path: Path, names: tuple[str, ...]) -> Shapes:
        """A copy with a list that the caller addresses by these members. They must be all of the list's keys, where those are known:
        with a part of them two entries would be one."""
        place = place_of(path)
        self.check(place, names)
        return self if self.keyed.get(place) == names else msgspec.structs.replace(self, keyed={**self.keyed, place: names})

    def check(self, place: Place, names: Sequence[str]) -> None:
        """Refuse other keys than the schema's."""
        wanted = self.keyed.get(place) if self.enforced and place in self.enforced else None
        if wanted is not None and set(wanted) != set(names):
            raise FiferailError(
                f"expected the key of an entry of {'.'.join(place)} to be {', '.join(wanted)}, as its schema says, got {', '.join(names)}"
            )

    def without_wholes(self) -> Shapes:
        """A copy in which no keyed list is written as one value."""
        return msgspec.structs.replace(self, wholes=frozenset()) if self.wholes else self

    def whole(self, path: Path) -> Shapes:
        """A copy with a list that this session writes as one value, whoever says that it is keyed."""
        return msgspec.structs.replace(self, wholes=self.wholes | {place_of(path)})


def place_of(path: Path) -> Place:
    """The member names of a path."""
    return tuple([step for step in path if type(step) is str])


def key_of(entry: Json, names: tuple[str, ...]) -> Key:
    """The key of an entry of a list that is keyed by these members."""
    return Key(((names[0], entry[names[0]]),)) if len(names) == 1 else Key(tuple([(name, entry[name]) for name in sorted(names)]))


def identities(value: Json, names: tuple[str, ...]) -> list[Any] | None:
    """What tells the entries of a list apart, in order; None when one has no key, or two have the same."""
    if type(value) is not list:
        return None
    try:
        only = names[0] if len(names) == 1 else None
        found = [entry[only] for entry in value] if only else [tuple([entry[name] for name in names]) for entry in value]
        distinct = set(found)  # a key that is a container is not hashable, and no key
    except (KeyError, TypeError, IndexError):
        return None
    if len(distinct) != len(found) or None in distinct:
        return None
    # True and false are no keys; but to Python 1 and 0 look the same.
    suspicious = only is None or True in distinct or False in distinct
    return None if suspicious and any(_has_bool(identity) for identity in found) else found


def _has_bool(identity: Any) -> bool:
    return type(identity) is bool or (type(identity) is tuple and any(type(part) is bool for part in identity))


def unique(value: Json, names: tuple[str, ...]) -> bool:
    """Whether every entry has a key and no key stands twice."""
    return identities(value, names) is not None


def repeats(value: Json) -> bool:
    """Whether an entry of a list stands in it twice."""
    return type(value) is list and any(same(entry, other) for index, entry in enumerate(value) for other in value[:index])


def _lists_at(tree: Json, place: Place) -> Iterator[Json]:
    """Every list at the place, in whichever entries and members of the lists and maps on the way."""
    if type(tree) is list and place:
        for entry in tree:
            yield from _lists_at(entry, place)
    elif not place:
        if type(tree) is list:
            yield tree
    elif type(tree) is dict:
        named = [tree[place[0]]] if place[0] in tree else []
        for member in tree.values() if place[0] == ANY else named:
            yield from _lists_at(member, place[1:])
