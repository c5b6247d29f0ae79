"""What a write changes in a status: field names, which of them are lists, and which differ on every pass.

Called by `walk` for each write. A body that is a dict says it; for an object that is sent back as a whole, the changes made to it
before do.
"""

from __future__ import annotations

import ast
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from fiferail.audit.python.expressions import NOW, Names, is_list, resolve, text

if TYPE_CHECKING:
    from fiferail.audit.model import Event

Stored = dict[str, dict[str, ast.expr]]


@dataclass(slots=True)
class Staged:
    fields: tuple[str, ...] = ()
    lists: tuple[str, ...] = ()
    now: list[str] = field(default_factory=list)
    parts: set[str] = field(default_factory=set)


def fields_of(body: ast.expr | None, names: Names, events: list[Event], subject: str, stored: Stored | None = None) -> Staged:
    """`stored` is what was put into dicts since: status["phase"] = ... before {"status": status} is sent."""
    held = resolve(body, names)
    if isinstance(held, ast.Dict):
        return _joined(_of_dict(held, names, stored or {}), _changed(events, subject) if subject.isidentifier() else Staged())
    return _changed(events, subject)


def _joined(one: Staged, other: Staged) -> Staged:
    fields, lists = dict.fromkeys([*one.fields, *other.fields]), dict.fromkeys([*one.lists, *other.lists])
    return Staged(tuple(fields), tuple(lists), one.now, one.parts | other.parts)


def _changed(events: list[Event], subject: str) -> Staged:
    changed = [event for event in events if event.what == "mutate" and event.subject.split(".")[0] == subject.split(".")[0]]
    status = [event for event in changed if event.path.startswith("Status.")]
    return Staged(
        tuple(dict.fromkeys(_name(event) for event in status)),
        tuple(dict.fromkeys(_name(event) for event in status if _is_list(event))),
        [],
        {event.path.split(".")[0] for event in changed if event.path != "Metadata.ResourceVersion"},
    )


def _name(event: Event) -> str:
    name = event.path.split(".")[1]
    return name[:1].lower() + name[1:]


def _is_list(event: Event) -> bool:
    how = event.detail.partition("|")[0]
    return how in ("list", "append") or event.path.endswith("Conditions")


def _of_dict(body: ast.Dict, names: Names, stored: Stored) -> Staged:
    out = Staged()
    value = _value(body, "status")
    status = resolve(value, names)
    entries: dict[str, ast.expr] = {}
    if isinstance(status, ast.Dict):
        for key, held in zip(status.keys, status.values, strict=True):
            if isinstance(key, ast.Constant) and isinstance(key.value, str):
                entries[key.value] = held
    entries |= {name: held for name, held in stored.get(text(value), {}).items() if name} if value is not None else {}
    lists = []
    for name, one in entries.items():
        held = resolve(one, names) or one
        if name == "conditions" or is_list(held):
            lists.append(name)
        elif NOW.search(text(held)):
            out.now.append(name)
    out.fields, out.lists = tuple(entries), tuple(lists)
    return out


def _value(body: ast.Dict, name: str) -> ast.expr | None:
    for key, value in zip(body.keys, body.values, strict=True):
        if isinstance(key, ast.Constant) and key.value == name:
            return value
    return None
