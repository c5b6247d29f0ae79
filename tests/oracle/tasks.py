"""Programs as tasks on the embedded server, in this process: no sockets, no threads, no real time. A seed is a run, exactly."""

from __future__ import annotations

import asyncio
from typing import Any

import fiferail
from fiferail.apiserver.embedded import equip
from fiferail.apiserver.inprocess import Transport
from fiferail.apiserver.machine import Machine
from fiferail.apiserver.manifests import load_crds

from .doors import AsyncDoor, Settings
from .foreign import Foreigner, make
from .kind import API, CRD, NAME, Json, uid
from .lines import CURRENT, AsyncLine, Book, Flow
from .program import Program
from .records import Record
from .verbs import Action, Caller

#: Real seconds after which a run that does not end is a finding by itself.
PATIENCE = 20.0
_worlds: list[Machine] = []


def fresh_machine() -> Machine:
    """A server that has the kind; a fork of one that was made once."""
    if not _worlds:
        machine = equip(Machine(clock=lambda: 1_767_225_600.0))
        load_crds(machine, [CRD])
        _worlds.append(machine)
    return _worlds[0].fork()


def versions(client: Any, since: str) -> dict[str, list[Json]]:
    """Every version of every object since then, per uid, as a watch shows them; None for a deletion."""
    found: dict[str, list[Json]] = {}
    for event, obj in client.watch(API, NAME, resource_version=since):
        if event != "BOOKMARK":
            found.setdefault(uid(obj), []).append(None if event == "DELETED" else obj)
    return found


def run(program: Program, line: type[AsyncLine] = AsyncLine) -> Record:
    """Play it, and give what was written down. Tests of the oracle itself pass a line with a defect."""
    machine = fresh_machine()
    server = Transport(machine, agent="program")
    book = Book(program.seed, program.rates)
    since = str(machine.store.revision)
    asyncio.run(play(program, line(server, book), book))
    book.record.history = versions(fiferail.Client(Transport(machine, agent="oracle")), since)
    return book.record


async def play(program: Program, line: AsyncLine, book: Book) -> None:
    """All flows at once, until each has ended."""
    doors = [AsyncDoor(settings, line, book) for settings in program.writers]
    outsider = AsyncDoor(Settings("foreign"), line, book)
    CURRENT.set(Flow(-1, foreign=True, action="setup"))
    for name, number in program.numbers.items():
        await make(outsider, name, number)
    tasks = []
    for number, actions in enumerate(program.flows):
        flow = Flow(number)
        tasks.append(asyncio.create_task(_flow(flow, actions, Caller(flow, doors, book), book)))
    for number, actions in enumerate(program.foreign):
        flow = Flow(100 + number, foreign=True)
        tasks.append(asyncio.create_task(_flow(flow, actions, Foreigner(outsider, book), book)))
    done, pending = await asyncio.wait(tasks, timeout=PATIENCE) if tasks else ((), ())
    if pending:
        book.record.wrong.append(f"hangs: {len(pending)} flows did not end")
        for task in pending:
            task.cancel()
        await asyncio.wait(pending, timeout=1)
    for task in done:
        task.result()


async def _flow(flow: Flow, actions: list[Action], performer: Any, book: Book) -> None:
    """One flow of control: its steps in turn, whatever becomes of each."""
    CURRENT.set(flow)
    flow.task = asyncio.current_task()
    assert flow.task is not None
    for action in actions:
        flow.action, flow.requests, flow.troubled = action.id, 0, action.troubled
        canceller = asyncio.create_task(_cancel(flow, action, book)) if action.cancel_after else None
        for ending in (performer.perform(action), asyncio.gather(*([canceller] if canceller else []))):
            try:
                await ending
            except asyncio.CancelledError:
                flow.task.uncancel()
            flow.action = ""


async def _cancel(flow: Flow, action: Action, book: Book) -> None:
    for _ in range(action.cancel_after):
        await asyncio.sleep(0)
    if flow.action == action.id and flow.task is not None:
        book.record.count("cancelled_outside")
        flow.task.cancel()
