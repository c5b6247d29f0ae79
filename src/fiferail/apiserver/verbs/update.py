"""PUT of an object or of its status."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...objects.apply.managed import NOBODY
from ...objects.tree import ABSENT
from .. import metadata, options, ownership, statuses
from . import preconditions, writing
from .bodies import decoded

if TYPE_CHECKING:
    from ...objects.tree import Json
    from ...wire import Answer
    from ..call import Call
    from ..options import Options
    from ..store import Entry


def handle(call: Call) -> Answer:
    """Replaces an object; creates it where the kind allows that."""
    if not call.route.name:
        raise statuses.bad_request("name must be provided")
    _ = call.output
    opts = options.writing(call.request, "UpdateOptions")
    obj = metadata.in_namespace(decoded(call, opts), call.route.namespace)
    metadata.check_name(obj, call.route.name)
    obj = metadata.without_duplicate_owners(obj, call.warn, late=False)
    entry = call.table.entries.get(call.key)
    if entry is None:
        return _created(call, obj, opts)
    check_uid(call, entry, metadata.of(obj).get("uid"))
    live = call.view(entry)
    subresource = call.route.subresource
    new, managed = ownership.updated(call, opts, live, ownership.of(entry), obj, subresource)
    return call.entry_answer(200, writing.replaced(call, entry, live, new, managed, opts, subresource))


def check_uid(call: Call, entry: Entry, uid: str | None) -> None:
    """A uid in a PUT is a precondition, which the storage layer checks."""
    held = entry.obj["metadata"]["uid"]
    if uid and uid != held:
        raise preconditions.failed(call, call.key, "UID", uid, held)


def _created(call: Call, obj: Json, opts: Options) -> Answer:
    if not call.kind.create_on_update or call.route.subresource:
        raise call.not_found()
    uid = metadata.of(obj).get("uid")
    if uid:
        raise preconditions.failed(call, call.key, "UID", uid, "")
    new, managed = ownership.updated(call, opts, ABSENT, NOBODY, obj, "")
    writing.admitted(call, call.route.name)
    return call.entry_answer(201, writing.created(call, new, managed, opts))
