"""The plain client around any supported one: objects are dicts, answers that are no success are errors, kinds find their path.

What controllers and tests get. `Client(api)` and `AsyncClient(api)` take the client the operator already has.
A call that names no object, or whose name is not one path segment, is refused with FiferailError before anything is sent.
"""

from __future__ import annotations

from contextlib import aclosing, closing
from typing import TYPE_CHECKING, Any

from .adapters import async_transport_of, transport_of
from .calls import Calls, event
from .given import plain_object

if TYPE_CHECKING:
    import builtins
    from collections.abc import AsyncIterator, Callable, Iterator

    from ..objects.tree import Json
    from ..wire import AsyncTransport, Transport
    from .calls import Call, Resource, Result

AGENT = "fiferail"
PAGE = 500


class Client:
    """Blocking."""

    def __init__(self, api: Any, *, user_agent: str = AGENT, timeout: float | None = 30.0) -> None:
        self.transport: Transport = transport_of(api)
        self._calls = Calls(user_agent)
        self._timeout = timeout

    def get(self, api_version: str, kind: str, name: str, namespace: str | None = None) -> Json:
        """The object; NotFound where there is none."""
        return self._run(self._calls.get(api_version, kind, name, namespace))

    def list(
        self, api_version: str, kind: str, namespace: str | None = None, labels: str | None = None, fields: str | None = None,
        limit: int = PAGE,
    ) -> list[Json]:  # fmt: skip
        """All objects of the kind, in one namespace or all."""
        return self.snapshot(api_version, kind, namespace, labels, fields, limit)[0]

    def snapshot(
        self, api_version: str, kind: str, namespace: str | None = None, labels: str | None = None, fields: str | None = None,
        limit: int = PAGE,
    ) -> tuple[builtins.list[Json], str]:  # fmt: skip
        """The same with the resourceVersion of the list, from which a watch goes on."""
        return self._run(self._calls.list(api_version, kind, namespace, labels, fields, limit))

    def resource(self, api_version: str, kind: str) -> Resource:
        """Where the kind lives on the server: its path, and whether in namespaces. NotFound where it is not served."""
        return self._run(self._calls.resource(api_version, kind))

    def create(self, obj: Any, *, field_manager: str | None = None) -> Json:
        """Create; AlreadyExists when the name is taken."""
        return self._run(self._calls.create(plain_object(obj)[0], field_manager))

    def replace(self, obj: Any, subresource: str | None = None, *, field_manager: str | None = None) -> Json:
        """PUT the whole object, or its subresource. The resourceVersion in it guards."""
        return self._run(self._calls.replace(plain_object(obj)[0], subresource, field_manager))

    def patch(
        self, obj: Any, body: Any, type: str = "merge", subresource: str | None = None, field_manager: str | None = None,
        force: bool = False,
    ) -> Json:  # fmt: skip
        """merge, json, apply or strategic; `obj` names the object."""
        return self._run(self._calls.patch(plain_object(obj)[0], body, type, subresource, field_manager, force))

    def delete(
        self, obj: Any, uid: str | None = None, resource_version: str | None = None, propagation: str | None = None
    ) -> Json:
        """Delete the object that `obj` names, with preconditions where given; without a name it is refused, never the collection."""
        return self._run(self._calls.delete(plain_object(obj)[0], uid, resource_version, propagation))

    def watch(
        self, api_version: str, kind: str, namespace: str | None = None, resource_version: str | None = None, labels: str | None = None,
        fields: str | None = None, timeout_seconds: int | None = None,
    ) -> Iterator[tuple[str, Json]]:  # fmt: skip
        """(type, object) as they come, bookmarks included, until the server ends the stream."""
        call = self._calls.watch(api_version, kind, namespace, resource_version, labels, fields, timeout_seconds)
        request = self._run(call)
        with closing(self.transport.stream(request)) as lines:  # type: ignore[type-var]
            for line in lines:
                yield event(line)

    def _run(self, call: Call[Result]) -> Result:
        try:
            request = next(call)
            while True:
                request = call.send(self.transport.send(request, timeout=self._timeout))
        except StopIteration as done:
            result: Result = done.value
            return result

    def close(self) -> None:
        """Close what `connect` opened; a client that was passed in stays open."""
        close = getattr(self.transport, "close", None)
        if close is not None:
            close()

    def __enter__(self) -> Client:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


