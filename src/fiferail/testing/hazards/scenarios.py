"""Eighteen small stories. In each, somebody acts between another's read and write, and something must be true at the end.

A story knows nothing of how its actors write: it says who reads when, who decides what, and what must not be missing.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from fiferail.errors import FiferailError

from .place import NEWER, OLDER
from .ways import observe_generation, set_condition

if TYPE_CHECKING:
    from collections.abc import Callable

    from fiferail.objects.tree import Json

    from .place import Actor, Place
    from .ways import Decision, Way

CONTROLLER, REPORTER = "controller", "reporter"


class Scene:
    """One object and two actors, while a story is told with one way of writing."""

    def __init__(self, place: Place, way: Way) -> None:
        self.place, self.way = place, way
        self.name = place.fresh_name()
        self.controller, self.reporter = place.actor(CONTROLLER), place.actor(REPORTER)
        #: Who was told that a write came to nothing.
        self.told: dict[str, FiferailError] = {}
        #: What must be true, whose loss it is if it is not, and what was found.
        self.missing: list[tuple[str, str]] = []
        self.idle_writes = 0
        self.origin = 0

    def begin(self, **status: Any) -> None:
        """The object, with the status that the controller wrote first."""
        made = self.place.make(self.name)
        self.origin = self.origin or int(made["metadata"]["resourceVersion"])
        if status:
            self.way.start(self.controller, made, status)

    def both_read(self) -> tuple[Json, Json]:
        """The same version for both."""
        return self.controller.get(self.name), self.reporter.get(self.name)

    def write(self, actor: Actor, base: Json, decide: Decision) -> Json:
        """A write by the way of this scene. An error is the actor's to deal with: it was told."""
        try:
            return self.way.write(actor, base, decide)
        except FiferailError as error:
            self.told[actor.name] = error
            return None

    def create(self, actor: Actor, base: Json, plan: str) -> Json:
        """The same for a plan."""
        try:
            return self.way.create(actor, base, plan)
        except FiferailError as error:
            self.told[actor.name] = error
            return None

    @property
    def status(self) -> Json:
        """What is stored now."""
        return self.place.get(self.name).get("status") or {}

    @property
    def conditions(self) -> set[str]:
        """The types that are stored now."""
        return {entry["type"] for entry in self.status.get("conditions") or []}

    def expect(self, whose: Actor, what: str, holds: bool) -> None:
        """Something of that actor's must be there."""
        if not holds:
            self.missing.append((whose.name, what))


@dataclass(frozen=True)
class Hazard:
    """A story with a name."""

    name: str
    what: str
    tell: Callable[[Scene], None] = field(repr=False)

    def __str__(self) -> str:
        return self.name


HAZARDS: list[Hazard] = []


def hazard(name: str, what: str) -> Callable[[Callable[[Scene], None]], Callable[[Scene], None]]:
    """Registers a story, in the order of the page."""

    def register(tell: Callable[[Scene], None]) -> Callable[[Scene], None]:
        HAZARDS.append(Hazard(name, what, tell))
        return tell

    return register


def assign(**members: Any) -> Decision:
    """A decision that looks at nothing."""
    return lambda status: status.update(members)


def from_pending(to: str) -> Decision:
    """A decision that holds only while the phase is Pending."""

    def decide(status: Any) -> None:
        if status.get("phase") == "Pending":
            status["phase"] = to

    return decide


@hazard("disjoint scalars", "a controller and a reporter write different fields on every reconcile")
def disjoint_scalars(scene: Scene) -> None:
    scene.begin(phase="Pending", count=0)
    mine, theirs = scene.both_read()
    scene.write(scene.controller, mine, assign(phase="Running"))
    scene.write(scene.reporter, theirs, assign(message="probed"))
    scene.expect(scene.controller, "phase", scene.status.get("phase") == "Running")
    scene.expect(scene.reporter, "message", scene.status.get("message") == "probed")


@hazard("stale scalar", "one scalar is computed by two from a stale read")
def stale_scalar(scene: Scene) -> None:
    scene.begin(phase="Pending")
    mine, theirs = scene.both_read()
    scene.write(scene.controller, mine, from_pending("Failed"))
    scene.write(scene.reporter, theirs, from_pending("Running"))
    # Only a pending gadget may become running: once it has failed, the reporter's decision does not stand any more.
    _blame(scene, scene.controller, scene.reporter, "phase", scene.status.get("phase") == "Failed")


