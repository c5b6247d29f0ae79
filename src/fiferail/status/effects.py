"""What a conversation asks of its driver: carry a request, wait, join others, or call the user's function. And the two drivers.

The protocol is a generator, so that one implementation serves blocking clients, async ones, the embedded server and an explorer
that decides who goes next. A driver is a loop of a few lines.
"""

from __future__ import annotations

from _thread import allocate_lock
from collections.abc import AsyncGenerator, Awaitable, Callable, Generator
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar

import msgspec

from .answers import Lost

if TYPE_CHECKING:
    import asyncio

    from ..wire import AsyncTransport, Request, Transport
    from .sharing import Ticket


class Send(msgspec.Struct, frozen=True):
    """Carry this; the answer, or Lost, is sent back."""

    request: Request


class Wait(msgspec.Struct, frozen=True):
    """Let this much time pass."""

    seconds: float


class Call(msgspec.Struct, frozen=True):
    """Run the user's function; its result is sent back, its exception raised at the yield."""

    function: Callable[..., Any]
    arguments: tuple[Any, ...]


class Join(msgspec.Struct, frozen=True):
    """Wait until something is given to the ticket (`sharing`)."""

    ticket: Ticket


Effect: TypeAlias = "Send | Wait | Call | Join"
Result = TypeVar("Result")
Conversation: TypeAlias = "Generator[Effect, Any, Result]"


def run(conversation: Conversation[Result], transport: Transport, sleep: Callable[[float], object], timeout: float | None) -> Result:
    """Drive a conversation with a blocking transport."""
    value: Any = None
    failure: Exception | None = None
    try:
        while True:
            try:
                effect = conversation.send(value) if failure is None else conversation.throw(failure)
            except StopIteration as stop:
                result: Result = stop.value
                return result
            try:
                value, failure = _perform(effect, transport, sleep, timeout), None
            except Exception as error:
                failure = error
    finally:
        conversation.close()  # interrupted: those who wait for this one must be woken now


def _perform(effect: Effect, transport: Transport, sleep: Callable[[float], object], timeout: float | None) -> Any:
    match effect:
        case Send(request):
            try:
                return transport.send(request, timeout=timeout)
            except Exception as error:
                return Lost(error)
        case Wait(seconds):
            return sleep(seconds)
        case Call(function, arguments):
            return _refuse_unfinished(function, function(*arguments))
        case Join(ticket):
            held = allocate_lock()
            held.acquire()
            if ticket.when_given(held.release):
                held.acquire()
            return None


def _refuse_unfinished(function: Callable[..., Any], value: Any) -> Any:
    """A coroutine or a generator has not run yet: taking it for done would write nothing, without a word."""
    if isinstance(value, (Awaitable, Generator, AsyncGenerator)):
        close = getattr(value, "close", None)
        if close is not None:
            close()
        name = getattr(function, "__qualname__", repr(function))
        hint = "use AsyncStatusWriter, or a plain function" if isinstance(value, Awaitable) else "it must not contain `yield`"
        raise TypeError(f"expected {name} to be a function that edits the status, got one that returns a {type(value).__name__}: {hint}")
    return value


async def run_async(
    conversation: Conversation[Result], transport: AsyncTransport, sleep: Callable[[float], Awaitable[object]], timeout: float | None
) -> Result:
    """Drive a conversation with an async transport."""
    value: Any = None
    failure: Exception | None = None
    try:
        while True:
            try:
                effect = conversation.send(value) if failure is None else conversation.throw(failure)
            except StopIteration as stop:
                result: Result = stop.value
                return result
            try:
                value, failure = await _perform_async(effect, transport, sleep, timeout), None
            except Exception as error:
                failure = error
    finally:
        conversation.close()  # cancelled: those who wait for this one must be woken now


async def _perform_async(
    effect: Effect, transport: AsyncTransport, sleep: Callable[[float], Awaitable[object]], timeout: float | None
) -> Any:
    match effect:
        case Send(request):
            try:
                return await transport.send(request, timeout=timeout)
            except Exception as error:
                return Lost(error)
        case Wait(seconds):
            return await sleep(seconds)
        case Call(function, arguments):
            value = function(*arguments)
            return await value if isinstance(value, Awaitable) else _refuse_unfinished(function, value)
        case Join(ticket):
            return await _given(ticket)


async def _given(ticket: Ticket) -> None:
    import asyncio

    loop = asyncio.get_running_loop()
    waiting: asyncio.Future[None] = loop.create_future()
    if ticket.when_given(lambda: loop.call_soon_threadsafe(_end, waiting)):
        await waiting


def _end(waiting: asyncio.Future[None]) -> None:
    if not waiting.done():
        waiting.set_result(None)
