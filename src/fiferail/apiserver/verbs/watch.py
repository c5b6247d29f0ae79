"""Watches: a position in a table's log, read when someone takes.

A `Stream` never blocks and has no thread: `take` gives what has happened since, `on_ready` tells a shell that there is something
to take. Timeouts and the pace of bookmarks belong to the shell, which has a clock. Selectors turn changes into additions and
deletions, as the server's watch cache does.
"""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING

from ...objects import gojson
from .. import options as query
from .. import statuses
from ..call import encoded
from ..store import Entry, span
from .selecting import Selection

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from ...objects.tree import Json
    from ..call import Call
    from ..kinds import Kind
    from ..options import Options
    from ..store import Event, Table

_STREAMS = ("application/json;stream=watch", "application/vnd.kubernetes.protobuf;stream=watch")
INITIAL_EVENTS_END = {"k8s.io/initial-events-end": "true"}


def handle(call: Call) -> Stream:
    """Opens a stream where the query says."""
    if call.output.media_type != "application/json":
        raise statuses.not_acceptable(_STREAMS)
    options = query.checked_list(query.reading(call.request), watch=True)
    selection = Selection(call, options)
    store = call.machine.store
    try:
        asked = query.revision(options.resource_version)
    except ValueError as error:
        raise statuses.status(500, "", f'resourceVersion: Invalid value: "{options.resource_version}": {error}') from None
    stream = Stream(call, selection, options)
    initial = options.send_initial_events if options.send_initial_events is not None else asked == 0
    if initial:
        stream.start_with_everything()
    elif asked == 0:
        stream.start_after(store.revision)
    else:
        oldest = max(call.table.trimmed_revision, store.compacted, call.table.born)
        if asked < oldest:
            stream.expire(asked, oldest)
        else:
            stream.start_after(asked)
    call.table.streams.append(stream)
    return stream


