"""Histories of one object, written as a chain of calls: who reads, who writes what by which request, what comes of it."""

from __future__ import annotations

from typing import Any

from fiferail.history.records import Attempt, Commit, Identity, Observation, Record

G = Identity("gadgets.example.io", "default", "g", "uid-1")
RECREATED = Identity("gadgets.example.io", "default", "g", "uid-2")


def gadget(version: int, **status: Any) -> Any:
    """An object at a version."""
    return {"metadata": {"name": "g", "resourceVersion": str(version)}, "status": status}


def cond(type_: str, status: str = "True") -> dict[str, str]:
    """A condition."""
    return {"type": type_, "status": status}


class History:
    """Records of one object, written as a story. Versions count up by one."""

    def __init__(self) -> None:
        self.records: list[Record] = []
        self.version = 0
        self.tree: Any = None
        self.object = G

    def created(self, by: str, **status: Any) -> History:
        """A new object."""
        return self._commit(by, status, verb="create", before=None)

    def reads(self, *actors: str, version: int | None = None, via: str = "get") -> History:
        """Each is given the current version, or the one named."""
        self.records += [Observation(actor, self.object, version or self.version, via) for actor in actors]
        return self

    def watches(self, *actors: str) -> History:
        """Each is sent the current version by a watch."""
        return self.reads(*actors, via="watch")

    def puts_unlocked(self, by: str, **status: Any) -> History:
        """PUT of the whole status without a resourceVersion, as some kinds allow."""
        return self._commit(by, status, verb="update", body={"status": status})

    def puts(self, by: str, at: int, **status: Any) -> History:
        """PUT of the whole status, with the resourceVersion that was read; refused when stale."""
        body = gadget(at, **status)
        if at != self.version:
            self.records.append(Attempt(by, self.object, "update", "refused", subresource="status", body=body, precondition=at, code=409))
            return self
        return self._commit(by, status, verb="update", body=body, precondition=at)

    def merges(self, by: str, patch: dict[str, Any], **tags: Any) -> History:
        """A merge patch of status without a lock."""
        status = {name: value for name, value in {**self.tree["status"], **patch}.items() if value is not None}
        return self._commit(by, status, verb="patch", content="merge", body={"status": patch}, **tags)

    def locks(self, by: str, at: int, patch: dict[str, Any]) -> History:
        """The same with the resourceVersion that was read; refused when stale."""
        if at == self.version:
            return self.merges(by, patch, precondition=at)
        body = {"metadata": {"resourceVersion": str(at)}, "status": patch}
        self.records.append(Attempt(by, self.object, "patch", "refused", "merge", "status", body, precondition=at, code=409))
        return self

    def refused(self, by: str, operations: list[Any], **tags: Any) -> History:
        """A JSON patch whose test fails."""
        self.records.append(Attempt(by, self.object, "patch", "refused", "json", "status", operations, code=422, **tags))
        return self

    def patches(self, by: str, operations: list[Any], status: dict[str, Any], **tags: Any) -> History:
        """A JSON patch and what comes of it."""
        return self._commit(by, status, verb="patch", content="json", body=operations, **tags)

    def strategic(self, by: str, patch: dict[str, Any], status: dict[str, Any], **tags: Any) -> History:
        """A strategic merge patch and what comes of it."""
        return self._commit(by, status, verb="patch", content="strategic", body={"status": patch}, **tags)

    def applies(self, by: str, applied: dict[str, Any], status: dict[str, Any], **more: Any) -> History:
        """Server-side apply and what comes of it."""
        return self._commit(by, status, verb="patch", content="apply", body={"status": applied}, **more)

    def managed(self, manager: str, fields: dict[str, Any]) -> History:
        """From here on the object says that the manager has applied these fields of status."""
        entry = {"manager": manager, "operation": "Apply", "subresource": "status", "fieldsV1": {"f:status": fields}}
        self.tree["metadata"]["managedFields"] = [entry]
        return self

    def sends_nothing_new(self, by: str, times: int, **tags: Any) -> History:
        """Writes that change nothing."""
        self.records += [Attempt(by, self.object, "patch", "unchanged", "merge", "status", {"status": {}}, **tags)] * times
        return self

    def deleted(self, by: str) -> History:
        """The object goes; what is created next is another."""
        self.version += 1
        self.records.append(Commit(by, self.object, self.version, "delete", self.tree, None))
        self.object = RECREATED
        return self

    def _commit(self, by: str, status: dict[str, Any], *, verb: str, before: Any = "current", **more: Any) -> History:
        self.version += 1
        after = gadget(self.version, **status)
        old = self.tree if before == "current" else before
        subresource = "" if verb == "create" else "status"
        self.records.append(Commit(by, self.object, self.version, verb, old, after, subresource=subresource, **more))
        self.tree = after
        return self


def start(**status: Any) -> History:
    """An object that `one` and `two` have read at version 1."""
    return History().created("maker", **status).reads("one", "two")


def chain(times: int, via: str) -> History:
    """`one` writes, is told of its own write, and writes again."""
    history = start(beat=0)
    for beat in range(1, times + 1):
        history.merges("one", {"beat": beat}).reads("one", via=via)
    return history


READY, PROBED = cond("Ready"), cond("Probed")
