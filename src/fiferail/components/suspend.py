"""Putting a component to rest: its managed resources stop, and go where their kind cannot just stop.

Guards are not asked and read-only resources are not fetched. What is absent is created at rest, so that it is there when the rest
ends; what would be deleted anyway stays absent. Deleted is only what has come to rest. One that fails does not keep the others up.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..errors import FiferailError
from ..objects import mergepatch
from ..objects.tree import thaw
from .data import DataMissing
from .reasons import Health, Reason, joined

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ..objects.tree import Json
    from .apply import Hands
    from .resource import Resource

_ALL = Health(Reason.SUSPENDED, "all resources are suspended")


async def suspend(resources: Sequence[Resource], hands: Hands, version: str | None) -> Health:
    """Put them all to rest, as far as that goes now."""
    said: list[Health] = []
    failures: list[Exception] = []
    for resource in resources:
        if not resource.suspendable:
            continue
        try:
            said.append(await _suspend(resource, hands, version))
        except Exception as failure:
            failures.append(failure)
    if len(failures) == 1:
        raise failures[0]
    if failures:
        raise FiferailError("; ".join(str(failure) for failure in failures)) from failures[0]
    return summary(said)


def summary(said: Sequence[Health]) -> Health:
    """PendingSuspension before Suspending before Suspended, with the messages of the first."""
    top = max((health.reason for health in said), key=lambda reason: reason.rank, default=Reason.SUSPENDED)
    if top is Reason.SUSPENDED:
        return _ALL
    return Health(top, joined(health.message for health in said if health.reason is top))


async def _suspend(resource: Resource, hands: Hands, version: str | None) -> Health:
    return await hands.look_and(resource, lambda before: _suspend_over(before, resource, hands, version))


async def _suspend_over(before: Json | None, resource: Resource, hands: Hands, version: str | None) -> Health:
    foreign = hands.foreign(resource, before)
    if foreign:
        return Health(Reason.SUSPENDED, foreign)
    if before is None and resource.delete_on_suspend:
        return Health(Reason.SUSPENDED, f"{resource.text} is not there")
    live = await _rested(resource, hands, version, before)
    if live is None:
        return Health(Reason.SUSPENDED, f"{resource.text} was not made yet")
    health = resource.rest(live)
    if health.reason is Reason.SUSPENDED and resource.delete_on_suspend:
        await hands.delete(resource, "suspended")
    return health


async def _rested(resource: Resource, hands: Hands, version: str | None, before: Json | None) -> Json | None:
    """The object with its rest applied. Where the desired state needs data that nobody extracts now, only the rest is sent."""
    try:
        desired = resource.put_to_rest(resource.render(version))
    except DataMissing:
        if before is None:
            return None
        patch = mergepatch.diff(before, resource.put_to_rest(thaw(before)))
        return await hands.amend(resource, patch, before) if patch else before
    return (await hands.apply(resource, desired, before))[0]
