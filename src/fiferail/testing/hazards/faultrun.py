"""Many writers, many writes, and a server that loses answers, fails, asks to wait, and writers that die on the way.

Each write carries an id of its own: in the writer's own condition, in its own field, or appended to a list that all share. So the
versions of an object tell by themselves whether anything was lost: ids of a writer only ever grow, a commit touches what belongs to
one writer, and what was acknowledged is there. The checker's opinion is asked beside that, not instead.
"""

from __future__ import annotations

import asyncio
import random
from collections import Counter
from dataclasses import dataclass, field
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from fiferail.errors import Conflict, Unavailable
from fiferail.front import AsyncStatusWriter
from fiferail.status.patience import Budget
from fiferail.wire import Answer, Request

from .place import NAMESPACE, NEWER
from .ways import NOW

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Awaitable, Callable

    from fiferail.objects.tree import Json

    Sending = Callable[[Request], Awaitable[Answer]]

#: How many of the shared list are kept.
LOG = 60


class Killed(BaseException):
    """A writer died in the middle of a request. Not an Exception: nobody catches it."""


@dataclass(frozen=True)
class Rates:
    """How often a request goes wrong."""

    lost: float = 0.05
    failed: float = 0.05
    busy: float = 0.02
    killed: float = 0.01


@dataclass
class Run:
    """What happened."""

    acknowledged: list[tuple[str, str]] = field(default_factory=list)  # object, id
    killed: set[tuple[str, str]] = field(default_factory=set)
    outcomes: Counter[str] = field(default_factory=Counter)
    faults: Counter[str] = field(default_factory=Counter)
    requests: int = 0


class Troubled:
    """An async transport on which things go wrong, at rates, by a seeded chance."""

    def __init__(self, send: Sending, rates: Rates, chance: random.Random, run: Run) -> None:
        self._send, self._rates, self._chance, self._run = send, rates, chance, run

    async def send(self, request: Request, /, timeout: float | None = None) -> Answer:
        """Pass on, or not, and answer, or not."""
        if not request.path.startswith(f"/apis/{NEWER}/namespaces/"):
            return await self._send(request)
        self._run.requests += 1
        fault = self._fault()
        if fault:
            self._run.faults[fault] += 1
        landed = self._chance.random() < 0.5
        if fault == "busy":
            return Answer(429, b'{"kind":"Status","code":429,"message":"slow down"}', {"retry-after": "1"})
        if fault == "failed" and not landed:
            return Answer(500, b'{"kind":"Status","code":500,"message":"injected"}')
        if fault == "killed" and not landed:
            raise Killed
        answer = await self._send(request)
        if fault == "failed":
            return Answer(500, b'{"kind":"Status","code":500,"message":"injected, after the fact"}')
        if fault == "killed":
            raise Killed
        if fault == "lost":
            raise ConnectionError("the connection was closed before an answer came")
        return answer

    async def stream(self, request: Request, /, timeout: float | None = None) -> AsyncIterator[bytes]:
        """Writers do not watch."""
        raise AssertionError("a writer watched something")
        yield b""

    def _fault(self) -> str:
        rates, dice = self._rates, self._chance.random()
        for name, rate in (("lost", rates.lost), ("failed", rates.failed), ("busy", rates.busy), ("killed", rates.killed)):
            if dice < rate:
                return name
            dice -= rate
        return ""


