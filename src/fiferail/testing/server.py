"""What a test gets as `apiserver`: one object with the same members on the embedded and on the real server.

The backends (`EmbeddedBackend` here, `RealBackend` in `pooled`) bring the server; `ApiServer` is what tests call. It waits with
watches, never with sleeps, and says what it last saw when waiting was in vain. Its own requests carry a header that lets them pass
faults and holds; the server takes the header off.
"""

from __future__ import annotations

import math
import tempfile
import time
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Protocol

import msgspec

from fiferail.apiserver.aims import aimed, asked, serving
from fiferail.apiserver.embedded import EmbeddedServer
from fiferail.apiserver.faults import Faults, check_count
from fiferail.apiserver.holds import Hold, Holds
from fiferail.apiserver.http.connection import Delayed, Parked
from fiferail.apiserver.manifests import documents, files
from fiferail.apiserver.real.proxy import HARNESS, Seen
from fiferail.clients.client import Client
from fiferail.errors import FiferailError, NotFound
from fiferail.history.words import explain
from fiferail.testing.checking import Watchman
from fiferail.testing.held import Held
from fiferail.testing.transport import HttpTransport
from fiferail.testing.unmet import closest, never_struck
from fiferail.wire import Answer

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from types import TracebackType

    from fiferail.apiserver.aims import Aim, Verb
    from fiferail.apiserver.kinds import User
    from fiferail.history.findings import Finding
    from fiferail.objects.tree import Json
    from fiferail.wire import Request

__tracebackhide__ = True  # pytest shows the test's line instead of this module

MANAGER = "test"
DEFAULT = "default"


class Backend(Protocol):
    """A running server, isolated for one test."""

    url: str
    faults: Faults
    holds: Holds
    requests: list[Seen]

    def kubeconfig(self) -> Path: ...

    def define(self, client: Client, crd: Json) -> None:
        """Creates a CRD, or finds it there already, and waits until it is served."""
        ...

    def findings(self) -> list[Finding]:
        """What the checker found."""
        ...

    def close(self) -> None: ...


