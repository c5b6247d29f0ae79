"""Lets the checker of lost updates listen to an embedded server: the server's records become the checker's.

Used by the fixture's `assert_nothing_lost()` and by `fiferail serve --check`. The actor is the user agent, or what the caller says
in `x-fiferail-actor`. A caller knows better than a server what it decided on, and may say so with a write:

    x-fiferail-base: 213                            the resourceVersion of the object that the decision stands on
    x-fiferail-reads: ["status.phase","spec.size"]  the paths that the caller read, a JSON array; absent when unknown or too long
    x-fiferail-seen: 215 216                        the caller's own earlier commits whose outcome it knows as well
    x-fiferail-decides: once                        a refusal ends in an error: there is no function to run again on a fresh read
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec

from ..apiserver.recording import is_watch, who
from ..history.asserted import named_version
from ..history.checker import Checker, Finding
from ..history.records import Attempt, Commit, Identity, Observation, Said, actor_of, is_failed_test
from ..history.words import explain
from ..objects.paths import Path, parse

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from ..apiserver.call import Call
    from ..apiserver.statuses import Refusal
    from ..apiserver.store import Entry
    from ..objects.tree import Json

_CONTENT = {
    "application/merge-patch+json": "merge",
    "application/json-patch+json": "json",
    "application/strategic-merge-patch+json": "strategic",
    "application/apply-patch+yaml": "apply",
}


class Watchman:
    """A recorder that feeds a checker."""

    def __init__(self, checker: Checker | None = None, tell: Callable[[Finding], None] | None = None) -> None:
        self.checker = checker or Checker()
        self._tell = tell
        self._identities: dict[tuple[str, str, str], Identity] = {}
        #: How much was listened to: writes that landed, and who made them.
        self.commits = 0
        self.actors: set[str] = set()

    def read(self, call: Call, entries: Sequence[Entry], revision: int, *, deleted: bool = False) -> None:
        """Objects were delivered."""
        if deleted:
            return
        actor, via = self._actor(call), "watch" if is_watch(call) else call.route.verb
        for entry in entries:
            self._feed(Observation(actor, self._identity(call, entry.obj), entry.revision, via))

    def committed(self, call: Call, before: Entry | None, after: Entry | None) -> None:
        """A write landed."""
        actor, held = self._actor(call), after or before
        if held is None:
            return
        self.commits += 1
        content, body = _body(call)
        identity, said = self._identity(call, held.obj), said_in(call.request.headers)
        self._feed(
            Commit(
                actor, identity, held.revision, _verb(call, after), before.obj if before else None, after.obj if after else None,
                manager=_manager(call), subresource=call.route.subresource, content=content, body=body,
                precondition=named_version(body, content), base=said.base, reads=said.reads, seen=said.seen, api_version=call.api_version,
            )
        )  # fmt: skip

    def unchanged(self, call: Call, revision: int) -> None:
        """A write changed nothing; its caller was given the object all the same."""
        route = call.route
        identity = self._identities.get((_resource(call), route.namespace, route.name))
        if identity is None:
            return
        self._feed(self._attempt(call, identity, "unchanged"))
        self._feed(Observation(self._actor(call), identity, revision, "answer"))

    def refused(self, call: Call, refusal: Refusal) -> None:
        """A write was refused because of another's: a conflict, or a failed test. Validation errors are nobody else's doing."""
        route = call.route
        identity = self._identities.get((_resource(call), route.namespace, route.name))
        if identity is None or route.verb not in ("update", "patch"):
            return
        causes = (refusal.status.get("details") or {}).get("causes")
        if refusal.code == 409 or is_failed_test(refusal.code, _body(call)[0], causes):
            self._feed(self._attempt(call, identity, "refused", refusal.code))

    def _attempt(self, call: Call, identity: Identity, outcome: str, code: int = 0) -> Attempt:
        content, body = _body(call)
        said = said_in(call.request.headers)
        return Attempt(
            self._actor(call), identity, call.route.verb, outcome, content, call.route.subresource, body, named_version(body, content),
            code, _manager(call), said.base, said.reads, once=said.once,
        )  # fmt: skip

    def findings(self) -> list[Finding]:
        """Everything found so far, updates that their actor gave up included: to be asked when the actors are at rest."""
        for finding in self.checker.finish():
            if self._tell is not None:
                self._tell(finding)
        return self.checker.findings

    def lost(self) -> list[str]:
        """Every update lost so far, certainly or by inference, in words."""
        return [explain(finding) for finding in self.findings() if finding.is_loss]

    def _actor(self, call: Call) -> str:
        actor = actor_of(who(call).actor)
        self.actors.add(actor)
        return actor

    def _feed(self, record: Observation | Commit | Attempt) -> None:
        for finding in self.checker.feed(record):
            if self._tell is not None:
                self._tell(finding)

    def _identity(self, call: Call, obj: Json) -> Identity:
        metadata = obj["metadata"]
        identity = Identity(_resource(call), metadata.get("namespace", ""), metadata["name"], metadata.get("uid", ""))
        self._identities[identity.resource, identity.namespace, identity.name] = identity
        return identity


def _resource(call: Call) -> str:
    group, plural = call.kind.key
    return f"{plural}.{group}" if group else plural


def said_in(headers: Mapping[str, str]) -> Said:
    """What a caller says about its decision. Names of headers are in lower case; a header that cannot be read says nothing."""
    base, seen = headers.get("x-fiferail-base", ""), headers.get("x-fiferail-seen", "").split()
    return Said(
        headers.get("x-fiferail-actor", ""), int(base) if base.isdigit() else None, _paths(headers.get("x-fiferail-reads", "")),
        tuple(int(version) for version in seen if version.isdigit()), headers.get("x-fiferail-decides", "") == "once",
    )  # fmt: skip


def _paths(text: str) -> tuple[Path, ...] | None:
    try:
        return tuple(map(parse, msgspec.json.decode(text, type=list[str]))) if text else None
    except (msgspec.MsgspecError, ValueError):
        return None


def _manager(call: Call) -> str:
    """The field manager; for an actor that names itself only the one in the request, because the user agent is not its name."""
    if "x-fiferail-actor" in call.request.headers:
        return next((value for name, value in call.request.query if name == "fieldManager"), "")
    return who(call).manager


def _verb(call: Call, after: Entry | None) -> str:
    return "delete" if after is None else call.route.verb


def _body(call: Call) -> tuple[str, Any]:
    content = _CONTENT.get(call.request.content_type.partition(";")[0].strip(), "")
    try:
        return content, msgspec.json.decode(call.request.body) if call.request.body else None
    except msgspec.DecodeError:
        return content, _yaml(call.request.body)


def _yaml(body: bytes) -> Any:
    from fiferail.apiserver import goyaml
    from fiferail.errors import Unsupported

    try:
        return goyaml.read(body).tree
    except (goyaml.YamlError, Unsupported):
        return None
