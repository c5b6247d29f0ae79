"""The versions of the objects, and who wrote what: read off the values, because a token is written by one deed only."""

from __future__ import annotations

import json
import re
from collections import defaultdict
from typing import NamedTuple

from .kind import MISSING, Json, Path, find, leaves, version
from .records import Deed, Record, Sent

_TOKEN = re.compile(rb"t([0-9f][0-9a-z~-]*)\.[0-9a-z.]+;")


class Change(NamedTuple):
    """One leaf that a version changed."""

    at: int
    before: Json
    after: Json


class History:
    """The versions of one uid."""

    def __init__(self, versions: list[Json]) -> None:
        self.versions = [obj for obj in versions if obj is not None]
        self.deleted = versions[-1] is None
        self.index = {version(obj): at for at, obj in enumerate(self.versions)}
        #: Path -> what became of it, in order.
        self.changes: dict[Path, list[Change]] = defaultdict(list)
        #: Which leaves each version changed.
        self.diffs: list[dict[Path, tuple[Json, Json]]] = [{}]
        known = _judged(self.versions[0])
        for at, obj in enumerate(self.versions[1:], start=1):
            now = _judged(obj)
            diff = {path: (known.get(path, MISSING), now.get(path, MISSING)) for path in {*known, *now} if known.get(path) != now.get(path)}
            for path, (before, after) in diff.items():
                self.changes[path].append(Change(at, before, after))
            self.diffs.append(diff)
            known = now

    def landings(self, path: Path, value: Json) -> list[int]:
        """The versions that brought this value to this path."""
        if path in self.changes or not isinstance(value, dict):
            return [change.at for change in self.changes.get(path, ()) if change.after == value]
        return []

    def at_or_after(self, number: int) -> list[Json]:
        """The versions from that resourceVersion on."""
        return [obj for obj in self.versions if version(obj) >= number]

    def changed_between(self, path: Path, low: int, high: int) -> list[int]:
        """The versions after `low` (a resourceVersion) and before index `high` that changed something at or below the path."""
        first = next((at for at, obj in enumerate(self.versions) if version(obj) > low), high)
        return [at for at in range(first, high) if find(self.versions[at], path) != find(self.versions[at - 1], path)]


def _judged(obj: Json) -> dict[Path, Json]:
    """Spec and status by leaf; metadata is the server's."""
    return {**leaves(obj.get("spec"), ("spec",)), **leaves(obj.get("status"), ("status",))}


class Authors:
    """Which request made which version, and whose deeds it carried."""

    def __init__(self, record: Record) -> None:
        self.by_version: dict[int, list[Sent]] = defaultdict(list)
        self._deeds: dict[str, list[Deed]] = defaultdict(list)
        self._carriers: dict[str, list[Sent]] = defaultdict(list)
        for sent in record.sent:
            if sent.version:
                self.by_version[sent.version].append(sent)
            for found in set(_TOKEN.findall(sent.body)):
                self._carriers[found.decode()].append(sent)
        for deed in record.deeds:
            self._deeds[deed.id.split("~")[0]].append(deed)

    def deeds(self, sent: Sent) -> list[Deed]:
        """The deeds that a request carried: those whose tokens are in it, and those of the step that sent it."""
        steps = {found.decode().split("~")[0] for found in _TOKEN.findall(sent.body)} | {sent.action}
        return [deed for step in steps for deed in self._deeds.get(step, ())]

    def of_step(self, step: str) -> list[Deed]:
        """The deeds of one step."""
        return self._deeds.get(step, [])

    def fates(self, deed: Deed) -> set[str]:
        """What became of the requests that carried the deed's tokens."""
        return {sent.fate for sent in self._carriers.get(deed.id, ())}


def pretty(value: Json) -> str:
    """A value for people."""
    return "nothing" if value is MISSING else json.dumps(value, ensure_ascii=False, default=repr)[:160]
