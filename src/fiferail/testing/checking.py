"""Lets the checker of lost updates listen to an embedded server: the server's records become the checker's.

Used by the fixture's `assert_nothing_lost()` and by `fiferail serve --check`. The actor is the user agent, or what the caller says
in `x-fiferail-actor`; the field manager is only a label, because reads carry none. A caller that knows better than the server may
say which version it decided on (`x-fiferail-base`) and what it looked at (`x-fiferail-reads`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec

from ..apiserver.recording import who
from ..history.asserted import named_version
from ..history.checker import Checker, Finding
from ..history.records import Attempt, Commit, Identity, Observation, actor_of
from ..history.words import explain
from ..objects.paths import parse

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

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
#: Conflicts and failed tests: the writer was told, and may come again.
_REFUSALS = (409, 422)


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
        actor, via = self._actor(call), call.route.verb
        if any(name == "watch" for name, _ in call.request.query):
            via = "watch"
        for entry in entries:
            self._feed(Observation(actor, self._identity(call, entry.obj), entry.revision, via))

    def committed(self, call: Call, before: Entry | None, after: Entry | None) -> None:
        """A write landed."""
        actor, held = self._actor(call), after or before
        if held is None:
            return
        self.commits += 1
        content, body = _body(call)
        identity = self._identity(call, held.obj)
        self._feed(
            Commit(
                actor, identity, held.revision, _verb(call, after), before.obj if before else None, after.obj if after else None,
                manager=who(call).manager, subresource=call.route.subresource, content=content, body=body,
                precondition=named_version(body, content), **_told(call),
            )
        )  # fmt: skip

    def unchanged(self, call: Call, revision: int) -> None:
        """A write changed nothing; its caller was given the object all the same."""
        route = call.route
        identity = self._identities.get((_resource(call), route.namespace, route.name))
        if identity is None:
            return
        actor = self._actor(call)
        content, body = _body(call)
        told = _told(call)
        self._feed(Attempt(actor, identity, route.verb, "unchanged", content, route.subresource, body, **told))
        self._feed(Observation(actor, identity, revision, "answer"))

    def refused(self, call: Call, refusal: Refusal) -> None:
        """A write was refused."""
        route = call.route
        identity = self._identities.get((_resource(call), route.namespace, route.name))
        if identity is None or route.verb not in ("update", "patch") or refusal.code not in _REFUSALS:
            return
        content, body = _body(call)
        self._feed(
            Attempt(
                self._actor(call), identity, route.verb, "refused", content=content, subresource=route.subresource, body=body,
                precondition=named_version(body, content), code=refusal.code,
            )
        )  # fmt: skip

    def findings(self) -> list[Finding]:
        """Everything found so far, updates that their actor gave up included: to be asked when the actors are at rest."""
        for finding in self.checker.finish():
            if self._tell is not None:
                self._tell(finding)
        return self.checker.findings

    def lost(self) -> list[str]:
        """Every update lost so far, in words."""
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


def _told(call: Call) -> dict[str, Any]:
    """What the caller said about its decision: the version that it stands on, and the paths that it looked at."""
    headers = call.request.headers
    told: dict[str, Any] = {}
    if headers.get("x-fiferail-base", "").isdigit():
        told["base"] = int(headers["x-fiferail-base"])
    if "x-fiferail-reads" in headers:
        told["reads"] = tuple(parse(path) for path in msgspec.json.decode(headers["x-fiferail-reads"]))
    return told


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
