"""A component: resources that converge together and report through one condition.

    def web(app):
        return Component("web", condition="WebReady", requires=["InfraReady"], grace=60, gate=app["spec"].get("enabled", True),
                         resources=[ConfigMap(config(app)), Deployment(deployment(app), mutations=[tracing(app)])])

    async def reconcile(ctx):
        await web(ctx.object).reconcile(ctx)

One reconcile: cells are cleared, then the gate, the prerequisites, the rest that was asked for, each resource in order, the condition,
what is to be deleted, what is to be let go. It stages and never writes status: the controller flushes once, for all components.
"""

from __future__ import annotations

import logging
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any

from . import checks, data, grace, prerequisites, preview, staging
from .apply import Hands
from .converge import Result, verdict
from .gates import Gate, is_on
from .guards import blocked_by
from .place import is_collected
from .reasons import Health, Reason
from .resource import Mode, Operation
from .suspend import suspend

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Mapping, Sequence

    from ..objects.tree import Json
    from .data import Data
    from .metrics import Recorder
    from .place import Place
    from .prerequisites import Prerequisite
    from .resource import Resource

log = logging.getLogger("fiferail.components")


class Component:
    """Put together anew for each reconcile, from the object; cheap, and refused at once when it makes no sense."""

    def __init__(
        self,
        name: str,
        *,
        condition: str,
        resources: Sequence[Resource] = (),
        gate: Gate = True,
        requires: Sequence[Prerequisite] = (),
        grace: float = 0,
        suspend: bool = False,
        version: str | None = None,
        metrics: Recorder | None = None,
    ) -> None:
        self.name, self.condition = name, condition
        self.gate, self.requires, self.grace, self.suspended = gate, tuple(requires), grace, suspend
        self.version, self.metrics = version, metrics
        self.resources = tuple(resource for resource in resources if resource.include_when)
        problems = checks.of_component(name, condition, grace, version) + checks.of_resources(self.resources, version)
        self._modes = [_mode(resource, problems) for resource in self.resources]
        if problems:
            raise checks.ComponentInvalid(name, problems)

    # -- one reconcile

    async def reconcile(self, ctx: Place) -> float | None:
        """Converge and stage. Gives the seconds after which the grace period is over, for the reconcile to return.

        What the component reads and stages is a scope of its own: when something it read has changed, the other components' conditions
        are written all the same.
        """
        ctx = ctx.scope(self.name)
        data.clear(cell for resource in self.resources for cell in resource.yields)
        if is_collected(ctx.snapshot):
            return None
        if self.metrics is not None:
            staging.recount(ctx, self.condition, self.metrics)
        async with self._failing_as(Reason.FEATURE_GATE_ERROR, ctx):
            enabled = is_on(self.gate)
        async with self._failing_as(Reason.PREREQUISITE_NOT_MET, ctx):
            waits_for = await self._unmet(ctx) if enabled else ""
        async with self._failing_as(Reason.ERROR, ctx):
            if waits_for:
                await self._say(ctx, Health(Reason.PREREQUISITE_NOT_MET, waits_for))
            else:
                await (self._reconcile if enabled else self._disable)(ctx, Hands(ctx, self.name))
        return self.grace_remaining(ctx)

    async def _unmet(self, ctx: Place) -> str:
        due = bool(self.requires) and prerequisites.are_due(staging.said(ctx, self.condition))
        return await prerequisites.unmet(self.requires, ctx) if due else ""

    async def _reconcile(self, ctx: Place, hands: Hands) -> None:
        if self.suspended:
            await self._say(ctx, await suspend(self._in(Mode.APPLY), hands, self.version))
        else:
            await self._converge(ctx, hands)
        for resource in self._in(Mode.DELETE):
            await hands.delete(resource, "no longer wanted")
        for resource in self._in(Mode.ORPHAN):
            await hands.orphan(resource)

    async def _disable(self, ctx: Place, hands: Hands) -> None:
        for resource in self._in(Mode.APPLY, Mode.DELETE):
            await hands.delete(resource, "the component is disabled")
        for resource in self._in(Mode.ORPHAN):
            await hands.orphan(resource)
        await self._say(ctx, Health(Reason.DISABLED, "the component is disabled"))

    async def _converge(self, ctx: Place, hands: Hands) -> None:
        results: list[Result] = []
        for resource, mode in zip(self.resources, self._modes, strict=True):
            if mode not in (Mode.APPLY, Mode.READ):
                continue
            result = await self._result(resource, mode, hands)
            results.append(result)
            if result.health.reason is Reason.BLOCKED:
                break
        generation = ctx.snapshot["metadata"].get("generation")
        before = staging.said(ctx, self.condition)
        found = verdict(results, before, grace=self.grace, now=ctx.clock.today(), generation=generation)
        for milder in found.milder:
            text = "%s of component %s is graded Healthy after its grace, but has not converged: %s %s"
            log.warning(text, milder.resource.text, self.name, milder.health.reason, milder.health.message)
        await self._say(ctx, found.health, restart=found.restart)

    async def _result(self, resource: Resource, mode: Mode, hands: Hands) -> Result:
        """One resource: its guards, then itself, then what it yields."""
        message = await blocked_by(resource.guards, resource.text)
        if message:
            return Result(resource, Health(Reason.BLOCKED, message))
        result = await (self._read(resource, hands) if mode is Mode.READ else self._apply(resource, hands))
        if result.live is not None:
            _extract(resource, result.live)
        return result

    async def _apply(self, resource: Resource, hands: Hands) -> Result:
        return await hands.look_and(resource, lambda before: self._apply_over(before, resource, hands))

    async def _apply_over(self, before: Json | None, resource: Resource, hands: Hands) -> Result:
        foreign = hands.foreign(resource, before)
        if foreign:
            return Result(resource, Health(Reason.BLOCKED, foreign))
        live, operation = await hands.apply(resource, resource.render(self.version), before)
        if self.metrics is not None:
            self.metrics.applied(staging.owner_of(hands.ctx), self.name, live["kind"], operation)
        return Result(resource, resource.health(live, operation), live)

    async def _read(self, resource: Resource, hands: Hands) -> Result:
        live = await hands.fetch(resource)
        if live is not None:
            return Result(resource, resource.health(live, Operation.NONE), live)
        if resource.block_on_absence:
            return Result(resource, Health(Reason.BLOCKED, f"{resource.text} is not there"))
        if resource.ignore_if_absent:
            return Result(resource, Health(Reason.HEALTHY))
        raise LookupError(f"{resource.text} is not there, and is only read: create it, or say block_on_absence or ignore_if_absent")

    @asynccontextmanager
    async def _failing_as(self, reason: Reason, ctx: Place) -> AsyncIterator[None]:
        """What fails inside is staged with that reason, and raised, whatever becomes of the staging."""
        try:
            yield
        except Exception as error:
            try:
                await self._say(ctx, Health(reason, str(error) or type(error).__name__))
            except Exception as trouble:
                error.add_note(f"and the condition {self.condition} could not be staged: {trouble}")
            if self.metrics is not None:
                self.metrics.failed(staging.owner_of(ctx), self.name, reason.value)
            raise

    async def _say(self, ctx: Place, health: Health, *, restart: bool = False) -> None:
        await staging.say(ctx, self.condition, health, restart=restart, metrics=self.metrics)

    def _in(self, *modes: Mode) -> list[Resource]:
        return [resource for resource, mode in zip(self.resources, self._modes, strict=True) if mode in modes]

    # -- asked from outside

    def grace_remaining(self, ctx: Place) -> float | None:
        """Seconds until the component would be graded, as staged; None when nothing waits for that."""
        if self.suspended:
            return None
        return grace.remaining(staging.said(ctx, self.condition), self.grace, ctx.clock.today())

    @property
    def claim(self) -> str:
        """The path of its condition, for `Controller(claims=[...])`."""
        return staging.claim(self.condition)

    def preview(self, owner: Mapping[str, Any] | None = None, *, data: Mapping[Data[Any], Any] | None = None) -> list[Json]:
        """The objects it would apply, without a cluster; `data`: what to take for cells that are filled in a cluster."""
        return preview.rendered(self._in(Mode.APPLY), self.version, owner=owner, values=data or {}, rest=self.suspended)

    def firing(self) -> tuple[tuple[str, tuple[str, ...]], ...]:
        """Per resource that is applied, the mutations that fire."""
        return tuple((resource.text, resource.firing(self.version)) for resource in self._in(Mode.APPLY))

    def topology(self) -> str:
        """Who yields which data, and who waits for it, in order."""
        return preview.topology(self.name, list(zip(self.resources, self._modes, strict=True)))


def _mode(resource: Resource, problems: list[str]) -> Mode:
    try:
        return resource.mode
    except Exception as error:
        problems.append(f"{resource.text}: its gate failed: {error}")
        return Mode.READ


def _extract(resource: Resource, live: Json) -> None:
    for cell, take in resource.extract.items():
        try:
            cell.set(take(live))
        except Exception as error:
            error.add_note(f'while extracting data "{cell.name}" from {resource.text}')
            raise


def soonest(*seconds: float | None) -> float | None:
    """The first of several times to come back; None when there is none."""
    return min((value for value in seconds if value is not None), default=None)
