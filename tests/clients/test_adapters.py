"""Every supported client carries the writer's requests, on the embedded server and on the real one."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from typing import Any

import pytest

import fiferail
from fiferail.wire import Request

from .conftest import Place


@contextmanager
def official(place: Place) -> Iterator[Any]:
    """kubernetes: the ApiClient."""
    from kubernetes import client, config

    configuration = client.Configuration()
    config.load_kube_config(str(place.kubeconfig), client_configuration=configuration)  # type: ignore[no-untyped-call]
    with client.ApiClient(configuration) as api:
        yield api


@contextmanager
def official_typed(place: Place) -> Iterator[Any]:
    """kubernetes: one of its API groups."""
    from kubernetes import client

    with official(place) as api:
        yield client.CustomObjectsApi(api)


@contextmanager
def official_dynamic(place: Place) -> Iterator[Any]:
    """kubernetes: the dynamic client."""
    from kubernetes.dynamic import DynamicClient

    with official(place) as api:
        yield DynamicClient(api)  # type: ignore[no-untyped-call]


@contextmanager
def lightkube_sync(place: Place) -> Iterator[Any]:
    """lightkube."""
    from lightkube import Client, KubeConfig

    client = Client(KubeConfig.from_file(str(place.kubeconfig)))
    yield client
    client.close()


@contextmanager
def kr8s_sync(place: Place) -> Iterator[Any]:
    """kr8s, blocking."""
    import kr8s

    yield kr8s.api(kubeconfig=str(place.kubeconfig))


@contextmanager
def plain(place: Place) -> Iterator[Any]:
    """fiferail.connect."""
    with fiferail.connect(place.kubeconfig) as client:
        yield client


@asynccontextmanager
async def kubernetes_aio(place: Place) -> AsyncIterator[Any]:
    """kubernetes.aio, inside the official client."""
    from kubernetes.aio import client, config

    configuration = client.Configuration()
    await config.load_kube_config(str(place.kubeconfig), client_configuration=configuration)  # type: ignore[no-untyped-call]
    async with client.ApiClient(configuration) as api:
        yield api


@asynccontextmanager
async def kubernetes_asyncio(place: Place) -> AsyncIterator[Any]:
    """kubernetes_asyncio."""
    from kubernetes_asyncio import client, config

    configuration = client.Configuration()
    await config.load_kube_config(str(place.kubeconfig), client_configuration=configuration)
    async with client.ApiClient(configuration) as api:
        yield api


@asynccontextmanager
async def lightkube_async(place: Place) -> AsyncIterator[Any]:
    """lightkube, async."""
    from lightkube import AsyncClient, KubeConfig

    client = AsyncClient(KubeConfig.from_file(str(place.kubeconfig)))
    yield client
    await client.close()


@asynccontextmanager
async def kr8s_async(place: Place) -> AsyncIterator[Any]:
    """kr8s.asyncio."""
    import kr8s.asyncio

    yield await kr8s.asyncio.api(kubeconfig=str(place.kubeconfig))


@asynccontextmanager
async def plain_async(place: Place) -> AsyncIterator[Any]:
    """fiferail.connect_async."""
    async with fiferail.connect_async(place.kubeconfig) as client:
        yield client


BLOCKING: list[Callable[[Place], Any]] = [official, official_typed, official_dynamic, lightkube_sync, kr8s_sync, plain]
AWAITED: list[Callable[[Place], Any]] = [kubernetes_aio, kubernetes_asyncio, lightkube_async, kr8s_async, plain_async]


def stage(status: Any) -> None:
    """A scalar and a condition, with text that encoders like to treat differently."""
    status["phase"] = "Läuft <&> \u2028"
    status.conditions.set("Ready", True, reason="AllUp", message="3 of 3")


@pytest.mark.parametrize("make", BLOCKING, ids=lambda make: make.__name__)
def test_a_blocking_client_carries_a_session(place: Place, make: Any) -> None:
    """One request, stored as staged, owned by the writer's field manager; the same again sends nothing."""
    gadget = place.gadget()
    with make(place) as client:
        writer = fiferail.StatusWriter(client, field_manager="tests")
        with writer.session(gadget) as status:
            stage(status)
        assert status.outcome is not None
        assert (status.outcome.kind, status.outcome.requests) == ("applied", 1)
        assert writer.mutate(status.outcome.object, stage).kind == "unchanged"
    stored = place.get(gadget)
    assert stored["status"]["phase"] == "Läuft <&> \u2028"
    assert [entry["manager"] for entry in stored["metadata"]["managedFields"] if entry.get("subresource")] == ["tests"]


