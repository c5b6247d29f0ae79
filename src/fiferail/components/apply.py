"""Resources on the server: fetched, applied, deleted, let go.

The only module of this room that talks about resources with a server, and it never writes status. Objects are applied server-side by
a field manager of the component's own, forced, with the owner as controller where that may be. What is deleted or let go is the
very object that was looked at (by uid), never its successor of the same name.
"""

from __future__ import annotations

import hashlib
from http import HTTPStatus
from typing import TYPE_CHECKING, Any, TypeVar

import msgspec

from ..errors import ApiError, FiferailError, Invalid, NotFound
from ..objects.tree import same
from .place import controller_of
from .resource import Operation
from .unchanged import is_applied

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from ..objects.tree import Json
    from .place import Place
    from .resource import Resource

Done = TypeVar("Done")
_LONGEST_MANAGER = 128
_TRIES = 5
#: What applying does not count as a change of.
_UNCOUNTED = ("managedFields", "resourceVersion", "generation")


class Moved(FiferailError):
    """The object is no longer the version that was looked at."""


class Hands(msgspec.Struct, frozen=True):
    """A component's hands in one reconcile."""

    ctx: Place
    component: str

    @property
    def manager(self) -> str:
        """`<OwnerKind>/<component>`; its digest where that is too long for the server."""
        name = f"{self.ctx.snapshot['kind']}/{self.component}"
        return name if len(name.encode()) <= _LONGEST_MANAGER else hashlib.sha256(name.encode()).hexdigest()

    async def fetch(self, resource: Resource, *, live: bool = False) -> Json | None:
        """The object as it is, or None. From the cache where the kind is watched and the object is known; from the server otherwise."""
        api_version, kind = resource.desired["apiVersion"], resource.desired["kind"]
        try:
            namespace = await self._namespace(resource)
            if not live:
                known = self._known(api_version, kind, resource.name, namespace or "")
                if known is not None:
                    return known
            return await self.ctx.client.get(api_version, kind, resource.name, namespace)
        except NotFound:
            return None

    async def apply(self, resource: Resource, desired: Json, before: Json | None) -> tuple[Json, Operation]:
        """The object after it was applied, and what that did. What stands as it was applied before is not sent again."""
        body = await self._owned(resource, desired)
        if before is not None and is_applied(body, before, self.manager):
            return before, Operation.NONE
        after = await self._send(resource, body, before)
        operation = _operation(before, after)
        if operation is not Operation.NONE:
            verb, kind = operation.value.capitalize(), after["kind"]
            await self.ctx.event(f"{verb}{kind}", f"{verb} {kind} {after['metadata']['name']}", action=verb.removesuffix("d"))
        return after, operation

    async def _send(self, resource: Resource, body: Json, before: Json | None) -> Json:
        """Where another controller is minded, only onto the version that was looked at: it may have been taken since."""
        guarded = resource.block_on_foreign_controller and before is not None
        if before is not None and guarded:
            body = {**body, "metadata": {**body["metadata"], "resourceVersion": before["metadata"]["resourceVersion"]}}
        try:
            return await self.ctx.client.patch(body, body, "apply", field_manager=self.manager, force=True)
        except ApiError as error:
            if guarded and error.code == HTTPStatus.CONFLICT:
                raise Moved(f"{resource.text} changes faster than it can be looked at: {error.message}") from error
            raise

    async def look_and(self, resource: Resource, work: Callable[[Json | None], Awaitable[Done]]) -> Done:
        """Do the work on the object as it is known; again on the live one, where that has moved on."""
        try:
            return await work(await self.fetch(resource))
        except Moved:
            return await work(await self.fetch(resource, live=True))

    async def amend(self, resource: Resource, patch: Json, before: Json) -> Json:
        """Change a few fields of an object whose desired state cannot be told at the moment."""
        return await self.ctx.client.patch(before, patch, field_manager=self.manager)

    async def delete(self, resource: Resource, why: str) -> bool:
        """Delete the object; whether there was something to delete. What is on its way out, or gone, is left at that."""
        for live in (False, True):
            found = await self.fetch(resource, live=live)
            if found is None or found["metadata"].get("deletionTimestamp") or self.foreign(resource, found):
                return False
            version = found["metadata"]["resourceVersion"] if resource.block_on_foreign_controller else None
            try:
                await self.ctx.client.delete(found, found["metadata"]["uid"], version, "Background")
            except NotFound:
                return False
            except ApiError as error:
                if live or error.code != HTTPStatus.CONFLICT:
                    raise
                continue  # Another object of that name by now, or another owner: look at it before deciding.
            await self.ctx.event("ResourceDeleted", f"Deleted {resource.text}: {why}", action="Delete")
            break
        return True

    async def orphan(self, resource: Resource) -> bool:
        """Drop this owner's reference, and only it; whether there was one."""
        for attempt in range(_TRIES):
            found = await self.fetch(resource, live=attempt > 0)
            place = _reference(found, self.ctx.snapshot["metadata"]["uid"])
            if found is None or place is None:
                return False
            try:
                await self.ctx.client.patch(found, _dropping(found, place), "json", field_manager=self.manager)
            except NotFound:
                return False
            except Invalid:
                continue  # The references have moved since: look again.
            await self.ctx.event("ResourceOrphaned", f"Let go of {resource.text}", action="Orphan")
            return True
        raise FiferailError(f"the owner references of {resource.text} changed {_TRIES} times while letting go of it")

    def foreign(self, resource: Resource, found: Json | None) -> str:
        """Who controls the object, where that is somebody else and the resource minds."""
        if not resource.block_on_foreign_controller or found is None:
            return ""
        controller = controller_of(found)
        if controller is None or controller.get("uid") == self.ctx.snapshot["metadata"]["uid"]:
            return ""
        return f"{resource.text} is controlled by {controller.get('kind')} {controller.get('name')}"

    async def _owned(self, resource: Resource, desired: Json) -> Json:
        """What is sent: with its namespace, and with the owner as controller where the server allows it."""
        place = await self.ctx.client.resource(desired["apiVersion"], desired["kind"])
        owner = self.ctx.snapshot
        metadata = dict(desired["metadata"])
        if place.namespaced and not metadata.get("namespace") and owner["metadata"].get("namespace"):
            metadata["namespace"] = owner["metadata"]["namespace"]
        if not resource.unowned and (place.namespaced or not owner["metadata"].get("namespace")):
            metadata["ownerReferences"] = [*(metadata.get("ownerReferences") or []), _controller(owner)]
        return {**desired, "metadata": metadata}

    async def _namespace(self, resource: Resource) -> str | None:
        place = await self.ctx.client.resource(resource.desired["apiVersion"], resource.desired["kind"])
        return (resource.namespace or self.ctx.snapshot["metadata"].get("namespace")) if place.namespaced else None

    def _known(self, api_version: str, kind: str, name: str, namespace: str) -> Json | None:
        try:
            return self.ctx.cache.get(api_version, kind, name, namespace)
        except LookupError:
            return None  # Nobody watches the kind.


