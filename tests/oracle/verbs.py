"""The verbs of the writer as steps of a program: each makes a deed, performs it through the public door and notes the outcome."""

from __future__ import annotations

import asyncio
import copy
import sys
import threading
from collections.abc import Awaitable, Callable, Coroutine
from dataclasses import dataclass, field
from typing import Any

import fiferail

from .doors import STRATEGIES
from .edits import EDITS, Pen
from .kind import API, MISSING, NAME, NAMESPACE, Json, Path, find, version
from .lines import Book, Flow
from .records import GONE, Deed

SIZE: Path = ("spec", "size")
CREW = 4


@dataclass
class Action:
    """One step of a program. Plain data, so that programs can be printed and made smaller."""

    id: str
    verb: str
    target: str = "g"
    writer: int = 0
    #: Which object the caller passes: a fresh "get", the one it "held", an "old" one, the last "outcome".
    base: str = "get"
    edits: list[tuple[str, int]] = field(default_factory=list)
    strategy: str = ""
    guard: bool = False
    #: Before which edit the session is flushed; -1: not at all.
    flush_at: int = -1
    #: Stage while that flush is in flight.
    stage_meanwhile: bool = False
    raises: bool = False
    discard: bool = False
    lossy: bool = False
    fence: bool = True
    same: bool = False
    slot: str = "plan"
    number: int = 0
    troubled: bool = True
    #: After how many turns of the loop the step is cancelled from outside; 0: never.
    cancel_after: int = 0


class Boom(Exception):
    """What a reconcile dies of."""


class Typed:
    """An object as a client with models hands it out: what the model does not know is missing."""

    def __init__(self, obj: Json) -> None:
        self._tree = stripped(obj)

    def to_dict(self) -> Json:
        """The tree."""
        return copy.deepcopy(self._tree)


def stripped(tree: Json) -> Json:
    """Without the member that a model does not know."""
    if isinstance(tree, dict):
        return {name: stripped(member) for name, member in tree.items() if not (name == "extra" and isinstance(member, str))}
    return [stripped(member) for member in tree] if isinstance(tree, list) else tree


class Caller:
    """One flow of control with what it holds."""

    def __init__(self, flow: Flow, doors: list[Any], book: Book) -> None:
        self.flow, self.doors, self.book = flow, doors, book
        self._held: dict[str, list[Json]] = {}
        self._outcome: dict[str, Json] = {}
        self._order = 0

    async def perform(self, action: Action) -> None:
        """One step. What the writer raises on purpose is noted, never raised."""
        obj = await self._object(action)
        if obj is None:
            return
        deed = self._deed(action, obj)
        if action.verb in ("session", "create_inside", "crowd") and action.guard:
            deed.see(SIZE, find(obj, SIZE))
        self.book.record.deeds.append(deed)
        self.book.record.operations += 1
        verb: Callable[[Caller, Action, Deed], Awaitable[Deed]] = VERBS[action.verb]
        deeds = len(self.book.record.deeds)
        try:
            await verb(self, action, deed)
        except asyncio.CancelledError:
            self._ended(deed, deeds, action, "cancelled", "")
            raise
        except Boom as boom:
            self._ended(deed, deeds, action, "raised", " ".join(getattr(boom, "__notes__", [])))
        except fiferail.FiferailError as error:
            self._ended(deed, deeds, action, "Conflict" if isinstance(error, fiferail.Conflict) else type(error).__name__, str(error))
        except Exception as error:
            self._ended(deed, deeds, action, "crash", f"{type(error).__name__}: {error}")
            deed.wrong.append(f"crash: {type(error).__name__}: {error}")

    def _ended(self, deed: Deed, start: int, action: Action, result: str, said: str) -> None:
        """Note how every deed of this step that has no result yet has ended."""
        for one in (deed, *self.book.record.deeds[start:]):
            if one.id.split("~")[0] == action.id and not one.result:
                one.result, one.said = result, said

    async def _object(self, action: Action) -> Json:
        known = self._held.setdefault(action.target, [])
        if action.base == "get" or not known:
            try:
                found = await self.doors[action.writer].call("get", API, NAME, action.target, namespace=NAMESPACE)
            except (fiferail.FiferailError, ConnectionError):
                return None
            known.append(found)
        if action.base == "outcome" and action.target in self._outcome:
            return self._outcome[action.target]
        return known[-2] if action.base == "old" and len(known) > 1 else known[-1]

    def _deed(self, action: Action, obj: Json) -> Deed:
        self._order += 1
        settings = self.doors[action.writer].settings
        strategy = "compare" if action.verb in ("create_once", "edit") else action.strategy or settings.strategy
        held = stripped(obj) if action.lossy else copy.deepcopy(obj)
        claims = tuple(("status", path) for path in settings.claims)
        return Deed(action.id, self.flow.number, self._order, settings.name, action.verb, strategy, held, claims, lossy=action.lossy)

    def finish(self, deed: Deed, outcome: Any, target: str = "") -> None:
        """Note the outcome that the caller got."""
        deed.result = str(outcome.kind)
        deed.object = copy.deepcopy(outcome.object)
        deed.repaired = tuple(path for path, _ in outcome.repaired)
        deed.altered = tuple(outcome.altered)
        deed.contradicted = tuple(map(str, getattr(outcome, "contradicted", ())))
        if target and deed.object is not None:
            self._outcome[target] = deed.object

    def given(self, action: Action, deed: Deed) -> Any:
        """The object as it is passed to the writer."""
        return Typed(deed.held) if action.lossy else copy.deepcopy(deed.held)


