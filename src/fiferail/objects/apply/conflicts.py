"""Why an apply was refused, in the server's words. Raised by `operations.applied`; the API server makes answers of it."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from .. import paths
from ..paths import Key, Value

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ..fieldset import FieldSet
    from ..paths import Path, Step
    from .managed import Owner


class ConflictingField(NamedTuple):
    """One field, and who owns it: both as the server prints them (`"m" using x.io/v1`, `.spec.a`)."""

    manager: str
    path: str

    @property
    def cause(self) -> str:
        """The message of the cause in a 409; its reason is FieldManagerConflict, its field the path."""
        return f"conflict with {self.manager}"


class ApplyConflict(Exception):
    """Others own fields that this apply would change: a 409 with `str(error)` for its message and one cause per conflict."""

    def __init__(self, lost: Mapping[Owner, FieldSet]) -> None:
        owners = sorted(lost, key=lambda one: one.identifier)
        self.lost = lost
        self.conflicts = [ConflictingField(one.text, _stored_text(path)) for one in owners for path in lost[one]]
        super().__init__(self._message(owners))

    def _message(self, owners: list[Owner]) -> str:
        if len(self.conflicts) == 1:
            only = self.conflicts[0]
            return f"Apply failed with 1 conflict: {only.cause}: {only.path}"
        lines: list[str] = []
        for one in owners:
            lines.append(f"conflicts with {one.text}:")
            lines.extend(f"- {_stored_text(path)}" for path in self.lost[one])
        return f"Apply failed with {len(self.conflicts)} conflicts: " + "\n".join(lines)


def _stored_text(path: Path) -> str:
    """The path of an owned field: what is owned was read from managedFields, and every number there is a float."""
    return paths.server_text([_stored(step) for step in path])


def _stored(step: Step) -> Step:
    if isinstance(step, Key):
        return Key(tuple((name, float(value) if type(value) is int else value) for name, value in step.fields))
    return Value(float(step.value)) if isinstance(step, Value) and type(step.value) is int else step


class ApplyFailed(Exception):
    """The configuration does not have the form its schema gives it, or the live object does not: a 500 with this text."""
