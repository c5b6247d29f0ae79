"""Losses by writers whose base nobody knows: programs that watch, and programs that share a user agent. Pure.

A watch delivers every version, so what a client received says nothing about what it decided on. The values that it sends do. Only a part
of the object that is replaced as a whole can carry old values: an array in a merge patch, a value in a JSON patch, a PUT.

    stale witness   a field or an entry in that part which is exactly what stood there before others wrote it (or is missing, as it was
                    then), and which this writer never wrote
    fresh witness   a value in that part which another writer wrote later: the base is at least as new as that write

The base is the version before the oldest stale witness that no fresh one contradicts. The old values were carried along when the part
also differs from that base: a client that stood on it and changed nothing had nothing to send, so an exact return is meant.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from ..objects.paths import Key, Path, Value, find, meet
from ..objects.tree import ABSENT, Json, same
from .asserted import asserted, container_of, part_of, tested
from .findings import CARRIED, INFERRED, LOST, POSSIBLE, Finding
from .leaves import BOOKKEEPING, elements, flat, same_elements
from .places import last_written
from .records import how, writer_of

if TYPE_CHECKING:
    from collections import Counter
    from collections.abc import Iterable, Iterator

    from .leaves import Leaf
    from .memory import ObjectMemory
    from .places import Place
    from .records import Commit

#: How many versions back an old value is searched for.
SEARCHED_VERSIONS = 64
#: Entries and leaves of others that are looked at in one commit, suspicious or not: a few are enough to say that a list was stale.
LOOKED_AT = 16


class Suspect(msgspec.Struct):
    """Something that a commit left as it stood before others wrote it: an entry of a keyed list, or one leaf."""

    path: Path
    container: Path
    #: The last write that is lost, the newest version before it with the same content, and the version after that one.
    writer: Place
    base: int
    after_base: int
    #: Of a plain list: the elements that vanished, and those that returned.
    gone: frozenset[str] = frozenset()
    back: frozenset[str] = frozenset()


class Witnesses:
    """The old values that one commit carried. Ask before the commit is noted in the places of the object."""

    def __init__(self, record: Commit, known: ObjectMemory, writer: str, newest: int) -> None:
        self._record, self._known, self._writer, self._newest = record, known, writer, newest
        self._versions = sorted(known.versions)[-SEARCHED_VERSIONS:]
        self._counted: dict[int, Counter[str]] = {}

    def losses(self, leaves: Iterable[Leaf]) -> list[Finding]:
        """What the commit lost: one finding for each entry or leaf."""
        suspects = list(self._suspects(leaves))
        found: list[Finding] = []
        for container in dict.fromkeys(suspect.container for suspect in suspects):
            found += self._within(container, [suspect for suspect in suspects if suspect.container == container])
        return found

    # -- suspicion

    def _suspects(self, leaves: Iterable[Leaf]) -> Iterator[Suspect]:
        looked_at: set[Path] = set()
        for leaf in leaves:
            unit = self._unit(leaf[0].path)
            if unit in looked_at:
                continue
            looked_at.add(unit)
            if len(looked_at) > LOOKED_AT:
                return
            container = container_of(self._record, leaf[0].path, self._known.learned)
            if container is None or not find(self._record.after, container) or self._is_tested(unit):
                continue  # an emptied list carries nothing
            suspect = self._listed(leaf, container) if self._is_plain(leaf) else self._unchanged(unit, container)
            if suspect is not None and not self._is_known(suspect):
                yield suspect

    def _unit(self, path: Path) -> Path:
        """What is carried along or not: the innermost entry of a keyed list around a leaf, else the leaf. Apply names leaf by leaf."""
        if self._record.content != "apply":
            for length in range(len(path), 0, -1):
                if isinstance(path[length - 1], Key):
                    return path[:length]
        return path

    def _is_tested(self, unit: Path) -> bool:
        compared = tested(self._record, self._record.before, self._known.learned)
        return any(meet(path, unit) for path in compared)

    def _is_plain(self, leaf: Leaf) -> bool:
        return type(leaf[1]) is list and type(leaf[2]) is list

    def _unchanged(self, unit: Path, container: Path) -> Suspect | None:
        """An entry or a leaf that others wrote last, and that is again as it stood before: as others had left it then."""
        place = self._known.places.root.at(unit)
        last = last_written(place) if place is not None else None
        if last is None or last.actor == self._writer:
            return None
        now = find(self._record.after, unit)
        for version in reversed(self._versions):
            if version < last.version and same_elements(find(self._known.versions[version], unit), now):
                if self._is_own(unit, version) or self._left(unit, version) == self._writer:
                    return None  # what a writer has written before it may repair, reset or drop
                return Suspect(unit, container, last, version, self._next(version))
        return None

    def _is_own(self, unit: Path, version: int) -> bool:
        """Whether the unit as it stood at a version was the work of this writer; where that is not known: whether it ever wrote it."""
        stood = find(self._known.versions[version], unit)
        made: Commit | None = None
        for earlier in reversed(self._versions):
            if earlier > version:
                continue
            if not same_elements(find(self._known.versions[earlier], unit), stood):
                break
            made = self._known.commits.get(earlier)
            if made is None:
                return self._has_written(unit)
        if made is None or writer_of(made) != self._writer or not self._has_written(unit):
            return False
        # Whoever emptied the whole list did not mean this entry.
        return stood is not ABSENT or bool(find(made.after, unit[:-1]))

    def _left(self, unit: Path, version: int) -> str:
        """Who made the unit something else than it was at a version."""
        stood = find(self._known.versions[version], unit)
        later = (other for other in self._versions if other > version)
        changed = (other for other in later if not same_elements(find(self._known.versions[other], unit), stood))
        commit = self._known.commits.get(next(changed, 0))
        return writer_of(commit) if commit is not None else ""

    def _has_written(self, unit: Path) -> bool:
        place = self._known.places.root.at(unit)
        return place is not None and any(self._writer in leaf.knowing for leaf in place.written())

    def _listed(self, leaf: Leaf, container: Path) -> Suspect | None:
        """Elements of a plain list that others had added and that are gone, or that others had removed and that are back."""
        place, was, now = leaf
        if not place.knowing:
            return None
        current, new = self._elements(was), self._elements(now)
        gone = {text for text in current - new if self._author((*place.path, Value(text)))[0] not in ("", self._writer)}
        back = {text for text in new - current if self._author((*place.path, Value(text)))[0] not in ("", self._writer)}
        for version in reversed(self._versions):
            old = self._elements(find(self._known.versions[version], place.path))
            lacked, had = {text for text in gone if not old[text]}, {text for text in back if old[text]}
            if version < place.version and (lacked or had):
                return Suspect(place.path, container, place, version, self._next(version), frozenset(lacked), frozenset(had))
        return None

    def _next(self, version: int) -> int:
        return min((other for other in self._versions if other > version), default=version)

    def _is_known(self, suspect: Suspect) -> bool:
        """Whether the writer had seen what it overwrote: it says so, or an earlier commit of its own holds it or stood on it."""
        written = suspect.writer.version
        if written > self._newest or written in self._record.seen:
            return True  # not for witnesses to judge
        for version in reversed(self._versions):
            commit = self._known.commits.get(version)
            if version < written or commit is None:
                return False
            if writer_of(commit) != self._writer:
                continue
            stated = commit.base if commit.base is not None else commit.precondition
            if stated is not None and stated >= written:
                return True
            if container_of(commit, suspect.writer.path, self._known.learned) is not None:
                return True  # it replaced the same part after that write, and left it there
        return False

    # -- judgement

    def _within(self, container: Path, suspects: list[Suspect]) -> list[Finding]:
        """The losses in one part of the object that was replaced as a whole."""
        now, current = (self._leaves(tree, container) for tree in (self._record.after, self._record.before))
        suspects = sorted(suspects, key=lambda suspect: suspect.base)
        while suspects:
            first = suspects[0]
            base = self._leaves(self._known.at(first.base), container)
            fresh = self._fresh(now, current, base)
            if fresh < first.after_base and not self._is_contradicted(first, suspects[1:]):
                return self._judged(suspects, now, base)
            suspects = [other for other in suspects if other.after_base > fresh and other.base > first.base]
        return []

    def _fresh(self, now: dict[Path, Json], current: dict[Path, Json], base: dict[Path, Json]) -> int:
        """The newest write by another that the part asserts and that its base, if it were this one, did not have."""
        newest = 0
        for path, value in now.items():
            if path in current and same(value, current[path]) and not same(value, base.get(path, ABSENT)):
                actor, version = self._author(path)
                if actor not in ("", self._writer) and version > newest:
                    newest = version
        return newest

    def _is_contradicted(self, first: Suspect, others: list[Suspect]) -> bool:
        """Whether the part holds another old value that is younger than the base of the first."""
        tree, after = self._known.at(first.base), self._record.after
        return any(
            other.base > first.base and not (other.gone or other.back)
            and not same_elements(find(tree, other.path), find(after, other.path))
            for other in others
        )  # fmt: skip

    def _judged(self, suspects: list[Suspect], now: dict[Path, Json], base: dict[Path, Json]) -> list[Finding]:
        if all(same(now.get(path, ABSENT), base.get(path, ABSENT)) for path in {**now, **base}):
            return []  # an exact return to what stood there
        copied = any(same(value, base.get(path, ABSENT)) and self._author(path)[0] not in ("", self._writer) for path, value in now.items())
        return [self._finding(suspect, copied) for suspect in suspects]

    def _finding(self, suspect: Suspect, copied: bool) -> Finding:
        record, writer = self._record, suspect.writer
        was, lost, now = (find(tree, suspect.path) for tree in (self._known.at(suspect.base), record.before, record.after))
        certainty, because = self._class(suspect, now, copied)
        return Finding(
            LOST, record.object, suspect.path, victim=writer.actor, culprit=self._writer, kind=CARRIED, base=suspect.base,
            written=writer.version, overwritten=record.version, was=was, lost=lost, now=now, how=how(record), certainty=certainty,
            because=because,
        )  # fmt: skip

    def _class(self, suspect: Suspect, now: Json, copied: bool) -> tuple[str, str]:
        stood = "as it stood at resourceVersion {base}"
        if suspect.back or (not suspect.gone and now is not ABSENT):
            return INFERRED, f"the request brings back what {suspect.writer.actor} had changed, exactly {stood}"
        if isinstance(suspect.path[-1], Key) and not self._has_written(suspect.path):
            return INFERRED, f"the missing entry is one that {self._writer} never wrote"
        if copied:
            return INFERRED, f"the request repeats what others wrote, {stood}"
        return POSSIBLE, f"{self._writer} may have removed it on purpose, the request does not show on which version it stands"

    # -- what stands where

    def _leaves(self, tree: Json, container: Path) -> dict[Path, Json]:
        """The leaves of the part; the elements of plain lists one by one."""
        found: dict[Path, Json] = {}
        for path, value in self._part(tree, container):
            if type(value) is list and value:
                found.update({(*path, Value(text)): count for text, count in self._elements(value).items()})
            else:
                found[path] = value
        return found

    def _part(self, tree: Json, container: Path) -> Iterator[tuple[Path, Json]]:
        record, learned = self._record, self._known.learned
        if not container and record.content == "apply":
            for path in asserted(record, record.before, learned):
                value = find(tree, path)
                if value is not ABSENT:
                    yield path, value
            return
        part = find(tree, container) if container else part_of(tree, record.subresource)
        for path, value in flat(part, container, learned):
            if not _is_bookkeeping(path):
                yield path, value

    def _elements(self, entries: Json) -> Counter[str]:
        """The elements of a list, counted once for each list."""
        found = self._counted.get(id(entries))
        if found is None:
            found = self._counted[id(entries)] = elements(entries)
        return found

    def _author(self, path: Path) -> tuple[str, int]:
        """Who wrote a leaf last, or who last added an element to a plain list, and in which version; "" where that is not known."""
        if not isinstance(path[-1], Value):
            place = self._known.places.root.at(path)
            last = last_written(place) if place is not None else None
            return (last.actor, last.version) if last is not None else ("", 0)
        text, author = path[-1].value, ("", 0)
        before = -1  # nobody knows who made the first version that is kept, unless it is the creation
        for version in self._versions:
            commit = self._known.commits.get(version)
            count = self._elements(find(self._known.versions[version], path[:-1]))[text]
            if commit is not None and count > (0 if commit.before is None else before) >= 0:
                author = (writer_of(commit), version)
            before = count
        return author


def _is_bookkeeping(path: Path) -> bool:
    return path[0] in ("apiVersion", "kind") or (path[0] == "metadata" and len(path) > 1 and path[1] in BOOKKEEPING)
