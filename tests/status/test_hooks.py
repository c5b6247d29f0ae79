"""Observability: hooks hear what came of each write, and never get in its way."""

from __future__ import annotations

import logging
import subprocess
import sys
from typing import Any

import pytest
from prometheus_client import CollectorRegistry

from fiferail.errors import Conflict, Invalid
from fiferail.status.hooks import Hook, LoggingHook
from fiferail.status.outcome import Kind, Outcome
from fiferail.status.prometheus import PrometheusHook


def test_prometheus_counts_requests_outcomes_rebases_and_foreign_writes() -> None:
    """A rebased write with a repair shows in every counter that concerns it."""
    registry = CollectorRegistry()
    hook = PrometheusHook(registry)
    hook.finished("Gadget.example.io", "me", Outcome(Kind.REBASED, {}, 3, (("status.phase", "intruder"),)), 0.02)
    labels = {"kind": "Gadget.example.io", "manager": "me"}
    values = {
        name: registry.get_sample_value(f"fiferail_status_{name}_total", labels) for name in ("requests", "rebases", "foreign_writes")
    }
    assert values == {"requests": 3, "rebases": 1, "foreign_writes": 1}
    assert registry.get_sample_value("fiferail_status_outcomes_total", {**labels, "outcome": "rebased"}) == 1
    assert registry.get_sample_value("fiferail_status_seconds_sum", labels) == 0.02


@pytest.mark.parametrize(("error", "conflicts"), [(Conflict("x"), 1.0), (Invalid("x"), None)], ids=["conflict", "invalid"])
def test_prometheus_counts_errors(error: Exception, conflicts: float | None) -> None:
    """Every error by its name; a conflict also as such."""
    registry = CollectorRegistry()
    PrometheusHook(registry).failed("Gadget", "me", error, 0.1)
    labels = {"kind": "Gadget", "manager": "me"}
    assert registry.get_sample_value("fiferail_status_errors_total", {**labels, "error": type(error).__name__}) == 1
    assert registry.get_sample_value("fiferail_status_conflicts_total", labels) == conflicts


def test_a_hook_that_raises_is_logged_and_forgotten(caplog: pytest.LogCaptureFixture) -> None:
    """A metric must never make a write fail."""
    from fiferail.status.hooks import Hooks

    class Bad(Hook):
        def finished(self, *_: Any) -> None:
            raise RuntimeError("boom")

    heard: list[str] = []

    class Good(Hook):
        def finished(self, kind: str, *_: Any) -> None:
            heard.append(kind)

    with caplog.at_level(logging.ERROR, "fiferail.status"):
        Hooks([Bad(), Good()]).finished("Gadget", "me", Outcome(Kind.APPLIED, {}), 0.0)
    assert heard == ["Gadget"]
    assert "failed on finished" in caplog.text


def test_the_logging_hook_says_each_outcome_in_a_line(caplog: pytest.LogCaptureFixture) -> None:
    """Under fiferail.status, never the root logger."""
    with caplog.at_level(logging.INFO, "fiferail.status"):
        LoggingHook().finished("Gadget", "me", Outcome(Kind.APPLIED, {}, 1), 0.004)
    assert caplog.messages == ["Gadget applied by me in 1 requests, 4 ms"]


def test_importing_fiferail_imports_no_client_no_asyncio_and_no_metrics() -> None:
    """The core that operators import stays small: lazy exports, nothing imported unless used."""
    code = (
        "import sys; import fiferail; fiferail.StatusWriter; fiferail.Conflict\n"
        "heavy = {'asyncio', 'kubernetes', 'kubernetes_asyncio', 'lightkube', 'kr8s', 'kopf', 'prometheus_client'}\n"
        "heavy |= {'httpx2', 'yaml', 're2', 'cel'}\n"
        "print(sorted(heavy & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
