"""A call that names no object never reaches a collection, and a name never reaches another path than its own."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest

import fiferail
from fiferail.clients.client import AsyncClient, Client
from fiferail.wire import Answer, Request

from .conftest import Place
from .test_adapters import AWAITED, BLOCKING


class Silent:
    """A transport that must not be used: every request fails the test."""

    def send(self, request: Request, /, timeout: float | None = None) -> Answer:
        """Nothing may be sent."""
        raise AssertionError(f"sent {request.method} {request.path}")

    def stream(self, request: Request, /, timeout: float | None = None) -> Iterator[bytes]:
        """Nothing may be watched."""
        raise AssertionError(f"watched {request.path}")


def named(name: Any) -> dict[str, Any]:
    """A ConfigMap with that name; without one for None."""
    metadata = {"namespace": "default"} if name is None else {"namespace": "default", "name": name}
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata}


VERBS: dict[str, Callable[[Client, Any], Any]] = {
    "get": lambda client, name: client.get("v1", "ConfigMap", name, "default"),
    "replace": lambda client, name: client.replace(named(name)),
    "replace a subresource": lambda client, name: client.replace(named(name), "status"),
    "patch": lambda client, name: client.patch(named(name), {"data": {}}),
    "apply": lambda client, name: client.patch(named(name), named(name), "apply", field_manager="tests"),
    "delete": lambda client, name: client.delete(named(name)),
    "delete with a precondition": lambda client, name: client.delete(named(name), uid="u"),
}
BAD_NAMES: dict[str, tuple[Any, str]] = {
    "none": (None, "ame of a ConfigMap, got none: nothing was sent"),
    "empty": ("", "ame of a ConfigMap, got none: nothing was sent"),
    "a slash": ("a/status", "'a/status': it may not contain '/'. Nothing was sent"),
    "only a slash": ("/", "'/': it may not contain '/'. Nothing was sent"),
    "this": (".", "'.': it may not be '.'. Nothing was sent"),
    "the parent": ("..", "'..': it may not be '..'. Nothing was sent"),
    "an encoded slash": ("a%2Fb", "'a%2Fb': it may not contain '%'. Nothing was sent"),
    "a line end": ("a\nb", "it may not contain control characters. Nothing was sent"),
    "half a character": ("a\ud800", "it may not contain control characters. Nothing was sent"),
    "a number": (5, "to be text, got int: nothing was sent"),
    "false": (False, "to be text, got bool: nothing was sent"),
}


@pytest.mark.parametrize("verb", VERBS)
@pytest.mark.parametrize("bad", BAD_NAMES)
def test_a_bad_name_is_refused_before_anything_is_sent(verb: str, bad: str) -> None:
    """Every verb that needs a name refuses one that is missing or not a single path segment."""
    name, text = BAD_NAMES[bad]
    with pytest.raises(fiferail.FiferailError) as refused:
        VERBS[verb](Client(Silent()), name)
    assert text in str(refused.value)


class AsyncSilent:
    """The same, awaited."""

    async def send(self, request: Request, /, timeout: float | None = None) -> Answer:
        """Nothing may be sent."""
        raise AssertionError(f"sent {request.method} {request.path}")

    def stream(self, request: Request, /, timeout: float | None = None) -> Any:
        """Nothing may be watched."""
        raise AssertionError(f"watched {request.path}")


async def test_the_async_client_refuses_the_same() -> None:
    """delete without a name sends nothing."""
    with pytest.raises(fiferail.FiferailError, match="^expected metadata.name of a ConfigMap, got none: nothing was sent$"):
        await AsyncClient(AsyncSilent()).delete(named(None))


@pytest.mark.parametrize(
    ("call", "text"),
    [
        (lambda c: c.list("v1", "ConfigMap", "default/configmaps/x"), "invalid namespace 'default/configmaps/x'"),
        (lambda c: c.get("v1", "ConfigMap", "x", ".."), "invalid namespace '..'"),
        (lambda c: next(c.watch("v1", "ConfigMap", "a%2Fb")), "invalid namespace 'a%2Fb'"),
        (lambda c: c.replace(named("x"), "status/../.."), "invalid subresource 'status/../..'"),
        (lambda c: c.patch(named("x"), {}, subresource=".."), "invalid subresource '..'"),
        (lambda c: c.get("v1/x/y", "ConfigMap", "x", "default"), "expected an apiVersion such as v1 or example.io/v1, got 'v1/x/y'"),
        (lambda c: c.get("../apis", "ConfigMap", "x", "default"), "invalid apiVersion '..'"),
        (lambda c: c.get("", "ConfigMap", "x", "default"), "expected an apiVersion such as v1 or example.io/v1, got ''"),
    ],
    ids=["list", "get", "watch", "replace", "patch", "long apiVersion", "climbing apiVersion", "no apiVersion"],
)  # fmt: skip
def test_every_other_part_of_the_path_is_one_segment_too(call: Callable[[Client], Any], text: str, embedded_place: Place) -> None:
    """Namespaces, subresources and apiVersions cannot lead to another path."""
    with pytest.raises(fiferail.FiferailError) as refused:
        call(embedded_place.client)
    assert str(refused.value).startswith(text)


def test_delete_without_a_name_leaves_the_collection(place: Place) -> None:
    """On both servers DELETE on the collection would delete everything in it."""
    kept = place.gadget()
    with pytest.raises(fiferail.FiferailError, match="^expected metadata.name of a Gadget, got none: nothing was sent$"):
        place.client.delete({"apiVersion": "example.io/v1", "kind": "Gadget", "metadata": {"namespace": "default"}})
    assert place.get(kept)["metadata"]["uid"] == kept["metadata"]["uid"]


def test_create_needs_no_name(place: Place) -> None:
    """generateName is the server's business."""
    place.gadget()
    made = place.client.create(
        {"apiVersion": "example.io/v1", "kind": "Gadget", "metadata": {"generateName": "g-", "namespace": "default"}}
    )
    assert made["metadata"]["name"].startswith("g-")


STRANGE = ("?", "?x=1", "#", "a?b#c", " ", "a;b", "a b")


@pytest.mark.parametrize("make", BLOCKING, ids=lambda make: make.__name__)
def test_a_strange_name_is_escaped_by_every_blocking_client(place: Place, make: Any) -> None:
    """A name with `?`, `#` or a space is that of an absent object, never another path: nothing is deleted."""
    kept = place.gadget()
    with make(place) as api:
        client = fiferail.Client(api)
        for name in STRANGE:
            with pytest.raises(fiferail.NotFound):
                client.delete({**kept, "metadata": {"name": name, "namespace": "default"}})
    assert place.get(kept)["metadata"]["uid"] == kept["metadata"]["uid"]


@pytest.mark.parametrize("make", AWAITED, ids=lambda make: make.__name__)
async def test_a_strange_name_is_escaped_by_every_async_client(place: Place, make: Any) -> None:
    """The same for the awaited ones."""
    kept = place.gadget()
    async with make(place) as api:
        client = fiferail.AsyncClient(api)
        for name in STRANGE:
            with pytest.raises(fiferail.NotFound):
                await client.delete({**kept, "metadata": {"name": name, "namespace": "default"}})
    assert place.get(kept)["metadata"]["uid"] == kept["metadata"]["uid"]
