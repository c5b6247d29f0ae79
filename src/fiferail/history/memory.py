"""What the checker keeps of one object: the last writer of each leaf, recent versions, who saw what, and who was refused."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

import msgspec

from ..objects.paths import Path, find
from ..objects.tree import ABSENT, Json, same
from .asserted import asserted
from .leaves import key_names
from .places import Places

if TYPE_CHECKING:
    from .records import Attempt

#: Versions kept per object, to tell what a field was at a commit's base. An older base is still recognised as older.
KEPT_VERSIONS = 256
#: Refused attempts kept per actor: one that is refused for ever must not fill the memory.
KEPT_REFUSALS = 32


class Refused(msgspec.Struct):
    """A refused attempt that its actor has not made good yet."""

    attempt: Attempt
    base: int
    #: All that it asserted, and the part of it that would have changed something.
    values: dict[Path, Json]
    wanted: dict[Path, Json]
    #: Whether the actor read the object again since: then what it does next is a decision. Not so for a PUT, which says nothing
    #: about intent: who fetches and PUTs again, and leaves something out, has most likely forgotten it.
    reconsidered: bool = False
    #: It came again with a part of what it wanted: the rest is told at the end, whatever was read meanwhile.
    owed: bool = False


class ObjectMemory:
    """One object, that is: one uid."""

    def __init__(self) -> None:
        self.places = Places()
        self.versions: dict[int, Json] = {}
        self.seen: dict[str, int] = {}
        self.refused: dict[str, list[Refused]] = {}
        #: The body of an actor's last PUT: fields that it knows, beside those that it has changed.
        self.puts: dict[str, Json] = {}
        self.idle: Counter[str] = Counter()
        #: Who changed it last, its creation aside; and of a hot loop: its last version, and how many commits long it is.
        self.changer: str | None = None
        self.chain = (0, 0)
        self.creator, self.born = "", 0
        self.latest: Json = ABSENT
        self.version = 0

    def at(self, version: int) -> Json:
        """The object at a version, ABSENT when it is not known."""
        return self.versions.get(version, ABSENT)

    def keep(self, version: int, tree: Json) -> None:
        """The latest version. It may become somebody's base."""
        self.version, self.latest = version, tree
        versions = self.versions
        versions[version] = tree
        if len(versions) > KEPT_VERSIONS:
            for old in list(versions)[: KEPT_VERSIONS // 2]:
                del versions[old]

    def refuse(self, attempt: Attempt, base: int) -> None:
        """Note a refused attempt."""
        values = asserted(attempt, self.latest)
        tree = self.at(base)
        wanted = {path: value for path, value in values.items() if not _is_keyed(value) and not same(find(tree, path), value)}
        if values:
            kept = self.refused.setdefault(attempt.actor, [])
            kept.append(Refused(attempt, base, values, wanted))
            del kept[:-KEPT_REFUSALS]


def _is_keyed(value: Json) -> bool:
    """A list that is judged entry by entry."""
    return type(value) is list and key_names(value) is not None
