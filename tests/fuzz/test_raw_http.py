"""Requests that no client would send: both servers refuse them with the same code and reason, and neither hangs or crashes."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING, Any

import pytest

from fiferail.testing.differential import raw, servers
from fiferail.testing.differential.runner import Server
from fiferail.testing.embedded import over_http
from fiferail.testing.transport import HttpTransport

if TYPE_CHECKING:
    from collections.abc import Iterator

pytestmark = pytest.mark.xdist_group("fuzz")
REQUESTS = 400
GROUP = "raw.fiferail.dev"
SCHEMA = {
    "type": "object",
    "properties": {
        "spec": {"type": "object", "properties": {"size": {"type": "integer"}, "tags": {"type": "array", "items": {"type": "string"}}}},
        "status": {"type": "object", "properties": {"phase": {"type": "string"}}},
    },
}
VERSION = {"name": "v1", "served": True, "storage": True, "subresources": {"status": {}}, "schema": {"openAPIV3Schema": SCHEMA}}
NAMES = {"plural": "things", "singular": "thing", "kind": "Thing", "listKind": "ThingList"}
CRD: dict[str, Any] = {
    "apiVersion": "apiextensions.k8s.io/v1",
    "kind": "CustomResourceDefinition",
    "metadata": {"name": f"things.{GROUP}"},
    "spec": {"group": GROUP, "scope": "Namespaced", "names": NAMES, "versions": [VERSION]},
}
THING = {
    "apiVersion": f"{GROUP}/v1",
    "kind": "Thing",
    "metadata": {"name": "a", "labels": {"x": "y"}},
    "spec": {"size": 1, "tags": ["t"]},
    "status": {"phase": "p"},
}
MAP = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a", "labels": {"x": "y"}}, "data": {"k": "v"}}


@pytest.fixture(scope="module")
def both(request: pytest.FixtureRequest) -> Iterator[tuple[Server, Server]]:
    """The embedded server over HTTP, and the real one."""
    if request.config.getoption("--fiferail-no-real"):
        pytest.skip("needs a real kube-apiserver, and --fiferail-no-real was given")
    with servers.real() as real, over_http() as url:
        embedded = Server("embedded", HttpTransport(url))
        for server in (embedded, real):
            server.define([CRD])
        yield embedded, real


@pytest.mark.parametrize(
    ("root", "plural", "body"),
    [(f"/apis/{GROUP}/v1/namespaces/default", "things", THING), ("/api/v1/namespaces/default", "configmaps", MAP)],
    ids=["custom", "built-in"],
)
def test_raw_requests(both: tuple[Server, Server], root: str, plural: str, body: dict[str, Any]) -> None:
    """Code and reason are the same on both servers, request by request."""
    rng = random.Random(20261115)
    different = []
    for _ in range(REQUESTS):
        made = raw.request(rng, root, plural, body)
        one, two = (server.send(made) for server in both)
        if two.code and raw.verdict(one) != raw.verdict(two):
            answers = "".join(f"\n  {heard.code} {heard.body[:300]!r}" for heard in (one, two))
            different.append(f"{made.method} {made.target} ({made.content_type}) {made.body[:300]!r}{answers}")
    assert not different, f"{len(different)} of {REQUESTS}:\n" + "\n".join(different)
