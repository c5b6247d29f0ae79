"""Records from the audit log of a kube-apiserver: what the checker needs to judge a cluster that fiferail did not serve.

The log must hold requests and answers (level RequestResponse). It says who asked, when the request came and when it was answered, so what
a client had been given before it sent is known; what a watch delivered is not, so a client that watches is taken to know
whatever was committed before it sent: only what is certain is reported.
"""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING, Any

import msgspec

from ..objects.tree import lookup
from .asserted import named_version
from .records import Attempt, Commit, Identity, Observation, Record, actor_of

if TYPE_CHECKING:
    from collections.abc import Iterable

    from ..objects.tree import Json

_WRITES = frozenset({"create", "update", "patch", "delete"})
#: Who wrote a version that the log does not explain: it began later, or somebody reached the storage another way.
UNSEEN = "(unseen)"


class _Event(msgspec.Struct):
    """One request with its answer."""

    actor: str
    verb: str
    resource: str
    subresource: str
    sent: str
    answered: str
    code: int
    body: Json
    answer: Json
    name: tuple[str, str, str]
    manager: str = ""
    content: str = ""


class _Version(msgspec.Struct):
    """A version of an object, and the write that made it, where the log has it."""

    tree: Json
    made_by: _Event | None = None


def records(lines: Iterable[str | bytes]) -> list[Record]:
    """The records of a log, in the order in which the server did things. Lines that are no audit events are passed over."""
    events = sorted(filter(None, map(_event, lines)), key=lambda event: event.answered)
    return _History(events).records()


def _event(line: str | bytes) -> _Event | None:
    try:
        raw = msgspec.json.decode(line)
    except msgspec.DecodeError:
        return None
    if not isinstance(raw, dict) or raw.get("kind") != "Event" or raw.get("stage") not in ("ResponseComplete", "ResponseStarted"):
        return None
    about = raw.get("objectRef") or {}
    verb = raw.get("verb") or ""
    if not about.get("resource") or (raw["stage"] == "ResponseStarted") != (verb == "watch"):
        return None
    resource = f"{about['resource']}.{about['apiGroup']}" if about.get("apiGroup") else about["resource"]
    body, uri = raw.get("requestObject"), raw.get("requestURI") or ""
    manager = uri.partition("fieldManager=")[2].partition("&")[0]
    agent: str = raw.get("userAgent") or (raw.get("user") or {}).get("username") or ""
    return _Event(
        actor_of(agent), verb, resource, about.get("subresource") or "",
        raw.get("requestReceivedTimestamp") or "", raw.get("stageTimestamp") or "", int((raw.get("responseStatus") or {}).get("code") or 0),
        body, raw.get("responseObject"), (resource, about.get("namespace") or "", about.get("name") or ""),
        manager, _content(verb, body, manager),
    )  # fmt: skip


def _content(verb: str, body: Json, manager: str) -> str:
    """The log does not say which patch it was; the body nearly does."""
    if verb != "patch":
        return ""
    if isinstance(body, list):
        return "json"
    return "apply" if manager and isinstance(body, dict) and body.get("apiVersion") and body.get("kind") else "merge"


