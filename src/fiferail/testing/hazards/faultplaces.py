"""The fault run on the embedded server, step by step in this process, and on a real server behind the fault proxy."""

from __future__ import annotations

import asyncio
import contextlib
import json
import random
import threading
import time
from typing import TYPE_CHECKING, Any

from fiferail.apiserver.embedded import equip
from fiferail.apiserver.inprocess import Transport
from fiferail.apiserver.machine import Machine
from fiferail.apiserver.manifests import load_crds
from fiferail.apiserver.real.proxy import Proxy
from fiferail.errors import FiferailError
from fiferail.history.words import explain
from fiferail.testing.checking import Watchman
from fiferail.testing.transport import HttpTransport
from fiferail.wire import Answer, Request

from .faultrun import Rates, Run, writers
from .place import CRD, GROUP, KIND, NAMESPACE, NEWER, Place

if TYPE_CHECKING:
    from fiferail.apiserver.faults import Spoilt
    from fiferail.apiserver.real.launch import RealServer
    from fiferail.history.findings import Finding
    from fiferail.objects.tree import Json

_OBJECTS = f"/apis/{NEWER}/namespaces/{NAMESPACE}/gadgets"
PATIENCE = 30.0


class Keeping(Watchman):
    """The checker, and every version of every object."""

    def __init__(self) -> None:
        super().__init__()
        self.versions: dict[str, list[Json]] = {}

    def committed(self, call: Any, before: Any, after: Any) -> None:
        """Keep what was stored."""
        super().committed(call, before, after)
        if call.kind.kind == KIND and after is not None:
            self.versions.setdefault(after.obj["metadata"]["name"], []).append(after.obj)

    def lost_by(self, run: Run) -> list[str]:
        """What the checker calls lost, but for what a writer gave up because it died: nobody was told that it is stored."""
        return [explain(finding) for finding in self.findings() if finding.is_loss and not _died(finding, run)]


def _died(finding: Finding, run: Run) -> bool:
    said = json.dumps(finding.lost)
    return finding.kind == "abandoned" and any(name == finding.object.name and f'"{mark}"' in said for name, mark in run.killed)


def on_embedded(
    *, writes: int, count: int, seed: int, rates: Rates, objects: int = 3, together: bool = False
) -> tuple[Run, Keeping]:
    """In this process: who goes next is decided by a seeded chance before each request, so a seed is a run."""
    keeping = Keeping()
    machine = equip(Machine(clock=lambda: 1_767_225_600.0, recorder=keeping))
    load_crds(machine, [CRD])
    place = Place(lambda actor: Transport(machine, agent=actor))
    names = [place.make(f"g{index}")["metadata"]["name"] for index in range(objects)]
    turns = random.Random(seed)

    def connect(actor: str) -> Any:
        transport = Transport(machine, agent=actor)

        async def send(request: Request) -> Answer:
            for _ in range(turns.randrange(4)):
                await asyncio.sleep(0)
            return transport.send(request)

        return send

    return asyncio.run(writers(connect, names, writes=writes, count=count, seed=seed, rates=rates, together=together)), keeping


def on_real(
    server: RealServer, *, writes: int, count: int, seed: int, rates: Rates, objects: int = 3, together: bool = False
) -> tuple[Run, dict[str, list[Json]]]:
    """Through the proxy, which loses answers and fails on request; deaths happen to the writers themselves."""
    context = server.ssl_context()
    place = Place(lambda actor: HttpTransport(server.url, token=server.token, context=context, user_agent=actor))
    serve_crd(place)
    made = [place.make(f"faults-{'together' if together else 'each'}-{seed}-{index}") for index in range(objects)]
    names = [obj["metadata"]["name"] for obj in made]
    watching = _Watching(HttpTransport(server.url, token=server.token, context=context), made)
    with Proxy(server.url, token=server.token, context=context) as proxy:
        troubles, struck = random.Random(seed), Run().faults

        def connect(actor: str) -> Any:
            transport = HttpTransport(proxy.url, user_agent=actor)

            async def send(request: Request) -> Answer:
                fault = _proxy_fault(troubles.random(), rates) if request.method == "PATCH" else None
                if fault is not None:
                    struck[str(fault)] += 1
                    proxy.faults.next(verb="patch", kind=KIND, answer=fault, retry_after=1 if fault == 429 else None)
                return await asyncio.to_thread(transport.send, request)

            return send

        only_deaths = Rates(lost=0, failed=0, busy=0, killed=rates.killed)
        run = asyncio.run(writers(connect, names, writes=writes, count=count, seed=seed, rates=only_deaths, together=together))
    run.faults.update(struck)
    return run, watching.versions({name: place.get(name)["metadata"]["resourceVersion"] for name in names})


def _proxy_fault(dice: float, rates: Rates) -> int | Spoilt | None:
    faults: tuple[tuple[int | Spoilt, float], ...] = (("lost", rates.lost), (500, rates.failed), (429, rates.busy))
    for fault, rate in faults:
        if dice < rate:
            return fault
        dice -= rate
    return None


def serve_crd(place: Place) -> None:
    """Creates the CRD unless it is there, and waits until it is served."""
    try:
        place.maker.get(CRD["apiVersion"], CRD["kind"], CRD["metadata"]["name"])
    except FiferailError:
        place.maker.create(CRD)
    deadline = time.monotonic() + PATIENCE
    while True:
        try:
            place.maker.list(NEWER, KIND, namespace=NAMESPACE)
            return
        except FiferailError as error:
            if time.monotonic() > deadline:
                raise FiferailError(f"the real server did not serve {GROUP} in time: {error}") from error
            time.sleep(0.05)


class _Watching:
    """Every version of the objects, as a watch tells them."""

    def __init__(self, transport: HttpTransport, made: list[Json]) -> None:
        self._versions: dict[str, list[Json]] = {obj["metadata"]["name"]: [obj] for obj in made}
        start = str(max(int(obj["metadata"]["resourceVersion"]) for obj in made))
        query = (("watch", "true"), ("resourceVersion", start))
        self._lines = transport.stream(Request(method="GET", path=_OBJECTS, query=query), timeout=PATIENCE)
        self._arrived = threading.Condition()
        threading.Thread(target=self._listen, name="fiferail-watching", daemon=True).start()

    def _listen(self) -> None:
        with contextlib.suppress(OSError):  # the end of the watch: nobody writes any more, or the server is gone
            for line in self._lines:
                obj = json.loads(line)["object"]
                with self._arrived:
                    self._versions.setdefault(obj["metadata"]["name"], []).append(obj)
                    self._arrived.notify_all()

    def versions(self, last: dict[str, str]) -> dict[str, list[Json]]:
        """All of them, once the last ones have arrived."""

        def all_there() -> bool:
            return all(self._versions[name][-1]["metadata"]["resourceVersion"] == version for name, version in last.items())

        with self._arrived:
            if not self._arrived.wait_for(all_there, timeout=PATIENCE):
                raise FiferailError("the watch did not bring every version in time")
            return {name: list(self._versions[name]) for name in last}