@hazard("increment", "two writers read 5 and both write 6")
def increment(scene: Scene) -> None:
    def more(status: Any) -> None:
        status["count"] = status["count"] + 1

    scene.begin(count=5)
    mine, theirs = scene.both_read()
    scene.write(scene.controller, mine, more)
    scene.write(scene.reporter, theirs, more)
    _blame(scene, scene.controller, scene.reporter, "count", scene.status.get("count") == 7)


@hazard("cleared plan", "a plan was made, run and cleared between a stale reconcile's read and its write")
def cleared_plan(scene: Scene) -> None:
    def clear(status: Any) -> None:
        del status["plan"]
        status["lastPlan"] = "p1"

    scene.begin(phase="Idle")
    mine, theirs = scene.both_read()
    scene.create(scene.controller, mine, "p1")
    scene.write(scene.controller, scene.controller.get(scene.name), clear)
    scene.create(scene.reporter, theirs, "p1")
    _blame(scene, scene.controller, scene.reporter, "the cleared plan", "plan" not in scene.status)


@hazard("older version", "a writer that uses an older version of the CRD erases what only the newer one knows")
def older_version(scene: Scene) -> None:
    scene.begin(phase="Pending")
    scene.write(scene.controller, scene.controller.get(scene.name, NEWER), assign(novel="x"))
    scene.write(scene.reporter, scene.reporter.get(scene.name, OLDER), assign(message="probed"))
    scene.expect(scene.controller, "novel", scene.status.get("novel") == "x")
    scene.expect(scene.reporter, "message", scene.status.get("message") == "probed")


def _two_conditions(scene: Scene) -> None:
    mine, theirs = scene.both_read()
    scene.write(scene.controller, mine, lambda status: set_condition(status, "Ready"))
    scene.write(scene.reporter, theirs, lambda status: set_condition(status, "Probed"))
    scene.expect(scene.controller, "Ready", "Ready" in scene.conditions)
    scene.expect(scene.reporter, "Probed", "Probed" in scene.conditions)


@hazard("distinct conditions", "two writers, two condition types, one array")
def distinct_conditions(scene: Scene) -> None:
    first = {"type": "Created", "status": "True", "reason": "Test", "message": "", "lastTransitionTime": "2026-01-01T00:00:00Z"}
    scene.begin(conditions=[first])
    _two_conditions(scene)


@hazard("first condition", "both add the first condition to an absent status")
def first_condition(scene: Scene) -> None:
    scene.begin()
    _two_conditions(scene)


@hazard("double plan", "two reconciles both see no plan")
def double_plan(scene: Scene) -> None:
    scene.begin(phase="Idle")
    mine, theirs = scene.both_read()
    won = scene.create(scene.controller, mine, "a")
    got = scene.create(scene.reporter, theirs, "b")
    stored = scene.status.get("plan") or {}
    scene.expect(scene.controller, "the first plan", won is not None and stored.get("id") == won["plan"]["id"])
    scene.expect(scene.reporter, "the plan it acts on", got is not None and stored.get("id") == got["plan"]["id"])


@hazard("reference list", "workloads append themselves to a config's list while its owner recomputes it")
def reference_list(scene: Scene) -> None:
    def recompute(status: Any) -> None:
        status["references"] = [name for name in status["references"] if name != "w1"]

    def append(status: Any) -> None:
        status["references"] = [*status["references"], "w3"]

    scene.begin(references=["w1", "w2"])
    mine, theirs = scene.both_read()
    scene.write(scene.reporter, theirs, append)
    scene.write(scene.controller, mine, recompute)
    scene.expect(scene.reporter, "w3", "w3" in scene.status["references"])
    scene.expect(scene.controller, "without w1", "w1" not in scene.status["references"])


@hazard("swallowed conflict", "the loser of a 409 logs and goes on; nobody writes again")
def swallowed_conflict(scene: Scene) -> None:
    disjoint_scalars(scene)
    scene.told.clear()  # it was told, and did nothing about it


@hazard("resurrection", "a workload with an old view brings back a reference that was dropped")
def resurrection(scene: Scene) -> None:
    def drop(status: Any) -> None:
        status["references"] = [name for name in status["references"] if not name.startswith("w1")]

    def renew(status: Any) -> None:
        current = list(status["references"])
        if "w1" in current:
            status["references"] = [*(name for name in current if name != "w1"), "w1:8080"]

    scene.begin(references=["w1", "w2"])
    mine, theirs = scene.both_read()
    scene.write(scene.controller, mine, drop)
    scene.write(scene.reporter, theirs, renew)
    back = any(name.startswith("w1") for name in scene.status["references"])
    _blame(scene, scene.controller, scene.reporter, "the dropped reference", not back)


