"""POST of an object."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...objects.apply.managed import NOBODY
from ...objects.tree import ABSENT
from .. import metadata, options, ownership
from ..statuses import Refusal
from . import writing
from .bodies import decoded, media

if TYPE_CHECKING:
    from ...objects.apply.managed import Managed
    from ...objects.tree import Json
    from ...wire import Answer
    from ..call import Call
    from ..options import Options
    from ..store import Entry

_ATTEMPTS = 8


def handle(call: Call) -> Answer:
    """Stores a new object, under a generated name where it has none."""
    _ = call.output
    media(call)  # judged before the options here, after them in a PUT
    opts = options.writing(call.request, "CreateOptions")
    obj = metadata.wiped(decoded(call, opts))
    obj = metadata.in_namespace(obj, call.route.namespace)
    obj = metadata.without_duplicate_owners(obj, call.warn, late=False)
    obj, managed = ownership.updated(call, opts, ABSENT, NOBODY, obj, "")
    writing.admitted(call, metadata.name_of(obj))
    return call.entry_answer(201, _named(call, obj, managed, opts))


def _named(call: Call, obj: Json, managed: Managed, opts: Options) -> Entry:
    meta = metadata.of(obj)
    prefix = meta.get("generateName")
    if meta.get("name") or not prefix:
        return writing.created(call, obj, managed, opts, generated=bool(prefix))
    for attempt in range(_ATTEMPTS):
        name = prefix[:58] + call.machine.ids.suffix()
        try:
            return writing.created(call, metadata.with_metadata(obj, name=name), managed, opts, generated=True)
        except Refusal as refusal:
            if refusal.code != 409 or attempt == _ATTEMPTS - 1:
                raise
    raise AssertionError("the last attempt returns or raises")
