"""Own writes that the caller knows of: they stood on the same version of the object, and their outcome was returned earlier in the
same flow of control.

A handler may open five sessions in a row on the object it was given. The second finds that the object has moved, because of the
first; that is no conflict, since the caller was given the first one's outcome before it staged anything in the second. A write of
another task or thread is like anybody's: its caller was somebody else. So is an earlier write of the same task that stood on another
version of the object: a worker that is given the next event has forgotten what it did at the last one. The flow of control is the
context (`contextvars`): a task has a copy of its own, and every reconcile of a Controller starts one. Bounded: what is forgotten
counts as somebody else's, so that at worst a Conflict is raised.
"""

from __future__ import annotations

from contextvars import ContextVar
from types import MappingProxyType
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

from ..objects.paths import Path, find
from ..objects.tree import Json, same
from .intents import placed

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

#: How many objects a flow of control remembers, how many paths of each, and how many versions.
OBJECTS = 64
PATHS = 256
VERSIONS = 32


class Step(NamedTuple):
    """One path of an own write: what the caller knew to be there, and what it knows since."""

    path: Path
    was: Json
    now: Json


class Own(NamedTuple):
    """The own writes that stood on one version of an object, as a whole."""

    base: int
    steps: Mapping[Path, Step] = MappingProxyType({})
    #: The versions that they made.
    versions: tuple[int, ...] = ()
    #: The version that the last of an unbroken chain of locked writes made, each on the one before; -1 where there is none (`until`).
    locked: int = -1
    #: Paths that an own write overwrote without testing what it found: only strategies that do not test either build on those.
    untested: frozenset[Path] = frozenset()

    def then(self, steps: Sequence[Step], before: int, after: int, *, tested: bool, locked: bool) -> Own:
        """With one more write. A path that it found as the last one left it is one step from the beginning to the end."""
        merged = dict(self.steps)
        for step in steps:
            first = merged.pop(step.path, None)
            merged[step.path] = step if first is None or not same(first.now, step.was) else Step(step.path, first.was, step.now)
        while len(merged) > PATHS:
            del merged[next(iter(merged))]
        untested = self.untested if tested else self.untested | merged.keys() & {step.path for step in steps}
        until = after if locked and before == self.until else self.until
        return Own(self.base, merged, (*self.versions, after)[-VERSIONS:], until, frozenset(untested))

    def joined(self, later: Own) -> Own:
        """With what a session wrote after that."""
        own = self.then(list(later.steps.values()), -1, self.base, tested=True, locked=False)
        return own._replace(
            versions=(*self.versions, *later.versions)[-VERSIONS:], locked=later.until, untested=self.untested | later.untested
        )  # fmt: skip

    @property
    def until(self) -> int:
        """The last version to which locked writes lead from the base: the base itself where there are none."""
        return self.base if self.locked < 0 else self.locked

    def advanced(self, tree: Json, *, tested: bool = True) -> Json:
        """The tree with the own writes on it, where they found what stands there."""
        for path, was, now in self.steps.values():
            if not (tested and path in self.untested) and same(find(tree, path), was):
                tree = placed(tree, path, now)
        return tree


def common(several: Sequence[Own]) -> Own:
    """What all of them know: a decision that two flows of control staged together stands on no more."""
    first, *others = several
    for other in others:
        steps = {path: step for path, step in first.steps.items() if path in other.steps and same(step.now, other.steps[path].now)}
        versions = tuple(version for version in first.versions if version in other.versions)
        first = Own(first.base, steps, versions, min(first.until, other.until), first.untested | other.untested)
    return first


#: By writer and uid: the writes for the version that was last written for. Never changed in place: a task's copy of the context must
#: not see what another task adds.
Known: TypeAlias = "dict[tuple[object, str], Own]"
_flow: ContextVar[Known] = ContextVar("fiferail_own_writes", default={})  # noqa: B039


def begin() -> None:
    """Start a flow of control that knows nothing yet: a reconcile, in a worker that has done others."""
    _flow.set({})


def current() -> Known:
    """What this flow of control knows by now: a decision that is staged now stands on no more."""
    return _flow.get()


def note(writer: object, uid: str, own: Own) -> None:
    """The outcome of a write is about to be returned to the caller; `own` has all for that version of the object."""
    before = _flow.get()
    rest = {key: value for key, value in before.items() if key != (writer, uid)}
    if len(rest) >= OBJECTS:
        del rest[next(iter(rest))]
    _flow.set({**rest, (writer, uid): own})


def known(flow: Known, writer: object, uid: str, base: int) -> Own:
    """The own writes for this very version of an object that a flow of control knew of."""
    found = flow.get((writer, uid))
    return found if found is not None and found.base == base else Own(base)
