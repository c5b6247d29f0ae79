"""Programs as threads, and as processes of threads. Nobody decides who goes next: the judge needs nothing but the history."""

from __future__ import annotations

import threading
from collections.abc import Coroutine
from typing import Any

import fiferail
from fiferail.apiserver.inprocess import Transport
from fiferail.apiserver.machine import Machine
from fiferail.wire import Answer, Request

from .doors import Door, Settings
from .foreign import Foreigner, make
from .lines import CURRENT, Book, Flow, Line, Server
from .program import Program
from .records import Record
from .tasks import fresh_machine, versions
from .verbs import Action, Caller

PATIENCE = 60.0


class Locked:
    """One machine for many threads."""

    def __init__(self, machine: Machine) -> None:
        self._transport = Transport(machine, agent="program")
        self._lock = threading.Lock()

    def send(self, request: Request, /, timeout: float | None = None) -> Answer:
        """One at a time."""
        with self._lock:
            return self._transport.send(request)


def run(program: Program) -> Record:
    """Play it on an embedded server of its own."""
    machine = fresh_machine()
    since = str(machine.store.revision)
    server = Locked(machine)
    record = prepare(program, server)
    record.merge(play(program, server))
    record.history = versions(fiferail.Client(Transport(machine, agent="oracle")), since)
    return record


def prepare(program: Program, server: Server) -> Record:
    """Make the objects."""
    book = Book(program.seed, program.rates)
    CURRENT.set(Flow(-1, foreign=True, action="setup"))
    door = Door(Settings("maker"), Line(server, book), book)
    for name, number in program.numbers.items():
        drive(make(door, name, number))
    return book.record


def play(program: Program, server: Server, *, first: int = 0) -> Record:
    """All flows at once, one thread each. `first` numbers the flows where several processes play parts of one program."""
    book = Book(program.seed, program.rates)
    line = Line(server, book)
    doors = [Door(settings, line, book) for settings in program.writers]
    outsider = Door(Settings("foreign"), line, book)
    threads = []
    for number, actions in enumerate(program.flows):
        flow = Flow(first + number)
        threads.append(threading.Thread(target=_flow, args=(flow, actions, Caller(flow, doors, book), book), daemon=True))
    for number, actions in enumerate(program.foreign):
        flow = Flow(100 + first + number, foreign=True)
        threads.append(threading.Thread(target=_flow, args=(flow, actions, Foreigner(outsider, book), book), daemon=True))
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(PATIENCE)
        if thread.is_alive():
            book.record.wrong.append("hangs: a thread did not end")
    return book.record


def _flow(flow: Flow, actions: list[Action], performer: Any, book: Book) -> None:
    CURRENT.set(flow)
    for action in actions:
        flow.action, flow.requests, flow.troubled = action.id, 0, action.troubled
        try:
            drive(performer.perform(action))
        except Exception as error:
            book.record.wrong.append(f"crash: {action.id}: {type(error).__name__}: {error}")


def drive(coroutine: Coroutine[Any, Any, None]) -> None:
    """Run a coroutine that never waits."""
    try:
        coroutine.send(None)
    except StopIteration:
        return
    raise RuntimeError("a blocking door has waited")
