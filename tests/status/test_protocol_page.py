"""docs/protocol.md is drawn from the table, and the table is what writers really do."""

from __future__ import annotations

import importlib.util
import itertools
import random
from pathlib import Path
from types import ModuleType
from typing import Any

import msgspec

from fiferail.errors import FiferailError
from fiferail.status.conversation import TABLE
from fiferail.status.patience import Budget
from fiferail.status.writer import StatusWriter
from fiferail.wire import Answer, Request

ROOT = Path(__file__).parents[2]
GADGET: Any = {
    "apiVersion": "example.io/v1", "kind": "Gadget",
    "metadata": {"name": "g", "namespace": "default", "uid": "u", "resourceVersion": "1", "generation": 1},
    "status": {"phase": "Pending", "count": 1},
}  # fmt: skip
DISCOVERY = {
    "resources": [
        {"name": name, "kind": "Gadget", "namespaced": True, "verbs": ["get", "patch", "update"]} for name in ("gadgets", "gadgets/status")
    ]
}


def _generator() -> ModuleType:
    spec = importlib.util.spec_from_file_location("generate_docs", ROOT / "scripts" / "generate_docs.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_page_is_what_the_generator_writes() -> None:
    """The table, the diagram, the answers and the patch on the page come from the code."""
    kept = (ROOT / "docs" / "protocol.md").read_text(encoding="utf-8")
    assert kept == _generator().protocol(), "write it again: python scripts/generate_docs.py"


class Whimsical:
    """A server that answers whatever it likes, and notes the states that the writer goes through."""

    def __init__(self, seed: int) -> None:
        self._chance = random.Random(seed)
        self.states: list[str] = []

    def send(self, request: Request, /, timeout: float | None = None) -> Answer:
        if not request.path.endswith(("/g", "/g/status")):
            return Answer(200 if "openapi" not in request.path else 404, msgspec.json.encode(DISCOVERY))
        self.states.append("TRY" if request.method == "PATCH" else "LOOK")
        code = self._chance.choice([200, 200, 409, 422, 404, 429, 500, 504, 403, 400, 0])
        if code == 0:
            raise ConnectionError("no answer")
        status = {"kind": "Status", "message": "the server rejected our request due to an error in our request", "code": code}
        return Answer(code, msgspec.json.encode(self._live() if code == 200 else status), {"retry-after": "1"} if code == 429 else {})

    def stream(self, request: Request, /, timeout: float | None = None) -> Any:
        raise AssertionError("a write watches nothing")

    def pause(self, seconds: float) -> None:
        self.states.append("PAUSE")

    def _live(self) -> Any:
        status = self._chance.choice([{"phase": "Pending", "count": 1}, {"phase": "Running", "count": 1}, {"phase": "Failed", "count": 2}])
        uid = self._chance.choice(["u", "u", "u", "another"])
        return {**GADGET, "metadata": {**GADGET["metadata"], "uid": uid, "resourceVersion": "2"}, "status": status}


def _walk(seed: int) -> list[str]:
    server = Whimsical(seed)
    budget = Budget(tries=4)
    writer = StatusWriter(
        server, field_manager="one", sleep=server.pause, budget=budget, now=lambda: "t", chance=lambda: 0.5, seconds=lambda: 0.0
    )
    try:
        with writer.session(GADGET) as status:
            if status["count"] == 1:
                status["phase"] = "Running"
    except FiferailError:
        return [*server.states, "FAIL"]
    return [*server.states, "DONE"]


def test_writers_take_the_arrows_of_the_table_and_no_others() -> None:
    """Whatever a server answers, a writer goes from state to state as the table says; and every arrow is taken by some writer."""
    drawn = {(state, then) for state, _, then, _ in TABLE}
    taken = {pair for seed in range(400) for walk in [_walk(seed)] for pair in itertools.pairwise(walk)}
    assert taken == drawn