def _options(action: Action) -> dict[str, Any]:
    options: dict[str, Any] = {"guard": ["spec.size"]} if action.guard else {}
    return {**options, "strategy": STRATEGIES[action.strategy]} if action.strategy else options


def _traced(pen: Pen) -> None:
    """A deed that removes something and says nothing leaves a mark, so that its commit can be found."""
    if any(want.value is GONE for want in pen.deed.wants) and not any(want.unique for want in pen.deed.wants):
        name = pen.deed.id.replace("~", "-")
        if not isinstance(pen.peek("marks"), dict):
            pen.status["marks"] = {name: pen.mark(("marks", name))}
        else:
            pen.looks_into("marks")
            pen.status["marks"][name] = pen.mark(("marks", name))


async def session(caller: Caller, action: Action, deed: Deed) -> Deed:
    """Stage, flush in between where the step says so, and write when the block ends."""
    door = caller.doors[action.writer]
    status = None
    try:
        opened = door.session(caller.given(action, deed), on_error="discard" if action.discard else "flush", **_options(action))
        async with opened as status:
            pen = Pen(status, deed)
            for index, (name, number) in enumerate(action.edits):
                if index == action.flush_at:
                    _traced(pen)
                    await _flushed(caller, action, pen)
                    deed = pen.deed
                EDITS[name](pen, number)
            _traced(pen)
            before = status.outcome
            if action.raises:
                raise Boom
    except Boom:
        assert status is not None
        if status.outcome is not before and not action.discard:
            caller.finish(deed, status.outcome)
        _refuses_now(status, deed)
        raise
    caller.finish(deed, status.outcome, action.target)
    _refuses_now(status, deed)
    return deed


def _refuses_now(status: Any, deed: Deed) -> None:
    """Whoever stages after the end must learn that nobody will write it."""
    try:
        status["late"] = "too late"
    except fiferail.FiferailError:
        return
    except Exception as error:
        if "session" in str(error):
            return
        raise
    deed.wrong.append("staged after the end: the session accepted a value that nobody will write")


async def _flushed(caller: Caller, action: Action, pen: Pen) -> None:
    """Flush inside the session; the next deed goes on from there."""
    deed, door = pen.deed, caller.doors[action.writer]
    follows = deed.follow(f"{deed.id}~")
    caller.book.record.deeds.append(follows)
    try:
        outcome = await _meanwhile(caller, action, pen, follows, door.flush(pen.status))
    except Exception:
        follows.result = "never begun"
        if not action.discard:
            deed.result = "tried again"  # leaving the session flushes once more
        raise
    caller.finish(deed, outcome)
    pen.deed = follows


async def _meanwhile(caller: Caller, action: Action, pen: Pen, follows: Deed, request: Coroutine[Any, Any, Any]) -> Any:
    """Wait for a request of the session; stage while it is in flight, where the step says so."""
    if not action.stage_meanwhile or not caller.doors[action.writer].is_async:
        return await request
    waiting = asyncio.ensure_future(request)
    pen.deed.aside = follows.aside = True
    try:
        for _ in range(1 + action.number % 5):
            await asyncio.sleep(0)
        token = f"t{follows.id}.late;"
        pen.status["late"] = token
        follows.want(("status", "late"), token, unique=True, whenever=True)
        return await waiting
    except asyncio.CancelledError:
        waiting.cancel()
        await asyncio.gather(waiting, return_exceptions=True)
        raise


async def mutate(caller: Caller, action: Action, deed: Deed) -> Deed:
    """One call; the function may run again."""

    def change(status: Any) -> None:
        deed.again()
        if action.guard:
            deed.see(SIZE, find(deed.held, SIZE))
        pen = Pen(status, deed)
        for name, number in action.edits:
            EDITS[name](pen, number)
        _traced(pen)

    outcome = await caller.doors[action.writer].mutate(caller.given(action, deed), change, **_options(action))
    caller.finish(deed, outcome, action.target)
    return deed