class AsyncClient:
    """Awaited."""

    def __init__(self, api: Any, *, user_agent: str = AGENT, timeout: float | None = 30.0) -> None:
        self.transport: AsyncTransport = async_transport_of(api)
        self._calls = Calls(user_agent)
        self._timeout = timeout

    async def get(self, api_version: str, kind: str, name: str, namespace: str | None = None) -> Json:
        """The object; NotFound where there is none."""
        return await self._run(self._calls.get(api_version, kind, name, namespace))

    async def list(
        self, api_version: str, kind: str, namespace: str | None = None, labels: str | None = None, fields: str | None = None,
        limit: int = PAGE,
    ) -> list[Json]:  # fmt: skip
        """All objects of the kind, in one namespace or all."""
        return (await self.snapshot(api_version, kind, namespace, labels, fields, limit))[0]

    async def snapshot(
        self, api_version: str, kind: str, namespace: str | None = None, labels: str | None = None, fields: str | None = None,
        limit: int = PAGE, each: Callable[[Json], Json] | None = None,
    ) -> tuple[builtins.list[Json], str]:  # fmt: skip
        """The same with the resourceVersion of the list, from which a watch goes on. `each` makes of an object what is kept of it."""
        return await self._run(self._calls.list(api_version, kind, namespace, labels, fields, limit, each))

    async def resource(self, api_version: str, kind: str) -> Resource:
        """Where the kind lives on the server: its path, and whether in namespaces. NotFound where it is not served."""
        return await self._run(self._calls.resource(api_version, kind))

    async def create(self, obj: Any, *, field_manager: str | None = None) -> Json:
        """Create; AlreadyExists when the name is taken."""
        return await self._run(self._calls.create(plain_object(obj)[0], field_manager))

    async def replace(self, obj: Any, subresource: str | None = None, *, field_manager: str | None = None) -> Json:
        """PUT the whole object, or its subresource. The resourceVersion in it guards."""
        return await self._run(self._calls.replace(plain_object(obj)[0], subresource, field_manager))

    async def patch(
        self, obj: Any, body: Any, type: str = "merge", subresource: str | None = None, field_manager: str | None = None,
        force: bool = False,
    ) -> Json:  # fmt: skip
        """merge, json, apply or strategic; `obj` names the object."""
        return await self._run(self._calls.patch(plain_object(obj)[0], body, type, subresource, field_manager, force))

    async def delete(
        self, obj: Any, uid: str | None = None, resource_version: str | None = None, propagation: str | None = None
    ) -> Json:
        """Delete the object that `obj` names, with preconditions where given; without a name it is refused, never the collection."""
        return await self._run(self._calls.delete(plain_object(obj)[0], uid, resource_version, propagation))

    async def watch(
        self, api_version: str, kind: str, namespace: str | None = None, resource_version: str | None = None, labels: str | None = None,
        fields: str | None = None, timeout_seconds: int | None = None,
    ) -> AsyncIterator[tuple[str, Json]]:  # fmt: skip
        """(type, object) as they come, bookmarks included, until the server ends the stream."""
        call = self._calls.watch(api_version, kind, namespace, resource_version, labels, fields, timeout_seconds)
        request = await self._run(call)
        async with aclosing(self.transport.stream(request)) as lines:  # type: ignore[type-var]
            async for line in lines:
                yield event(line)

    async def _run(self, call: Call[Result]) -> Result:
        try:
            request = next(call)
            while True:
                request = call.send(await self.transport.send(request, timeout=self._timeout))
        except StopIteration as done:
            result: Result = done.value
            return result

    async def close(self) -> None:
        """Close what `connect_async` opened; a client that was passed in stays open."""
        close = getattr(self.transport, "close", None)
        if close is not None:
            await close()

    async def __aenter__(self) -> AsyncClient:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()


