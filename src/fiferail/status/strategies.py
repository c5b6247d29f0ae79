"""The ways of writing: pure functions from a snapshot, what is wanted and what was read to one request body.

COMPARE is the default and the only one that never loses another writer's update and never refuses for a field it did not look
at. The others are here for those who need them; docs/strategies says what each can lose, and the hazard matrix shows it.
"""

from __future__ import annotations

from enum import Enum
from typing import TYPE_CHECKING, Any

import msgspec

from ..objects import gojson, mergepatch
from ..objects.paths import Key, Path, find, locate
from ..objects.tree import ABSENT, Json, lookup, replaced, same
from ..wire import APPLY_PATCH, JSON_PATCH, MERGE_PATCH
from . import operations, preconditions
from .intents import Condition, Drop, Intent, Put, Raise, applied

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from .operations import Location
    from .reads import Look
    from .shapes import Shapes


class Strategy(Enum):
    """How a staged status is sent."""

    COMPARE = "compare"
    LOCKED = "locked"
    MERGE = "merge"
    APPLY = "apply"


def checked(strategy: Any) -> Strategy:
    """Refuse what is no strategy: a text would otherwise be taken for an unlocked patch."""
    if not isinstance(strategy, Strategy):
        raise TypeError(f"expected strategy to be fiferail.COMPARE, LOCKED, MERGE or APPLY, got {strategy!r}")
    return strategy


COMPARE, LOCKED, MERGE, APPLY = Strategy.COMPARE, Strategy.LOCKED, Strategy.MERGE, Strategy.APPLY


class Body(msgspec.Struct, frozen=True):
    """What goes into the request, the snapshot that it was made for, and the object as it should be afterwards."""

    content: bytes
    content_type: str
    snapshot: Json
    target: Json
    #: Lists to which entries are appended on the server's promise of uniqueness, as its causes spell them.
    appended: tuple[str, ...] = ()
    #: Those entries.
    appended_paths: tuple[Path, ...] = ()


def written(intents: Iterable[Intent]) -> list[Path]:
    """The paths that the intents write."""
    return [intent.path for intent in intents]


def compare(
    snapshot: Json,
    intents: Sequence[Intent],
    reads: Mapping[Path, Look],
    shapes: Shapes,
    *,
    by_version: bool = False,
    target: Json | None = None,
) -> Body | None:
    """A JSON patch that changes only what is wanted, and only if all it depends on is as the snapshot says. None: nothing to do.

    `target`: what the intents make of the snapshot, where the caller has it already."""
    target = applied(intents, snapshot) if target is None else target
    if target is snapshot:
        return None
    tests, paths = preconditions.of_object(snapshot), written(intents)
    places = [locate(snapshot, path) for path in paths]
    appended: list[Path] = []
    if by_version:
        tests += preconditions.of_version(snapshot)
    else:
        if None in places:
            appended = _entries_to_append(snapshot, intents, places, shapes)
        try:
            tests += preconditions.of_paths(snapshot, reads, paths, appended, shapes)
        except preconditions.Untestable:
            tests += preconditions.of_version(snapshot)
    patch = [*tests, *operations.changes(snapshot, target, shapes, paths, places)]
    return Body(gojson.encode(patch), JSON_PATCH, snapshot, target, tuple(_as_cause(path[:-1]) for path in appended), tuple(appended))


def merge(snapshot: Json, intents: Sequence[Intent], root: str, *, locked: bool) -> Body | None:
    """A merge patch of what changed; with a lock, only if the object is still the very version that was read."""
    target = applied(intents, snapshot)
    if target is snapshot:
        return None
    patch = mergepatch.diff(_part(snapshot, root), _part(target, root))
    if locked:
        patch = replaced(patch, ["metadata", "resourceVersion"], preconditions.version_of(snapshot))
    return Body(gojson.encode(patch), MERGE_PATCH, snapshot, target)


def apply(snapshot: Json, intents: Sequence[Intent], manager: str) -> Body | None:
    """Server-side apply of all that this manager owns already, with the changes; what is left out would be removed."""
    target = applied(intents, snapshot)
    if target is snapshot:
        return None
    owned = _owned(snapshot, manager)
    wanted = applied([i for i in intents if not isinstance(i, Drop)], {"status": owned} if owned is not ABSENT else {})
    for intent in intents:
        if isinstance(intent, (Condition, Raise)):
            # Derived parts (times, generations) are settled on the snapshot, not on the part that is owned.
            wanted = applied([Put(intent.path, find(target, intent.path))], wanted)
    wanted = applied([i for i in intents if isinstance(i, Drop)], wanted)
    # With its version: what this manager owns is known of that one only, and what is left out is removed.
    metadata = {name: snapshot["metadata"][name] for name in ("name", "namespace", "resourceVersion") if name in snapshot["metadata"]}
    body = {"apiVersion": snapshot["apiVersion"], "kind": snapshot["kind"], "metadata": metadata, "status": wanted.get("status", {})}
    return Body(gojson.encode(body), APPLY_PATCH, snapshot, target)


def _as_cause(path: Path) -> str:
    return ".".join(step for step in path if isinstance(step, str))


def _part(obj: Json, root: str) -> Json:
    if root:
        return {root: obj[root]} if root in obj else {}
    return {name: member for name, member in obj.items() if name != "status"}


def _entries_to_append(snapshot: Json, intents: Iterable[Intent], places: Iterable[Location | None], shapes: Shapes) -> list[Path]:
    """Entries that are not there yet, in lists that are and that the server keeps free of duplicates: those need no test."""
    found = []
    for intent, place in zip(intents, places, strict=True):
        if place is not None or not isinstance(intent, (Put, Condition)) or not isinstance(intent.path[-1], Key):
            continue
        at = intent.path[:-1]
        if shapes.may_append(at) and shapes.keys(at, find(snapshot, at)) is not None:
            found.append(intent.path)
    return [] if found and shapes.has_duplicates(snapshot) else found


def _owned(snapshot: Json, manager: str) -> Json:
    """The part of the status that this manager applied before."""
    for entry in snapshot["metadata"].get("managedFields") or []:
        if (entry.get("manager"), entry.get("operation"), entry.get("subresource")) == (manager, "Apply", "status"):
            fields = lookup(entry, ["fieldsV1", "f:status"])
            if fields is not ABSENT:
                return extract(snapshot.get("status", ABSENT), fields)
    return ABSENT


def extract(tree: Json, fields: Json) -> Json:
    """The part of a tree that a FieldsV1 tree names."""
    inner = {name: below for name, below in fields.items() if name != "."}
    if not inner or tree is ABSENT:
        return tree
    if isinstance(tree, dict):
        parts = ((name[2:], tree.get(name[2:], ABSENT), below) for name, below in inner.items() if name.startswith("f:"))
        return {name: extract(member, below) for name, member, below in parts if member is not ABSENT}
    if isinstance(tree, list):
        return [extract(entry, below) for entry in tree for name, below in inner.items() if _names(name, entry)]
    return tree


def _names(field: str, entry: Json) -> bool:
    kind, _, text = field.partition(":")
    if kind == "k" and isinstance(entry, dict):
        return all(same(entry.get(name, ABSENT), value) for name, value in msgspec.json.decode(text).items())
    return kind == "v" and same(entry, msgspec.json.decode(text))
