"""The API server as a state machine: a request in, an answer or a stream out, nothing else moves.

`Machine.handle` is the only door; an HTTP shell, the in-process transport and the explorer all use it. The clock and the source of ids
are arguments, there are no threads and no sockets, so the same requests give the same world. `fork` gives a second world that
shares everything until one of the two writes.

    request -> routes.parse -> Call -> verbs/<verb>.handle -> Answer | Stream
                  no resource -> paths[...] (discovery, health, reviews: filled in by other modules)
"""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING, TypeAlias

from ..errors import Unsupported
from ..wire import Answer
from . import collector, crds, routes, statuses
from .aims import serving
from .call import Call, as_yaml, negotiate
from .faults import Delayed, Faults, Lost, around
from .ids import Counted, Ids
from .kinds import Kind, User, Version
from .statuses import PlainRefusal, Refusal
from .store import Store
from .verbs import create, delete, get, listing, patch, scale, update, watch

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from ..objects.tree import Json
    from ..wire import Request
    from .recording import Recorder
    from .store import Entry
    from .verbs.watch import Stream

    Handler: TypeAlias = "Callable[[Machine, Request], Answer | Stream]"
    TableRenderer: TypeAlias = "Callable[[Kind, Version, list[Json], Json | None, Request, str], Json]"

MAX_BODY = 3 * 1024 * 1024
#: These exist from the start, as on the real server.
FIRST_NAMESPACES = ("kube-system", "kube-public", "kube-node-lease", "default")
ADMIN = User()

_VERBS: dict[str, Callable[[Call], Answer | Stream]] = {
    "get": get.handle,
    "list": listing.handle,
    "watch": watch.handle,
    "create": create.handle,
    "update": update.handle,
    "patch": patch.handle,
    "delete": delete.handle,
    "deletecollection": delete.handle_collection,
}
_READING = ("get", "update", "patch")


