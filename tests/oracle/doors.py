"""The public door, once for tasks and once for threads, so that a program is written once. Nothing but names is adapted here."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import fiferail

from .lines import AsyncLine, Book, Line

STRATEGIES = {"compare": fiferail.COMPARE, "locked": fiferail.LOCKED, "merge": fiferail.MERGE, "apply": fiferail.APPLY}


@dataclass
class Settings:
    """A writer of a program."""

    name: str
    strategy: str = "compare"
    claims: tuple[str, ...] = field(default=())


def _options(settings: Settings, book: Book) -> dict[str, Any]:
    chance = book.chance("writer", settings.name)
    return {
        "field_manager": settings.name, "strategy": STRATEGIES[settings.strategy], "chance": chance.random, "seconds": lambda: book.now,
        "now": lambda: "2026-01-01T00:00:00Z",
        **({"claims": {"Case.oracle.fiferail.dev": list(settings.claims)}} if settings.claims else {}),
    }  # fmt: skip


class AsyncDoor:
    """AsyncStatusWriter and AsyncClient."""

    is_async = True

    def __init__(self, settings: Settings, line: AsyncLine, book: Book) -> None:
        self.settings = settings
        self.client = fiferail.AsyncClient(line, user_agent=settings.name)
        self._writer = fiferail.AsyncStatusWriter(line, sleep=line.sleep, **_options(settings, book))

    def session(self, obj: Any, **options: Any) -> Any:
        """An async context manager."""
        return self._writer.session(obj, **options)

    async def flush(self, status: Any) -> Any:
        """Flush inside a session."""
        return await status.flush()

    async def create_in(self, status: Any, slot: str, build: Callable[[Any], Any], fence: str | None) -> Any:
        """Create once inside a session."""
        return await status.create_once(slot, build, fence=fence)

    async def mutate(self, obj: Any, fn: Callable[[Any], object], **options: Any) -> Any:
        """One call."""
        return await self._writer.mutate(obj, fn, **options)

    async def create_once(self, obj: Any, slot: str, build: Callable[[Any], Any], fence: str | None) -> Any:
        """Fill a slot once."""
        return await self._writer.create_once(obj, slot, build, fence=fence)

    async def edit(self, obj: Any, fn: Callable[[Any], object]) -> Any:
        """Spec and metadata."""
        return await self._writer.edit(obj, fn)

    async def call(self, verb: str, *arguments: Any, **options: Any) -> Any:
        """The plain client."""
        return await getattr(self.client, verb)(*arguments, **options)


class Door:
    """StatusWriter and Client, behind coroutines that never wait."""

    is_async = False

    def __init__(self, settings: Settings, line: Line, book: Book) -> None:
        self.settings = settings
        self.client = fiferail.Client(line, user_agent=settings.name)
        self._writer = fiferail.StatusWriter(line, sleep=line.sleep, **_options(settings, book))

    def session(self, obj: Any, **options: Any) -> Any:
        """An async context manager around a blocking one."""
        return _Entered(self._writer.session(obj, **options))

    async def flush(self, status: Any) -> Any:
        """Flush inside a session."""
        return status.flush()

    async def create_in(self, status: Any, slot: str, build: Callable[[Any], Any], fence: str | None) -> Any:
        """Create once inside a session."""
        return status.create_once(slot, build, fence=fence)

    async def mutate(self, obj: Any, fn: Callable[[Any], object], **options: Any) -> Any:
        """One call."""
        return self._writer.mutate(obj, fn, **options)

    async def create_once(self, obj: Any, slot: str, build: Callable[[Any], Any], fence: str | None) -> Any:
        """Fill a slot once."""
        return self._writer.create_once(obj, slot, build, fence=fence)

    async def edit(self, obj: Any, fn: Callable[[Any], object]) -> Any:
        """Spec and metadata."""
        return self._writer.edit(obj, fn)

    async def call(self, verb: str, *arguments: Any, **options: Any) -> Any:
        """The plain client."""
        return getattr(self.client, verb)(*arguments, **options)


class _Entered:
    def __init__(self, session: Any) -> None:
        self._session = session

    async def __aenter__(self) -> Any:
        return self._session.__enter__()

    async def __aexit__(self, *error: Any) -> Any:
        return self._session.__exit__(*error)
