"""What the sync and the async writer share: everything but carrying requests.

Knows the writer's name, claims, memory and defaults; opens stages and builds conversations. Never sends anything itself.
What the writer remembers never replaces the object that the caller passed: `_known` lays both before `conversation`, which judges.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec

from ..errors import Conflict, FiferailError
from ..objects.paths import Path, find, meet, parse, render
from ..objects.tree import ABSENT
from . import flow, kinds, once, rerun, scopes, targets
from .claims import Claims
from .conversation import Plan, Stale, read, write
from .decide import Ground
from .hooks import Hooks
from .intents import Condition, Drop, Put, Raise, applied, derive, placed
from .lossy import Unpaired
from .memory import Glance, Memory, glance, version
from .outcome import Kind, Made, Outcome
from .patience import Budget, Patience
from .reads import merged
from .said import said
from .sharing import Lanes, write_shared
from .stage import SHARED, Stage, Staged, contradicted
from .strategies import APPLY, COMPARE, LOCKED, Strategy, checked

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from ..objects.tree import Json
    from .effects import Conversation
    from .hooks import Hook
    from .intents import Intent
    from .shapes import Shapes
    from .strategies import Body
    from .targets import Resource, Target

STATUS = "status"
#: The strategies that test what they overwrite.
TESTING = (COMPARE, LOCKED)


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
        """A stage for the object as the caller has it."""
        target = targets.target_of(obj)
        at = version(obj)
        if lossy:
            exact = self.memory.exact(obj)
            obj, lossy = (exact, False) if exact is not None else (obj, True)
        stage = Stage(
            obj,
            shapes=self.known_shapes(target),
            now=self.settings.now,
            generation=obj["metadata"].get("generation"),
            guards=[parse(text) for text in guard],
            may_write=self._checker(target),
        )
        return Open(target, stage, lossy or at < 0, at)

    def _checker(self, target: Target) -> Callable[[Path], None] | None:
        kind, manager = target.kind_name, self.settings.field_manager
        if target.group and self.registry.mentions(target.kind):
            raise FiferailError(f"claims name the kind {target.kind}, but this is {kind}: write {kind!r} in claims")
        return (lambda path: self.registry.check(manager, kind, path)) if self.registry.mentions(kind) else None

    def claimed(self, target: Target) -> Callable[[Path], bool]:
        """Whether this writer claims a path of the kind, as a function."""
        manager, kind = self.settings.field_manager, target.kind_name
        return lambda path: self.registry.owns(manager, kind, path)

    def known_shapes(self, target: Target) -> Shapes:
        """What is known of the kind's lists, with what the caller declared."""
        known = self.memory.shapes(target.kind_id, self.settings.seconds()) or kinds.UNKNOWN
        return known.declared(self.settings.keys) if self.settings.keys else known

    def patience(self) -> Patience:
        """A fresh budget."""
        settings = self.settings
        return Patience(
            settings.budget, self.memory.tempo, settings.chance, settings.seconds, settings.seconds() + settings.budget.seconds
        )  # fmt: skip

    # -- conversations

    def flush(self, opened: Open, strategy: Strategy | None = None, patience: Patience | None = None) -> Conversation[Outcome]:
        """Write what was staged, once. What is staged meanwhile stays staged for the next flush."""
        if opened.stage.is_idle and not self.memory.has_newer(opened.stage.base):
            return Outcome(Kind.UNCHANGED, opened.stage.base)
        staged = opened.stage.take()
        stored = False
        try:
            intents, live = self._known(opened, staged)
            if not intents:
                return Outcome(Kind.UNCHANGED, staged.base)
            writing = self._write(opened, staged, intents, live, strategy or self.settings.strategy, patience or self.patience())
            outcome = yield from (self.reported(opened, writing) if self.hooks else writing)
            stored = outcome.kind is not Kind.GONE and outcome.kind is not Kind.UNCHANGED
        except GeneratorExit:  # cut off while a request may be on its way
            opened.may_have_landed = True
            raise
        finally:
            if not stored or opened.withheld is not None:
                opened.stage.put_back(staged)
        if not stored:
            return outcome
        opened.stage.stored(opened.written, outcome, opened.asserted)
        if opened.withheld is not None:
            conflict, opened.withheld = opened.withheld, None
            conflict.outcome = outcome
            raise conflict
        return outcome

    def reported(self, opened: Open, conversation: Conversation[Outcome]) -> Conversation[Outcome]:
        """Run the conversation, and call the hooks with how it ended."""
        began = self.settings.seconds()
        kind, manager = opened.target.kind_name, self.settings.field_manager
        try:
            outcome = yield from conversation
        except Exception as failure:
            self.hooks.failed(kind, manager, failure, self.settings.seconds() - began)
            raise
        self.hooks.finished(kind, manager, outcome, self.settings.seconds() - began)
        return outcome

    def mutate(self, opened: Open, view: Any, fn: Callable[[Any], Any], strategy: Strategy | None = None) -> Conversation[Outcome]:
        """Run the function and write; run it again on the live object while something it looked at has changed."""
        return rerun.mutate(self, opened, view, fn, strategy)

    def create_once(
        self, opened: Open, slot: str, build: Callable[[Any], Any], fence: str | None, token: str, strategy: Strategy | None = None,
        scope: str = SHARED,
    ) -> Conversation[Made]:  # fmt: skip
        """Fill the slot unless somebody has; what is staged goes along in the same request, with the lock of its session."""
        strategy = strategy or self.settings.strategy
        wanted = once.slot(slot, build, fence, token, locked=strategy is LOCKED, scope=scope)
        if any(meet(intent.path, wanted.path) for intent in opened.stage.intents()):
            yield from self.flush(opened, strategy)  # what is staged there comes first
        return (yield from once.create_once(self, opened, wanted))

    def edit(self, opened: Open, view: Any, fn: Callable[[Any], Any], strategy: Strategy) -> Conversation[Outcome]:
        """Spec and metadata: the same conversation on the main resource, always guarded."""
        if checked(strategy) not in TESTING:
            raise FiferailError(f"expected COMPARE or LOCKED for an edit, got {strategy.name}: spec and metadata are always guarded")
        yield from rerun.called(fn, view)
        for intent in opened.stage.intents():
            if intent.path[0] == STATUS:
                raise FiferailError(
                    f"this edit changes {render(intent.path)}, but status is not written on the main resource: use a session or mutate"
                )
        return (yield from self.flush(opened, strategy))

    # -- one write

    def _known(self, opened: Open, staged: Staged) -> tuple[Sequence[Intent], Json | None]:
        """What is wanted, judged against the newest version known; and that version, where it is not what the caller passed."""
        uid, now = opened.target.uid, self.settings.seconds()
        wanted = self.memory.settled(uid, staged.intents, staged.base, now) if staged.intents else staged.intents
        newest = self.memory.newest(staged.base)
        if newest is not staged.base and version(newest) < max(self.own(opened, staged).versions, default=0):
            newest = staged.base  # a late answer, from before a write that the caller knows: it says nothing about that
        if newest is not staged.base:
            more = contradicted(staged, newest)
            if more or len(self.memory.settled(uid, staged.intents, newest, now)) > len(wanted):
                wanted = [*staged.intents, *more]
            own = self.own(opened, staged)
            known = own.advanced(staged.seen) if own.steps and not wanted else staged.seen
            if known is not staged.seen:
                wanted = _on_own_writes(staged, own, known, opened.stage.shapes, wanted)
        return wanted, newest if newest is not staged.seen else None

    def _write(
        self, opened: Open, staged: Staged, intents: Sequence[Intent], live: Json | None, strategy: Strategy, patience: Patience
    ) -> Conversation[Outcome]:
        asked = 0
        if opened.lossy or (strategy is APPLY and "managedFields" not in (live or staged.base)["metadata"]):
            grounded, live = yield from self.ground(opened, staged, patience)
            asked = 1
            if grounded is None:
                return self.forgotten(opened, Outcome(Kind.GONE, None, asked))
            needed = [intent for intent in intents if intent not in staged.intents]  # what the writer's last answer contradicts
            staged, intents = grounded, [*grounded.intents, *needed]
        plan = yield from self.plan(opened, staged, intents, strategy, patience)
        plan.live, plan.asked = live, asked
        if strategy is LOCKED:
            self.lock(opened, staged, plan)
        try:
            outcome, body = yield from self._sent(opened, plan)
        except FiferailError as failure:
            opened.may_have_landed |= plan.may_have_landed
            if not isinstance(failure, Stale):
                raise
            rest = scopes.others(staged, plan, failure.paths)
            if rest is None or not rest[0].intents:
                raise
            plan = rest[0]
            plan.live, plan.asked, opened.withheld = failure.live, failure.requests, failure
            failure.withhold(sorted(rest[1]))
            outcome, body = yield from self._sent(opened, plan)
        opened.written = [intent.path for intent in plan.intents]
        return self.answered(opened, staged, plan, outcome, body)

    def lock(self, opened: Open, staged: Staged, plan: Plan) -> None:
        """LOCKED: the precondition is the caller's version, or the one to which nothing but own locked writes lead from it."""
        newest = staged.base if plan.live is None else plan.live
        if version(newest) == self.own(opened, staged).until:
            plan.snapshot = newest
        elif newest is not staged.seen:
            plan.snapshot, plan.live = staged.seen, newest

    def own(self, opened: Open, staged: Staged) -> flow.Own:
        """The writes that the caller knew of when it decided: this session's, and those of its flow of control on the same object."""
        everybody = [flow.known(known, self, opened.target.uid, opened.version) for known in staged.log.known]
        common = flow.common(everybody) if everybody else flow.Own(opened.version)
        return common if opened.own is None else common.joined(opened.own)

    def _sent(self, opened: Open, plan: Plan) -> Conversation[tuple[Outcome, Body | None]]:
        shared = plan.strategy is COMPARE and opened.subresource == STATUS
        return write_shared(self.lanes, plan) if shared else write(plan)

    def answered(self, opened: Open, staged: Staged, plan: Plan, outcome: Outcome, body: Body | None) -> Outcome:
        """Remember what the server has now, and what it did not store as sent."""
        if outcome.kind is Kind.GONE:
            return self.forgotten(opened, outcome)
        seen = glance(outcome.raw) if outcome.raw and opened.subresource == STATUS else None
        stored = outcome.shared if seen is None else seen.object()
        altered = self._learn(opened.target, plan, body.target, stored) if body is not None else ()
        against = contradicted(staged, stored) if staged.log.confirmed or staged.log.said or staged.log.plain else ()
        if altered or against:
            outcome = outcome.replaced(altered=altered, contradicted=tuple(render(intent.path) for intent in against))
        self._remember(opened, plan, outcome, body, seen, stored)
        return outcome

    def ground(self, opened: Open, staged: Staged, patience: Patience) -> Conversation[tuple[Staged | None, Json]]:
        """Read the live object, because the base is not the whole object (a typed model, no resourceVersion, no managedFields). Where it
        still has the version of the base, what was staged is put on it; where it has moved on, the live object is the second result,
        to be judged. None, None: it is gone."""
        resource = yield from kinds.resource(self, opened.target, patience)
        live = yield from read(resource, opened.target, patience)
        if live is None:
            return None, None
        if not opened.lossy or version(live) != opened.version or staged.base is not staged.seen:
            return staged, live
        opened.stage.put_back(staged)
        try:
            opened.stage.reground(live)
        except Unpaired:
            if opened.stage.shapes.enforced is not None:
                raise
            yield from kinds.shapes(self, opened.target, opened.stage, patience)  # the schema may say by what the entries are paired
            opened.stage.reground(live)
        opened.lossy = False
        return opened.stage.take(), None

    def plan(
        self, opened: Open, staged: Staged, intents: Sequence[Intent], strategy: Strategy, patience: Patience
    ) -> Conversation[Plan]:  # fmt: skip
        """Build the plan of one write: where the kind is served, which lists are keyed, and what the caller knows."""
        target, stage = opened.target, opened.stage
        resource = yield from kinds.writable(self, target, opened.subresource, patience)
        if strategy is COMPARE and stage.shapes.enforced is None and kinds.depends_on_keys(intents):
            yield from kinds.shapes(self, target, stage, patience)
        manager, memory, seconds = self.settings.field_manager, self.memory, self.settings.seconds
        reads = merged(staged.reads.values())
        own = self.own(opened, staged)
        known = own.advanced(staged.seen, tested=strategy in TESTING) if own.steps else staged.seen
        if known is not staged.seen:
            intents = _on_own_writes(staged, own, known, stage.shapes, intents)
        return Plan(
            target=target, resource=resource, subresource=opened.subresource, strategy=strategy,
            ground=Ground(staged.seen, known, reads, manager, self.claimed(target)),
            base=staged.base, staged=staged.tree, snapshot=staged.base, intents=intents, shapes=stage.shapes,
            settled=lambda wanted, snapshot: memory.settled(target.uid, wanted, snapshot, seconds()),
            patience=patience, headers=said(opened.version, own.versions, reads, once=opened.once),
            forget=lambda: memory.forget_kind(target), may_have_landed=opened.may_have_landed,
        )  # fmt: skip

    # -- after the answer

    def forgotten(self, opened: Open, outcome: Outcome) -> Outcome:
        """The object is gone."""
        self.memory.forget(opened.target.uid)
        return outcome

    def _remember(self, opened: Open, plan: Plan, outcome: Outcome, body: Body | None, seen: Glance | None, stored: Json) -> None:
        if (seen.metadata.uid if seen is not None else outcome.shared["metadata"].get("uid")) != opened.target.uid:
            return  # a recreated object, which MERGE and APPLY write to: not the one that is known here
        if seen is not None:
            self.memory.remember_raw(opened.target.uid, outcome.raw, seen)
            after = int(seen.metadata.version or 0)
        else:
            self.memory.remember(outcome.shared)
            after = version(outcome.shared)
        opened.lossy = opened.may_have_landed = False
        known = plan.ground.known
        # What was there already is known as far as it was asserted; what else stands there nobody has looked at.
        opened.asserted = None if body is not None else applied(plan.intents, known)
        now = stored if opened.asserted is None else opened.asserted
        steps = [flow.Step(i.path, find(known, i.path), find(now, i.path)) for i in plan.intents]
        before = version(body.snapshot) if body is not None else -1
        so_far = flow.known(flow.current(), self, opened.target.uid, opened.version)
        how = {"tested": plan.strategy in TESTING, "locked": plan.strategy is LOCKED and body is not None}
        everything = so_far.then(steps, before, after, **how)
        alone = opened.own is None and not so_far.steps  # the usual case: the first write for this object
        mine = opened.own or flow.Own(opened.version, locked=so_far.until)
        opened.own = everything if alone else mine.then(steps, before, after, **how)
        flow.note(self, opened.target.uid, everything)

    def _learn(self, target: Target, plan: Plan, sent: Json, stored: Json) -> tuple[str, ...]:
        """What the server did not store as sent. What APPLY could not remove, another manager owns: that is no habit of the server."""
        found = self.memory.learn(target.uid, plan.intents, sent, stored, self.settings.seconds(), removals=plan.strategy is not APPLY)
        for path, dropped in found:
            field = ".".join(step for step in path if isinstance(step, str))
            if (target.kind_name, field) not in self.memory.warned:
                self.memory.warned.add((target.kind_name, field))
                self.hooks.altered(target.kind_name, self.settings.field_manager, field, dropped)
        return tuple(render(path) for path, _ in found)


