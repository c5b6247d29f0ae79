"""A controller's cache beside the server: at rest both have the same objects, whatever answer came after whatever event.

A Manager with one Controller runs in virtual time; its answers are late by amounts that the seed chooses, the watch is not. Foreign clients
create, change and delete. In the end everything is quiet, and the cache is compared with a list.
"""

from __future__ import annotations

import asyncio
import contextlib
import random
from collections.abc import AsyncIterator
from typing import Any

import fiferail
from fiferail.apiserver.inprocess import AsyncTransport, Transport
from fiferail.apiserver.machine import Machine
from fiferail.controllers.clock import VirtualClock, settle
from fiferail.wire import Answer, Request

from .foreign import first_status
from .kind import API, NAME, NAMESPACE, Json, identity, uid, version
from .tasks import fresh_machine

NAMES = ("a", "b", "c")


class LateAnswers(AsyncTransport):
    """A line on which the answer to a write may take its time, after the server has done it."""

    def __init__(self, machine: Machine, clock: VirtualClock, dice: random.Random) -> None:
        super().__init__(Transport(machine, agent="operator"))
        self._clock, self._dice = clock, dice

    async def send(self, request: Request, /, timeout: float | None = None) -> Answer:
        """Done at once, answered later."""
        if request.method != "GET" and self._dice.random() < 0.3:
            await self._clock.sleep(self._dice.random())
        answer = await super().send(request, timeout)
        if request.method != "GET" and self._dice.random() < 0.6:
            await self._clock.sleep(self._dice.random() * 3)
        return answer

    async def stream(self, request: Request, /, timeout: float | None = None) -> AsyncIterator[bytes]:
        """Watches are never late."""
        async for line in super().stream(request, None):
            yield line


async def rest(seed: int) -> list[str]:
    """Play a seed; say how the cache and the server differ at rest."""
    dice = random.Random(f"cached/{seed}")
    machine, clock = fresh_machine(), VirtualClock()
    client = fiferail.Client(Transport(machine, agent="user"), user_agent="user")
    seen: list[Any] = []

    async def reconcile(ctx: Any) -> None:
        seen.append(ctx.cache)
        if ctx.deleting:
            return
        if dice.random() < 0.5:
            ctx.status["phase"] = f"{len(seen)}"
        elif dice.random() < 0.3:
            with contextlib.suppress(fiferail.FiferailError):
                await ctx.client.patch(identity(ctx.name), {"status": {"note": f"{len(seen)}"}}, subresource="status", field_manager="op")
        elif dice.random() < 0.2:
            with contextlib.suppress(fiferail.FiferailError):
                await ctx.client.delete(identity(ctx.name))

    line = LateAnswers(machine, clock, dice)
    manager = fiferail.Manager(
        fiferail.Controller(API, NAME, reconcile), client=fiferail.AsyncClient(line), clock=clock, chance=lambda: 0.0, events=False
    )
    serving = asyncio.ensure_future(manager.serve())
    try:
        for step in range(dice.randrange(6, 20)):
            _foreign(client, dice, step)
            await clock.advance(dice.choice((0.0, 0.1, 0.5, 2.0)))
        await clock.advance(60.0)
        await settle()
        return _differences(seen, client)
    finally:
        manager.stop()
        await clock.advance(60.0)
        serving.cancel()
        await asyncio.gather(serving, return_exceptions=True)


def _foreign(client: fiferail.Client, dice: random.Random, step: int) -> None:
    name = dice.choice(NAMES)
    with contextlib.suppress(fiferail.FiferailError):
        match dice.choice(("create", "create", "delete", "delete", "spec", "status")):
            case "create":
                client.create({**identity(name), "spec": {"size": step}})
            case "delete":
                client.delete(identity(name))
            case "spec":
                client.patch(identity(name), {"spec": {"size": 100 + step}})
            case "status":
                client.patch(identity(name), {"status": first_status(step)}, subresource="status")


def _differences(caches: list[Any], client: fiferail.Client) -> list[str]:
    if not caches:
        return []
    cached, listed = _known(caches[-1].list(API, NAME)), _known(client.list(API, NAME, namespace=NAMESPACE))
    return [
        f"cache: {name} is {cached.get(name, 'absent')} in the cache and {listed.get(name, 'absent')} on the server"
        for name in sorted({*cached, *listed})
        if cached.get(name) != listed.get(name)
    ]


def _known(objects: list[Json]) -> dict[str, tuple[str, int]]:
    return {obj["metadata"]["name"]: (uid(obj)[-4:], version(obj)) for obj in objects}