class _History:
    """The log put in order: versions by resourceVersion, everything else by when it was answered."""

    def __init__(self, events: list[_Event]) -> None:
        self._events = events
        self._versions: dict[Identity, dict[int, _Version]] = defaultdict(dict)
        self._current: dict[tuple[str, str, str], Identity] = {}
        #: When an actor was given a version; when a version was committed; since when an actor watches a resource.
        self._given: dict[tuple[str, Identity], list[tuple[str, int]]] = defaultdict(list)
        self._watching: dict[tuple[str, str], str] = {}
        for event in events:
            self._note(event)

    def _note(self, event: _Event) -> None:
        if event.verb == "watch":
            self._watching.setdefault((event.actor, event.resource), event.sent)
        if not 200 <= event.code < 300:
            return
        for obj in _objects(event.answer):
            identity, version = _identity(event, obj), _number(obj)
            if not identity.uid or not version:
                continue
            known = self._versions[identity].setdefault(version, _Version(obj))
            if event.verb in _WRITES - {"delete"} and known.made_by is None:
                known.made_by, known.tree = event, obj
            self._given[event.actor, identity].append((event.answered, version))
            self._current[event.name[0], identity.namespace, identity.name] = identity

    def records(self) -> list[Record]:
        """Everything, ordered."""
        timed: list[tuple[str, int, Record]] = []
        for identity, versions in self._versions.items():
            timed += self._commits(identity, versions)
        for event in self._events:
            timed += [(event.answered, 1, record) for record in self._others(event)]
        return [record for _, _, record in sorted(timed, key=lambda entry: entry[:2])]

    def _commits(self, identity: Identity, versions: dict[int, _Version]) -> list[tuple[str, int, Record]]:
        found: list[tuple[str, int, Record]] = []
        before: Json = None
        latest = ""
        for version in sorted(versions):
            made, tree = versions[version].made_by, versions[version].tree
            created = made is not None and made.verb == "create"
            if before is not None or created:
                latest = max(latest, made.answered if made is not None else latest)
                found.append((latest, 0, self._commit(identity, version, None if created else before, tree, made)))
            before = tree
        return found

    def _commit(self, identity: Identity, version: int, before: Json, tree: Json, made: _Event | None) -> Commit:
        if made is None:
            return Commit(UNSEEN, identity, version, "update", before, tree, base=version - 1)
        precondition = named_version(made.body, made.content) if made.verb != "create" else None
        return Commit(
            made.actor, identity, version, made.verb, before, tree, made.manager, made.subresource, made.content, made.body,
            precondition=precondition, base=None if precondition is not None else self._known_to(made, identity),
        )  # fmt: skip

    def _known_to(self, event: _Event, identity: Identity) -> int:
        """The newest version that the actor can have known when it sent."""
        newest = max((version for when, version in self._given[event.actor, identity] if when < event.sent), default=0)
        if self._watching.get((event.actor, event.resource), "~") < event.sent:
            committed = ((v.made_by.answered, number) for number, v in self._versions[identity].items() if v.made_by is not None)
            newest = max((number for when, number in committed if when < event.sent), default=newest)
        return newest

    def _delivered(self, event: _Event, identity: Identity) -> int:
        """The version that a read gave; requests that overlap may be answered in any order, and that is no time travel."""
        given, version = self._given[event.actor, identity], _number(event.answer)
        if any(known > version for when, known in given if when < event.sent):
            return version
        return max([version, *(known for when, known in given if when <= event.answered)])

    def _others(self, event: _Event) -> list[Record]:
        """Refused and idle writes, deletions, and reads after which an actor may have thought again."""
        identity = self._current.get(event.name)
        if event.verb in ("update", "patch") and event.code in (409, 422) and identity is not None:
            named = named_version(event.body, event.content)
            return [
                Attempt(event.actor, identity, event.verb, "refused", event.content, event.subresource, event.body, named, event.code)
            ]
        if event.verb == "delete" and 200 <= event.code < 300 and identity is not None and _is_gone(event):
            last = max(self._versions[identity])
            return [Commit(event.actor, identity, last + 1, "delete", self._versions[identity][last].tree, None)]
        if event.verb == "get" and event.code == 200 and identity is not None:
            return [Observation(event.actor, identity, self._delivered(event, identity))]
        if event.verb in ("update", "patch") and 200 <= event.code < 300 and identity is not None:
            made = self._versions[identity].get(_number(event.answer))
            if made is not None and made.made_by is not event:
                return [Attempt(event.actor, identity, event.verb, "unchanged", event.content, event.subresource, event.body)]
        return []


def _is_gone(event: _Event) -> bool:
    return lookup(event.answer, ["metadata", "deletionTimestamp"]) in (None, "") or not lookup(event.answer, ["metadata", "finalizers"])


def _objects(answer: Json) -> list[Json]:
    if not isinstance(answer, dict) or answer.get("kind") == "Status":
        return []
    return [item for item in answer["items"] if isinstance(item, dict)] if isinstance(answer.get("items"), list) else [answer]


def _identity(event: _Event, obj: Json) -> Identity:
    metadata: Any = obj.get("metadata") or {}
    return Identity(event.resource, metadata.get("namespace") or "", metadata.get("name") or "", metadata.get("uid") or "")


def _number(obj: Json) -> int:
    text = lookup(obj, ["metadata", "resourceVersion"])
    return int(text) if isinstance(text, str) and text.isdigit() else 0
