"""Hostile foreign writers: plain clients that merge, put, apply with force, delete, create again, edit the spec and change the CRD.

They keep two promises that the judge relies on: a token is written once, and a row or part named N carries the extra `x-N` or none.
"""

from __future__ import annotations

import contextlib
from typing import Any

import fiferail

from .edits import FIELDS, MEMBERS, TYPES
from .kind import API, CRD, NAME, NAMESPACE, Json, identity
from .lines import Book
from .verbs import Action

THEN = "2026-01-01T00:00:00Z"


def first_status(n: int) -> Json:
    """A status with everything in it."""
    return {
        "phase": "first", "note": "first", "mode": "Up", "gen": n % 5, "counter": {"n": 0, "by": "nobody"}, "net": {"a": "first"},
        "deep": {"known": "k", "camelCase": "c", "hidden": "h", "inner": {"known": "k", "hidden": "h"}}, "lastSeen": "first",
        "refs": ["first"], "tags": ["first"], "lastPlan": {"id": "none", "n": 0},
        "rows": [{"name": name, "by": "first", "extra": f"x-{name}"} for name in MEMBERS],
        "parts": [{"name": name, "by": "first", "extra": f"x-{name}"} for name in MEMBERS[: n % 4]],
        "conditions": [condition(name, "first") for name in TYPES[: n % 3]],
    }  # fmt: skip


def condition(type: str, message: str) -> Json:
    """One condition."""
    return {"type": type, "status": "True", "reason": "Foreign", "message": message, "lastTransitionTime": THEN}


async def make(door: Any, name: str, n: int) -> None:
    """A new object, with a status or without."""
    made = await door.call("create", {**identity(name), "spec": {"size": n % 7}})
    if n % 8:
        await door.call("patch", made, {"status": first_status(n)}, subresource="status", field_manager="maker")


class Foreigner:
    """One foreign client."""

    def __init__(self, door: Any, book: Book) -> None:
        self._door, self._book = door, book

    async def perform(self, action: Action) -> None:
        """One step; a refusal is a foreign client's own affair."""
        self._book.record.operations += 1
        with contextlib.suppress(fiferail.FiferailError):
            await getattr(self, action.verb)(action, f"t{action.id}.1;", action.number)

    async def _get(self, action: Action) -> Json:
        return await self._door.call("get", API, NAME, action.target, namespace=NAMESPACE)

    async def _merge(self, action: Action, status: Json) -> None:
        body = {"status": status}
        await self._door.call("patch", identity(action.target), body, subresource="status", field_manager="foreign")

    async def merge(self, action: Action, token: str, n: int) -> None:
        """A blind merge patch of one thing."""
        status: Json = (
            {FIELDS[n % 3]: token}, {"net": {MEMBERS[n % 3]: token}}, {FIELDS[n % 2]: None}, {"net": None}, {"gen": n % 50},
            {"refs": [token]}, {"extra": {MEMBERS[n % 3]: token}}, {"mode": ("Up", "Down")[n % 2]}, {"deep": {"hidden": token}},
            {"rows": [{"name": name, "by": token, "extra": f"x-{name}"} for name in MEMBERS[n % 3 :]]}, {"anything": token},
            {"lastSeen": token}, {"net": {"z": token}}, {"refs": None}, {"extra": None}, {"deep": {"inner": {"hidden": token}}},
        )[(n // 4) % 16]  # fmt: skip
        await self._merge(action, status)

    async def put(self, action: Action, token: str, n: int) -> None:
        """Read, change, PUT the whole status, as most controllers do."""
        obj = await self._get(action)
        status = obj.setdefault("status", {})
        name = MEMBERS[n % 3]
        entries = [entry for entry in status.get("parts") or [] if entry["name"] != name]
        status["parts"] = [*entries, {"name": name, "by": token, "extra": f"x-{name}"}]
        said = condition(TYPES[n % 3], token)
        kept = [entry for entry in status.get("conditions") or [] if entry["type"] != said["type"]]
        status["conditions"] = [said, *kept] if n % 2 else [*kept, said]
        await self._door.call("replace", obj, "status", field_manager="putter")

    async def replace_all(self, action: Action, token: str, n: int) -> None:
        """PUT another status altogether."""
        obj = await self._get(action)
        obj["status"] = {**first_status(n), "phase": token} if n % 3 else {"phase": token}
        await self._door.call("replace", obj, "status", field_manager="putter")

    async def apply(self, action: Action, token: str, n: int) -> None:
        """A forced apply, by one of two managers."""
        said = condition(TYPES[n % 3], token)
        status = ({"phase": token}, {"conditions": [said]}, {"net": {MEMBERS[n % 3]: token}}, {"owner": token})[n % 4]
        body = {**identity(action.target), "status": status}
        manager = f"applier-{n % 2}"
        await self._door.call("patch", body, body, type="apply", subresource="status", field_manager=manager, force=True)

    async def plan(self, action: Action, token: str, n: int) -> None:
        """A plan is made, or cleared as Plans clear it: with the fence raised."""
        obj = await self._get(action)
        status = obj.get("status") or {}
        fence = {"id": token, "n": (status.get("lastPlan") or {}).get("n", 0) + 1}
        body: Json = {"metadata": {"resourceVersion": obj["metadata"]["resourceVersion"]}}
        body["status"] = {"plan": None, "lastPlan": fence} if status.get("plan") else {"plan": {"id": token}}
        await self._door.call("patch", obj, body, subresource="status", field_manager="planner")

    async def clear(self, action: Action, token: str, n: int) -> None:
        """A plan is cleared, with the fence raised."""
        obj = await self._get(action)
        if (obj.get("status") or {}).get("plan"):
            await self.plan(action, token, n)

    async def spec(self, action: Action, token: str, n: int) -> None:
        """The spec changes, and the generation with it."""
        body = {"spec": {"size": n}}
        await self._door.call("patch", identity(action.target), body, field_manager="user")

    async def delete(self, action: Action, token: str, n: int) -> None:
        """The object goes; with an even number it comes again at once."""
        with contextlib.suppress(fiferail.FiferailError):
            await self._door.call("delete", identity(action.target))
        if n % 2 == 0:
            await make(self._door, action.target, n)

    async def create(self, action: Action, token: str, n: int) -> None:
        """The object comes, unless it is there."""
        await make(self._door, action.target, n)

    async def crd(self, action: Action, token: str, n: int) -> None:
        """The CRD changes: one more field."""
        schema = {"openAPIV3Schema": {"properties": {"status": {"properties": {f"fresh{n % 5}": {"type": "string"}}}}}}
        crd = await self._door.call("get", CRD["apiVersion"], CRD["kind"], CRD["metadata"]["name"])
        fields = crd["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"]["status"]["properties"]
        fields.update(schema["openAPIV3Schema"]["properties"]["status"]["properties"])
        await self._door.call("replace", crd)


FOREIGN = ("merge", "put", "replace_all", "apply", "plan", "clear", "spec", "delete", "create", "crd")
