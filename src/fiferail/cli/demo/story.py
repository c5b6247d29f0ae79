"""The mended operator at work: a Manager in this process, over HTTP to the demonstration's server, while workloads come and go.

Each step does something, then waits until a watch shows the operator's answer in the config's status, and takes the time. Nothing is
assumed: an answer that does not come ends the story, and is said.
"""

from __future__ import annotations

import asyncio
import time
from contextlib import aclosing, asynccontextmanager, suppress
from typing import TYPE_CHECKING

from ...clients.client import AsyncClient
from ...clients.http1 import AsyncHttpTransport
from ...controllers.manager import Manager
from ...errors import FiferailError
from ...status.writer import AsyncStatusWriter
from .kinds import AUTH, workload
from .lists import NAME, OWNER
from .operator import configs
from .table import Shown, conditions, listed

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Awaitable, Callable

    from rich.console import Console

    from ...apiserver.embedded import EmbeddedServer
    from ...objects.tree import Json
    from ...testing.checking import Watchman
    from ...wire import Answer, Request

#: Seconds to wait for an answer of the operator before it counts as none.
PATIENCE = 5.0
#: Seconds between two steps, for the reader; none where nobody watches.
PAUSE = 0.8
REPORTER, USER = "probe-reporter", "user"


class NotAsTold(FiferailError):
    """The operator did not answer as it should."""


class Line(AsyncHttpTransport):
    """The operator's connections; counts what goes over them."""

    def __init__(self, url: str) -> None:
        super().__init__(url, user_agent=OWNER)
        self.requests = 0
        self.status_writes = 0

    async def send(self, request: Request, /, timeout: float | None = None) -> Answer:
        """Pass on and count."""
        self.requests += 1
        self.status_writes += request.path.endswith("/status")
        return await super().send(request, timeout)

    def stream(self, request: Request, /, timeout: float | None = None) -> AsyncIterator[bytes]:
        """A watch is one request."""
        self.requests += 1
        return super().stream(request, timeout)