async def writers(
    connect: Callable[[str], Sending], names: list[str], *, writes: int, count: int, seed: int, rates: Rates, together: bool = False
) -> Run:
    """`count` writers make `writes` writes among them to the named objects; together: as parts of one process, with one StatusWriter."""
    run = Run()
    shared = _Life("operator", connect("operator"), rates, random.Random(seed), run).writer if together else None

    async def live(index: int) -> None:
        chance = random.Random(seed * 1000 + index)
        life = _Life(f"writer-{index}", connect(f"writer-{index}"), rates, chance, run, shared)
        for number in range(writes // count):
            await life.write(chance.choice(names), f"{index}-{number:06d}")

    await asyncio.gather(*(live(index) for index in range(count)))
    return run


class _Life:
    """A writer that is replaced by a new one of the same name whenever it dies; where it is a part of a process, that goes on."""

    def __init__(
        self, name: str, send: Sending, rates: Rates, chance: random.Random, run: Run, shared: AsyncStatusWriter | None = None
    ) -> None:
        self._name, self._send, self._chance, self._run, self._shared = name, send, chance, run, shared
        self._troubled = Troubled(send, rates, chance, run)
        self._born()

    def _born(self) -> None:
        self._cache: dict[str, Json] = {}
        self.writer = self._shared or AsyncStatusWriter(
            self._troubled, field_manager=self._name, sleep=self._pause, budget=Budget(tries=40), chance=self._chance.random,
            now=lambda: NOW, seconds=lambda: 0.0,
        )  # fmt: skip

    async def _pause(self, seconds: float) -> None:
        for _ in range(1 + int(self._chance.random() * 4)):
            await asyncio.sleep(0)

    async def write(self, name: str, mark: str) -> None:
        """One write, from a copy that may be old."""
        if name not in self._cache or self._chance.random() < 0.2:
            answer = await self._send(Request(method="GET", path=f"/apis/{NEWER}/namespaces/{NAMESPACE}/gadgets/{name}"))
            self._cache[name] = answer.json()
        try:
            outcome = await self.writer.mutate(self._cache[name], _marking(self._name, mark, self._chance.random()))
        except Killed:
            self._run.outcomes["killed"] += 1
            self._run.killed.add((name, mark))
            self._born()
        except (Conflict, Unavailable) as error:
            self._run.outcomes[type(error).__name__] += 1
        else:
            self._run.outcomes[str(outcome.kind)] += 1
            self._run.acknowledged.append((name, mark))
            if self._chance.random() < 0.5:  # else the next write starts from the older copy, as from a lagging cache
                self._cache[name] = outcome.object


def _marking(writer: str, mark: str, dice: float) -> Callable[[Any], None]:
    def own_condition(status: Any) -> None:
        status.conditions.set(writer, int(mark[-1]) % 2 == 0, reason="Marked", message=mark)

    def own_field(status: Any) -> None:
        status.entry("marks", name=writer)["mark"] = mark

    def shared_list(status: Any) -> None:
        current = list(status.get("references") or [])
        if mark not in current:
            status["references"] = [*current, mark][-LOG:]

    return own_condition if dice < 0.6 else own_field if dice < 0.8 else shared_list


# -- what the versions of the objects say


def marks(obj: Json) -> dict[str, str]:
    """Place -> id, of everything that belongs to one writer."""
    status = obj.get("status") or {}
    found = {f"condition {entry['type']}": entry["message"] for entry in status.get("conditions") or []}
    return found | {f"mark {entry['name']}": entry["mark"] for entry in status.get("marks") or []}


def problems(versions: dict[str, list[Json]], run: Run, together: bool = False) -> list[str]:
    """Everything that should not be, in words; nothing when all is well. Writers that go together may write many marks in one commit."""
    found = []
    seen: dict[str, Counter[str]] = {name: Counter() for name in versions}
    for name, history in versions.items():
        for before, after in pairwise(history):
            found += _step(name, before, after, seen[name], together)
    found += [f"{mark} was acknowledged on {name}, but no version has it" for name, mark in run.acknowledged if not seen[name][mark]]
    found += [f"{mark} was written {times} times on {name}" for name, counts in seen.items() for mark, times in counts.items() if times > 1]
    return found


def _step(name: str, before: Json, after: Json, seen: Counter[str], together: bool) -> list[str]:
    version = f"{name} at {after['metadata']['resourceVersion']}"
    old, new = marks(before), marks(after)
    found = [f"{version}: {place} is gone, it was {mark}" for place, mark in old.items() if place not in new]
    moved = {place: mark for place, mark in new.items() if old.get(place) != mark}
    found += [f"{version}: {place} went back from {old[place]} to {mark}" for place, mark in moved.items() if old.get(place, "") > mark]
    log, longer = ((obj.get("status") or {}).get("references") or [] for obj in (before, after))
    added = [mark for mark in longer if mark not in log]
    if log and longer != [*log, *added][-LOG:]:
        found.append(f"{version}: the shared list lost something: {log} became {longer}")
    if len(moved) + len(added) > 1 and not together:
        found.append(f"{version}: one commit wrote {sorted(moved)} and {added}")
    seen.update([*moved.values(), *added])
    return found
