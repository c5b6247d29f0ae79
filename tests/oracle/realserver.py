"""Programs on a real kube-apiserver: as tasks, as threads, as processes. One watch over everything gives the history."""

from __future__ import annotations

import asyncio
import json
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace

import fiferail
from fiferail.apiserver.real.launch import RealServer
from fiferail.testing.transport import HttpTransport
from fiferail.wire import Request

from . import tasks, threads
from .kind import API, CRD, NAME, NAMESPACE, PLURAL, Json, identity, uid
from .lines import AsyncLine, Book
from .program import Program
from .records import Record
from .worker import Worker

PATIENCE = 60.0
PROCESSES = 2


class World:
    """A real server with the kind, and a watch of all its objects."""

    def __init__(self, server: RealServer) -> None:
        self._server = server
        self.client = fiferail.Client(self.connect(), user_agent="oracle")
        self._serve()
        self.client.create(identity("marker"))
        self._seen: dict[str, dict[str, list[Json]]] = {}
        self._marked = ""
        self._workers: list[Worker] = []
        self._arrived = threading.Condition()
        since = self.client.snapshot(API, NAME, namespace=NAMESPACE)[1]
        self._ended = False
        self._watcher = threading.Thread(target=self._watch, args=(since,), name="oracle-watch", daemon=True)
        self._watcher.start()

    def connect(self) -> HttpTransport:
        """A connection of one's own."""
        return HttpTransport(self._server.url, token=self._server.token, context=self._server.ssl_context(), user_agent="oracle")

    def address(self) -> tuple[str, str, str]:
        """What another process needs to connect."""
        return self._server.url, self._server.token, str(self._server.ca_file)

    def worker(self, number: int) -> Worker:
        """A process that stays, because starting one takes longer than a program."""
        while len(self._workers) <= number:
            self._workers.append(Worker())
        return self._workers[number]

    def close(self) -> None:
        """End the watch and the processes."""
        self._ended = True
        for worker in self._workers:
            worker.close()

    def run(self, program: Program, how: str) -> Record:
        """Play a program whose objects nobody else has; they are deleted afterwards."""
        record = HOW[how](self, program)
        record.history = self._history(program)
        for name in program.numbers:
            with suppress(fiferail.FiferailError):
                self.client.delete(identity(name))
        return record

    def _serve(self) -> None:
        with suppress(fiferail.AlreadyExists):
            self.client.create(CRD)
        deadline = time.monotonic() + PATIENCE
        while True:
            try:
                self.client.list(API, NAME, namespace=NAMESPACE)
                return
            except fiferail.FiferailError:
                if time.monotonic() > deadline:
                    raise
                time.sleep(0.05)

    def _watch(self, since: str) -> None:
        transport, path = self.connect(), f"/apis/{API}/namespaces/{NAMESPACE}/{PLURAL}"
        while not self._ended:
            query = (("watch", "true"), ("resourceVersion", since), ("timeoutSeconds", "600"))
            with suppress(OSError):
                for line in transport.stream(Request(method="GET", path=path, query=query), timeout=PATIENCE * 10):
                    event = json.loads(line)
                    self._happened(event["type"], event["object"])
                    since = event["object"]["metadata"]["resourceVersion"]

    def _happened(self, event: str, obj: Json) -> None:
        with self._arrived:
            name = obj["metadata"]["name"]
            if name == "marker":
                self._marked = obj["metadata"]["resourceVersion"]
                self._arrived.notify_all()
                return
            self._seen.setdefault(name, {}).setdefault(uid(obj), []).append(None if event == "DELETED" else obj)

    def _history(self, program: Program) -> dict[str, list[Json]]:
        """Everything up to now: a change of the marker comes last."""
        body = {"spec": {"label": f"{program.seed}-{time.monotonic()}"}}
        marked = self.client.patch(identity("marker"), body)["metadata"]["resourceVersion"]
        with self._arrived:
            if not self._arrived.wait_for(lambda: self._marked == marked, timeout=PATIENCE):
                raise RuntimeError("the watch did not bring every version in time")
            return {key: versions for name in program.numbers for key, versions in self._seen.pop(name, {}).items()}


def _as_tasks(world: World, program: Program) -> Record:
    book = Book(program.seed, program.rates)
    asyncio.run(tasks.play(program, AsyncLine(world.connect(), book, blocking=True), book))
    return book.record


def _as_threads(world: World, program: Program) -> Record:
    server = world.connect()
    record = threads.prepare(program, server)
    record.merge(threads.play(program, server))
    return record


def _as_processes(world: World, program: Program) -> Record:
    """Each process plays every other flow, with writers of its own."""
    record = threads.prepare(program, world.connect())
    for number in range(PROCESSES):
        writers = [replace(writer, name=f"{writer.name}-{number}") for writer in program.writers]
        part = replace(program, flows=program.flows[number::PROCESSES], foreign=program.foreign[number::PROCESSES], writers=writers)
        world.worker(number).begin((world.address(), part, number))
    for number in range(PROCESSES):
        record.merge(world.worker(number).result())
    return record


HOW: dict[str, Callable[[World, Program], Record]] = {"tasks": _as_tasks, "threads": _as_threads, "processes": _as_processes}


@contextmanager
def real_world() -> Iterator[World]:
    """A server, started and stopped."""
    with RealServer() as server:
        world = World(server)
        try:
            yield world
        finally:
            world.close()