@hazard("recreated object", "the object is deleted and created again between read and write")
def recreated_object(scene: Scene) -> None:
    scene.begin(phase="Pending")
    _, theirs = scene.both_read()
    scene.place.remove(theirs)
    scene.way.held.pop(CONTROLLER, None)
    scene.begin(phase="New")
    scene.write(scene.reporter, theirs, assign(phase="Done"))
    _blame(scene, scene.controller, scene.reporter, "the new object's phase", scene.status.get("phase") == "New")


@hazard("lost answer", "the write lands, the answer does not; the caller tries again")
def lost_answer(scene: Scene) -> None:
    def meanwhile() -> None:
        scene.write(scene.controller, scene.controller.get(scene.name), assign(phase="Failed"))

    scene.begin(phase="Pending")
    _, theirs = scene.both_read()
    scene.reporter.when_lost = meanwhile
    scene.write(scene.reporter, theirs, from_pending("Running"))
    _blame(scene, scene.controller, scene.reporter, "phase", scene.status.get("phase") == "Failed")


@hazard("partial retry", "after a conflict only conditions are re-applied, other staged fields vanish")
def partial_retry(scene: Scene) -> None:
    def decide(status: Any) -> None:
        status["phase"] = "Running"
        set_condition(status, "Ready")

    scene.begin(phase="Pending")
    mine, theirs = scene.both_read()
    scene.write(scene.reporter, theirs, assign(message="probed"))
    scene.write(scene.controller, mine, decide)
    scene.expect(scene.reporter, "message", scene.status.get("message") == "probed")
    scene.expect(scene.controller, "phase", scene.status.get("phase") == "Running")
    scene.expect(scene.controller, "Ready", "Ready" in scene.conditions)


@hazard("laundered base", "the retry fetches a fresh object and puts stale values on it")
def laundered_base(scene: Scene) -> None:
    def describe(status: Any) -> None:
        status["message"] = f"is {status['phase']}"

    scene.begin(phase="Pending")
    mine, theirs = scene.both_read()
    scene.write(scene.controller, mine, assign(phase="Failed"))
    scene.write(scene.reporter, theirs, describe)
    scene.expect(scene.controller, "phase", scene.status.get("phase") == "Failed")
    scene.expect(scene.reporter, "a message of the phase that is", scene.status.get("message") == "is Failed")


@hazard("stale no-op", "a cache older than the own last write makes a needed write look unnecessary")
def stale_noop(scene: Scene) -> None:
    scene.begin(phase="Pending")
    cached = scene.controller.get(scene.name)
    scene.write(scene.controller, cached, assign(phase="Running"))
    scene.write(scene.controller, cached, assign(phase="Pending"))
    scene.expect(scene.controller, "phase", scene.status.get("phase") == "Pending")


@hazard("generation regress", "an older reconcile lowers observedGeneration")
def generation_regress(scene: Scene) -> None:
    def observed(generation: int) -> Decision:
        def decide(status: Any) -> None:
            observe_generation(status, generation)

        return decide

    scene.begin(observedGeneration=0)
    mine, theirs = scene.both_read()
    scene.write(scene.controller, mine, observed(2))
    scene.write(scene.reporter, theirs, observed(1))
    _blame(scene, scene.controller, scene.reporter, "observedGeneration", scene.status.get("observedGeneration") == 2)


@hazard("hot loop", "a write that changes nothing on every pass, here of a field that the schema drops")
def hot_loop(scene: Scene) -> None:
    scene.begin(phase="Pending")
    for _ in range(6):
        scene.write(scene.controller, scene.controller.get(scene.name), assign(phase="Running", unknown="x"))
    scene.idle_writes = max(0, scene.controller.writes - 2)
    scene.expect(scene.controller, "phase", scene.status.get("phase") == "Running")


def _blame(scene: Scene, victim: Actor, culprit: Actor, what: str, holds: bool) -> None:
    """Missing for the first writer, unless the second was told: then nothing was lost in silence."""
    if not holds:
        scene.missing.append((culprit.name if culprit.name in scene.told else victim.name, what))
