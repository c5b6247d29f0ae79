"""Field paths: where a value sits in an object, in the spellings that Kubernetes uses.

Called by the writer (to name what was read), the API server (managedFields, conflict messages) and the checker (last writer
per path). A path never says what is there; `find` does, and answers ABSENT, which is not None. Mirrors `fieldpath.PathElement`
of structured-merge-diff: a step is a member name, the key of an entry of a map list, the value of a member of a set, or an index.

    text        status.conditions[Ready].reason     what people read and write (`parse`, `render`)
    server      .status.conditions[type="Ready"].reason    what the API server prints in conflicts (`server_text`)
    FieldsV1    f:status, k:{"type":"Ready"}        what managedFields store (`fields_v1`, `from_fields_v1`)
"""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias

import msgspec

from .tree import ABSENT, Absent, Json, same

if TYPE_CHECKING:
    from collections.abc import Sequence


class Key(msgspec.Struct, frozen=True, order=True):
    """The step into an entry of a map list: its key fields, sorted by name, with their values."""

    fields: tuple[tuple[str, Json], ...]

    @classmethod
    def of(cls, **fields: Json) -> Key:
        """`Key.of(type="Ready")`."""
        return cls(tuple(sorted(fields.items())))

    def matches(self, entry: Json) -> bool:
        """Whether a list entry carries exactly these key values."""
        return isinstance(entry, dict) and all(same(entry.get(name, ABSENT), value) for name, value in self.fields)


class Value(msgspec.Struct, frozen=True):
    """The step into a member of a set: the member itself."""

    value: Json


#: A member name (str), an index (int), an entry's key, or a set member.
Step: TypeAlias = "str | int | Key | Value"
Path: TypeAlias = "tuple[Step, ...]"


def locate(tree: Json, path: Sequence[Step]) -> tuple[str | int, ...] | None:
    """The concrete location of a path in this tree: keys and set members become the indices where they stand. None when absent."""
    location: list[str | int] = []
    for step in path:
        if isinstance(step, str):
            if not isinstance(tree, dict) or step not in tree:
                return None
            concrete: str | int = step
        else:
            index = _index(tree, step)
            if index is None:
                return None
            concrete = index
        tree = tree[concrete]
        location.append(concrete)
    return tuple(location)


def find(tree: Json, path: Sequence[Step]) -> Json | Absent:
    """The value at the path, or ABSENT. A keyed step finds its entry wherever it stands in the list."""
    for step in path:
        if isinstance(step, str):
            if not isinstance(tree, dict):
                return ABSENT
            tree = tree.get(step, ABSENT)
        else:
            index = _index(tree, step)
            if index is None:
                return ABSENT
            tree = tree[index]
        if tree is ABSENT:
            return ABSENT
    return tree


def _index(tree: Json, step: int | Key | Value) -> int | None:
    if not isinstance(tree, list):
        return None
    if isinstance(step, int):
        return step if 0 <= step < len(tree) else None
    for index, entry in enumerate(tree):
        if step.matches(entry) if isinstance(step, Key) else same(entry, step.value):
            return index
    return None


def pointer(location: Sequence[str | int]) -> str:
    """A concrete location as a JSON pointer (RFC 6901)."""
    return "".join("/" + str(step).replace("~", "~0").replace("/", "~1") for step in location)