def _controller(owner: Json) -> dict[str, Any]:
    return {
        "apiVersion": owner["apiVersion"], "kind": owner["kind"], "name": owner["metadata"]["name"], "uid": owner["metadata"]["uid"],
        "controller": True, "blockOwnerDeletion": True,
    }  # fmt: skip


def _operation(before: Json | None, after: Json) -> Operation:
    if before is None:
        return Operation.CREATED
    if before["metadata"].get("resourceVersion") == after["metadata"].get("resourceVersion"):
        return Operation.NONE
    return Operation.NONE if same(_counted(before), _counted(after)) else Operation.UPDATED


def _counted(obj: Json) -> Json:
    metadata = {name: member for name, member in obj["metadata"].items() if name not in _UNCOUNTED}
    return {**{name: member for name, member in obj.items() if name != "status"}, "metadata": metadata}


def _reference(found: Json | None, uid: str) -> int | None:
    references = (found or {}).get("metadata", {}).get("ownerReferences") or []
    return next((index for index, reference in enumerate(references) if reference.get("uid") == uid), None)


def _dropping(found: Json, place: int) -> list[dict[str, Any]]:
    path = f"/metadata/ownerReferences/{place}"
    return [
        {"op": "test", "path": "/metadata/uid", "value": found["metadata"]["uid"]},
        {"op": "test", "path": f"{path}/uid", "value": found["metadata"]["ownerReferences"][place]["uid"]},
        {"op": "remove", "path": path},
    ]
