"""Records from the audit log of a kube-apiserver: what the checker needs to judge a cluster that fiferail did not serve.

The log must hold requests and answers (level RequestResponse). It says who asked, when the request came and when it was answered, so the
newest version that a client can have received before it sent is known. What a watch delivered is not in it: a client that
watches may have received anything, and is judged by what it sends.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import defaultdict
from datetime import datetime
from math import nextafter
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qsl, urlsplit

import msgspec

from ..errors import FiferailError
from ..objects.tree import lookup
from .asserted import named_version
from .memory import version_of
from .records import Attempt, Commit, Identity, Observation, Record, Said, actor_of, is_failed_test

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from ..objects.tree import Json

_WRITES = frozenset({"create", "update", "patch", "delete"})
#: Who wrote a version that the log does not explain: it began later, or somebody reached the storage another way.
UNSEEN = "(unseen)"
#: The log notes that a request is complete after its answer has left: a client may have sent its next request so much earlier.
SLACK = 0.01
_SILENT = Said()


class MalformedLine(FiferailError):
    """A line that is no JSON document."""

    def __init__(self, number: int, reason: str) -> None:
        super().__init__(f"line {number} is no JSON document: {reason}")
        self.number, self.reason = number, reason


class _Event(msgspec.Struct):
    """One request with its answer."""

    actor: str
    verb: str
    resource: str
    subresource: str
    sent: float
    answered: float
    code: int
    body: Json
    answer: Json
    name: tuple[str, str, str]
    manager: str = ""
    content: str = ""
    api_version: str = ""
    said: Said = _SILENT


class _Version(msgspec.Struct):
    """A version of an object, and the write that made it, where the log has it."""

    tree: Json
    made_by: _Event | None = None


class _Received:
    """The versions of one object that one actor received, in the order of time; the newest until any moment."""

    def __init__(self) -> None:
        self._times: list[float] = []
        self._newest: list[int] = []

    def add(self, when: float, version: int) -> None:
        """Events come in the order in which they were answered."""
        self._times.append(when)
        self._newest.append(max(version, self._newest[-1] if self._newest else 0))

    def until(self, when: float) -> int:
        """The newest version received until then, 0 where there is none."""
        count = bisect_right(self._times, when)
        return self._newest[count - 1] if count else 0


def records(lines: Iterable[str | bytes], said: Mapping[str, Said] | None = None) -> list[Record]:
    """The records of a log, in the order in which the server did things.

    `said`: what clients said in the headers of a request, by its audit id. JSON documents that are no audit events are passed over;
    a line that is no JSON raises `MalformedLine`.
    """
    events = sorted(_events(lines, said or {}), key=lambda event: event.answered)
    return _History(events).records()


def _events(lines: Iterable[str | bytes], said: Mapping[str, Said]) -> Iterator[_Event]:
    decode = msgspec.json.decode
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        try:
            raw = decode(line)
        except (msgspec.DecodeError, UnicodeDecodeError) as error:
            raise MalformedLine(number, str(error)) from None
        event = _event(raw, said)
        if event is not None:
            yield event


def _event(raw: Json, said: Mapping[str, Said]) -> _Event | None:
    if not isinstance(raw, dict) or raw.get("kind") != "Event" or raw.get("stage") not in ("ResponseComplete", "ResponseStarted"):
        return None
    about = raw.get("objectRef") or {}
    verb = raw.get("verb") or ""
    if not about.get("resource") or (raw["stage"] == "ResponseStarted") != (verb == "watch"):
        return None
    query = dict(parse_qsl(urlsplit(raw.get("requestURI") or "").query))
    if query.get("dryRun"):
        return None
    group, version = about.get("apiGroup") or "", about.get("apiVersion") or ""
    resource = f"{about['resource']}.{group}" if group else about["resource"]
    body, answer = raw.get("requestObject"), raw.get("responseObject")
    said_of = said.get(raw.get("auditID") or "", _SILENT)
    agent: str = raw.get("userAgent") or (raw.get("user") or {}).get("username") or ""
    name: str = about.get("name") or lookup(answer, ["metadata", "name"]) or ""  # type: ignore[assignment]
    return _Event(
        said_of.actor or actor_of(agent), verb, resource, about.get("subresource") or "", _seconds(raw.get("requestReceivedTimestamp")),
        _seconds(raw.get("stageTimestamp")), int((raw.get("responseStatus") or {}).get("code") or 0), body, answer,
        (resource, about.get("namespace") or "", name), query.get("fieldManager", ""), _content(verb, body, query),
        f"{group}/{version}" if group else version, said_of,
    )  # fmt: skip


def _content(verb: str, body: Json, query: dict[str, str]) -> str:
    """The log does not say which patch it was; the body nearly does."""
    if verb != "patch":
        return ""
    if isinstance(body, list):
        return "json"
    applied = query.get("fieldManager") and isinstance(body, dict) and body.get("apiVersion") and body.get("kind")
    return "apply" if applied else "merge"


def _seconds(text: str | None) -> float:
    try:
        return datetime.fromisoformat(text).timestamp() if text else 0.0
    except ValueError:
        return 0.0


class _History:
    """The log put in order: versions by resourceVersion, everything else by when it was answered."""

    def __init__(self, events: list[_Event]) -> None:
        self._events = events
        self._versions: dict[Identity, dict[int, _Version]] = defaultdict(dict)
        self._current: dict[tuple[str, str, str], Identity] = {}
        #: What an actor received of an object; since when an actor watches a resource; who was refused at which object.
        self._received: dict[tuple[str, Identity], _Received] = defaultdict(_Received)
        self._watching: dict[tuple[str, str], float] = {}
        self._refused: set[tuple[str, tuple[str, str, str]]] = set()
        for event in events:
            self._note(event)
        self._refused_actors = {actor for actor, _ in self._refused}

    def _note(self, event: _Event) -> None:
        if event.verb == "watch":
            since = self._watching.setdefault((event.actor, event.resource), event.sent)
            self._watching[event.actor, event.resource] = min(since, event.sent)
        if _is_refusal(event):
            self._refused.add((event.actor, event.name))
        if not 200 <= event.code < 300 or event.verb == "watch":
            return
        for obj in _objects(event.answer):
            identity, version = _identity(event, obj), version_of(obj)
            if not identity.uid or not version:
                continue
            known = self._versions[identity].setdefault(version, _Version(obj))
            if event.verb in _WRITES - {"delete"} and known.made_by is None:
                known.made_by, known.tree = event, obj
            self._received[event.actor, identity].add(event.answered, version)
            self._current[identity.resource, identity.namespace, identity.name] = identity

    def records(self) -> list[Record]:
        """Everything, ordered."""
        timed: list[tuple[float, int, Record]] = []
        for identity, versions in self._versions.items():
            timed += self._commits(identity, versions)
        for event in self._events:
            timed += [(event.answered, 1, record) for record in self._others(event)]
        return [record for _, _, record in sorted(timed, key=lambda entry: entry[:2])]

    def _commits(self, identity: Identity, versions: dict[int, _Version]) -> Iterator[tuple[float, int, Record]]:
        before: Json = None
        latest = 0.0
        for version in sorted(versions):
            made, tree = versions[version].made_by, versions[version].tree
            created = made is not None and made.verb == "create"
            if before is not None or created:
                latest = max(latest, made.answered if made is not None else latest)
                yield latest, 0, self._commit(identity, version, None if created else before, tree, made)
            before = tree

    def _commit(self, identity: Identity, version: int, before: Json, tree: Json, made: _Event | None) -> Commit:
        if made is None:
            return Commit(UNSEEN, identity, version, "update", before, tree, precondition=version - 1)
        watching = self._watches(made)
        # Its own answer is none that it can have decided on, however soon that came.
        newest = self._received[made.actor, identity].until(min(made.sent + SLACK, nextafter(made.answered, 0)))
        return Commit(
            made.actor, identity, version, made.verb, before, tree, made.manager, made.subresource, made.content, made.body,
            precondition=named_version(made.body, made.content) if made.verb != "create" else None,
            newest=version - 1 if watching else newest, watching=watching,
            api_version=made.api_version, base=made.said.base, reads=made.said.reads, seen=made.said.seen,
        )  # fmt: skip

    def _watches(self, event: _Event) -> bool:
        since = self._watching.get((event.actor, event.resource))
        return since is not None and since < event.sent

    def _delivered(self, event: _Event, identity: Identity) -> int:
        """The version that a read gave; requests that overlap may be answered in any order, and that is no time travel."""
        received, version = self._received[event.actor, identity], version_of(event.answer)
        if received.until(event.sent) > version:
            return version
        return max(version, received.until(event.answered))

    def _others(self, event: _Event) -> Iterator[Record]:
        """Refused and idle writes, deletions, and reads after which an actor may have decided again."""
        if event.verb == "list":
            yield from self._listed(event)
            return
        identity = self._current.get(event.name)
        if identity is None:
            return
        done = 200 <= event.code < 300
        if _is_refusal(event):
            yield self._attempt(event, identity, "refused")
        elif event.verb == "delete" and done and _is_gone(event):
            last = max(self._versions[identity])
            yield Commit(event.actor, identity, last + 1, "delete", self._versions[identity][last].tree, None)
        elif event.verb == "get" and event.code == 200:
            yield Observation(event.actor, identity, self._delivered(event, identity))
        elif event.verb in ("update", "patch") and done:
            made = self._versions[identity].get(version_of(event.answer))
            if made is not None and made.made_by is not event:
                yield self._attempt(event, identity, "unchanged")

    def _listed(self, event: _Event) -> Iterator[Record]:
        """A list matters to whoever was refused before: it is a read of the object too."""
        if event.actor not in self._refused_actors:
            return
        for obj in _objects(event.answer):
            identity = _identity(event, obj)
            if (event.actor, (identity.resource, identity.namespace, identity.name)) in self._refused:
                yield Observation(event.actor, identity, max(version_of(obj), self._received[event.actor, identity].until(event.answered)))

    def _attempt(self, event: _Event, identity: Identity, outcome: str) -> Attempt:
        return Attempt(
            event.actor, identity, event.verb, outcome, event.content, event.subresource, event.body,
            named_version(event.body, event.content), event.code, event.manager, event.said.base, event.said.reads,
            self._watches(event), event.said.once,
        )  # fmt: skip


def _is_refusal(event: _Event) -> bool:
    """A conflict, or a failed test; other errors are no sign of another writer."""
    if event.verb not in ("update", "patch"):
        return False
    return event.code == 409 or is_failed_test(event.code, event.content, lookup(event.answer, ["details", "causes"]))


def _is_gone(event: _Event) -> bool:
    return lookup(event.answer, ["metadata", "deletionTimestamp"]) in (None, "") or not lookup(event.answer, ["metadata", "finalizers"])


def _objects(answer: Json) -> list[Json]:
    if not isinstance(answer, dict) or answer.get("kind") == "Status":
        return []
    return [item for item in answer["items"] if isinstance(item, dict)] if isinstance(answer.get("items"), list) else [answer]


def _identity(event: _Event, obj: Json) -> Identity:
    metadata: Any = obj.get("metadata") or {}
    return Identity(event.resource, metadata.get("namespace") or "", metadata.get("name") or "", metadata.get("uid") or "")
