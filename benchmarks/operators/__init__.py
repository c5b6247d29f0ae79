"""Operators at work: fiferail beside kopf and a controller-runtime operator in Go, on the real and on the embedded server.

Each contender is a process of its own that makes a thousand objects Ready, and afterwards looks at all of them again without
having anything to say. Then fiferail alone: ten thousand objects in its cache, and two hundred changes a second.
"""

from __future__ import annotations

from ..measure import load
from .cached import steady
from .page import rendered
from .ready import race

__all__ = ["render", "run"]


def run() -> dict[str, object]:
    """Measure everything."""
    return {"race": race(), "steady": steady()}


def render() -> str:
    """The page's part."""
    result = load("operators")
    return "" if result is None else rendered(result)
