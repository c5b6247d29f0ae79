"""Plans: work in several steps with side effects, decided once, written down before the first step, and resumed by whoever comes next.

    upgrades = Plans({"drain": drain, "replace": replace}, build=decide, ended=finish)
    async def reconcile(ctx): return await upgrades.reconcile(ctx)

One reconcile does one thing, and writes the status once:

    no plan        `build` decides; the plan is created by create_once, so that of two reconciles one wins and the other gets the
                   winner's plan. Nothing has been done yet: whoever comes back finds it written down
    a step is due  it runs with an id that every retry, and every other replica, uses too; what came of it is written
    it is over     `ended` says so in the status, once, and the plan is cleared in the same write, with its id and a number that
                   grows left as a fence: a reconcile that still remembers a time without a plan does not make it again

A step may run twice (the process dies after the side effect and before the write; two replicas without leader election): with the
same id, by which it can tell. Never do two plans run for the same decision.
"""

from __future__ import annotations

import inspect
import math
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import msgspec

from ..errors import FiferailError
from ..status.once import deterministic_id
from .clock import moment, stamp
from .queue import Backoff

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Sequence

    from ..objects.tree import Json
    from .context import Context

    #: A step: gets the context and its id. None: done. Seconds: still going on, look again then. An exception: again, with backoff.
    Step = Callable[[Context, str], Awaitable[float | None]]

RUNNING, COMPLETE, FAILED, PENDING = "Running", "Complete", "Failed", "Pending"
RETRIES = Backoff(first=5.0, factor=2.0, longest=30.0)
_MESSAGE = 1024


class TaskFailed(FiferailError):
    """Raised by a step that need not be tried again: the plan fails."""


class Plan(msgspec.Struct, frozen=True):
    """What `build` decides: what it is for, and the names of the steps in order."""

    purpose: str
    tasks: Sequence[str]
    #: Whether it is wanted although a plan of the same purpose has ended for this very generation of the object. Such a plan is
    #: another one, with other ids. Without it a plan that failed is not made again before the spec changes.
    again: bool = False


class Plans:
    """The plans of one kind, at `status.<slot>`; `status.<fence>` keeps `id`, that of the last one that ended, and `n`, how many have.
    Both are objects in the CRD: a field that the schema lacks is an error before anything is done."""

    def __init__(
        self,
        steps: Mapping[str, Step],
        *,
        build: Callable[[Json], Plan | None],
        ended: Callable[[Context, Json], object] | None = None,
        slot: str = "plan",
        fence: str = "lastPlan",
        attempts: int = 5,
        backoff: Backoff = RETRIES,
    ) -> None:
        for name, step in steps.items():
            if not inspect.iscoroutinefunction(step):
                raise FiferailError(f"expected the step {name!r} to be an `async def`, got {step!r}")
        if not steps or attempts < 1:
            raise FiferailError(f"expected at least one step and one attempt, got {len(steps)} and {attempts}")
        self._steps = dict(steps)
        self._build = build
        self._ended = ended
        self._slot, self._fence = slot, fence
        self._attempts = attempts
        self._backoff = backoff

    async def reconcile(self, ctx: Context) -> float | None:
        """One thing of the plan, if there is one to do. Gives the seconds after which to come back, as a reconcile does."""
        standing = ctx.status.get(self._slot)
        if standing is None:
            made = await ctx.status.create_once(self._slot, self._built, fence=self._fence)
            return 0.0 if made.value is not None else None
        plan = standing.plain()
        if plan.get("phase") != RUNNING:
            return self._finish(ctx, plan)
        task = next((task for task in plan["tasks"] if task["state"] == PENDING), None)
        if task is None:
            self._store(ctx, {**plan, "phase": COMPLETE})
            return 0.0
        wait = _seconds_until(task.get("notBefore"), ctx.clock.today())
        return wait if wait > 0 else await self._advance(ctx, plan, task)

    def _built(self, obj: Json) -> Json:
        """The plan as it is written down; None when there is nothing to do, or when this very plan has been ended already."""
        wanted = self._build(obj)
        if wanted is None:
            return None
        unknown = [name for name in wanted.tasks if name not in self._steps]
        if unknown or not wanted.tasks:
            raise FiferailError(f"expected a plan of {', '.join(self._steps)}, got {', '.join(unknown) or 'no task at all'}")
        last, n = _fence((obj.get("status") or {}).get(self._fence))
        if not wanted.again and last == deterministic_id(obj, wanted.purpose, n - 1):
            return None
        identity = deterministic_id(obj, wanted.purpose, n)
        tasks = [{"id": f"{identity}-{index}", "name": name, "state": PENDING, "attempts": 0} for index, name in enumerate(wanted.tasks)]
        generation = obj["metadata"].get("generation", 0)
        return {"id": identity, "purpose": wanted.purpose, "generation": generation, "phase": RUNNING, "tasks": tasks}

    async def _advance(self, ctx: Context, plan: Json, task: Json) -> float | None:
        """Run one step and write down what came of it."""
        tried = {**task, "attempts": task["attempts"] + 1}
        tried.pop("notBefore", None)
        tried.pop("message", None)
        try:
            pause = await self._run(ctx, task)
        except Exception as error:  # whatever a step raises is its plan's business, not the controller's
            return self._failed(ctx, plan, tried, error)
        if pause is not None:
            # Still going on is no failure: nothing changes but the time to look again, which need not be written.
            return pause
        self._store(ctx, _with(plan, {**tried, "state": COMPLETE}))
        return 0.0

    async def _run(self, ctx: Context, task: Json) -> float | None:
        step = self._steps.get(task["name"])
        if step is None:
            raise TaskFailed(f"this version of the operator has no step {task['name']!r}")
        pause: Any = await step(ctx, task["id"])
        if pause is not None and (isinstance(pause, bool) or not isinstance(pause, (int, float)) or pause < 0):
            raise TaskFailed(f"expected the step {task['name']!r} to return None or seconds, got {pause!r}")
        return pause

    def _failed(self, ctx: Context, plan: Json, task: Json, error: Exception) -> float:
        task["message"] = str(error)[:_MESSAGE] or type(error).__name__
        if isinstance(error, TaskFailed) or task["attempts"] >= self._attempts:
            self._store(ctx, {**_with(plan, {**task, "state": FAILED}), "phase": FAILED})
            return 0.0
        pause = self._backoff.pause(task["attempts"] - 1, 0.0)
        task["notBefore"] = stamp(math.ceil(ctx.clock.today() + pause))
        self._store(ctx, _with(plan, task))
        return pause

    def _finish(self, ctx: Context, plan: Json) -> float:
        """Seen once: the verdict, the fence and the clearing are one write, and it stands on the plan that was read."""
        if self._ended is not None:
            self._ended(ctx, plan)
        _, n = _fence(ctx.status.get(self._fence))
        ctx.status[self._fence] = {"id": plan["id"], "n": n + 1}
        del ctx.status[self._slot]
        return 0.0

    def _store(self, ctx: Context, plan: Json) -> None:
        ctx.status[self._slot] = plan


def _fence(found: Any) -> tuple[str, int]:
    """The id of the plan that ended last, and how many have ended."""
    return (str(found.get("id", "")), int(found.get("n", 0))) if isinstance(found, Mapping) else ("", 0)


def _with(plan: Json, task: Json) -> Json:
    return {**plan, "tasks": [task if known["id"] == task["id"] else known for known in plan["tasks"]]}


def _seconds_until(text: str | None, today: float) -> float:
    return moment(text) - today if text else 0.0
