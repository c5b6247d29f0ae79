"""GET of one object, also of its status."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .. import options, statuses

if TYPE_CHECKING:
    from ...wire import Answer
    from ..call import Call
    from ..store import Entry


def handle(call: Call) -> Answer:
    """The object as it stands."""
    _ = call.output
    entry = find(call)
    if call.machine.recorder is not None:
        call.machine.recorder.read(call, [entry], entry.revision)
    return call.entry_answer(200, entry)


def find(call: Call) -> Entry:
    """The named object, no older than the query wants."""
    for name, value in call.request.query:
        if name == "resourceVersion":
            _not_newer(call, value)
    entry = call.table.entries.get(call.key)
    if entry is None:
        raise call.not_found()
    return entry


def _not_newer(call: Call, text: str) -> None:
    try:
        asked = options.revision(text)
    except ValueError as error:
        raise statuses.status(500, "", f'resourceVersion: Invalid value: "{text}": {error}') from None
    if asked > call.machine.store.revision:
        raise statuses.resource_version_too_large(asked, call.machine.store.revision)