class Open:
    """An object that is being written: its identity, what is staged on it, and where it is written."""

    __slots__ = ("asserted", "lossy", "may_have_landed", "once", "own", "stage", "subresource", "target", "version", "withheld", "written")

    def __init__(self, target: Target, stage: Stage, lossy: bool, at: int) -> None:
        self.target = target
        self.stage = stage
        self.subresource = STATUS
        #: The base came through a typed model: read the live object before writing.
        self.lossy = lossy
        #: The version that the caller passed.
        self.version = at
        #: Whether a refusal ends it: a session raises, where `mutate` and a Controller decide again.
        self.once = False
        #: What the caller knows to have been written since it has the object, by this session too; None before it writes.
        self.own: flow.Own | None = None
        #: Where the last write found everything there already: what the caller knows then.
        self.asserted: Json | None = None
        #: A flush was cut off: what it sent may be on the server.
        self.may_have_landed = False
        #: The paths of the last write.
        self.written: list[Path] = []
        #: The conflict of a scope whose part was left out of the last write.
        self.withheld: Conflict | None = None

    def run_again(self, live: Json) -> None:
        """The caller's function is about to be shown the live object: from now on the decision stands on that."""
        self.stage.run_again(live)
        self.version = version(live)
        self.own = None

    def end(self) -> None:
        """The session is over: what is staged from now on nobody would write."""
        self.stage.end()


def _on_own_writes(staged: Staged, own: flow.Own, known: Json, shapes: Shapes, intents: Sequence[Intent]) -> list[Intent]:
    """The intents on top of own earlier writes that the object as it was passed does not show. What was assigned is wanted exactly so,
    and what was edited member by member, or entry by entry, is wanted beside what the caller knows to be there."""
    plain = {path for path in staged.log.plain if any(meet(path, step) for step in own.steps)}
    assigned = {intent.path: intent.value for intent in staged.log.confirmed if isinstance(intent, Put)}
    assigned |= {path: find(staged.tree, path) for path in plain}
    found: dict[Path, Intent] = {
        intent.path: intent
        for intent in intents
        if isinstance(intent, (Condition, Raise)) or not any(meet(intent.path, path) for path in plain)
    }
    for path, value in assigned.items():
        derived: Sequence[Intent] = derive(known, placed(known, path, value), shapes)
        if not derived and path in plain:  # as the caller knows it: still wanted, in case somebody has changed it since
            derived = [Drop(path) if value is ABSENT else Put(path, value)]
        if path in plain or isinstance(value, (dict, list)):
            found.update({intent.path: intent for intent in derived})
    return list(found.values())
