"""Sets of field paths, and FieldsV1 in both directions.

Called by `apply/` (who owns what), the API server (managedFields, fields a subresource may not touch) and the checker. A set
says which paths, never what is there. Mirrors `fieldpath.Set` of structured-merge-diff: a path and the paths below it are
independent members, so owning `spec` is not owning `spec.size`.

A set is an immutable trie whose edges are spelled as FieldsV1 spells them (`f:status`, `k:{"type":"Ready"}`, `v:1`, `i:0`):
text hashes fast, and 1 and true stay different where Python would take them for equal. Every operation shares what it does
not change and returns its left operand itself when nothing changes, so `is` recognises unchanged sets.
"""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Final

from . import paths
from .paths import Key, Path, Step, Value

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from .tree import Json


class FieldSet:
    """A set of paths. `members` are the steps that end a path here; `children` what goes on below a step; none is empty."""

    __slots__ = ("_encoded", "children", "members")
    members: frozenset[str]
    children: dict[str, FieldSet]
    _encoded: dict[str, Json] | None

    def __init__(self, members: frozenset[str] = frozenset(), children: dict[str, FieldSet] | None = None) -> None:
        self.members = members
        self.children = {} if children is None else children
        self._encoded = None

    @classmethod
    def of(cls, *wanted: Sequence[Step]) -> FieldSet:
        """The set of exactly these paths."""
        builder = Builder()
        for path in wanted:
            builder.add([paths.fields_v1(step) for step in path])
        return builder.build()

    @classmethod
    def decode(cls, fields: Json) -> FieldSet:
        """The set that a FieldsV1 object spells. ValueError when it is none."""
        return _decoded(fields)[0]

    def encode(self) -> dict[str, Json]:
        """As FieldsV1, in the server's order. Kept, and shared by all sets that contain this part: do not change it."""
        if self._encoded is None:
            encoded: dict[str, Json] = {}
            for step in sorted(self.members | self.children.keys(), key=_rank):
                child = self.children.get(step)
                if child is None:
                    encoded[step] = _NOTHING
                elif step in self.members:
                    encoded[step] = {".": _NOTHING, **child.encode()}
                else:
                    encoded[step] = child.encode()
            self._encoded = encoded
        return self._encoded

    def union(self, other: FieldSet) -> FieldSet:
        """What is in either."""
        if self is other or not (other.members or other.children):
            return self
        if not (self.members or self.children):
            return other
        members = self.members if other.members <= self.members else self.members | other.members
        children = self.children
        for step, theirs in other.children.items():
            mine = self.children.get(step)
            both = theirs if mine is None else mine.union(theirs)
            if both is not mine:
                children = children if children is not self.children else dict(children)
                children[step] = both
        return self._with(members, children)

    def difference(self, other: FieldSet) -> FieldSet:
        """What is here and not there; a path there says nothing of the paths below it."""
        if self is other:
            return EMPTY
        if not (other.members or other.children):
            return self
        members = self.members if self.members.isdisjoint(other.members) else self.members - other.members
        children = self.children
        for step, theirs in other.children.items():
            mine = self.children.get(step)
            if mine is not None:
                children = self._put(children, step, mine, mine.difference(theirs))
        return self._with(members, children)

    def recursive_difference(self, other: FieldSet) -> FieldSet:
        """What is here and neither there nor below a path that is there."""
        members = self.members if self.members.isdisjoint(other.members) else self.members - other.members
        children = self.children
        for step in other.members:
            mine = self.children.get(step)
            if mine is not None:
                children = self._put(children, step, mine, EMPTY)
        for step, theirs in other.children.items():
            mine = children.get(step)
            if mine is not None:
                children = self._put(children, step, mine, mine.recursive_difference(theirs))
        return self._with(members, children)

    def intersection(self, other: FieldSet) -> FieldSet:
        """What is in both."""
        if self is other:
            return self
        members = self.members if self.members <= other.members else self.members & other.members
        children: dict[str, FieldSet] = {}
        kept = 0
        for step, theirs in other.children.items():
            mine = self.children.get(step)
            both = EMPTY if mine is None else mine.intersection(theirs)
            kept += both is mine
            if both:
                children[step] = both
        return self._with(members, self.children if kept == len(self.children) else children)

    def leaves(self) -> FieldSet:
        """The paths below which there is none."""
        members = self.members if self.members.isdisjoint(self.children) else self.members - self.children.keys()
        children = self.children
        for step, mine in self.children.items():
            children = self._put(children, step, mine, mine.leaves())
        return self._with(members, children)

    def _put(self, children: dict[str, FieldSet], step: str, mine: FieldSet, changed: FieldSet) -> dict[str, FieldSet]:
        if changed is mine:
            return children
        children = children if children is not self.children else dict(children)
        if changed:
            children[step] = changed
        else:
            del children[step]
        return children

    def _with(self, members: frozenset[str], children: dict[str, FieldSet]) -> FieldSet:
        if members is self.members and children is self.children:
            return self
        return FieldSet(members, children) if members or children else EMPTY

    def has(self, path: Sequence[Step]) -> bool:
        """Whether exactly this path is a member."""
        if not path:
            return False
        *way, last = map(paths.fields_v1, path)
        node: FieldSet | None = self
        for step in way:
            node = node.children.get(step) if node is not None else None
        return node is not None and last in node.members

    def below(self, path: Sequence[Step]) -> FieldSet:
        """The paths that go on from this one, without it."""
        node = self
        for step in path:
            node = node.children.get(paths.fields_v1(step), EMPTY)
        return node

    @property
    def empty(self) -> bool:
        """Whether there is no path at all."""
        return not self

    def __bool__(self) -> bool:
        return bool(self.members or self.children)

    def __iter__(self) -> Iterator[Path]:
        """Every path, in the server's order: the ends here first, then what goes on below each step."""
        return self._walk(())

    def _walk(self, way: Path) -> Iterator[Path]:
        for step in sorted(self.members, key=_rank):
            yield (*way, _step(step))
        for step in sorted(self.children, key=_rank):
            yield from self.children[step]._walk((*way, _step(step)))

    def __len__(self) -> int:
        return len(self.members) + sum(map(len, self.children.values()))

    def __eq__(self, other: object) -> bool:
        if self is other:
            return True
        return isinstance(other, FieldSet) and self.members == other.members and self.children == other.children

    def __hash__(self) -> int:
        return hash((self.members, frozenset(self.children)))

    def __repr__(self) -> str:
        return f"FieldSet({', '.join(map(paths.server_text, self))})"


