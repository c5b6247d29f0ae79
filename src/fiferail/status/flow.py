"""Own writes that the caller knows of: those whose outcome was returned earlier in the same flow of control.

A handler may open five sessions in a row on the object it was given. The second finds that the object has moved, because of the
first; that is no conflict, since the caller was given the first one's outcome before it staged anything in the second. A write of
another task or thread is like anybody's: its caller was somebody else. The flow of control is the context (`contextvars`): a task has
a copy of its own, and so has every reconcile of a Controller. Bounded: what is forgotten counts as somebody else's, so that at worst
a Conflict is raised.
"""

from __future__ import annotations

from contextvars import ContextVar
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

from ..objects.paths import Path, find
from ..objects.tree import ABSENT, Json, same
from .intents import drop, put

if TYPE_CHECKING:
    from collections.abc import Iterable

#: How many objects a flow of control remembers, and how many writes of each.
OBJECTS = 64
WRITES = 32


class Step(NamedTuple):
    """One path of an own write: what the write found there, and what it left."""

    path: Path
    was: Json
    now: Json


class Own(NamedTuple):
    """One acknowledged write: its steps, the versions before and after, whether it tested what it found, and the version too."""

    steps: tuple[Step, ...]
    before: int
    after: int
    tested: bool
    locked: bool


#: By writer and uid. Never changed in place: a task's copy of the context must not see what another task adds.
Known: TypeAlias = "dict[tuple[object, str], tuple[Own, ...]]"
_flow: ContextVar[Known] = ContextVar("fiferail_own_writes", default={})  # noqa: B039


def note(writer: object, uid: str, own: Own) -> None:
    """The outcome of this write is about to be returned to the caller."""
    before = _flow.get()
    rest = {key: value for key, value in before.items() if key != (writer, uid)}
    if len(rest) >= OBJECTS:
        del rest[next(iter(rest))]
    _flow.set({**rest, (writer, uid): (*before.get((writer, uid), ()), own)[-WRITES:]})


def begin() -> None:
    """Start a flow of control that knows nothing yet: a reconcile, in a worker that has done others."""
    _flow.set({})


def current() -> Known:
    """What this flow of control knows by now: a decision that is staged now stands on no more."""
    return _flow.get()


def known(flow: Known, writer: object, uid: str, since: int) -> tuple[Own, ...]:
    """The own writes of an object that a flow of control knew of, after a version."""
    writes = flow.get((writer, uid))
    return tuple([own for own in writes if own.after > since]) if writes else ()


def advanced(tree: Json, writes: Iterable[Own]) -> Json:
    """The tree with the known own writes on it, where each found what the one before had left."""
    for own in writes:
        for path, was, now in own.steps:
            if same(find(tree, path), was):
                tree = moved(tree, path, now)
    return tree


def moved(tree: Json, path: Path, value: Json) -> Json:
    """The tree with the value at the path, or nothing where the value is ABSENT."""
    return drop(tree, path) if value is ABSENT else put(tree, path, value)


def is_locked_chain(writes: Iterable[Own], version: int, newest: int) -> bool:
    """Whether own writes lead from one version to another, each of them refused unless it stood on the one before."""
    for own in writes:
        if own.locked and own.before == version:
            version = own.after
    return version == newest
