"""What the cache relies on, on both servers: a watch shows versions in order, and a deletion is newer than every answer before it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from fiferail.controllers.cache import Cache, version
from fiferail.testing.pooled import RealBackend
from fiferail.testing.server import ApiServer, EmbeddedBackend

from .conftest import API, crd


@pytest.fixture(params=["embedded", pytest.param("real", marks=pytest.mark.xdist_group("real"))])
def server(request: pytest.FixtureRequest, tmp_path: Path) -> Any:
    """Each in turn."""
    real = request.param == "real"
    backend: Any = RealBackend(request.getfixturevalue("_fiferail_real_world"), tmp_path) if real else EmbeddedBackend()
    yield ApiServer(backend)
    backend.close()


def _gadget(name: str) -> dict[str, Any]:
    return {"apiVersion": API, "kind": "Gadget", "metadata": {"name": name, "namespace": "default"}}


def test_a_watch_that_has_passed_a_version_has_shown_it(server: ApiServer) -> None:
    """Answers of own writes are replayed after the watch has shown the deletions: no object comes back, and a recreated one stays."""
    server.apply(crd("Gadget"))
    _, start = server.client.snapshot(API, "Gadget", "default")
    answers = []
    for name in ("late-a", "late-b"):
        answers.append(server.client.create(_gadget(name)))
        answers.append(server.client.patch(answers[-1], {"status": {"phase": name}}, subresource="status"))
    for name in ("late-a", "late-b"):
        server.client.delete(_gadget(name))
    again = server.client.create(_gadget("late-a"))

    cache, seen = Cache(), []
    for what, obj in server.client.watch(API, "Gadget", "default", start, timeout_seconds=30):
        seen.append((what, obj["metadata"]["name"], version(obj)))
        if what == "DELETED":
            cache.saw_gone(obj)
        elif what != "BOOKMARK":
            cache.saw(obj)
        cache.reached(version(obj), "default")
        if obj["metadata"].get("uid") == again["metadata"]["uid"]:
            break
    versions = [number for what, _, number in seen if what != "BOOKMARK"]
    assert versions == sorted(set(versions))
    gone = [number for what, _, number in seen if what == "DELETED"]
    assert min(gone) > max(version(answer) for answer in answers)
    for answer in answers:
        cache.wrote(answer)
    assert [obj["metadata"]["uid"] for obj in cache] == [again["metadata"]["uid"]]