class ApiServer:
    """An API server for one test."""

    def __init__(self, backend: Backend) -> None:
        self._backend = backend
        self.url = backend.url
        #: The plain client, as the user agent "test". Faults hit it, and holds hold it.
        self.client = Client(HttpTransport(backend.url, user_agent=MANAGER), user_agent=MANAGER)
        self._own = Client(HttpTransport(backend.url, user_agent=MANAGER, headers={HARNESS: "1"}), user_agent=MANAGER)

    def client_as(self, name: str) -> Client:
        """A plain client under a name of its own: the checker tells writers apart by it."""
        return Client(HttpTransport(self.url, user_agent=name), user_agent=name)

    @property
    def kubeconfig(self) -> Path:
        """A kubeconfig file for any other client."""
        return self._backend.kubeconfig()

    @property
    def faults(self) -> Faults:
        """`faults.next(verb="patch", kind="Gadget", answer=409)` makes the next such request go wrong.

        A fault that never strikes fails the test. `apply`, `get`, `list` and `wait_for` of this object are never hit.
        """
        return self._backend.faults

    def hold(
        self,
        *,
        verb: Verb | None = None,
        kind: str | None = None,
        name: str | None = None,
        namespace: str | None = None,
        subresource: str | None = None,
        client: str | None = None,
        after: int = 0,
    ) -> Held:
        """Hold the first matching request at the server, before it is processed, for as long as a `with` block lasts.

            with apiserver.hold(verb="patch", kind="Gadget", client="operator") as held:
                held.wait()             # the operator's patch has arrived; in async code: await held.arrived()
                ...                     # another writer writes
            ...                         # the operator's patch has been processed

        The parameters choose the request as those of `faults.next` do; `after` lets that many matching requests pass first. Other
        requests, also those of the same operator, are served meanwhile. `apply`, `get`, `list` and `wait_for` of this object are
        never held. The block's end raises AssertionError when no request has arrived.
        """
        check_count("after", after)
        aim = aimed(
            self.faults.kinds(), verb=verb, kind=kind, name=name, namespace=namespace, subresource=subresource, client=client
        )  # fmt: skip
        return Held(self._backend.holds, Hold(aim, after), self.requests, self._closest)

    def _closest(self, aim: Aim, since: int) -> str:
        return closest(aim, self.requests, since, self.faults.kinds())

    def idle_faults(self) -> str:
        """The faults that were to strike and never did, in words; "" when every fault has struck."""
        return never_struck(self.faults, self.requests)

    @property
    def requests(self) -> list[Seen]:
        """Every request so far, in the order in which they were answered."""
        return self._backend.requests

    def apply(self, *things: str | Path | Json, namespace: str = DEFAULT) -> list[Json]:
        """Applies manifests (files, directories) and objects, CRDs first; gives back what was stored.

        A CRD is served when this returns. A status in an object is written too. Objects without a namespace go to `namespace`.
        """
        objects = [member for thing in things for member in _objects(thing)]
        crds = [obj for obj in objects if obj.get("kind") == "CustomResourceDefinition"]
        for crd in crds:
            with _OurFramesHidden():
                self._backend.define(self._own, crd)
        with _OurFramesHidden():
            return [self._applied(obj, namespace) for obj in objects if obj.get("kind") != "CustomResourceDefinition"]

    def _applied(self, obj: Json, namespace: str) -> Json:
        named = _placed(obj, namespace)
        status = obj.get("status")
        main = {name: member for name, member in named.items() if name != "status"}
        stored = self._own.patch(main, main, type="apply", field_manager=MANAGER, force=True)
        if status is None or stored.get("status") == status:
            return stored
        part = {"apiVersion": named["apiVersion"], "kind": named["kind"], "metadata": {"name": named["metadata"]["name"]}, "status": status}
        return self._own.patch(named, part, type="apply", subresource="status", field_manager=MANAGER, force=True)

    def get(self, api_version: str, kind: str, name: str, namespace: str = DEFAULT) -> Json:
        """The object; NotFound where there is none."""
        with _OurFramesHidden():
            return self._own.get(api_version, kind, name, namespace=namespace)

    def list(self, api_version: str, kind: str, namespace: str | None = None, labels: str | None = None) -> list[Json]:
        """All objects of the kind, in one namespace or all."""
        with _OurFramesHidden():
            return self._own.list(api_version, kind, namespace=namespace, labels=labels)

    def wait_for(
        self,
        api_version: str,
        kind: str,
        name: str,
        until: Callable[[Json], Any] | str | None = None,
        *,
        namespace: str = DEFAULT,
        gone: bool = False,
        timeout: float = 10.0,
    ) -> Json:
        """Waits until the object is there and `until` holds: a function of the object, or the name of a condition that is True.

        With `gone=True` it waits until the object is not there. When the time is over, the error tells what was seen last.
        """
        deadline = time.monotonic() + timeout
        holds = _predicate(until)
        last: Json = None
        while (left := deadline - time.monotonic()) > 0:
            try:
                last = self.get(api_version, kind, name, namespace)
            except NotFound:
                if gone:
                    return last
                last = None
            if last is not None and not gone and holds(last):
                return last
            for event, obj in self._changes(api_version, kind, name, namespace, last, left):
                if event == "BOOKMARK":
                    continue  # a version, not an object
                last = obj
                if event == "DELETED":
                    break
                if not gone and holds(obj):
                    return obj
        wanted = "be gone" if gone else f"fulfil {until!r}" if until is not None else "be there"
        raise AssertionError(f"{kind} {namespace}/{name} did not {wanted} within {timeout:g} s; last seen: {last}")

    def _changes(self, api_version: str, kind: str, name: str, namespace: str, since: Json, seconds: float) -> Iterator[tuple[str, Json]]:
        version = since["metadata"]["resourceVersion"] if since is not None else None
        return self._own.watch(
            api_version, kind, namespace=namespace, resource_version=version, fields=f"metadata.name={name}",
            timeout_seconds=max(1, math.ceil(seconds)),
        )  # fmt: skip

    def assert_nothing_lost(self, *, possible: Literal["print", "fail"] = "print") -> None:
        """Fail with every update that was lost by the requests so far, in words.

        A loss is certain (no other explanation is possible) or inferred (old values were sent, and the request shows that they were
        copied): both fail. Where old values were sent that may be meant, the loss is only possible: it is printed, and fails with
        `possible="fail"`. Fights, hot loops and waste are printed. Ask when the writers are at rest: a refused write that is still to be
        sent again counts as given up.
        """
        if possible not in ("print", "fail"):
            raise ValueError(f'possible must be "print" or "fail", got {possible!r}')
        found = self._backend.findings()
        doubts = [explain(finding) for finding in found if finding.is_possible]
        lost = [explain(finding) for finding in found if finding.is_loss] + (doubts if possible == "fail" else [])
        others = [explain(finding) for finding in found if not finding.is_loss and not finding.is_possible]
        for text in [*others, *(doubts if possible == "print" else [])]:
            print(text)
        if lost:
            raise AssertionError("\n".join([f"{len(lost)} update{'s' if len(lost) > 1 else ''} lost", *lost]))


