"""Puts stale list writes into audit logs: what a lost update would look like there.

A place is a write of some client that changed `status.conditions` of an object. Right after it another client, which watches the kind
like any controller, writes the list as it stood before that change, plus a condition of its own, in one of three forms: a merge patch, a
JSON patch that replaces the list, or a PUT that is refused, reads again and repeats its list on the fresh resourceVersion. The history
of the object ends there: nobody's later write could have the same answer.
"""

from __future__ import annotations

import datetime
from dataclasses import dataclass
from typing import Any, TypeGuard

Event = dict[str, Any]
FORMS = ("merge", "json", "put")
AGENT = "stale-operator/v1 (linux/amd64) kubernetes/0000000"
_ENDED = ("ResponseComplete", "ResponseStarted")


@dataclass(frozen=True)
class Stale:
    """One stale write to inject: where, in which form, by which client."""

    place: Place
    form: str
    agent: str = AGENT


@dataclass(frozen=True)
class Place:
    """A write that changed the conditions of an object, and the versions around it."""

    uid: str
    number: int  # of the event in the log
    agent: str
    before: Any  # the objects
    after: Any

    @property
    def key(self) -> tuple[str, str, str]:
        """What the later events of the object are found by."""
        metadata = self.after["metadata"]
        return self.after["kind"], metadata.get("namespace", ""), metadata["name"]

    @property
    def version(self) -> int:
        """The resourceVersion that the write made."""
        return _version(self.after)

    @property
    def changed(self) -> set[str]:
        """The types of the conditions that the write added, changed or removed."""
        old, new = _by_type(self.before), _by_type(self.after)
        return {name for name in old.keys() | new.keys() if old.get(name) != new.get(name)}


def places(events: list[Event]) -> list[Place]:
    """Every write in the log after which a stale list can follow."""
    known: dict[str, Any] = {}
    found = []
    for number, event in enumerate(events):
        obj = event.get("responseObject")
        if event["stage"] != "ResponseComplete" or not _is_object(obj) or not 200 <= _code(event) < 300:
            continue
        uid = obj["metadata"]["uid"]
        before = known.get(uid)
        if before is None or _version(obj) > _version(before):
            known[uid] = obj
        if event["verb"] not in ("update", "patch") or before is None or _version(obj) <= _version(before):
            continue
        place = Place(uid, number, event.get("userAgent", ""), before, obj)
        if _keyed(before) and _keyed(obj) and place.changed:
            found.append(place)
    return found


def rounds(chosen: list[Stale]) -> list[list[Stale]]:
    """The stale writes in groups: in one group no object is used twice."""
    made: list[list[Stale]] = []
    for stale in chosen:
        free = next((one for one in made if all(stale.place.key != other.place.key for other in one)), None)
        if free is None:
            made.append([stale])
        else:
            free.append(stale)
    return made


def others(events: list[Event], place: Place) -> list[str]:
    """The clients that could write stale: a new one, and the other controllers of the process that made the place's write."""
    program = place.agent.partition(" ")[0]
    agents = {event.get("userAgent", "") for event in events}
    return [AGENT, *sorted(agent for agent in agents if agent.partition(" ")[0] == program and agent != place.agent)]


def injected(events: list[Event], chosen: list[Stale]) -> list[Event]:
    """The log with the stale writes in it."""
    by_number = {stale.place.number: stale for stale in chosen}
    ended: set[tuple[str, str, str]] = set()
    last = {stale.place.uid: _version(stale.place.after) for stale in chosen}
    watched: dict[tuple[str, str, str], Event] = {}
    made: list[Event] = []
    for number, event in enumerate(events):
        if event["stage"] in _ENDED and not _is_later(event, ended, last):
            made.append(_without_later(event, last))
        if number in by_number:
            stale = by_number[number]
            made += stale_write(event, stale)
            ended.add(_named(event))
            watched.setdefault((event["objectRef"].get("apiGroup", ""), event["objectRef"]["resource"], stale.agent), event)
    first = min(event["requestReceivedTimestamp"] for event in events)
    return [*(_watch(event, agent, first) for (_, _, agent), event in watched.items()), *made]


