"""What several ask about the same kind at the same moment is asked once, and where a kind is, is told to every writer.

The manager's transport. When a controller starts, each of its workers finds out with its first write where the kind is and how its
lists are keyed: documents about kinds, not objects. Whoever comes while such a question is under way gets the same answer. What the
informers have found out about a group by then the writers know already, and ask again only for what is not in it.
Nothing else is kept or touched: objects are read and written by who asks for them.
"""

from __future__ import annotations

import asyncio
import re
from typing import TYPE_CHECKING

import msgspec

from ..status import targets

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from ..status.targets import Resource
    from ..wire import Answer, AsyncTransport, Request

_SERVED = re.compile(r"/apis/([^/]+/[^/]+)|/api/([^/]+)")
_ABOUT_KINDS = re.compile(r"/apis?(/[^/]+){0,2}|/openapi/v3(/.*)?")


class AskedOnce:
    """Carries requests over another transport."""

    def __init__(self, transport: AsyncTransport, resources: dict[str, dict[str, Resource]] | None = None) -> None:
        self._transport = transport
        #: By apiVersion, as writers take it.
        self._resources = resources if resources is not None else {}
        self._asked: dict[str, asyncio.Future[Answer | None]] = {}

    async def send(self, request: Request, /, timeout: float | None = None) -> Answer:
        """One request, or the answer to the same one."""
        if request.method != "GET" or not _ABOUT_KINDS.fullmatch(request.path):
            return await self._transport.send(request, timeout=timeout)
        while (asked := self._asked.get(request.path)) is not None:
            answer = await asyncio.shield(asked)
            if answer is not None:
                return answer
        return await self._ask(request, timeout)

    async def _ask(self, request: Request, timeout: float | None) -> Answer:
        """Whoever waits for it asks for himself when this fails."""
        asked = self._asked[request.path] = asyncio.get_running_loop().create_future()
        answer = None
        try:
            answer = await self._transport.send(request, timeout=timeout)
            self._learn(request.path, answer)
        finally:
            del self._asked[request.path]
            asked.set_result(answer)
        return answer

    def _learn(self, path: str, answer: Answer) -> None:
        found = _SERVED.fullmatch(path)
        if found is None or answer.status != 200:
            return
        try:
            self._resources[found[1] or found[2]] = targets.resources(answer.json())
        except (msgspec.DecodeError, AttributeError, KeyError, TypeError):
            return  # no such document: whoever asked for it will say so

    def stream(self, request: Request, /, timeout: float | None = None) -> AsyncIterator[bytes]:
        """The lines of a watch."""
        return self._transport.stream(request, timeout=timeout)