EMPTY: Final = FieldSet()
_NOTHING: dict[str, Json] = {}


class Builder:
    """Collects paths, spelled as FieldsV1, into one set."""

    __slots__ = ("children", "members")

    def __init__(self) -> None:
        self.members: set[str] = set()
        self.children: dict[str, Builder | FieldSet] = {}

    def add(self, path: Sequence[str]) -> None:
        """Make the path a member. The empty path is the object itself, which nobody owns."""
        if path:
            self._at(path[:-1]).members.add(path[-1])

    def graft(self, path: Sequence[str], below: FieldSet) -> None:
        """Make the path a member together with all that `below` holds, which must be new here."""
        if path:
            node = self._at(path[:-1])
            node.members.add(path[-1])
            if below:
                node.children[path[-1]] = below

    def _at(self, path: Sequence[str]) -> Builder:
        node = self
        for step in path:
            child = node.children.get(step)
            if not isinstance(child, Builder):
                child = node.children[step] = Builder() if child is None else _opened(child)
            node = child
        return node

    def build(self) -> FieldSet:
        """The set so far."""
        if not (self.members or self.children):
            return EMPTY
        children = {step: child.build() if isinstance(child, Builder) else child for step, child in self.children.items()}
        return FieldSet(frozenset(self.members), children)


def _opened(grafted: FieldSet) -> Builder:
    builder = Builder()
    builder.members.update(grafted.members)
    builder.children.update(grafted.children)
    return builder


def join(sets: Iterable[FieldSet]) -> FieldSet:
    """The union of all."""
    result = EMPTY
    for one in sets:
        result = result.union(one)
    return result


def _decoded(fields: Json) -> tuple[FieldSet, bool]:
    """The set below a node, and whether the node itself is a member: it is when it says so, or when nothing is below it."""
    if fields is None:
        return EMPTY, True
    if not isinstance(fields, dict):
        raise ValueError(f"expected an object of fields, got {type(fields).__name__}")
    members: set[str] = set()
    children: dict[str, FieldSet] = {}
    for text, inner in fields.items():
        if text == ".":
            continue
        step = text if text[:2] == "f:" else _canonical(text)
        if step is None:
            continue
        below, is_member = _decoded(inner)
        if is_member:
            members.add(step)
        if below:
            children[step] = below
    if not (members or children):
        return EMPTY, True
    return FieldSet(frozenset(members), children), "." in fields


@lru_cache(maxsize=4096)
def _canonical(text: str) -> str | None:
    step = paths.from_fields_v1(text)
    return None if step is None else paths.fields_v1(step)


@lru_cache(maxsize=4096)
def _step(text: str) -> Step:
    step = paths.from_fields_v1(text)
    assert step is not None, text
    return step


@lru_cache(maxsize=16384)
def _rank(text: str) -> tuple[Json, ...]:
    """Sorts as the server does: members by name, then entries by key, then set members by value, then indices."""
    if text[0] == "f":
        return (0, text)
    step = _step(text)
    if isinstance(step, Key):
        return (1, tuple((name, _value_rank(value)) for name, value in step.fields))
    if isinstance(step, Value):
        return (2, _value_rank(step.value))
    return (3, step)


def _value_rank(value: Json) -> tuple[Json, ...]:
    if value is None:
        return (5,)
    if isinstance(value, bool):
        return (2, value)
    if isinstance(value, (int, float)):
        return (0, value)
    if isinstance(value, str):
        return (1, value)
    if isinstance(value, list):
        return (3, tuple(map(_value_rank, value)))
    return (4, tuple((name, _value_rank(value[name])) for name in sorted(value)))
