"""What the checker keeps of one object: the last writer of each leaf, recent commits, who received what, and who was refused."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from ..objects.tree import ABSENT, Json, lookup
from .keys import Learned
from .places import Places

if TYPE_CHECKING:
    from .records import Commit
    from .refusals import Refused

#: Commits kept per object, to say what a field was at a commit's base. An older base is still recognised as older.
KEPT_VERSIONS = 256


class ObjectMemory:
    """One object, that is: one uid."""

    def __init__(self, learned: Learned | None = None) -> None:
        self.places = Places()
        #: The keys of the resource's lists.
        self.learned = learned or Learned()
        #: The object at its latest versions, and the commits that made them.
        self.versions: dict[int, Json] = {}
        self.commits: dict[int, Commit] = {}
        #: The newest version that an actor received.
        self.seen: dict[str, int] = {}
        #: The writer that an actor is; and actors that write under several field managers, so that reads say little about each.
        self.writers: dict[str, str] = {}
        self.shared: set[str] = set()
        #: The last commit of each writer.
        self.last: dict[str, int] = {}
        #: Refused attempts by actor.
        self.refused: dict[str, list[Refused]] = {}
        #: The body of an actor's last PUT: fields that it knows, beside those that it has changed.
        self.puts: dict[str, Json] = {}
        self.idle: Counter[str] = Counter()
        #: Who changed it last, its creation aside; and of a chain of own commits: its last version, and how many commits long it is.
        self.changer: str | None = None
        self.chain = (0, 0)
        self.creator, self.born = "", 0
        self.latest: Json = ABSENT
        self.version = 0

    def at(self, version: int) -> Json:
        """The object at a version, ABSENT when it is not known."""
        return self.versions.get(version, ABSENT)

    def before(self, version: int) -> Json:
        """The object before the commit that made a version, ABSENT when it is not known."""
        commit = self.commits.get(version)
        return ABSENT if commit is None or commit.before is None else commit.before

    def keep(self, record: Commit) -> None:
        """The latest version. It may become somebody's base."""
        version, tree = record.version, record.after
        self.version, self.latest = version, tree
        versions = self.versions
        versions[version] = tree
        self.commits[version] = record
        if len(versions) > KEPT_VERSIONS:
            for old in list(versions)[: KEPT_VERSIONS // 2]:
                del versions[old]
                self.commits.pop(old, None)

    def keep_first(self, tree: Json) -> None:
        """The object before the first commit that was recorded."""
        self.versions[version_of(tree)] = tree


def version_of(obj: Json) -> int:
    """The resourceVersion of an object as a number, 0 where there is none."""
    text = lookup(obj, ["metadata", "resourceVersion"])
    return int(text) if isinstance(text, str) and text.isdigit() else 0
