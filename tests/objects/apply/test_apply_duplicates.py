"""Lists that already hold a key twice: what a forced apply makes of them. Each vector was seen on a real kube-apiserver 1.36.3."""

from __future__ import annotations

from typing import Any

import pytest

from fiferail.objects.apply.managed import NOBODY
from fiferail.objects.apply.operations import applied, updated
from fiferail.objects.schema.parse import parse_schema
from fiferail.objects.tree import ABSENT

TEXT = {"type": "string"}
SCHEMA = parse_schema(
    {
        "type": "object",
        "properties": {
            "spec": {
                "type": "object",
                "properties": {
                    "image": TEXT,
                    "env": {
                        "type": "array",
                        "x-kubernetes-list-type": "map",
                        "x-kubernetes-list-map-keys": ["name"],
                        "items": {"type": "object", "properties": {"name": TEXT, "value": TEXT}},
                    },
                },
            }
        },
    }
)

# live entries, applied entries -> merged entries -> entries after the applier left them all out; `A1` is name A with value 1
VECTORS: dict[str, tuple[str, str, str, str]] = {
    "an applied key replaces its duplicates": ("A1 A2 B1", "B2 A3", "B2 A3", "B-"),
    "other duplicates stay where they are": ("A1 B1 A2", "C1", "A1 B1 A2 C1", "A1 B1 A2"),
    "nothing but duplicates": ("A1 A2", "B1", "A1 A2 B1", "A1 A2"),
    "the applier's order": ("A1 B1 C1 A2", "C2 A9 D1", "B1 C2 A9 D1", "B1 C-"),
    "in the place of the first": ("A1 B1 A2 C1", "A5", "A5 B1 C1", "B1 C1"),
}


def thing(entries: str) -> dict[str, Any]:
    env = [{"name": entry[0], "value": entry[1]} for entry in entries.split()]
    spec = {"image": "i", **({"env": env} if env else {})}
    return {"apiVersion": "x.io/v1", "kind": "Thing", "metadata": {"name": "o"}, "spec": spec}


def shown(made: Any) -> str:
    return " ".join(entry["name"] + entry.get("value", "-") for entry in made["spec"].get("env") or [])


@pytest.mark.parametrize(("live", "config", "merged", "left"), VECTORS.values(), ids=VECTORS.keys())
def test_duplicates(live: str, config: str, merged: str, left: str) -> None:
    """A forced apply over duplicates, and what stays when the applier leaves, are the server's."""
    context: dict[str, Any] = {"api_version": "x.io/v1", "time": "2026-01-01T00:00:00Z", "schema": SCHEMA}
    managed = updated(ABSENT, thing(live), NOBODY, manager="c", **context)
    first, managed = applied(thing(live), managed, thing(config), manager="m", force=True, **context)
    assert shown(first) == merged
    second, _ = applied(first, managed, thing(""), manager="m", force=True, **context)
    assert shown(second) == left
