"""The two writers: the same verbs, blocking and awaited. Everything they decide is in `core` and `conversation`.

    session     stage in memory, write once when the block ends
    mutate      one call: the function edits the status, and runs again when what it looked at has changed
    create_once exactly one winner; the losers get the winner's value
    edit        spec and metadata of the same object, always guarded
"""

from __future__ import annotations

import time
from _thread import allocate_lock, get_ident
from collections.abc import Mapping
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any, TypeVar

from ..errors import FiferailError
from ..objects.paths import Value
from .core import Core, Open, Settings
from .effects import run, run_async
from .patience import Budget
from .strategies import COMPARE, MERGE, Strategy, checked
from .view import MapView, Status

if TYPE_CHECKING:
    import asyncio
    from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Sequence
    from types import TracebackType

    from ..wire import AsyncTransport, Transport
    from .claims import Claims
    from .effects import Conversation
    from .hooks import Hook
    from .outcome import Made, Outcome
    from .scopes import Scope
    from .targets import Resource

Result = TypeVar("Result")
FLUSH, DISCARD = "flush", "discard"
FINALIZERS = ("metadata", "finalizers")
INSIDE = "this session is being written: flush and create_once cannot be called inside of `build`, whose result they would wait for"


#: The second that was asked for last, and its text: many conditions are said within one.
_second: tuple[int, str] = 0, ""


def _utc_now() -> str:
    global _second
    now = int(time.time())
    known, text = _second
    if known != now:
        text = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(now))
        _second = now, text
    return text


def _chance() -> float:
    import random

    return random.random()


def _settings(
    field_manager: str, strategy: Strategy, keys: Mapping[str, Sequence[str]] | None, budget: Budget | None, timeout: float | None,
    now: Callable[[], str] | None, chance: Callable[[], float] | None, seconds: Callable[[], float] | None,
) -> Settings:  # fmt: skip
    return Settings(
        field_manager=field_manager, strategy=checked(strategy), keys={place: tuple(names) for place, names in (keys or {}).items()},
        budget=budget or Budget(), timeout=timeout, now=now or _utc_now, chance=chance or _chance,
        seconds=seconds or time.monotonic,
    )  # fmt: skip


def _check(claims: object, keys: object, budget: object) -> None:
    """Refuse options of another type here: later they would fail with an error that does not name them, or do nothing."""
    if claims is not None and not isinstance(claims, Mapping):
        raise TypeError(f'expected claims as {{"Gadget.example.io": ["phase"]}}, got {type(claims).__name__}')
    if keys is not None and not isinstance(keys, Mapping):
        raise TypeError(f'expected keys as {{"workloads": ("kind", "name")}}, got {type(keys).__name__}')
    for place, names in (keys or {}).items():
        if isinstance(names, str):
            raise TypeError(f'expected keys of {place} as a list of names, such as ("kind", "name"), got {names!r}')
    if budget is not None and not isinstance(budget, Budget):
        raise TypeError(f"expected budget as fiferail.Budget(seconds=60), got {type(budget).__name__}")


class _Writer:
    """The arguments of both writers."""

    def __init__(
        self,
        *,
        field_manager: str,
        strategy: Strategy = COMPARE,
        claims: Mapping[str, Sequence[str]] | None = None,
        registry: Claims | None = None,
        keys: Mapping[str, Sequence[str]] | None = None,
        hooks: Iterable[Hook] = (),
        budget: Budget | None = None,
        timeout: float | None = 30.0,
        now: Callable[[], str] | None = None,
        chance: Callable[[], float] | None = None,
        seconds: Callable[[], float] | None = None,
        resources: dict[str, dict[str, Resource]] | None = None,
    ) -> None:
        _check(claims, keys, budget)
        settings = _settings(field_manager, strategy, keys, budget, timeout, now, chance, seconds)
        self._core = Core(settings, claims, registry, hooks, resources)

    def _open(self, obj: Any, guard: Sequence[str] = (), *, once: bool = False, strategy: Strategy | None = None) -> Open:
        if guard and checked(strategy or self._core.settings.strategy) is MERGE:
            raise ValueError("expected no guard= with MERGE, which tests nothing: use COMPARE or LOCKED")
        tree, lossy = self._plain(obj)
        if strategy is not None:
            checked(strategy)
        opened = self._core.open(tree, guard, lossy)
        opened.once = once
        return opened

    def _plain(self, obj: Any) -> tuple[Any, bool]:
        """The object as a tree, and whether that lost something. Overridden where clients' own objects are known."""
        return obj, False