class Story:
    """What is done, and what is seen of it."""

    def __init__(self, url: str, shown: Shown, pause: float) -> None:
        self._url = url
        self._shown = shown
        self._pause = pause
        self.line = Line(url)
        self._user = AsyncClient(AsyncHttpTransport(url, user_agent=USER), user_agent=USER)
        self._reporter = AsyncHttpTransport(url, user_agent=REPORTER)
        self._config: Json | None = None
        self._moved = asyncio.Event()

    async def tell(self) -> None:
        """From the start of the operator to the end of the config."""
        self._config = await self._user.get(AUTH, "AuthConfig", NAME, "default")
        async with self._watching():
            manager = Manager(configs(), client=AsyncClient(self.line, user_agent=OWNER))
            serving: list[asyncio.Future[None]] = []
            try:
                await self._step("start the operator", lambda: _begin(serving, manager), _has("Server/a", says="Valid"))
                await self._steps()
            finally:
                manager.stop()
                await asyncio.gather(*serving)
        for transport in (self.line, self._user.transport, self._reporter):
            await transport.close()  # type: ignore[attr-defined]

    async def _steps(self) -> None:
        both = _has("Gateway/g", "Proxy/p", "Server/a")
        await self._step("create Gateway g, Proxy p", lambda: self._create(("Gateway", "g"), ("Proxy", "p")), both)
        await self._step(f"{REPORTER} sets Probed", self._probe, lambda obj: obj is not None and "Probed" in conditions(obj))
        await self._step("point Proxy p elsewhere", self._move, _has("Gateway/g", "Server/a"))
        held = _has("Gateway/g", "Server/a", says="DeletionBlocked (referenced by Gateway g, Server a)")
        await self._step(f"delete AuthConfig {NAME}", lambda: self._delete("AuthConfig", NAME), held)
        held = _has("Server/a", says="DeletionBlocked (referenced by Server a)")
        await self._step("delete Gateway g", lambda: self._delete("Gateway", "g"), held)
        await self._step("delete Server a", lambda: self._delete("Server", "a"), lambda obj: obj is None)

    async def _step(self, what: str, do: Callable[[], Awaitable[object]], until: Callable[[Json | None], bool]) -> None:
        """Do it, and wait until the config shows what it should."""
        row = self._shown.began(what, self._config)
        before, started = self.line.status_writes, time.perf_counter()
        await do()
        try:
            async with asyncio.timeout(PATIENCE):
                while not until(self._config):
                    self._moved.clear()
                    await self._moved.wait()
                    row.obj, row.writes = self._config, self.line.status_writes - before
        except TimeoutError:
            raise NotAsTold(f"{what}: no answer of the operator in {PATIENCE:g} s; the config is {self._config}") from None
        row.seconds, row.obj, row.writes = time.perf_counter() - started, self._config, self.line.status_writes - before
        self._shown.done()
        await asyncio.sleep(self._pause)

    # -- what is done

    async def _create(self, *named: tuple[str, str]) -> None:
        await asyncio.gather(*(self._user.create(workload(kind, name, NAME)) for kind, name in named))

    async def _move(self) -> None:
        await self._user.patch(workload("Proxy", "p", NAME), {"spec": {"configRef": {"name": "other"}}})

    async def _delete(self, kind: str, name: str) -> None:
        await self._user.delete({"apiVersion": AUTH, "kind": kind, "metadata": {"name": name, "namespace": "default"}})

    async def _probe(self) -> None:
        writer = AsyncStatusWriter(self._reporter, field_manager=REPORTER)
        await writer.mutate(self._config, lambda status: status.conditions.set("Probed", True, reason="Answered"))

    # -- what is seen

    @asynccontextmanager
    async def _watching(self) -> AsyncIterator[None]:
        task = asyncio.ensure_future(self._watch())
        try:
            yield
        finally:
            task.cancel()
            with suppress(asyncio.CancelledError):
                await task

    async def _watch(self) -> None:
        assert self._config is not None
        stream = self._user.watch(AUTH, "AuthConfig", "default", self._config["metadata"]["resourceVersion"])
        async with aclosing(stream) as events:  # type: ignore[type-var]
            async for what, obj in events:
                if what != "BOOKMARK":
                    self._config = None if what == "DELETED" else obj
                    self._moved.set()


async def _begin(serving: list[asyncio.Future[None]], manager: Manager) -> None:
    serving.append(asyncio.ensure_future(manager.serve()))


def _has(*entries: str, says: str = "") -> Callable[[Json | None], bool]:
    """Whether the config's list is exactly that, and its conditions say that."""
    return lambda obj: obj is not None and listed(obj) == list(entries) and (not says or says in conditions(obj))


def with_one_owner(console: Console, server: EmbeddedServer, watchman: Watchman) -> bool:
    """Tell it; whether it came out as it should, and nothing was lost."""
    from rich.markup import escape

    console.rule("[bold]the mended operator: one owner of the list, running in this process", align="left")
    console.print("[dim]  after: until a watch shows the answer. writes: of the status, by the operator.[/]")
    shown = Shown(console)
    before = watchman.commits
    story = Story(server.url, shown, PAUSE if shown.live else 0.0)
    try:
        with shown.running():
            asyncio.run(story.tell())
    except NotAsTold as error:
        console.print(f"[bold red]{escape(str(error))}[/]")
        return False
    with server.lock:
        lost, heard = watchman.lost(), watchman.commits - before
    sent = f"The operator sent {story.line.requests} requests, {story.line.status_writes} of them status writes."
    verdict = "[bold red]" + escape("\n".join(lost)) + "[/]" if lost else "[bold green]Nothing lost[/], says the checker."
    console.print(f"{sent} {heard} writes were heard. {verdict}\n")
    return not lost


__all__ = ["NotAsTold", "Story", "with_one_owner"]
