"""What happened, by whom: the hook that the checker of lost updates reads.

The machine calls a `Recorder` for each read, each commit and each refused write; without one it calls nothing. Records share the
trees of the store. A `Log` keeps them all; another recorder may keep less.
"""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, Protocol

import msgspec

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from ..objects.tree import Json
    from .call import Call
    from .machine import Machine
    from .statuses import Refusal
    from .store import Entry


class Recorder(Protocol):
    """Receives what happens, in order."""

    def read(self, call: Call, entries: Sequence[Entry], revision: int, *, deleted: bool = False) -> None:
        """Objects were delivered to the caller, by a get, a list or a watch."""
        ...

    def committed(self, call: Call, before: Entry | None, after: Entry | None) -> None:
        """A write landed. No `before`: created. No `after`: gone."""
        ...

    def unchanged(self, call: Call, revision: int) -> None:
        """A write was answered with success and changed nothing; its caller was given the object at that revision."""
        ...

    def refused(self, call: Call, refusal: Refusal) -> None:
        """A request was answered with an error."""
        ...


class Unseen:
    """A recorder for a request whose answer never reaches its caller: what it did counts, what it would have shown does not."""

    def __init__(self, recorder: Recorder) -> None:
        self._recorder = recorder

    def read(self, call: Call, entries: Sequence[Entry], revision: int, *, deleted: bool = False) -> None:
        """Nothing was delivered."""

    def unchanged(self, call: Call, revision: int) -> None:
        """Nothing was written, and nobody was given the object."""

    def committed(self, call: Call, before: Entry | None, after: Entry | None) -> None:
        """The write landed all the same."""
        self._recorder.committed(call, before, after)

    def refused(self, call: Call, refusal: Refusal) -> None:
        """The write was refused all the same."""
        self._recorder.refused(call, refusal)


@contextmanager
def unseen(machine: Machine) -> Iterator[None]:
    """Record what happens meanwhile as never delivered."""
    recorder = machine.recorder
    if recorder is not None:
        machine.recorder = Unseen(recorder)
    try:
        yield
    finally:
        machine.recorder = recorder


class Who(msgspec.Struct, frozen=True):
    """The caller: reads carry no field manager, so the actor is the user agent, and the user where there is none."""

    actor: str
    manager: str


class Record(msgspec.Struct, frozen=True):
    """One thing that happened. `what` is read, commit or refused."""

    what: str
    who: Who
    verb: str
    resource: tuple[str, str]
    namespace: str
    name: str
    subresource: str
    revision: int
    before: Json | None = None
    after: Json | None = None
    objects: tuple[Json, ...] = ()
    #: The request's body and media type as sent, for commits and refusals.
    body: bytes = b""
    media_type: str = ""
    code: int = 200
    deleted: bool = False


class Log:
    """Keeps everything."""

    def __init__(self) -> None:
        self.records: list[Record] = []

    def read(self, call: Call, entries: Sequence[Entry], revision: int, *, deleted: bool = False) -> None:
        """A read record, with the objects as the reader's version shows them."""
        route = call.route
        objects = tuple(call.view(entry) for entry in entries)
        self.records.append(
            Record("read", who(call), _verb(call), call.kind.key, route.namespace, route.name, route.subresource, revision,
                   objects=objects, deleted=deleted)
        )  # fmt: skip

    def committed(self, call: Call, before: Entry | None, after: Entry | None) -> None:
        """A commit record."""
        route, request = call.route, call.request
        held = after or before
        meta = held.obj["metadata"] if held else {}
        self.records.append(
            Record("commit", who(call), route.verb, call.kind.key, meta.get("namespace", ""), meta.get("name", ""), route.subresource,
                   call.machine.store.revision, before.obj if before else None, after.obj if after else None,
                   body=request.body, media_type=request.content_type)
        )  # fmt: skip

    def unchanged(self, call: Call, revision: int) -> None:
        """Nothing happened: nothing to keep."""

    def refused(self, call: Call, refusal: Refusal) -> None:
        """A record of a request that was refused."""
        route, request = call.route, call.request
        self.records.append(
            Record("refused", who(call), route.verb, call.kind.key, route.namespace, route.name, route.subresource,
                   call.machine.store.revision, body=request.body, media_type=request.content_type, code=refusal.code)
        )  # fmt: skip


def who(call: Call) -> Who:
    """The caller of a request."""
    headers = call.request.headers
    manager = next((value for name, value in call.request.query if name == "fieldManager"), "")
    agent = headers.get("user-agent", "")
    return Who(headers.get("x-fiferail-actor") or agent or call.user.name, manager or agent.partition("/")[0])


def is_watch(call: Call) -> bool:
    """Whether a read is a watch: `watch=false` is a list."""
    return call.route.verb == "watch" or any(name == "watch" and value not in ("0", "false") for name, value in call.request.query)


def _verb(call: Call) -> str:
    return "watch" if call.route.verb == "list" and is_watch(call) else call.route.verb
