"""One resource of a component: what it shall look like, what is to become of it, and how its health is read.

Four categories, each a class to use or to derive from: `Workload` (alive, graded after its grace, suspendable), `Task` (completes,
suspendable), `Integration` (operational, graded, suspendable), `Static` (ready once it exists). A kind's health is read by four
small functions of the live object; any of them can be given by keyword instead. Building never talks to a server.
"""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING, Any

from ..objects.tree import thaw
from .gates import Gate, is_on
from .guards import Guard, cells_of
from .mutations import Mutation, firing, mutated
from .reasons import Health, Reason

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from ..objects.tree import Json
    from .data import Data


class Operation(StrEnum):
    """What applying a resource did."""

    CREATED = "created"
    UPDATED = "updated"
    NONE = "none"


class Mode(StrEnum):
    """What is to become of a resource in this reconcile."""

    APPLY = "apply"
    READ = "read"
    DELETE = "delete"
    ORPHAN = "orphan"


class Resource:
    """The base of the four categories."""

    #: Filled in for the ready-made kinds.
    api_version, kind = "", ""
    #: Whether suspending the component means something to it, and whether it is graded when its grace is over.
    suspendable, graceful = False, False
    #: Whether suspending it ends in its deletion.
    delete_on_suspend = False

    def __init__(
        self,
        desired: Mapping[str, Any],
        *,
        mutations: Sequence[Mutation] = (),
        guard: Guard | Sequence[Guard] | None = None,
        extract: Mapping[Data[Any], Callable[[Any], Any]] | None = None,
        include_when: bool = True,
        read_only: bool = False,
        delete: bool = False,
        delete_when: bool | None = None,
        gated_by: Gate | None = None,
        orphan_when: bool | None = None,
        unowned: bool = False,
        auxiliary: bool = False,
        block_on_absence: bool = False,
        ignore_if_absent: bool = False,
        block_on_foreign_controller: bool = False,
        suppress_grace_warning: bool = False,
        converge: Callable[[Any, Operation], Health] | None = None,
        grade: Callable[[Any], Health] | None = None,
        suspend: Callable[[Any], object] | None = None,
        suspended: Callable[[Any], Health] | None = None,
        delete_on_suspend: bool | None = None,
    ) -> None:
        named = {"apiVersion": self.api_version, "kind": self.kind} if self.kind else {}
        self.desired: Json = {**named, **thaw(dict(desired))}
        self.mutations = tuple(mutations)
        self.guards: tuple[Guard, ...] = () if guard is None else tuple(guard) if isinstance(guard, (list, tuple)) else (guard,)  # type: ignore[assignment]
        self.extract = dict(extract or {})
        self.include_when = include_when
        self.read_only, self.orphan_when = read_only, orphan_when
        self.delete, self.delete_when, self.gated_by = delete, delete_when, gated_by
        self.unowned, self.auxiliary = unowned, auxiliary
        self.block_on_absence, self.ignore_if_absent = block_on_absence, ignore_if_absent
        self.block_on_foreign_controller = block_on_foreign_controller
        self.suppress_grace_warning = suppress_grace_warning or type(self).suppresses_grace_warning
        self._converge, self._grade = converge or self.converge, grade or self.grade
        self._suspend, self._suspended = suspend or self.suspend, suspended or self.suspended
        if delete_on_suspend is not None:
            self.delete_on_suspend = delete_on_suspend

    #: For kinds whose grade is known to be milder than their convergence.
    suppresses_grace_warning = False

    # -- how a kind's health is read; a category or a kind overrides these

    def converge(self, live: Json, operation: Operation) -> Health:
        """How far it is."""
        return Health(Reason.HEALTHY, f"{live['kind']} exists")

    def grade(self, live: Json) -> Health:
        """How bad it is that it has not converged in its grace: Healthy, Degraded or Down."""
        return Health(Reason.DOWN, f"{self.text} did not converge in its grace period")

    def suspend(self, obj: Json) -> None:
        """Edit the desired object so that it rests."""

    def suspended(self, live: Json) -> Health:
        """How far the rest has come: PendingSuspension, Suspending or Suspended."""
        return Health(Reason.SUSPENDED, f"{live['kind']} needs nothing to be suspended")

    # -- what the component asks

    def health(self, live: Json, operation: Operation) -> Health:
        """How far it is, by the function that was given or the kind's own."""
        return self._converge(live, operation)

    def graded(self, live: Json) -> Health:
        """Its grade, likewise."""
        return self._grade(live)

    def put_to_rest(self, obj: Json) -> Json:
        """The object edited so that it rests."""
        rested = self._suspend(obj)
        return obj if rested is None else rested

    def rest(self, live: Json) -> Health:
        """How far the rest has come, likewise."""
        return self._suspended(live)

    def render(self, version: str | None) -> Json:
        """The desired object after its mutations: a private copy."""
        return mutated(self.desired, self.mutations, version)

    def firing(self, version: str | None) -> tuple[str, ...]:
        """The mutations that this version and the switches ask for."""
        return firing(self.mutations, version)

    @property
    def mode(self) -> Mode:
        """What is to become of it. May raise what a gate's function raises."""
        if self.read_only:
            return Mode.READ
        if self.orphan_when:
            return Mode.ORPHAN
        return Mode.DELETE if self.delete or self.delete_when or not is_on(self.gated_by) else Mode.APPLY

    @property
    def yields(self) -> tuple[Data[Any], ...]:
        """The cells it fills."""
        return tuple(self.extract)

    @property
    def needs(self) -> tuple[Data[Any], ...]:
        """The cells it waits for."""
        return cells_of(self.guards)

    @property
    def reads(self) -> tuple[Data[Any], ...]:
        """The cells it waits for, and those that its mutations look at."""
        return (*self.needs, *(cell for mutation in self.mutations for cell in mutation.reads if cell not in self.needs))

    @property
    def name(self) -> str:
        """The object's name."""
        name: str = (self.desired.get("metadata") or {}).get("name") or ""
        return name

    @property
    def namespace(self) -> str | None:
        """The object's namespace, where the desired object says one."""
        namespace: str | None = (self.desired.get("metadata") or {}).get("namespace")
        return namespace

    @property
    def identity(self) -> tuple[str, str, str, str]:
        """Group, kind, namespace and name: two resources of a component never share it."""
        group = str(self.desired.get("apiVersion", "")).rpartition("/")[0]
        return group, str(self.desired.get("kind", "")), self.namespace or "", self.name

    @property
    def text(self) -> str:
        """How messages name it."""
        return f"{self.desired.get('kind') or 'an object'} {self.name or 'without a name'}"

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.text}>"


class Static(Resource):
    """Ready once it exists."""


class Workload(Resource):
    """Something that runs: give `converge`, `grade` and `suspend` where the kind is your own."""

    suspendable, graceful = True, True


class Task(Resource):
    """Something that is done once."""

    suspendable = True


class Integration(Resource):
    """Something that connects: an address, a volume, a schedule."""

    suspendable, graceful = True, True

    def grade(self, live: Json) -> Health:
        """Failing is down, not yet there is degraded."""
        found = self.health(live, Operation.NONE)
        if found.reason.is_ready:
            return Health(Reason.HEALTHY, found.message)
        return Health(Reason.DOWN if found.reason is Reason.OPERATION_FAILING else Reason.DEGRADED, found.message)
