"""What several workers ask about the same kind at the same moment is asked once.

The manager's transport. When a controller starts, each of its workers finds out with its first write where the kind is and how its
lists are keyed: documents about kinds, not objects. Whoever comes while such a question is under way gets the same answer.
Nothing is kept beyond that, and nothing else is touched: objects are read and written by who asks for them.
"""

from __future__ import annotations

import asyncio
import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from ..wire import Answer, AsyncTransport, Request

_ABOUT_KINDS = re.compile(r"/apis?(/[^/]+){0,2}|/openapi/v3(/.*)?")


class AskedOnce:
    """Carries requests over another transport."""

    def __init__(self, transport: AsyncTransport) -> None:
        self._transport = transport
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
        finally:
            del self._asked[request.path]
            asked.set_result(answer)
        return answer

    def stream(self, request: Request, /, timeout: float | None = None) -> AsyncIterator[bytes]:
        """The lines of a watch."""
        return self._transport.stream(request, timeout=timeout)
