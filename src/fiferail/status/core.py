"""What the sync and the async writer share: everything but carrying requests.

Knows the writer's name, claims, memory and defaults; opens stages and builds conversations. Never sends anything itself.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec

from ..errors import Conflict, FiferailError
from ..objects.paths import Path, render
from ..objects.paths import parse as parse_path
from . import once, schemas, targets
from .answers import Lost, error
from .claims import Claims
from .conversation import Budget, Plan, Stale, read, write
from .effects import Call, Conversation, Send, Wait
from .hooks import Hooks
from .intents import Condition, Intent, Put
from .lossy import Unpaired
from .memory import Glance, Memory, glance, version
from .outcome import Kind, Made, Outcome
from .shapes import Shapes
from .sharing import Lanes, write_shared
from .stage import Stage
from .strategies import COMPARE, LOCKED, Strategy
from .view import guard_paths

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from ..objects.tree import Json
    from .hooks import Hook
    from .targets import Resource, Target

STATUS = "status"


class Settings(msgspec.Struct, frozen=True, kw_only=True):
    """How a writer behaves. Time and chance are arguments, so that tests and an explorer can hold them."""

    field_manager: str
    strategy: Strategy = COMPARE
    keys: dict[str, tuple[str, ...]] = {}
    budget: Budget = Budget()
    timeout: float | None = 30.0
    now: Callable[[], str]
    chance: Callable[[], float]
    seconds: Callable[[], float]


class Core:
    """One writer, without its transport."""

    def __init__(
        self, settings: Settings, claims: Mapping[str, Sequence[str]] | None, registry: Claims | None, hooks: Iterable[Hook],
        resources: dict[str, dict[str, Resource]] | None = None,
    ) -> None:  # fmt: skip
        if not settings.field_manager or len(settings.field_manager) > 128:
            raise ValueError(f"expected a field manager of 1 to 128 characters, got {settings.field_manager!r}")
        self.settings = settings
        self.memory = Memory(resources=resources)
        self.lanes = Lanes()
        self.hooks = Hooks(hooks)
        self.registry = registry if registry is not None else Claims()
        if claims:
            self.registry.claim(settings.field_manager, claims)

    # -- staging

    def open(self, obj: Json, guard: Sequence[str] = (), lossy: bool = False) -> Open:
        """A stage for the object, from the newest version of it that this writer knows."""
        target = targets.target_of(obj)
        base = self.memory.newest(obj, lossy=lossy)
        stage = Stage(
            base,
            shapes=self._known_shapes(target),
            now=self.settings.now,
            generation=obj["metadata"].get("generation"),
            guards=guard_paths(guard) if guard else (),
            may_write=self._checker(target),
        )
        return Open(target, stage, lossy and base is obj)

    def _checker(self, target: Target) -> Callable[[Path], None] | None:
        kind, manager = target.kind_name, self.settings.field_manager
        return (lambda path: self.registry.check(manager, kind, path)) if self.registry.mentions(kind) else None

    def _known_shapes(self, target: Target) -> Shapes:
        known = self.memory.shapes(target.kind_id, self.settings.seconds()) or Shapes()
        return known.declared(self.settings.keys) if self.settings.keys else known

    # -- conversations

    def flush(self, opened: Open, strategy: Strategy | None = None) -> Conversation[Outcome]:
        """Write what was staged, once; who goes on staging starts from what the server has then."""
        opened.go_on()
        intents, live = self._intents(opened)
        if not intents:
            return Outcome(Kind.UNCHANGED, opened.stage.base)
        writing = self._write(opened, intents, live, strategy or self.settings.strategy)
        return (yield from self._told(opened, writing) if self.hooks else writing)

    def _write(self, opened: Open, intents: Sequence[Intent], live: Json | None, strategy: Strategy) -> Conversation[Outcome]:
        asked = 0
        if opened.lossy:
            grounded, live = yield from self._ground(opened)
            asked = 1
            if grounded is None:
                self.memory.forget(opened.target.uid)
                return Outcome(Kind.GONE, None, asked)
            intents = self._intents(opened)[0] if live is None else intents
        plan = yield from self._plan(opened, intents, strategy)
        plan.live, plan.asked = live, asked
        shared = strategy is COMPARE and opened.subresource == STATUS
        outcome, body = yield from (write_shared(self.lanes, plan) if shared else write(plan))
        seen = glance(outcome.raw) if outcome.raw and opened.subresource == STATUS else None
        if body is not None:
            altered = self._learn(opened.target, plan.intents, body.target, outcome.object if seen is None else seen.object())
            outcome = outcome.but(altered=altered) if altered else outcome
        self._remember(opened, outcome, seen)
        return outcome

    def _told(self, opened: Open, conversation: Conversation[Outcome]) -> Conversation[Outcome]:
        """The same, and the hooks hear how it ended."""
        began = self.settings.seconds()
        kind, manager = opened.target.kind_name, self.settings.field_manager
        try:
            outcome = yield from conversation
        except Exception as failure:
            self.hooks.failed(kind, manager, failure, self.settings.seconds() - began)
            raise
        self.hooks.finished(kind, manager, outcome, self.settings.seconds() - began)
        return outcome

    def _ground(self, opened: Open) -> Conversation[tuple[Json, Json]]:
        """The base came through a typed model: read the object itself. Where it still has that version, what was staged is put on it;
        where it has moved on, the newer version is given as the second, to be judged."""
        resource = yield from self._resource(opened.target)
        live = yield from read(resource, opened.target, self.settings.budget, self.settings.chance)
        if live is None:
            return None, None
        if version(live) != version(opened.stage.base):
            return live, live
        try:
            opened.stage.reground(live)
        except Unpaired:
            if opened.stage.shapes.enforced is not None:
                raise
            yield from self._shapes(opened.target, opened.stage)  # the schema may say by what the entries are paired
            opened.stage.reground(live)
        opened.lossy = False
        return live, None

    def mutate(self, opened: Open, view: Any, fn: Callable[[Any], Any], strategy: Strategy | None = None) -> Conversation[Outcome]:
        """Run the function and write; run it again on the live object while something it looked at has changed."""
        conflict: Conflict | None = None
        requests, budget = 0, self.settings.budget
        for attempt in range(budget.tries):
            if attempt > 1:
                yield Wait(budget.pause(attempt - 2, self.settings.chance()))
            yield Call(fn, (view,))
            try:
                outcome = yield from self.flush(opened, strategy)
            except Stale as stale:
                conflict = stale
                requests += stale.requests
                self.memory.remember(stale.live)
                opened.stage.generation = stale.live["metadata"].get("generation")
                opened.stage.rebase(stale.live)
            else:
                return outcome.but(requests=outcome.requests + requests) if requests else outcome
        assert conflict is not None
        raise conflict

    def create_once(self, opened: Open, slot: str, build: Callable[[Json], Any], fence: str | None) -> Conversation[Made]:
        """Fill the slot unless somebody has."""
        path = (STATUS, *parse_path(slot))
        self.registry.check(self.settings.field_manager, opened.target.kind_name, path)
        made: list[Made] = []

        def told() -> Conversation[Outcome]:
            made.append((yield from self._create(opened, path, build, (STATUS, *parse_path(fence)) if fence else None)))
            return made[0].outcome

        yield from self._told(opened, told())
        return made[0]

    def _create(self, opened: Open, path: Path, build: Callable[[Json], Any], fence: Path | None) -> Conversation[Made]:
        if opened.lossy:
            grounded, live = yield from self._ground(opened)
            if grounded is None:
                return Made(None, False, Outcome(Kind.GONE, None, 1))
            if live is not None:
                opened.stage.rebase(live)
        plan = yield from self._plan(opened, [], COMPARE)
        made = yield from once.create(plan, path, build, fence)
        self._remember(opened, made.outcome)
        return made

    def edit(self, opened: Open, view: Any, fn: Callable[[Any], Any], strategy: Strategy) -> Conversation[Outcome]:
        """Spec and metadata: the same conversation on the main resource, always guarded."""
        if strategy not in (COMPARE, LOCKED):
            raise FiferailError(f"expected COMPARE or LOCKED for an edit, got {strategy.name}: spec and metadata are always guarded")
        yield Call(fn, (view,))
        return (yield from self.flush(opened, strategy))

    # -- the parts of a plan

    def _intents(self, opened: Open) -> tuple[Sequence[Intent], Json | None]:
        """What is wanted; and the newest version known, where that contradicts what the session took for settled."""
        stage, target = opened.stage, opened.target
        intents: Sequence[Intent] = stage.intents()
        if opened.subresource == "":
            for intent in intents:
                if intent.path[0] == STATUS:
                    raise FiferailError(
                        f"this edit changes {render(intent.path)}, but status is not written on the main resource: use a session or mutate"
                    )
        now = self.settings.seconds()
        wanted = self.memory.settled(target.uid, intents, stage.base, now) if intents else intents
        newest = self.memory.newest(stage.base)
        if newest is not stage.base:
            contradicted = stage.contradicted(newest)
            if contradicted or len(self.memory.settled(target.uid, intents, newest, now)) > len(wanted):
                return [*intents, *contradicted], newest
        return wanted, None

    def _plan(self, opened: Open, intents: Sequence[Intent], strategy: Strategy) -> Conversation[Plan]:
        target, stage = opened.target, opened.stage
        resource = self.memory.resource(target) or (yield from self._resource(target))
        if opened.subresource == STATUS and not resource.status:
            self.memory.resources.pop(target.api_version, None)  # the CRD may have gained it since
            resource = yield from self._resource(target)
        if opened.subresource == STATUS and not resource.status:
            raise FiferailError(f"{target.kind_name} has no status subresource: add `subresources: {{status: {{}}}}` to its CRD")
        shapes = stage.shapes
        if shapes.enforced is None and strategy is COMPARE and _adds_entry(intents):
            shapes = yield from self._shapes(target, stage)
        kind, manager = target.kind_name, self.settings.field_manager
        return Plan(
            target=target, resource=resource, subresource=opened.subresource, manager=manager, strategy=strategy,
            base=stage.base, staged=stage.tree, snapshot=stage.base, intents=intents, reads=[*stage.reads, *stage.guards], shapes=shapes,
            claimed=lambda path: self.registry.owns(manager, kind, path),
            settled=lambda wanted, snapshot: self.memory.settled(target.uid, wanted, snapshot, self.settings.seconds()),
            budget=self.settings.budget, chance=self.settings.chance, seconds=self.settings.seconds, pace=self.memory.pace(target.uid),
        )  # fmt: skip

    def _resource(self, target: Target) -> Conversation[Resource]:
        known = self.memory.resources.get(target.api_version, {})
        if target.kind not in known:
            began = self.settings.seconds()
            answer = yield Send(targets.discovery(target))
            self.memory.tempo.heard(self.settings.seconds() - began)
            if isinstance(answer, Lost):
                raise FiferailError(f"what {target.api_version} serves could not be asked: {answer.error!r}") from answer.error
            if answer.status != 200:
                raise error(answer)
            known = self.memory.resources[target.api_version] = targets.resources(answer.json())
        if target.kind not in known:
            raise FiferailError(f"the server has no kind {target.kind} in {target.api_version}: is its CRD installed?")
        return known[target.kind]

    def _shapes(self, target: Target, stage: Stage) -> Conversation[Shapes]:
        request = schemas.document(target)
        found = Shapes(enforced=frozenset())
        if request is not None:
            answer = yield Send(request)
            if not isinstance(answer, Lost) and answer.status == 200:
                found = schemas.shapes_of(answer.json(), target)
        self.memory.keep_shapes(target.kind_id, found, self.settings.seconds())
        known = self._known_shapes(target)
        stage.shapes = msgspec.structs.replace(known, keyed={**stage.shapes.keyed, **known.keyed}, wholes=stage.shapes.wholes)
        return stage.shapes

    # -- after the answer

    def _remember(self, opened: Open, outcome: Outcome, seen: Glance | None = None) -> None:
        if outcome.kind is Kind.GONE:
            self.memory.forget(opened.target.uid)
            return
        if seen is not None:
            self.memory.remember_raw(opened.target.uid, outcome.raw, seen)
        else:
            self.memory.remember(outcome.object)
        opened.stage.rebase_later(outcome)
        opened.lossy = False

    def _learn(self, target: Target, intents: Sequence[Intent], sent: Json, stored: Json) -> tuple[str, ...]:
        found = self.memory.learn(target.uid, intents, sent, stored, self.settings.seconds())
        for path, dropped in found:
            field = ".".join(_names(path))
            if (target.kind_name, field) not in self.memory.warned:
                self.memory.warned.add((target.kind_name, field))
                self.hooks.altered(target.kind_name, self.settings.field_manager, field, dropped)
        return tuple(render(path) for path, _ in found)


class Open:
    """An opened object: who it is, what is staged, and where it is written."""

    __slots__ = ("lossy", "stage", "subresource", "target")

    def __init__(self, target: Target, stage: Stage, lossy: bool) -> None:
        self.target = target
        self.stage = stage
        self.subresource = STATUS
        #: The base came through a typed model: read the live object before writing.
        self.lossy = lossy

    def go_on(self) -> Json:
        """From what the server has since the last flush."""
        return self.stage.base

    def end(self) -> None:
        """The session is over: what is staged from now on nobody would write."""
        self.stage.close()


def _adds_entry(intents: Iterable[Intent]) -> bool:
    return any(isinstance(intent, (Put, Condition)) and not isinstance(intent.path[-1], str) for intent in intents)


def _names(path: Path) -> list[str]:
    return [step for step in path if isinstance(step, str)]
