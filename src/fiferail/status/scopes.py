"""Scopes: parts of one session that stand or fall on their own.

Components share a session, and one request. What one of them read concerns its own part only: when it has changed, that part is
withheld and the rest is written. What is read or staged without a scope concerns everybody.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from ..objects.paths import meet
from .reads import Look, merged
from .said import looked_at
from .stage import SHARED

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from ..objects.paths import Path
    from ..objects.tree import Json
    from .conversation import Plan
    from .intents import Intent
    from .shapes import Shapes
    from .stage import Stage, Staged


class Scope:
    """A stage as one part of the session sees it: the same trees, with a name on what is read and staged."""

    __slots__ = ("_stage", "name")

    def __init__(self, stage: Stage, name: str) -> None:
        self._stage = stage
        self.name = name

    @property
    def base(self) -> Json:
        """As the stage's."""
        return self._stage.base

    @property
    def generation(self) -> int | None:
        """As the stage's."""
        return self._stage.generation

    @property
    def shapes(self) -> Shapes:
        """As the stage's."""
        return self._stage.shapes

    @shapes.setter
    def shapes(self, shapes: Shapes) -> None:
        self._stage.shapes = shapes

    @property
    def owned(self) -> set[Path]:
        """As the stage's."""
        return self._stage.owned

    @property
    def shifts(self) -> int:
        """As the stage's."""
        return self._stage.shifts

    @property
    def shifted(self) -> dict[Path, int]:
        """As the stage's."""
        return self._stage.shifted

    def get(self, path: Path) -> Json:
        """As the stage's; what another scope staged there, this one depends on."""
        return self._stage.get(path, self.name)

    def read(self, path: Path, look: Look = Look.VALUE) -> Json:
        """Read in this scope."""
        return self._stage.read(path, look, self.name)

    def put(self, path: Path, value: Json) -> None:
        """Stage in this scope."""
        self._stage.put(path, value, self.name)

    def change(self, path: Path, edit: Callable[[Json], Json]) -> None:
        """Stage in this scope what the function makes of the staged value."""
        self._stage.change(path, edit, self.name)

    def drop(self, path: Path) -> None:
        """Stage a removal in this scope."""
        self._stage.drop(path, self.name)

    def raise_to(self, path: Path, floor: int) -> None:
        """Stage 'at least this' in this scope."""
        self._stage.raise_to(path, floor, self.name)

    def set_condition(self, root: Path, type_: str, fields: dict[str, Json]) -> None:
        """Stage a condition in this scope."""
        self._stage.set_condition(root, type_, fields, self.name)


def of_intent(staged: Staged, intent: Intent) -> frozenset[str]:
    """The scopes that staged something at, above or below what the intent wants."""
    found = [scopes for path, scopes in staged.log.scopes.items() if meet(path, intent.path)]
    return frozenset().union(*found) if found else frozenset((SHARED,))


def hit(staged: Staged, intents: Iterable[Intent], changed: Sequence[Path]) -> frozenset[str]:
    """The scopes whose decisions no longer stand when these paths have changed: those that read or wrote them, those that staged
    something together with one of them, and those that looked at what one of them staged."""
    wanted = [(intent, of_intent(staged, intent)) for intent in intents]
    out = {scope for scope, reads in staged.reads.items() if any(path in reads for path in changed)}
    for intent, scopes in wanted:
        if any(meet(intent.path, path) for path in changed):
            out |= scopes
    while True:
        more = {scope for scope, looked_at in staged.log.depends.items() if looked_at & out}
        for _, scopes in wanted:
            if scopes & out:
                more |= scopes
        if more <= out:
            return frozenset(out)
        out |= more


def others(staged: Staged, plan: Plan, changed: Sequence[Path], calling: str = SHARED) -> tuple[Plan, frozenset[str]] | None:
    """The plan without the scopes whose decisions no longer stand, and the names of these scopes; None where `calling` or what was staged
    without a scope is among them."""
    out = hit(staged, plan.intents, changed) if staged.log.scopes or len(staged.reads) > 1 else frozenset((SHARED,))
    if not out or SHARED in out or calling in out:
        return None
    intents = [intent for intent in plan.intents if not of_intent(staged, intent) & out]
    reads = merged([reads for scope, reads in staged.reads.items() if scope not in out])
    ground = msgspec.structs.replace(plan.ground, reads=reads)
    headers = {name: text for name, text in plan.headers.items() if name != "x-fiferail-reads"} | looked_at(reads)
    return msgspec.structs.replace(plan, intents=intents, ground=ground, staged=None, base=None, headers=headers), out