class StatusWriter(_Writer):
    """Writes status over a blocking transport."""

    def __init__(self, transport: Transport, *, sleep: Callable[[float], object] = time.sleep, **settings: Any) -> None:
        super().__init__(**settings)
        self._transport = transport
        self._sleep = sleep

    def session(self, obj: Any, *, guard: Sequence[str] = (), strategy: Strategy | None = None, on_error: str = FLUSH) -> Session:
        """Stage in memory; one request when the block ends, none when nothing changed."""
        return Session(self, self._open(obj, guard, once=True, strategy=strategy), strategy, on_error)

    def mutate(self, obj: Any, fn: Callable[[Status], object], *, guard: Sequence[str] = (), strategy: Strategy | None = None) -> Outcome:
        """`fn(status)` edits it; it may run twice: again on the live object when something it looked at has changed."""
        opened = self._open(obj, guard, strategy=strategy)
        return self._run(self._core.mutate(opened, Status(opened.stage, ("status",)), fn, strategy))

    def create_once(self, obj: Any, slot: str, build: Callable[[Any], Any], *, fence: str | None = None, token: str = "") -> Made:
        """Fill `status.<slot>` with what `build(object)` gives, unless somebody has: then that is what you get.

        `build` gets a read-only view of the whole object; what it reads there is guarded. It may run again, on the live object, and
        may return None: nothing to create. `fence` is the path of a field that changes whenever the slot is cleared: without it a busy
        object can starve the call. `token` names a member of the value that is unique to the call (filled in where `build` leaves it
        out): with it `made.created` is known even after a lost answer.
        """
        return self._run(self._core.create_once(self._open(obj), slot, build, fence, token))

    def edit(self, obj: Any, fn: Callable[[MapView], object], *, strategy: Strategy = COMPARE) -> Outcome:
        """`fn(object)` edits spec and metadata; a conflict is raised."""
        opened = self._open(obj)
        opened.subresource = ""
        return self._run(self._core.edit(opened, MapView(opened.stage, ()), fn, strategy))

    def add_finalizer(self, obj: Any, name: str) -> Outcome:
        """Add a finalizer, if it is not there."""
        return self.edit(obj, lambda view: _add_finalizer(view, name))

    def remove_finalizer(self, obj: Any, name: str) -> Outcome:
        """Remove a finalizer, if it is there."""
        return self.edit(obj, lambda view: _remove_finalizer(view, name))

    def _run(self, conversation: Conversation[Result]) -> Result:
        return run(conversation, self._transport, self._sleep, self._core.settings.timeout)


class SessionStatus(Status):
    """The status inside a session."""

    __slots__ = ("_session",)

    def __init__(self, session: Session) -> None:
        super().__init__(session.opened.stage, ("status",))
        self._session = session

    @property
    def outcome(self) -> Outcome | None:
        """What came of the last flush; None before it."""
        return self._session.outcome

    def flush(self) -> Outcome:
        """Write now, before anything acts on it. The session goes on: what was read before stays guarded."""
        return self._session.flush()

    def create_once(self, slot: str, build: Callable[[Any], Any], *, fence: str | None = None, token: str = "") -> Made:
        """As the writer's; what is staged goes along in the same request."""
        return self._session.create_once(slot, build, fence, token, getattr(self._stage, "name", ""))