@pytest.mark.parametrize("make", BLOCKING, ids=lambda make: make.__name__)
def test_a_blocking_client_brings_refusals_and_errors_back(place: Place, make: Any) -> None:
    """A stale write is rebased or refused, a schema error is Invalid with the server's causes, an absent object NotFound."""
    gadget = place.gadget()
    place.client.patch(gadget, {"status": {"count": 1}}, subresource="status")
    with make(place) as client:
        writer = fiferail.StatusWriter(client, field_manager="tests")
        assert writer.mutate(gadget, lambda status: status.update(phase="x")).kind == "rebased"
        with pytest.raises(fiferail.Conflict), writer.session(gadget) as status:
            status["count"] = status.get("count", 0) + 1
            place.client.patch(gadget, {"status": {"count": 7}}, subresource="status")
        with pytest.raises(fiferail.Invalid) as caught:
            writer.mutate(gadget, lambda status: status.update(phase=3))
        assert caught.value.causes[0].field == "status.phase"
        with pytest.raises(fiferail.NotFound):
            fiferail.Client(client).get("example.io/v1", "Gadget", "absent", "default")


@pytest.mark.parametrize("make", BLOCKING, ids=lambda make: make.__name__)
def test_a_blocking_client_streams_a_watch(place: Place, make: Any) -> None:
    """The plain client around it sees the change that it waits for."""
    gadget = place.gadget()
    place.client.patch(gadget, {"status": {"count": 1}}, subresource="status")
    with make(place) as client:
        plain_client = fiferail.Client(client)
        events = plain_client.watch(
            "example.io/v1", "Gadget", "default", gadget["metadata"]["resourceVersion"],
            fields=f"metadata.name={gadget['metadata']['name']}", timeout_seconds=5,
        )  # fmt: skip
        kind, obj = next(events)
        assert (kind, obj["status"]["count"]) == ("MODIFIED", 1)
        events.close()  # type: ignore[attr-defined]


@pytest.mark.parametrize("make", AWAITED, ids=lambda make: make.__name__)
async def test_an_async_client_carries_a_session(place: Place, make: Any) -> None:
    """One request, stored as staged; the same again sends nothing; a coroutine function may edit."""
    gadget = place.gadget()

    async def restage(status: Any) -> None:
        stage(status)

    async with make(place) as client:
        writer = fiferail.AsyncStatusWriter(client, field_manager="tests")
        async with writer.session(gadget) as status:
            stage(status)
        assert status.outcome is not None
        assert (status.outcome.kind, status.outcome.requests) == ("applied", 1)
        assert (await writer.mutate(status.outcome.object, restage)).kind == "unchanged"
        made = await writer.create_once(gadget, "phase", lambda obj: "never")
        assert (made.created, made.value) == (False, "Läuft <&> \u2028")
        with pytest.raises(fiferail.Invalid):
            await writer.mutate(gadget, lambda status: status.update(phase=3))
        with pytest.raises(fiferail.NotFound):
            await fiferail.AsyncClient(client).get("example.io/v1", "Gadget", "absent", "default")


@pytest.mark.parametrize("make", AWAITED, ids=lambda make: make.__name__)
async def test_an_async_client_streams_a_watch(place: Place, make: Any) -> None:
    """The plain async client around it sees the change that it waits for."""
    gadget = place.gadget()
    place.client.patch(gadget, {"status": {"count": 1}}, subresource="status")
    async with make(place) as client:
        events = fiferail.AsyncClient(client).watch(
            "example.io/v1", "Gadget", "default", gadget["metadata"]["resourceVersion"],
            fields=f"metadata.name={gadget['metadata']['name']}", timeout_seconds=5,
        )  # fmt: skip
        async for kind, obj in events:
            assert (kind, obj["status"]["count"]) == ("MODIFIED", 1)
            break
        await events.aclose()  # type: ignore[attr-defined]


def test_a_client_of_the_wrong_colour_is_told_so(embedded_place: Place) -> None:
    """An async writer refuses a blocking client, and says which writer to use."""
    with pytest.raises(fiferail.FiferailError, match="is a blocking client: use StatusWriter or Client with it"):
        fiferail.AsyncStatusWriter(embedded_place.client, field_manager="x")


@pytest.mark.parametrize("client", [None, object(), "https://"], ids=["None", "an object", "text"])
def test_what_is_no_client_is_refused_by_name(client: Any) -> None:
    """The error lists what is supported."""
    with pytest.raises(fiferail.FiferailError, match="kubernetes, kubernetes_asyncio, lightkube, kr8s"):
        fiferail.StatusWriter(client, field_manager="x")


def test_a_connection_that_breaks_is_unavailable_with_its_cause() -> None:
    """Nobody listens: the transport's exception is the cause."""
    import httpx2

    from fiferail.clients.plainhttp import HttpxTransport

    client = fiferail.Client(HttpxTransport(httpx2.Client(base_url="http://127.0.0.1:9")))
    with pytest.raises(httpx2.ConnectError):
        client.transport.send(Request(method="GET", path="/version"))