def _builder(action: Action, deed: Deed) -> Callable[[Any], Any]:
    """A build function that stands on the spec, the generation and the fence, and notes what it was shown."""

    def build(obj: Any) -> Any:
        deed.again()
        deed.built_on = version(obj)
        generation, size = obj["metadata"]["generation"], obj["spec"]["size"]
        status = obj.get("status")
        last = status.get("lastPlan") if status is not None else None
        n = last.get("n", 0) if last is not None else 0
        deed.see(("metadata", "generation"), generation)
        deed.see(SIZE, size)
        if action.fence:
            deed.see(("status", "lastPlan", "n"), n if last is not None and "n" in last else MISSING)
        token = f"same-{generation}-{size}-{n}" if action.same else f"t{deed.id}.plan;"
        plan = {"id": token, "gen": generation, "size": size, "n": n}
        for name, value in plan.items():
            deed.want(("status", action.slot, name), value, unique=name == "id" and not action.same)
        return plan

    return build


async def create_once(caller: Caller, action: Action, deed: Deed) -> Deed:
    """Fill the slot, or learn who has."""
    deed.fenced = action.fence
    fence = "lastPlan" if action.fence else None
    door = caller.doors[action.writer]
    made = await door.create_once(caller.given(action, deed), action.slot, _builder(action, deed), fence)
    _made(caller, deed, made)
    return deed


async def create_inside(caller: Caller, action: Action, deed: Deed) -> Deed:
    """The same inside a session that has something staged."""
    door = caller.doors[action.writer]
    async with door.session(caller.given(action, deed), **_options(action)) as status:
        pen = Pen(status, deed)
        for name, number in action.edits:
            EDITS[name](pen, number)
        _traced(pen)
        creating = deed.follow(f"{deed.id}~c")
        creating.strategy, creating.fenced, creating.saw = "compare", action.fence, []
        deed.verb = "session"
        last = deed.follow(f"{deed.id}~l")
        caller.book.record.deeds += [creating, last]
        request = door.create_in(status, action.slot, _builder(action, creating), "lastPlan" if action.fence else None)
        deed.saw = [saw for saw in deed.saw if saw.path[:2] != ("status", action.slot)]  # the caller receives what stands there
        last.saw = list(deed.saw)
        last.result, deed.result = "never begun", "tried again"  # until the session has ended well
        try:
            made = await _meanwhile(caller, action, pen, last, request)
        except Exception:
            creating.result = "" if creating.runs else "never begun"
            raise
        _made(caller, creating, made)
    caller.finish(last, status.outcome)
    gone = "gone" in (creating.result, last.result)
    deed.result = "gone" if gone else "flushed"  # with the plan, or when the session ended
    deed.repaired, deed.altered = last.repaired, (*creating.altered, *last.altered)
    deed.contradicted = (*creating.contradicted, *last.contradicted)
    return deed


def _made(caller: Caller, deed: Deed, made: Any) -> None:
    caller.finish(deed, made.outcome)
    deed.created, deed.made = made.created, copy.deepcopy(made.value)
    if not made.created:
        deed.past.append((deed.saw, deed.wants))
        deed.wants = [want for want in deed.wants if want.unique]


async def edit(caller: Caller, action: Action, deed: Deed) -> Deed:
    """Spec and metadata through the writer."""

    def change(view: Any) -> None:
        deed.again()
        if action.number % 2:
            deed.see(SIZE, view["spec"]["size"])
        token = f"t{deed.id}.label;"
        deed.want(("spec", "label"), token, unique=True)
        view["spec"]["label"] = token

    outcome = await caller.doors[action.writer].edit(caller.given(action, deed), change)
    caller.finish(deed, outcome, action.target)
    return deed


async def crowd(caller: Caller, action: Action, deed: Deed) -> Deed:
    """Several threads stage in one session."""
    door = caller.doors[action.writer]
    async with door.session(caller.given(action, deed), **_options(action)) as status:
        if not isinstance(status.peek("extra"), dict):
            status["extra"] = {}
        tokens = [[(f"{deed.id}-{one}-{index}", f"t{deed.id}.{one}.{index};") for index in range(20)] for one in range(CREW)]

        def stage(pairs: list[tuple[str, str]]) -> None:
            for name, token in pairs:
                status["extra"][name] = token

        threads = [threading.Thread(target=stage, args=(pairs,)) for pairs in tokens]
        usual = sys.getswitchinterval()
        sys.setswitchinterval(1e-6)
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        sys.setswitchinterval(usual)
        for name, token in (pair for pairs in tokens for pair in pairs):
            deed.want(("status", "extra", name), token, unique=True)
    caller.finish(deed, status.outcome, action.target)
    return deed


VERBS: dict[str, Any] = {
    "session": session, "mutate": mutate, "create_once": create_once, "create_inside": create_inside, "edit": edit, "crowd": crowd,
}  # fmt: skip
