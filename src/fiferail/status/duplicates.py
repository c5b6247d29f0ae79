"""A second entry with the same key, in a list that is not keyed any more.

An entry is appended without testing the list where the schema says that the server keeps keys unique. Schemas are read once in a
while, and a CRD may drop `listType: map` meanwhile: then another writer's entry of the same key can stand beside ours. The answer
shows it. Ours goes again, and the other's is a conflict like any other. Called by `conversation` after an append was stored.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from ..objects import gojson
from ..objects.paths import find, index_of, locate, pointer, render
from ..wire import JSON_PATCH
from . import answers, conversation, preconditions
from .answers import Lost, Meaning
from .decide import conflicting
from .strategies import Body

if TYPE_CHECKING:
    from ..objects.paths import Path
    from ..objects.tree import Json
    from .conversation import Plan, Progress
    from .effects import Conversation


def removed(plan: Plan, body: Body, stored: Json, so_far: Progress) -> Conversation[None]:
    """Raise a conflict, with our entry removed, where another entry has its key; else do nothing."""
    while not plan.patience.spent():
        path = next((path for path in body.appended_paths if len(_places(stored, path)) > 1), None)
        if path is None:
            return
        plan.forget()
        undone = yield from conversation.send(plan, _removal(stored, path), so_far)
        if not isinstance(undone, Lost) and undone.status == 200:
            raise _conflict(plan, path, undone.json(), so_far)
        if answers.meaning(undone) not in (Meaning.REFUSED, Meaning.BUSY, Meaning.UNKNOWN):
            raise answers.error(undone)
        yield plan.patience.failed(undone)
        live = yield from conversation.look(plan, so_far)
        if live is None:
            return
        stored = stored if live is conversation.UNREAD else live
    raise conversation.spent(plan, so_far)


def _places(stored: Json, path: Path) -> list[int]:
    """The indices at which entries with this key stand."""
    entries: Json = find(stored, path[:-1])
    step = path[-1]
    assert not isinstance(step, str)
    return [index for index, entry in enumerate(entries) if index_of([entry], step) is not None] if isinstance(entries, list) else []


def _removal(stored: Json, path: Path) -> Body:
    """The last one goes: appending put it there."""
    at = pointer(locate(stored, path[:-1]) or ())
    patch = [
        *preconditions.of_object(stored),
        {"op": "test", "path": at, "value": find(stored, path[:-1])},
        {"op": "remove", "path": f"{at}/{_places(stored, path)[-1]}"},
    ]
    return Body(gojson.encode(patch), JSON_PATCH, stored, stored)


def _conflict(plan: Plan, path: Path, live: Json, so_far: Progress) -> conversation.Stale:
    ground = msgspec.structs.replace(plan.ground, seen=plan.snapshot)
    landed = f"{render(path[:-1])} has no unique keys any more, so this write's second entry was removed again; its other changes landed"
    return conversation.Stale(plan, conflicting(ground, live, plan.intents, [path]), live, so_far.requests, landed=landed)
