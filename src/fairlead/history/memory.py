"""What the checker keeps of one object: the last writer of each leaf, recent versions, who saw what, and who was refused."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

import msgspec

from ..objects.paths import Key, Path, find
from ..objects.tree import ABSENT, Json, same
from .asserted import asserted
from .leaves import Keyed, key_names

if TYPE_CHECKING:
    from .records import Attempt

#: Versions kept per object, to tell what a field was at a commit's base. An older base is still recognised as older.
KEPT_VERSIONS = 256
#: Refused attempts kept per actor: one that is refused for ever must not fill the memory.
KEPT_REFUSALS = 32


class Write(msgspec.Struct, gc=False):
    """The last change of one leaf. Written over in place: there are very many of them."""

    actor: str
    version: int
    value: Json
    before: Json
    #: Everybody who has changed the leaf so far: they know it.
    knowing: frozenset[str]

    def passed_to(self, actor: str) -> None:
        """The leaf has another writer now."""
        self.actor = actor
        self.knowing |= {actor}


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


class ObjectMemory:
    """One object, that is: one uid."""

    def __init__(self) -> None:
        self.writers: dict[Path, Write] = {}
        self.versions: dict[int, Json] = {}
        self.seen: dict[str, int] = {}
        self.refused: dict[str, list[Refused]] = {}
        #: The body of an actor's last PUT: fields that it knows, beside those that it has changed.
        self.puts: dict[str, Json] = {}
        self.keyed = Keyed()
        #: Lists that have been written entry by entry.
        self.entered: set[Path] = set()
        #: Of leaves that change hands: from whom, to whom, and how often in a row between these two.
        self.turns: dict[Path, tuple[str, str, int]] = {}
        self.idle: Counter[str] = Counter()
        self.chain: tuple[str, int, int] = ("", 0, 0)
        self.creator, self.born = "", 0
        self.latest: Json = ABSENT
        self.version = 0

    def at(self, version: int) -> Json:
        """The object at a version, ABSENT when it is not known."""
        return self.versions.get(version, ABSENT)

    def keep(self, version: int, tree: Json) -> None:
        """A version that may become somebody's base."""
        self.versions[version] = tree
        if len(self.versions) > KEPT_VERSIONS:
            for old in list(self.versions)[: KEPT_VERSIONS // 2]:
                del self.versions[old]

    def first_write(self, path: Path, write: Write) -> None:
        """A leaf that nobody has written before."""
        self.writers[path] = write
        for length, step in enumerate(path):
            if type(step) is Key:
                self.entered.add(path[:length])

    def last_writer(self, path: Path, value: Json) -> Write | None:
        """Who last changed this leaf. A list may have been one value then and entries now, or the other way round."""
        if value and path in self.entered:
            return self.last_writer_within(path)
        found = self.writers.get(path)
        if found is None and not all(type(step) is str for step in path):
            lists = (self.writers.get(path[:length]) for length in range(len(path) - 1, 0, -1))
            found = next((writer for writer in lists if writer is not None and writer.value and type(writer.value) is list), None)
        return found

    def last_writer_within(self, path: Path) -> Write | None:
        """Who last changed anything at or below the path. Walks all leaves: only for what is reported."""
        return max((w for p, w in self.writers.items() if p[: len(path)] == path), key=lambda w: w.version, default=None)

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