class Machine:
    """One API server."""

    def __init__(
        self,
        *,
        clock: Callable[[], float],
        ids: Ids | None = None,
        kinds: Iterable[Kind] | None = None,
        controllers: bool = False,
        recorder: Recorder | None = None,
        store: Store | None = None,
    ) -> None:
        self.clock = clock
        self.ids: Ids = ids or Counted()
        self.store = store or Store()
        #: What is served, by (group, plural). CRDs come and go here.
        self.kinds: dict[tuple[str, str], Kind] = {}
        #: Paths that name no resource. A key that ends with "/" takes everything below it. Discovery and reviews fill this.
        self.paths: dict[str, Handler] = {}
        #: How `as=Table` is drawn; set by whoever brings tables.
        self.tables: TableRenderer | None = None
        self.faults = Faults(serving(self.kinds))
        self.recorder = recorder
        #: Whether the garbage collector and the namespace lifecycle run (a bare API server has neither).
        self.controllers = controllers
        self._second: tuple[int | None, str] = (None, "")
        if store is None:
            for kind in _built_in() if kinds is None else kinds:
                self.kinds[kind.group, kind.plural] = kind
            crd = crds.kind()
            self.kinds[crd.group, crd.plural] = crd
            self._first_objects()

    def handle(self, request: Request, user: User = ADMIN) -> Answer | Stream | Delayed | Lost:
        """The answer to one request. Whatever is wrong with it is told in the answer, never raised."""
        fault = self.faults.strike(request) if self.faults else None
        if fault is None:
            return self._answer(request, user)
        return around(fault, request, self, lambda changed: self._answer(changed, user))

    def fork(self) -> Machine:
        """A second world in the same state. Open streams stay with this one."""
        twin = Machine(clock=self.clock, ids=self.ids.fork(), controllers=self.controllers, recorder=self.recorder, store=self.store.fork())
        twin.kinds.update(self.kinds)
        twin.paths = self.paths
        twin.tables = self.tables
        if self.faults.given or self.faults.struck:
            twin.faults = self.faults.fork(twin.faults.kinds)
        return twin

    def internal(self, request: Request) -> Answer | Stream:
        """A request of the server to itself: no faults."""
        return self._answer(request, ADMIN)

    def after_commit(self, call: Call, key: str, before: Entry | None, after: Entry | None) -> None:
        """What follows from a commit: served kinds change with their CRD, and the controllers react when they are on."""
        if call.kind.key == crds.KEY:
            crds.after_commit(call, before, after)
        elif after is None and call.kind.custom:
            crds.finish_clean_up(self, f"{call.kind.plural}.{call.kind.group}")
        if self.controllers:
            collector.after_commit(self, call.kind, key, before, after)

    def finalize_namespace(self, name: str) -> None:
        """What the namespace controller does at the end: takes off the finalizer, and the namespace goes."""
        from .inprocess import request_of

        entry = self.store.table(("", "namespaces")).entries.get(name)
        if entry is not None:
            body = {**entry.obj, "spec": {**(entry.obj.get("spec") or {}), "finalizers": []}}
            self.internal(request_of("PUT", f"/api/v1/namespaces/{name}/finalize", body, manager="namespace-controller"))

    def compact(self) -> None:
        """Forgets history: watches and lists from before are answered 410."""
        self.store.compact()

    def now(self) -> str:
        """The time as metadata carries it: whole seconds, UTC."""
        second = int(self.clock())
        if self._second[0] != second:
            self._second = (second, datetime.fromtimestamp(second, UTC).strftime("%Y-%m-%dT%H:%M:%SZ"))
        return self._second[1]

    def kind_of(self, route: routes.Route) -> tuple[Kind, Version]:
        """The kind and version that a route names; a refusal where nothing is served."""
        kind = self.kinds.get((route.group, route.resource))
        version = kind.versions.get(route.version) if kind else None
        if kind is None or version is None or not version.served:
            raise self._nothing_at(route)
        if route.namespace and not kind.namespaced:
            raise self._nothing_at(route)
        if kind.namespaced and not route.namespace and route.verb not in ("list", "watch"):
            if not route.name and not kind.custom:
                raise statuses.method_not_allowed()
            raise self._nothing_at(route)
        return kind, version

    def render_table(self, call: Call, items: list[Json], whole: Json | None, version: str) -> Json:
        """Objects as a Table, by whoever knows how."""
        if self.tables is None:
            raise statuses.unsupported("Table output")
        return self.tables(call.kind, call.version, items, whole, call.request, version)

    def _answer(self, request: Request, user: User) -> Answer | Stream:
        call: Call | None = None
        try:
            if len(request.body) > MAX_BODY:
                raise statuses.too_large(MAX_BODY)
            statuses.refuse_impersonation(request.headers)
            route = routes.parse(request.method, request.path)
            handler = self._handler(request.path) if route is None or self.paths.get(request.path) else None
            if handler is not None:
                return handler(self, request)
            if route is None:
                raise statuses.page_not_found()
            kind, version = self.kind_of(route)
            call = Call(self, request, route, kind, version, user)
            return self._served(call) if self.recorder is None else self._recorded(call)
        except Refusal as refusal:
            if call is not None and self.recorder is not None:
                self.recorder.refused(call, refusal)
            answer = refusal.answer(call.warnings if call else ())
            return _as_asked(answer, refusal, request) if "yaml" in request.headers.get("accept", "") else answer
        except PlainRefusal as refusal:
            return refusal.answer()
        except Unsupported as missing:
            return statuses.unsupported(missing.feature).answer()
        except RecursionError:
            return statuses.internal_error("the request is nested too deeply").answer()

    def _recorded(self, call: Call) -> Answer | Stream:
        """Tells the recorder of a write that changed nothing; whatever else happens tells of itself."""
        revision = self.store.revision
        answer = self._served(call)
        if self.store.revision == revision and call.route.verb in ("update", "patch") and call.route.subresource != "scale":
            entry = call.table.entries.get(call.key)
            if self.recorder is not None and entry is not None and not any(name == "dryRun" for name, _ in call.request.query):
                self.recorder.unchanged(call, entry.revision)
        return answer

    def _served(self, call: Call) -> Answer | Stream:
        route, kind, version = call.route, call.kind, call.version
        verb = route.verb
        if version.deprecated:
            call.warn(version.deprecation_warning or f"{call.api_version} {kind.kind} is deprecated")
        if route.subresource:
            if route.subresource == "scale" and version.scale is not None and verb in _READING:
                return scale.handle(call)
            if route.subresource == "finalize" and kind.key == ("", "namespaces"):
                if verb != "update":
                    raise self._not_allowed(call)
                return update.handle(call)
            known = (route.subresource == "status" and version.status) or (route.subresource == "scale" and version.scale is not None)
            if not known:
                if route.subresource in kind.other_subresources:
                    if verb != "create" and call.key not in call.table.entries:
                        raise call.not_found()
                    raise statuses.unsupported(f"the {route.subresource} subresource of {kind.resource}")
                raise call.not_found() if kind.custom else self._nothing_at(route)
            if verb not in _READING:
                raise self._not_allowed(call)
        elif verb == "list" and _wants_watch(call.request):
            verb = "watch"
        if verb not in _VERBS or verb not in kind.verbs or (verb in ("update", "patch") and not route.name and not kind.custom):
            raise self._not_allowed(call)
        if verb == "create" and route.name and not kind.custom:
            raise self._not_allowed(call)
        return _VERBS[verb](call)

    def _not_allowed(self, call: Call) -> Refusal:
        if call.kind.custom:
            return statuses.method_not_supported(call.kind.group, call.kind.plural, call.route.verb)
        return statuses.method_not_allowed()

    def _nothing_at(self, route: routes.Route) -> Refusal | PlainRefusal:
        """Unknown resources of the server's own groups get a Status, everything else plain text."""
        own = any(kind.group == route.group and not kind.custom for kind in self.kinds.values())
        if own:
            return statuses.status(404, "NotFound", "the server could not find the requested resource", {})
        return statuses.page_not_found()

    def _handler(self, path: str) -> Handler | None:
        handler = self.paths.get(path) or self.paths.get(path.rstrip("/"))
        if handler is None:
            above = [key for key in self.paths if key.endswith("/") and path.startswith(key)]
            handler = self.paths[max(above, key=len)] if above else None
        return handler

    def _first_objects(self) -> None:
        from .inprocess import request_of

        if ("", "namespaces") not in self.kinds:
            return
        for name in FIRST_NAMESPACES:
            body = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}}
            self._answer(request_of("POST", "/api/v1/namespaces", body, manager="kube-apiserver"), ADMIN)
        from .builtin import first

        for path, body in first.objects():
            self._answer(request_of("POST", path, body, manager="kube-apiserver"), ADMIN)


def _as_asked(answer: Answer, refusal: Refusal, request: Request) -> Answer:
    """A refusal in YAML, for clients that take nothing else."""
    try:
        wanted = negotiate(request.headers["accept"]).media_type
    except Refusal:
        return answer
    if wanted == "application/json":
        return answer
    return Answer(answer.status, as_yaml(refusal.status), {**answer.headers, "content-type": wanted})


def _built_in() -> list[Kind]:
    from . import builtin

    return list(builtin.kinds())


def _wants_watch(request: Request) -> bool:
    return any(name == "watch" and value.lower() not in ("false", "0") for name, value in request.query)