class Session:
    """`with writer.session(obj) as status`."""

    def __init__(self, writer: StatusWriter, opened: Open, strategy: Strategy | None, on_error: str) -> None:
        self._writer = writer
        self.opened = opened
        self._strategy = strategy
        self._on_error = _checked(on_error)
        self._failed: Exception | None = None
        self._turn = _Turn()
        self.outcome: Outcome | None = None

    def __enter__(self) -> SessionStatus:
        return SessionStatus(self)

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        try:
            if not _discards(error, self._on_error, self._failed):
                self._write()
        except Exception as failure:
            if error is None:
                raise
            error.add_note(f"and the status could not be written: {failure}")
        finally:
            self.opened.end()

    def flush(self) -> Outcome:
        """Write what is staged; the session goes on."""
        return self._write()

    def create_once(self, slot: str, build: Callable[[Any], Any], fence: str | None, token: str, scope: str = "") -> Made:
        """Fill the slot, and write what is staged with it."""
        with self._turn:
            try:
                return self._writer._run(self._writer._core.create_once(self.opened, slot, build, fence, token, self._strategy, scope))
            except FiferailError as failure:
                self._failed = failure
                raise

    def _write(self) -> Outcome:
        with self._turn:
            try:
                self.outcome = self._writer._run(self._writer._core.flush(self.opened, self._strategy))
            except Exception as failure:
                self._failed = failure
                self.outcome = getattr(failure, "outcome", None) or self.outcome
                raise
        return self.outcome


class _Turn:
    """Threads that share a session flush one after the other; `build` must not, because it runs inside of that."""

    __slots__ = ("_holder", "_lock")

    def __init__(self) -> None:
        self._lock = allocate_lock()
        self._holder = 0

    def __enter__(self) -> None:
        if self._holder == get_ident():
            raise FiferailError(INSIDE)
        self._lock.acquire()
        self._holder = get_ident()

    def __exit__(self, *_: object) -> None:
        self._holder = 0
        self._lock.release()


class AsyncStatusWriter(_Writer):
    """Writes status over an async transport."""

    def __init__(self, transport: AsyncTransport, *, sleep: Callable[[float], Awaitable[object]] | None = None, **settings: Any) -> None:
        super().__init__(**settings)
        self._transport = transport
        self._sleep = sleep

    def session(self, obj: Any, *, guard: Sequence[str] = (), strategy: Strategy | None = None, on_error: str = FLUSH) -> AsyncSession:
        """Stage in memory; one request when the block ends, none when nothing changed."""
        return AsyncSession(self, self._open(obj, guard, once=True, strategy=strategy), strategy, on_error)

    async def mutate(
        self, obj: Any, fn: Callable[[Status], object], *, guard: Sequence[str] = (), strategy: Strategy | None = None
    ) -> Outcome:
        """`fn(status)`, a function or a coroutine function, edits it; it may run twice."""
        opened = self._open(obj, guard, strategy=strategy)
        return await self._run(self._core.mutate(opened, Status(opened.stage, ("status",)), fn, strategy))

    async def create_once(
        self, obj: Any, slot: str, build: Callable[[Any], Any], *, fence: str | None = None, token: str = ""
    ) -> Made:  # fmt: skip
        """As `StatusWriter.create_once`; `build` may be a coroutine function."""
        return await self._run(self._core.create_once(self._open(obj), slot, build, fence, token))

    async def edit(self, obj: Any, fn: Callable[[MapView], object], *, strategy: Strategy = COMPARE) -> Outcome:
        """`fn(object)` edits spec and metadata; a conflict is raised."""
        opened = self._open(obj)
        opened.subresource = ""
        return await self._run(self._core.edit(opened, MapView(opened.stage, ()), fn, strategy))

    async def add_finalizer(self, obj: Any, name: str) -> Outcome:
        """Add a finalizer, if it is not there."""
        return await self.edit(obj, lambda view: _add_finalizer(view, name))

    async def remove_finalizer(self, obj: Any, name: str) -> Outcome:
        """Remove a finalizer, if it is there."""
        return await self.edit(obj, lambda view: _remove_finalizer(view, name))

    async def _run(self, conversation: Conversation[Result]) -> Result:
        sleep = self._sleep
        if sleep is None:
            import asyncio

            sleep = asyncio.sleep
        return await run_async(conversation, self._transport, sleep, self._core.settings.timeout)


