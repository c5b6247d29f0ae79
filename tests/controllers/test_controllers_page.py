"""docs/controllers: its first example runs as it stands."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from fairlead.controllers.clock import settle

from .conftest import World, crd

PAGE = Path(__file__).parents[2] / "docs" / "controllers.md"


async def test_the_pages_operator_runs(bare: World) -> None:
    """A WebApp is ready when its Secret is there, and hears of it through the mapper and the index."""
    found = re.search(r"```python\n(from fairlead import Controller.*?)\nManager\(app[^\n]*\n```", PAGE.read_text(), re.S)
    assert found is not None
    names: dict[str, Any] = {}
    exec(found.group(1), names)
    bare.client.create(crd("WebApp"))
    bare.make("a", "WebApp", spec={"secret": "s"})
    await bare.start(names["app"])
    assert [c["reason"] for c in bare.get("a", "WebApp")["status"]["conditions"]] == ["NoSecret"]
    bare.client.create({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "s", "namespace": "default"}})
    await settle()
    assert [c["reason"] for c in bare.get("a", "WebApp")["status"]["conditions"]] == ["Found"]
