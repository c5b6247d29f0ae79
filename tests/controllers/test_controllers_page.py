"""docs/controllers: its operator and its test run as they stand."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
import yaml

from fiferail.controllers.clock import settle

from .conftest import API, World, crd

PAGE = Path(__file__).parents[2] / "docs" / "controllers.md"


def operator() -> dict[str, Any]:
    """The names of the page's first example, which is not run."""
    found = re.search(r"```python\n(from fiferail import Controller.*?)\nManager\(app[^\n]*\n```", PAGE.read_text(), re.S)
    assert found is not None
    names: dict[str, Any] = {}
    exec(found.group(1), names)
    return names


async def test_the_pages_test_passes(apiserver: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The same operator on the fixture's server, over HTTP, as the page says that a user tests it."""
    found = re.search(r"```python\n(import asyncio, fiferail\n.*?)```", PAGE.read_text(), re.S)
    assert found is not None
    crds = tmp_path / "crds"
    crds.mkdir()
    (crds / "webapps.yaml").write_text(yaml.safe_dump(crd("WebApp")))
    monkeypatch.chdir(tmp_path)
    names = operator()
    names["SECRET"] = {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "s"}}
    names["WEBAPP"] = {"apiVersion": API, "kind": "WebApp", "metadata": {"name": "one"}, "spec": {"secret": "s"}}
    exec(found.group(1), names)
    await names["test_ready_when_the_secret_is_there"](apiserver)
    assert any(request.path.endswith("/webapps/one/status") for request in apiserver.requests)


async def test_the_pages_operator_runs(bare: World) -> None:
    """A WebApp is ready when its Secret is there, and hears of it through the mapper and the index."""
    names = operator()
    bare.client.create(crd("WebApp"))
    bare.make("a", "WebApp", spec={"secret": "s"})
    await bare.start(names["app"])
    assert [c["reason"] for c in bare.get("a", "WebApp")["status"]["conditions"]] == ["NoSecret"]
    bare.client.create({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "s", "namespace": "default"}})
    await settle()
    assert [c["reason"] for c in bare.get("a", "WebApp")["status"]["conditions"]] == ["Found"]