class AsyncSessionStatus(Status):
    """The status inside an async session."""

    __slots__ = ("_session",)

    def __init__(self, session: AsyncSession) -> None:
        super().__init__(session.opened.stage, ("status",))
        self._session = session

    @property
    def outcome(self) -> Outcome | None:
        """What came of the last flush; None before it."""
        return self._session.outcome

    async def flush(self) -> Outcome:
        """Write now, before anything acts on it. The session goes on: what was read before stays guarded."""
        return await self._session.flush()

    async def create_once(self, slot: str, build: Callable[[Any], Any], *, fence: str | None = None, token: str = "") -> Made:
        """As the writer's; what is staged goes along in the same request."""
        return await self._session.create_once(slot, build, fence, token, getattr(self._stage, "name", ""))


    def in_scope(self, scope: Scope) -> AsyncSessionStatus:
        """The same status, of which a part of the session reads and stages its own."""
        part = AsyncSessionStatus(self._session)
        Status.__init__(part, scope, ("status",))
        return part


class AsyncSession:
    """`async with writer.session(obj) as status`."""

    def __init__(self, writer: AsyncStatusWriter, opened: Open, strategy: Strategy | None, on_error: str) -> None:
        self._writer = writer
        self.opened = opened
        self._strategy = strategy
        self._on_error = _checked(on_error)
        self._failed: Exception | None = None
        self._flushing: asyncio.Lock | None = None
        self._holder: asyncio.Task[Any] | None = None
        self.outcome: Outcome | None = None

    async def __aenter__(self) -> AsyncSessionStatus:
        return AsyncSessionStatus(self)

    def __enter__(self) -> AsyncSessionStatus:
        raise TypeError("use 'async with', not 'with': this session belongs to an AsyncStatusWriter")

    def __exit__(self, *_: object) -> None: ...

    async def __aexit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        try:
            if not _discards(error, self._on_error, self._failed):
                await self._write()
        except Exception as failure:
            if error is None:
                raise
            error.add_note(f"and the status could not be written: {failure}")
        finally:
            self.opened.end()

    async def flush(self) -> Outcome:
        """Write what is staged; the session goes on."""
        return await self._write()

    async def create_once(self, slot: str, build: Callable[[Any], Any], fence: str | None, token: str, scope: str = "") -> Made:
        """Fill the slot, and write what is staged with it."""
        async with self._one_at_a_time():
            try:
                conversation = self._writer._core.create_once(self.opened, slot, build, fence, token, self._strategy, scope)
                return await self._writer._run(conversation)
            except FiferailError as failure:
                self._failed = failure
                raise

    async def _write(self) -> Outcome:
        async with self._one_at_a_time():
            try:
                self.outcome = await self._writer._run(self._writer._core.flush(self.opened, self._strategy))
            except Exception as failure:
                self._failed = failure
                self.outcome = getattr(failure, "outcome", None) or self.outcome
                raise
        return self.outcome

    @asynccontextmanager
    async def _one_at_a_time(self) -> AsyncIterator[None]:
        """Tasks that share the session flush one after the other; `build` must not, because it runs inside of that."""
        import asyncio

        task = asyncio.current_task()
        if self._holder is not None and self._holder is task:
            raise FiferailError(INSIDE)
        if self._flushing is None:
            self._flushing = asyncio.Lock()
        async with self._flushing:
            self._holder = task
            try:
                yield
            finally:
                self._holder = None


def _checked(on_error: str) -> str:
    if on_error not in (FLUSH, DISCARD):
        raise ValueError(f"expected on_error to be 'flush' or 'discard', got {on_error!r}")
    return on_error


def _discards(error: BaseException | None, on_error: str, failed: Exception | None) -> bool:
    """Cancellation and the like discard; a failed reconcile must be able to say so. The failure of a flush is not followed by another
    flush: what its message says of what was written stays true."""
    if error is None:
        return False
    return on_error == DISCARD or not isinstance(error, Exception) or (failed is not None and _comes_from(error, failed))


def _comes_from(error: BaseException, failed: Exception) -> bool:
    """Whether an error is that failure, or was raised because of it."""
    seen: BaseException | None = error
    for _ in range(16):
        if seen is failed:
            return True
        seen = seen.__cause__ or seen.__context__ if seen is not None else None
    return False


def _add_finalizer(view: MapView, name: str) -> None:
    """Not recorded as read: a finalizer is added or removed whatever the others are."""
    view._stage.put((*FINALIZERS, Value(name)), name)


def _remove_finalizer(view: MapView, name: str) -> None:
    view._stage.drop((*FINALIZERS, Value(name)))
