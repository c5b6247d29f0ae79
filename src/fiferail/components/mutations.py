"""Mutations: named edits of a desired object, each behind a range of versions, a switch, or both.

The object that a component is given describes the newest release; mutations take it back, or add what a flag asks for. They run in
order and each sees what the earlier ones left. An edit changes the object it gets, which is a private copy, or returns another.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeAlias

import msgspec

from ..errors import FiferailError
from ..objects.tree import thaw
from . import versions
from .gates import Gate, is_on

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ..objects.tree import Json
    from .data import Data

Edit: TypeAlias = Callable[[Any], Any]
#: Where each kind keeps the template of its pods; a Pod is its own.
_TEMPLATES: dict[str, tuple[str, ...]] = {
    "Deployment": ("spec", "template"), "StatefulSet": ("spec", "template"), "ReplicaSet": ("spec", "template"),
    "DaemonSet": ("spec", "template"), "Job": ("spec", "template"), "CronJob": ("spec", "jobTemplate", "spec", "template"), "Pod": (),
}  # fmt: skip


class Mutation(msgspec.Struct, frozen=True):
    """One edit. `versions`: only for releases in that range; `when`: only while that switch is on; both: only when both hold."""

    name: str
    edit: Edit
    versions: str | None = None
    when: Gate = True
    #: Cells that the edit reads. They must be filled by an earlier resource; say guard= where it cannot do without them.
    reads: tuple[Data[Any], ...] = ()

    def flaws(self, version: str | None) -> list[str]:
        """What is wrong with it, whatever the release."""
        wrong = [] if self.name else ["a mutation has no name"]
        if self.versions is not None:
            try:
                versions.parse_range(self.versions)
            except versions.BadVersion as error:
                wrong.append(f"mutation {self.name!r}: {error}")
            if version is None:
                wrong.append(f"mutation {self.name!r} is for versions {self.versions!r}, but the component has no version=")
        return wrong

    def fires(self, version: str | None) -> bool:
        """Whether this release, and the switch, ask for it."""
        if self.versions is not None and (version is None or versions.parse(version) not in versions.parse_range(self.versions)):
            return False
        return is_on(self.when)

    def apply(self, obj: Json) -> Json:
        """The object after the edit."""
        try:
            edited = self.edit(obj)
        except Exception as error:
            error.add_note(f"in mutation {self.name!r}")
            raise
        return obj if edited is None else edited


class PodMutation(Mutation, frozen=True):
    """An edit of a pod template, for any kind that has one: Deployment, StatefulSet, ReplicaSet, DaemonSet, Job, CronJob, Pod."""

    def apply(self, obj: Json) -> Json:
        """The object after the edit of its template."""
        template = pod_template(obj)
        edited = super().apply(template)
        if edited is not template:
            template.clear()
            template.update(edited)
        return obj


def pod_template(obj: Json) -> Json:
    """The part of the object that says what its pods are: `metadata` and `spec`."""
    kind = obj.get("kind")
    if kind not in _TEMPLATES:
        raise FiferailError(f"expected a kind with a pod template ({', '.join(_TEMPLATES)}), got {kind}")
    for step in _TEMPLATES[kind]:
        obj = obj.setdefault(step, {})
    return obj


def container(template: Json, name: str) -> Json:
    """The container of that name in a pod template, to be edited. LookupError, with the names there are, where there is none."""
    containers = template.get("spec", {}).get("containers") or []
    for found in containers:
        if found.get("name") == name:
            return found
    names = ", ".join(repr(found.get("name")) for found in containers) or "none"
    raise LookupError(f"expected a container {name!r}, got {names}")


def set_env(found: Json, name: str, value: str) -> None:
    """Set one variable of a container, in its place or at the end."""
    variables = found.setdefault("env", [])
    for variable in variables:
        if variable.get("name") == name:
            variable.clear()
            variable.update(name=name, value=value)
            return
    variables.append({"name": name, "value": value})


def mutated(desired: Json, mutations: Sequence[Mutation], version: str | None) -> Json:
    """A private copy of the desired object after those mutations that fire."""
    obj = thaw(desired)
    for mutation in mutations:
        if mutation.fires(version):
            obj = mutation.apply(obj)
    return obj


def firing(mutations: Sequence[Mutation], version: str | None) -> tuple[str, ...]:
    """The names of those that fire."""
    return tuple(mutation.name for mutation in mutations if mutation.fires(version))
