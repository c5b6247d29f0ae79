"""What is wrong with a component as it was put together: everything, at once, before anything runs.

Called when a component is built. A combination that cannot mean anything is refused here, so that no reconcile has to guess.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ..errors import FiferailError
from ..objects import conditions
from . import versions

if TYPE_CHECKING:
    from collections.abc import Sequence

    from .data import Data
    from .resource import Resource


class ComponentInvalid(FiferailError):
    """A component that cannot be; `.problems` has every reason."""

    def __init__(self, name: str, problems: Sequence[str]) -> None:
        self.problems = tuple(problems)
        super().__init__(f"component {name!r} cannot be:" + "".join(f"\n  {problem}" for problem in problems))


def of_component(name: str, condition: str, grace: float, version: str | None) -> list[str]:
    """What is wrong with the options."""
    found = []
    if not name:
        found.append("expected a name, got none")
    if not condition:
        found.append("expected a condition type, got none")
    else:
        try:
            conditions.said(condition, True, reason="Healthy")
        except FiferailError as error:
            found.append(str(error))
    if grace < 0:
        found.append(f"expected a grace period of 0 seconds or more, got {grace}")
    if version is not None:
        try:
            versions.parse(version)
        except versions.BadVersion as error:
            found.append(str(error))
    return found


def of_resources(resources: Sequence[Resource], version: str | None) -> list[str]:
    """What is wrong with the resources, each by itself and all together."""
    found = [f"{resource.text}: {flaw}" for resource in resources for flaw in (*_identity(resource), *_options(resource))]
    found += [f"{resource.text}: {flaw}" for resource in resources for mutation in resource.mutations for flaw in mutation.flaws(version)]
    return [*found, *_twice(resources), *_flow(resources)]


def _identity(resource: Resource) -> list[str]:
    wanted = {"apiVersion": resource.desired.get("apiVersion"), "kind": resource.desired.get("kind"), "metadata.name": resource.name}
    found = [f"expected {field}, got none" for field, value in wanted.items() if not value]
    if resource.kind and (resource.desired.get("apiVersion"), resource.desired.get("kind")) != (resource.api_version, resource.kind):
        got = f"{resource.desired.get('kind')} of {resource.desired.get('apiVersion')}"
        found.append(f"expected a {resource.kind} of {resource.api_version}, got a {got}")
    return found


def _options(resource: Resource) -> list[str]:
    removing = {"delete": resource.delete, "delete_when": resource.delete_when is not None, "gated_by": resource.gated_by is not None}
    letting_go = {"orphan_when": resource.orphan_when is not None}
    found = []
    if resource.read_only:
        minding = {"block_on_foreign_controller": resource.block_on_foreign_controller}
        found += [f"read_only does not go with {name}" for name, given in {**removing, **letting_go, **minding}.items() if given]
    if resource.orphan_when is not None:
        found += [f"orphan_when does not go with {name}" for name, given in removing.items() if given]
    absence = {"block_on_absence": resource.block_on_absence, "ignore_if_absent": resource.ignore_if_absent}
    if not resource.read_only:
        found += [f"{name} is for read_only resources" for name, given in absence.items() if given]
    if all(absence.values()):
        found.append("block_on_absence does not go with ignore_if_absent")
    return found


def _twice(resources: Sequence[Resource]) -> list[str]:
    seen: set[tuple[str, ...]] = set()
    found = []
    for resource in resources:
        if resource.name and resource.identity in seen:
            found.append(f"{resource.text} is listed twice")
        seen.add(resource.identity)
    return found


def _flow(resources: Sequence[Resource]) -> list[str]:
    """Every cell has one producer, which stands before its readers."""
    producers: dict[Data[Any], Resource] = {}
    names: dict[str, Data[Any]] = {}
    found = []
    for resource in resources:
        missing = [cell.name for cell in resource.reads if cell not in producers]
        found += [f'{resource.text} reads data "{name}", which no earlier resource yields' for name in missing]
        for cell in resource.yields:
            if cell in producers:
                found.append(f'data "{cell.name}" is yielded by {producers[cell].text} and by {resource.text}')
            elif names.get(cell.name, cell) is not cell:
                found.append(f'two cells are named "{cell.name}"')
            producers.setdefault(cell, resource)
            names.setdefault(cell.name, cell)
    return found