class EmbeddedBackend:
    """A server inside this process, made for one test and thrown away after it."""

    def __init__(self) -> None:
        self._server = _Counting()
        machine = self._server.machine
        machine.faults = Faults(serving(machine.kinds), lock=self._server.lock, requests=self._server.seen)
        self._server.start()
        self.url = self._server.url
        self.faults, self.holds = machine.faults, self._server.holds
        self.requests = self._server.seen
        self._directory: tempfile.TemporaryDirectory[str] | None = None
        self._watchman = Watchman()
        self._server.machine.recorder = self._watchman

    @property
    def machine(self) -> Any:
        """The state machine behind it."""
        return self._server.machine

    def kubeconfig(self) -> Path:
        """Written when first asked for."""
        if self._directory is None:
            self._directory = tempfile.TemporaryDirectory(prefix="fiferail-")
        return self._server.kubeconfig(Path(self._directory.name) / "kubeconfig")

    def define(self, client: Client, crd: Json) -> None:
        """A CRD is served at once here."""
        client.patch(crd, crd, type="apply", field_manager=MANAGER, force=True)

    def findings(self) -> list[Finding]:
        """What the checker found so far."""
        with self._server.lock:
            return list(self._watchman.findings())

    def close(self) -> None:
        """Ends the server and removes its files."""
        self.holds.clear()
        self._server.stop()
        if self._directory is not None:
            self._directory.cleanup()


class _Counting(EmbeddedServer):
    """An embedded server that keeps a list of what it was asked, and holds requests."""

    def __init__(self) -> None:
        self.seen: list[Seen] = []
        self.holds = Holds()
        super().__init__()

    def handle(self, request: Request, user: User | None) -> Any:
        """As ever, and noted. A request of the fixture itself passes faults and holds."""
        if HARNESS in request.headers:
            headers = {name: value for name, value in request.headers.items() if name != HARNESS}
            request = msgspec.structs.replace(request, headers=headers)
            return self._noted(request, self._carried(self.machine.internal(request), request), harness=True)
        hold = self.holds.catch(request)
        if hold is not None:
            return Parked(hold.on_release, partial(self.holds.processed, request))
        try:
            return self._noted(request, super().handle(request, user))
        finally:
            self.holds.processed(request)

    def _noted(self, request: Request, answer: Any, harness: bool = False) -> Any:
        sent = answer.reply if isinstance(answer, Delayed) else answer
        code = sent.status if isinstance(sent, Answer) else 200 if sent is not None else 0
        what, agent = asked(request), request.headers.get("user-agent", "")
        self.seen.append(Seen(request.method, request.path, request.query, agent, what.verb if what else "", code, request.body, harness))
        return answer


class _OurFramesHidden:
    """Takes the frames of the client off an error of the API: the test's line and the message are what pytest shows."""

    def __enter__(self) -> None:
        return None

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        if isinstance(error, FiferailError):
            raise error.with_traceback(None)


def _objects(thing: str | Path | Json) -> Iterable[Json]:
    """The objects of a file, a directory, a List, or the object itself."""
    if isinstance(thing, (str, Path)):
        return [member for file in files(Path(thing)) for document in documents(file) if document for member in _objects(document)]
    if not isinstance(thing, dict) or "kind" not in thing:
        raise FiferailError(f"expected an object, a file or a directory, got {thing!r}")
    if thing["kind"] == "List":
        return [member for item in thing.get("items", []) for member in _objects(item)]
    return [thing]


def _placed(obj: Json, namespace: str) -> Json:
    """The object with a namespace. Harmless for cluster-scoped kinds: their path has none, and the body is cleared of it."""
    metadata = obj.get("metadata") or {}
    if "namespace" in metadata or obj.get("kind") in _CLUSTER_KINDS:
        return obj
    return {**obj, "metadata": {**metadata, "namespace": namespace}}


_CLUSTER_KINDS = frozenset(
    {"Namespace", "Node", "ClusterRole", "ClusterRoleBinding", "PersistentVolume", "StorageClass", "CustomResourceDefinition"}
)


def _predicate(until: Callable[[Json], Any] | str | None) -> Callable[[Json], Any]:
    if until is None:
        return lambda obj: True
    if isinstance(until, str):
        return lambda obj: any(
            entry.get("type") == until and entry.get("status") == "True" for entry in (obj.get("status") or {}).get("conditions") or []
        )
    return until
