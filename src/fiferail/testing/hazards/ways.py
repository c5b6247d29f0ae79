"""Eight ways to write a status. Four are what operators do today with a plain client, four are fiferail's strategies.

A way gets an actor, the object as that actor read it, and its decision: a function that edits a status. It gives back the status that
the caller believes to be stored, or raises when the caller is told that nothing came of it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from fiferail.errors import ApiError
from fiferail.front import StatusWriter
from fiferail.objects.paths import render
from fiferail.objects.tree import thaw
from fiferail.status.patience import Budget
from fiferail.status.strategies import APPLY, COMPARE, LOCKED, MERGE, Strategy

from .place import NAMESPACE, Actor

if TYPE_CHECKING:
    from fiferail.objects.tree import Json

Decision = Callable[[Any], object]
NOW = "2026-01-01T00:00:00Z"
TRIES = 5
#: The name under which careless operators apply: the same for all of their controllers.
SHARED = "operator"


class Noting(dict[str, Any]):
    """A plain status that notes which members were looked at."""

    def __init__(self, status: Any) -> None:
        super().__init__(thaw(status) if status else {})
        self.looked_at: dict[str, None] = {}

    def __getitem__(self, name: str) -> Any:
        self.looked_at[f"status.{name}"] = None
        return super().__getitem__(name)

    def __contains__(self, name: object) -> bool:
        self.looked_at[f"status.{name}"] = None
        return super().__contains__(name)

    def get(self, name: str, default: Any = None) -> Any:
        self.looked_at[f"status.{name}"] = None
        return super().get(name, default)


def set_condition(status: Any, type_: str) -> None:
    """Set a condition to True, in a plain status or in a staged one."""
    if hasattr(status, "conditions"):
        status.conditions.set(type_, True, reason="Test")
        return
    others = [entry for entry in (dict.get(status, "conditions") or []) if entry["type"] != type_]
    status["conditions"] = [*others, {"type": type_, "status": "True", "reason": "Test", "message": "", "lastTransitionTime": NOW}]


def observe_generation(status: Any, generation: int) -> None:
    """Say which generation was seen."""
    if hasattr(status, "raise_to"):
        status.raise_to("observedGeneration", generation)
    else:
        status["observedGeneration"] = generation


class Way:
    """One way to write. `held` keeps what a client keeps between writes, by actor."""

    name = ""

    def __init__(self) -> None:
        self.held: dict[str, Any] = {}

    def start(self, actor: Actor, obj: Json, status: Json) -> Json:
        """The status that a scenario starts with, written by its first actor."""
        stored = actor.client.replace({**obj, "status": status}, subresource="status", field_manager=actor.name)
        actor.decided(stored)
        return stored

    def write(self, actor: Actor, base: Json, decide: Decision) -> Json:
        """Decide on the object as read, and write."""
        raise NotImplementedError

    def create(self, actor: Actor, base: Json, plan: str) -> Json:
        """Make a plan unless there is one, or it has been run already."""

        def decide(status: Any) -> None:
            if "plan" not in status and status.get("lastPlan") != plan:
                status["plan"] = {"id": plan, "steps": 3}

        return self.write(actor, base, decide)


def _decided(actor: Actor, base: Json, decide: Decision) -> Noting:
    status = Noting(base.get("status"))
    decide(status)
    actor.decided(base, tuple(status.looked_at), once=True)
    return status


class Put(Way):
    """The whole status with the resourceVersion that was read."""

    name = "PUT"

    def write(self, actor: Actor, base: Json, decide: Decision) -> Json:
        status = _decided(actor, base, decide)
        if dict(status) == (base.get("status") or {}):
            return base.get("status")  # nothing to do, by the object as read
        try:
            return self._put(actor, base, status)
        except ConnectionError:
            return self._put(actor, base, status)

    def _put(self, actor: Actor, base: Json, status: Json) -> Json:
        try:
            actor.client.replace({**base, "status": dict(status)}, subresource="status", field_manager=actor.name)
        except ApiError as error:
            if error.code != 409:
                raise
            return self.refused(actor, base, status, error)
        return status

    def refused(self, actor: Actor, base: Json, status: Json, error: ApiError) -> Json:
        """The conflict goes to the caller."""
        raise error


class NaivePut(Put):
    """On a conflict: the fresh resourceVersion, and the same status again."""

    name = "PUT, naive retry"

    def refused(self, actor: Actor, base: Json, status: Json, error: ApiError) -> Json:
        return self._put(actor, actor.get(base["metadata"]["name"], base["apiVersion"]), status)


class ConditionsPut(Put):
    """On a conflict: the fresh object, with the conditions set again, and nothing else."""

    name = "PUT, conditions retried"

    def refused(self, actor: Actor, base: Json, status: Json, error: ApiError) -> Json:
        before = {entry["type"]: entry for entry in (base.get("status") or {}).get("conditions") or []}
        mine = [entry for entry in dict.get(status, "conditions") or [] if before.get(entry["type"]) != entry]
        fresh = actor.get(base["metadata"]["name"], base["apiVersion"])
        live = fresh.get("status") or {}
        own = {entry["type"] for entry in mine}
        kept = [entry for entry in live.get("conditions") or [] if entry["type"] not in own]
        actor.decided(fresh)
        if mine:
            self._put(actor, fresh, {**live, "conditions": [*kept, *mine]})
        return status


class BlindApply(Way):
    """Server-side apply of the whole computed status, forced, under one name for all."""

    name = "blind apply"

    def start(self, actor: Actor, obj: Json, status: Json) -> Json:
        actor.decided(obj)
        return self._apply(actor, obj, status)

    def write(self, actor: Actor, base: Json, decide: Decision) -> Json:
        status = _decided(actor, base, decide)
        try:
            self._apply(actor, base, dict(status))
        except ConnectionError:
            self._apply(actor, base, dict(status))
        return status

    def _apply(self, actor: Actor, base: Json, status: Json) -> Json:
        metadata = {"name": base["metadata"]["name"], "namespace": NAMESPACE}
        body = {"apiVersion": base["apiVersion"], "kind": base["kind"], "metadata": metadata, "status": status}
        return actor.client.patch(base, body, type="apply", subresource="status", field_manager=SHARED, force=True)


class Fiferail(Way):
    """One of fiferail's strategies, through `mutate`."""

    def __init__(self, strategy: Strategy) -> None:
        super().__init__()
        self.name = strategy.name
        self._strategy = strategy

    def writer(self, actor: Actor) -> StatusWriter:
        """The actor's writer, which lives as long as the actor."""
        if actor.name not in self.held:
            self.held[actor.name] = StatusWriter(
                actor, field_manager=actor.name, strategy=self._strategy, sleep=lambda _: None, now=lambda: NOW, chance=lambda: 0.5,
                seconds=lambda: 0.0, budget=Budget(tries=TRIES),
            )  # fmt: skip
        found: StatusWriter = self.held[actor.name]
        return found

    def start(self, actor: Actor, obj: Json, status: Json) -> Json:
        if self._strategy is not APPLY:
            return super().start(actor, obj, status)
        actor.decided(obj)
        return self.writer(actor).mutate(obj, lambda staged: staged.update(status)).object

    def write(self, actor: Actor, base: Json, decide: Decision) -> Json:
        def noted(status: Any) -> None:
            decide(status)
            actor.decided(status._stage.base, tuple(render(path) for path in status._stage.reads))

        outcome = self.writer(actor).mutate(base, noted)
        return None if outcome.object is None else outcome.object.get("status")


class Compare(Fiferail):
    """The default; plans are made with `create_once`."""

    def __init__(self) -> None:
        super().__init__(COMPARE)

    def create(self, actor: Actor, base: Json, plan: str) -> Json:
        def build(obj: Json) -> Json:
            actor.decided(obj)
            return None if (obj.get("status") or {}).get("lastPlan") == plan else {"id": plan, "steps": 3}

        made = self.writer(actor).create_once(base, "plan", build, fence="lastPlan")
        return {"plan": made.value}


WAYS: tuple[Callable[[], Way], ...] = (
    Put, NaivePut, ConditionsPut, lambda: Fiferail(MERGE), lambda: Fiferail(LOCKED), BlindApply, lambda: Fiferail(APPLY), Compare,
)  # fmt: skip
NAMES = tuple(make().name for make in WAYS)
