"""GET of a collection: a consistent page of it, at the revision that was asked for."""

from __future__ import annotations

import base64
import binascii
from typing import TYPE_CHECKING

import msgspec

from ...objects import gojson
from ...wire import Answer
from .. import options as query
from .. import statuses
from ..call import item, untyped, view
from ..store import count, span
from .selecting import Selection

if TYPE_CHECKING:
    from ...objects.tree import Json
    from ..call import Call
    from ..options import Options
    from ..store import Entry

_EXPIRED = "The provided continue parameter is too old to display a consistent list result. {how}"
_START_ANEW = (
    "You can start a new list without the continue parameter, or use the continue token in this response to retrieve the "
    "remainder of the results. Continuing with the provided token results in an inconsistent list - objects that were "
    "created, modified, or deleted between the time the first chunk was returned and now may show up in the list."
)


class Page(msgspec.Struct):
    """Part of a collection, and how to go on."""

    entries: list[Entry]
    revision: int
    token: str = ""
    remaining: int | None = None


def handle(call: Call) -> Answer:
    """The page as a List."""
    output = call.output
    options = query.checked_list(query.reading(call.request), watch=False)
    page = read(call, options, Selection(call, options))
    if call.machine.recorder is not None:
        call.machine.recorder.read(call, page.entries, page.revision)
    if not output.plain:
        return call.answer(200, as_list(call, page))
    # The bytes of every item are cached with it; the list is put together from them.
    items = b",".join([item(entry, call.kind, call.version) for entry in page.entries])
    head = gojson.encode({"apiVersion": call.api_version})[:-1]
    tail = gojson.encode({"kind": list_kind(call), "metadata": _list_metadata(call, page)})[1:]
    return Answer(200, b"".join((head, b',"items":[', items, b"],", tail)), call.headers())


def list_kind(call: Call) -> str:
    """The kind of the list."""
    return call.kind.list_kind or f"{call.kind.kind}List"


def as_list(call: Call, page: Page) -> Json:
    """The page as a List object."""
    items = [view(entry, call.kind, call.version) for entry in page.entries]
    if not call.kind.custom and not call.output.transform:
        items = [untyped(obj) for obj in items]
    return {"apiVersion": call.api_version, "items": items, "kind": list_kind(call), "metadata": _list_metadata(call, page)}


def _list_metadata(call: Call, page: Page) -> Json:
    meta: Json = {"resourceVersion": str(page.revision)}
    if page.token or call.kind.custom:
        meta["continue"] = page.token
    if page.remaining is not None:
        meta["remainingItemCount"] = page.remaining
    return meta


def read(call: Call, options: Options, selection: Selection) -> Page:
    """The objects of one page, in key order."""
    store = call.machine.store
    start = ""
    if options.continue_token:
        revision, start = _from_token(call, options, selection)
    else:
        revision = _revision(call, options)
    keys, entries = call.table.at(revision)
    name = selection.single
    if name is not None and (selection.prefix or not call.kind.namespaced):
        key = selection.prefix + name
        found = [entries[key]] if key in entries and key >= start and selection.matches(entries[key]) else []
        return Page(found, revision)
    picked: list[Entry] = []
    limit = options.limit if options.limit > 0 else 0
    last = ""
    for key in span(keys, selection.prefix, start):
        if limit and len(picked) == limit:
            token = _token(revision, last, selection.prefix)
            rest = count(keys, selection.prefix, key) if selection.everything else None
            return Page(picked, revision, token, rest)
        entry = entries[key]
        if selection.matches(entry):
            picked.append(entry)
            last = key
    del store
    return Page(picked, revision)


def _revision(call: Call, options: Options) -> int:
    """The revision to list at: now, unless an exact one was asked for."""
    store = call.machine.store
    try:
        asked = query.revision(options.resource_version)
    except ValueError as error:
        text = f'invalid resource version: resourceVersion: Invalid value: "{options.resource_version}": {error}'
        raise statuses.bad_request(text) from None
    if asked > store.revision:
        raise statuses.resource_version_too_large(asked, store.revision)
    exact = options.resource_version_match == "Exact" or (options.limit > 0 and asked > 0 and not options.resource_version_match)
    if not exact:
        return store.revision
    if asked <= store.compacted or asked < call.table.trimmed_revision:
        raise statuses.expired("The resourceVersion for the provided list is too old.")
    return asked


def _token(revision: int, last: str, prefix: str) -> str:
    start = "/" + last.removeprefix(prefix) + "\0"
    data = gojson.encode({"rv": revision, "start": start, "v": "meta.k8s.io/v1"})
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


def _from_token(call: Call, options: Options, selection: Selection) -> tuple[int, str]:
    if options.resource_version not in ("", "0"):
        raise statuses.bad_request("specifying resource version is not allowed when using continue")
    try:
        data = base64.b64decode(options.continue_token + "=" * (-len(options.continue_token) % 4), altchars=b"-_", validate=True)
    except (binascii.Error, ValueError):
        raise statuses.bad_request("invalid continue token: continue key is not valid: illegal base64 data at input byte 0") from None
    try:
        token = gojson.decode(data)
    except gojson.DecodeError as error:
        raise statuses.bad_request(f"invalid continue token: continue key is not valid: {error.message}") from None
    if not isinstance(token, dict) or token.get("v") != "meta.k8s.io/v1" or not isinstance(token.get("rv"), int):
        raise statuses.bad_request("invalid continue token: continue key is not valid: server does not recognize this encoded version")
    start = str(token.get("start", "")).removeprefix("/")
    if not start:
        raise statuses.bad_request("invalid continue token: continue key is not valid: encoded start key empty (version meta.k8s.io/v1)")
    revision = token["rv"]
    store = call.machine.store
    if revision < 0:
        return store.revision, selection.prefix + start
    if revision <= store.compacted or revision < call.table.trimmed_revision:
        refusal = statuses.expired(_EXPIRED.format(how=_START_ANEW))
        refusal.status["metadata"] = {"continue": _token(-1, selection.prefix + start.rstrip("\0"), selection.prefix)}
        raise refusal
    return revision, selection.prefix + start