class Stream:
    """A running watch. `closed` after an error event, a close, or the end of its kind."""

    __slots__ = (
        "_after", "_call", "_initial", "_initial_end", "_mark", "_pending", "_position", "_selection", "_table",
        "closed", "lag", "on_ready", "timeout_seconds",
    )  # fmt: skip

    def __init__(self, call: Call, selection: Selection, options: Options) -> None:
        self._call = call
        self._selection = selection
        self._table: Table = call.table
        #: What is still to be sent before any event of the log: lines, the other objects that were there at the start, and the
        #: revision of the bookmark that ends those.
        self._pending: deque[bytes] = deque()
        self._initial: deque[Entry] = deque()
        self._initial_end: int | None = None
        #: Whether a bookmark is wanted after the last event.
        self._mark = False
        self._position = self._table.end
        self._after = 0
        self.closed = False
        #: How many events a fault holds back.
        self.lag = 0
        #: Called when there may be something to take. At most one listener: the shell.
        self.on_ready: Callable[[], None] | None = None
        #: What the client asked for; None leaves it to the shell.
        self.timeout_seconds = options.timeout_seconds

    @property
    def headers(self) -> dict[str, str]:
        """The headers of the 200 that opens the stream."""
        return self._call.headers()

    @property
    def kind(self) -> Kind:
        """What is watched."""
        return self._call.kind

    @property
    def drained(self) -> bool:
        """Whether it is closed and everything in it was taken."""
        return self.closed and not self._pending and not self._initial and self._initial_end is None

    def start_with_everything(self) -> None:
        """An ADDED for each object that is there, and then what follows."""
        store = self._call.machine.store
        table = self._table
        entries = (table.entries[key] for key in span(table.keys, self._selection.prefix))
        seen = [entry for entry in entries if self._selection.matches(entry)]
        if seen:
            self._pending.append(self._event(b"ADDED", seen[0]))  # at once: an output that cannot be had is refused, not streamed
            self._initial.extend(seen[1:])
        self._observed(seen, store.revision)
        self.start_after(store.revision)
        options = query.checked_list(query.reading(self._call.request), watch=True)
        if options.send_initial_events and options.allow_bookmarks:
            self._initial_end = store.revision

    def start_after(self, revision: int) -> None:
        """From the first event after the revision, which may be in the future."""
        self._position = self._table.position_after(revision)
        self._after = revision

    def expire(self, asked: int, oldest: int) -> None:
        """The stream is one error event."""
        refusal = statuses.expired(f"too old resource version: {asked} ({oldest})")
        self._pending.append(b'{"type":"ERROR","object":' + gojson.encode(refusal.status) + b"}\n")
        self.closed = True

    def take(self, portion: int | None = None) -> list[bytes]:
        """The lines of everything that happened since the last take. Empty: nothing yet.

        With `portion` it stops after about so many bytes, and at least one line: the rest stays for the next take.
        """
        if portion is None:
            return list(self._lines())
        taken = []
        for line in self._lines():
            taken.append(line)
            portion -= len(line)
            if portion <= 0:
                break
        return taken

    def _lines(self) -> Iterator[bytes]:
        """What is to be sent, in order; each line counts as sent when it is given."""
        yield from self._given(self._pending)
        while self._initial:
            yield self._event(b"ADDED", self._initial.popleft())
        if self._initial_end is not None:
            revision, self._initial_end = self._initial_end, None
            yield self._bookmark(revision, INITIAL_EVENTS_END)
        table = self._table
        if not self.closed and self._position < table.trimmed:
            self.expire(self._after, table.trimmed_revision)
            yield from self._given(self._pending)
        while not self.closed and self._position < table.end - self.lag:
            event = table.log[self._position - table.trimmed]
            self._position += 1
            line = self._line(event) if event.revision > self._after else None
            if line is not None:
                yield line
        if self._mark and not self.closed and self._position == table.end:
            self._mark = False
            yield self._bookmark(self._call.machine.store.revision, None)

    @staticmethod
    def _given(lines: deque[bytes]) -> Iterator[bytes]:
        while lines:
            yield lines.popleft()

    def bookmark(self) -> None:
        """Tell the client how far it is, after everything up to there. The shell calls this when the client allows bookmarks."""
        if not self.closed:
            self._mark = True
            self.notify()

    def close(self) -> None:
        """Ends the stream: nothing more will be added to it."""
        self.closed = True
        if self in self._table.streams:
            self._table.streams.remove(self)
        self.notify()

    def notify(self) -> None:
        """Called by the table after each commit."""
        if self.on_ready is not None:
            self.on_ready()

    def _line(self, event: Event) -> bytes | None:
        if not event.key.startswith(self._selection.prefix):
            return None
        matched = self._selection.matches
        before = event.before is not None and matched(event.before)
        if event.after is not None and matched(event.after):
            self._observed([event.after], event.revision)
            return self._event(b"MODIFIED" if before else b"ADDED", event.after)
        if not before or event.before is None:
            return None
        gone = event.tombstone or at_revision(event.before, event.revision)
        self._observed([gone], event.revision, deleted=True)
        return self._event(b"DELETED", gone)

    def _observed(self, entries: list[Entry], revision: int, *, deleted: bool = False) -> None:
        recorder = self._call.machine.recorder
        if recorder is not None and entries:
            recorder.read(self._call, entries, revision, deleted=deleted)

    def _event(self, type_: bytes, entry: Entry) -> bytes:
        call = self._call
        if call.output.plain or not call.output.transform:
            data = encoded(entry, call.kind, call.version)
        else:
            data = call.streamed(call.view(entry))
        return b'{"type":"' + type_ + b'","object":' + data + b"}\n"

    def _bookmark(self, revision: int, annotations: Json) -> bytes:
        meta: Json = {"resourceVersion": str(revision)}
        if annotations:
            meta["annotations"] = annotations
        call = self._call
        obj = {"apiVersion": call.api_version, "kind": call.kind.kind, "metadata": meta}
        if not call.kind.custom:
            meta["creationTimestamp"] = None
            meta.pop("creationTimestamp")
        if call.output.transform == "Table":
            return b'{"type":"BOOKMARK","object":' + call.streamed(obj) + b"}\n"
        if call.output.transform in ("PartialObjectMetadata", "PartialObjectMetadataList"):
            obj = {**obj, "apiVersion": f"meta.k8s.io/{call.output.version}", "kind": "PartialObjectMetadata"}
        return b'{"type":"BOOKMARK","object":' + gojson.encode(obj) + b"}\n"


def at_revision(entry: Entry, revision: int) -> Entry:
    """The entry with another resourceVersion: how a deletion shows the last state."""
    obj = {**entry.obj, "metadata": {**entry.obj["metadata"], "resourceVersion": str(revision)}}
    return Entry(obj, revision, entry.managed, entry.kind)