def stale_write(event: Event, stale: Stale) -> list[Event]:
    """The events of one stale write, right after the one that it undoes."""
    place, form, agent = stale.place, stale.form, stale.agent
    live, version = place.after, _version(place.after)
    own = {
        "type": "StaleOperatorReady", "status": "True", "reason": "Injected", "message": f"decided on {_version(place.before)}",
        "lastTransitionTime": event["stageTimestamp"][:19] + "Z",
    }  # fmt: skip
    conditions = [*((place.before.get("status") or {}).get("conditions") or []), own]
    stored = _with(live, conditions, version + 1)
    if form == "merge":
        return [_event(event, agent, "patch", {"status": {"conditions": conditions}}, stored, 1)]
    if form == "json":
        return [_event(event, agent, "patch", [{"op": "replace", "path": "/status/conditions", "value": conditions}], stored, 1)]
    refusal = {"kind": "Status", "apiVersion": "v1", "status": "Failure", "reason": "Conflict", "code": 409}
    return [
        _event(event, agent, "update", _with(place.before, conditions, _version(place.before)), refusal, 1, 409),
        _event(event, agent, "get", None, live, 3),
        _event(event, agent, "update", _with(live, conditions, version), stored, 5),
    ]


def _event(event: Event, agent: str, verb: str, body: Any, answer: Any, after: int, code: int = 200) -> Event:
    """An event of the stale client about the object of another event, received so many microseconds after that was answered."""
    about = {**event["objectRef"], **({} if verb == "get" else {"subresource": "status"})}
    if verb == "get":
        about.pop("subresource", None)
    path = event["requestURI"].partition("?")[0].removesuffix("/status")
    manager = agent.partition("/")[0]
    made = {
        **event, "auditID": f"{event['auditID']}-{after}", "verb": verb, "userAgent": agent, "objectRef": about,
        "requestURI": path if verb == "get" else f"{path}/status?fieldManager={manager}",
        "responseStatus": {"metadata": {}, "code": code}, "requestObject": body, "responseObject": answer, "stage": "ResponseComplete",
        "requestReceivedTimestamp": _shifted(event["stageTimestamp"], after),
        "stageTimestamp": _shifted(event["stageTimestamp"], after + 1),
    }  # fmt: skip
    return {name: value for name, value in made.items() if value is not None}


def _watch(event: Event, agent: str, when: str) -> Event:
    """The stale client watches the kind from the beginning of the log."""
    about = {name: event["objectRef"][name] for name in ("apiGroup", "apiVersion", "resource") if name in event["objectRef"]}
    made = _event(event, agent, "get", None, None, 0)
    collection = event["requestURI"].partition("/namespaces/")[0] + f"/{about['resource']}?watch=true"
    return {**made, "verb": "watch", "objectRef": about, "requestURI": collection, "stage": "ResponseStarted",
            "requestReceivedTimestamp": when, "stageTimestamp": when}  # fmt: skip


def _is_later(event: Event, ended: set[tuple[str, str, str]], last: dict[str, int]) -> bool:
    """Whether the event belongs to a history that has ended."""
    obj = event.get("responseObject")
    if _is_object(obj) and _version(obj) > last.get(obj["metadata"]["uid"], _version(obj)):
        return True
    return bool((event.get("objectRef") or {}).get("name")) and _named(event) in ended


def _without_later(event: Event, last: dict[str, int]) -> Event:
    """A list without the versions that no longer exist."""
    answer = event.get("responseObject")
    if not isinstance(answer, dict) or not isinstance(answer.get("items"), list):
        return event
    kept = [one for one in answer["items"] if _version(one) <= last.get(one["metadata"].get("uid", ""), _version(one))]
    return event if len(kept) == len(answer["items"]) else {**event, "responseObject": {**answer, "items": kept}}


def _with(obj: Any, conditions: Any, version: int) -> Any:
    status = {**(obj.get("status") or {}), "conditions": conditions}
    return {**obj, "metadata": {**obj["metadata"], "resourceVersion": str(version)}, "status": status}


def _named(event: Event) -> tuple[str, str, str]:
    about = event["objectRef"]
    return about["resource"], about.get("namespace", ""), about.get("name", "")


def _is_object(obj: Any) -> TypeGuard[dict[str, Any]]:
    return isinstance(obj, dict) and obj.get("kind") != "Status" and "uid" in (obj.get("metadata") or {}) and _version(obj) > 0


def _keyed(obj: Any) -> bool:
    """Whether the conditions are absent, or entries with types, each once."""
    conditions = (obj.get("status") or {}).get("conditions") or []
    return len(_by_type(obj)) == len(conditions)


def _by_type(obj: Any) -> dict[str, Any]:
    return {
        entry["type"]: entry for entry in (obj.get("status") or {}).get("conditions") or [] if isinstance(entry, dict) and "type" in entry
    }


def _version(obj: Any) -> int:
    text = (obj.get("metadata") or {}).get("resourceVersion", "")
    return int(text) if text.isdigit() else 0


def _code(event: Event) -> int:
    return int((event.get("responseStatus") or {}).get("code") or 0)


def _shifted(when: str, microseconds: int) -> str:
    moment = datetime.datetime.fromisoformat(when) + datetime.timedelta(microseconds=microseconds)
    return moment.strftime("%Y-%m-%dT%H:%M:%S.%fZ")
