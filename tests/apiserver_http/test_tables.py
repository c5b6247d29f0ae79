"""Tables are laid out as the real server lays them out.

`recorded_tables.json` holds objects and rows as kube-apiserver 1.36.3 gave them, ages replaced by AGE; scripts/record_http.py makes it.
"""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from fiferail.apiserver import tables
from fiferail.apiserver.kinds import Kind, Version
from fiferail.apiserver.tables.ages import age, since
from fiferail.objects.schema.model import Schema

RECORDED = json.loads(Path(__file__).with_name("recorded_tables.json").read_text())
NOW = 1_800_000_000.0


def _without_ages(cells: list[Any]) -> list[Any]:
    cells = [re.sub(r"^(\d+[a-z])+$", "AGE", cell) if isinstance(cell, str) else cell for cell in cells]
    return [re.sub(r"\((\d+[a-z])+ ago\)", "(AGE ago)", cell) if isinstance(cell, str) else cell for cell in cells]


@pytest.mark.parametrize("case", RECORDED, ids=lambda case: f"{case['kind']}.{case['group']}".rstrip("."))
def test_built_in_kinds_have_the_real_columns_and_cells(case: dict[str, Any]) -> None:
    """A built-in kind's columns and cells are those that the real server printed for the same objects."""
    kind = Kind(group=case["group"], kind=case["kind"], plural="x", versions={}, storage_version="v1")
    for row in case["rows"]:
        made = tables.table(kind, "v1", row["object"], include="None", now=NOW)
        shown = [[column[name] for name in ("name", "type", "format", "priority")] for column in made["columnDefinitions"]]
        assert shown == case["columns"]
        assert _without_ages(made["rows"][0]["cells"]) == row["cells"]
        assert made["rows"][0].get("conditions") == row.get("conditions")


COLUMNS = (
    {"name": "Size", "type": "integer", "jsonPath": ".spec.size"},
    {"name": "Ready", "type": "string", "jsonPath": '.status.conditions[?(@.type=="Ready")].status', "description": "is it ready"},
    {"name": "Since", "type": "date", "jsonPath": ".metadata.creationTimestamp", "priority": 1},
    {"name": "Share", "type": "number", "jsonPath": ".spec.share", "format": "float"},
    {"name": "On", "type": "boolean", "jsonPath": ".spec.on"},
)


def _custom(*columns: Any) -> Kind:
    version = Version(name="v1", schema=Schema(), printer_columns=columns)
    return Kind(group="x.io", kind="Gadget", plural="gadgets", versions={"v1": version}, storage_version="v1", custom=True)


def _cells(kind: Kind, obj: Any) -> list[Any]:
    row: dict[str, Any] = tables.table(kind, "v1", {"metadata": {"name": "g"}, **obj}, include="None", now=NOW)["rows"][0]
    cells: list[Any] = row["cells"]
    return cells


CELLS: dict[str, tuple[Any, list[Any]]] = {
    "everything absent": ({}, [None, None, None, None, None]),
    "values of the right type": (
        {"spec": {"size": 3, "share": 0.5, "on": True}, "status": {"conditions": [{"type": "Ready", "status": "True"}]}},
        [3, "True", None, 0.5, True],
    ),
    "an integer column cuts a fraction": ({"spec": {"size": 3.9}}, [3, None, None, None, None]),
    "text where a number should be": ({"spec": {"size": "3", "share": "x", "on": "yes"}}, [None, None, None, None, None]),
    "a filter over what is no list": ({"status": {"conditions": {"type": "Ready"}}}, [None, None, None, None, None]),
}


@pytest.mark.parametrize(("obj", "cells"), CELLS.values(), ids=CELLS)
def test_custom_columns_are_typed(obj: Any, cells: list[Any]) -> None:
    """A cell holds a value of its column's type, or null."""
    assert _cells(_custom(*COLUMNS), obj)[1:] == cells


def test_custom_kinds_without_columns_show_their_age() -> None:
    """A CRD that names no columns is shown with Name and Age."""
    made = tables.table(_custom(), "v1", {"metadata": {"name": "g", "creationTimestamp": "2027-01-15T07:59:50Z"}}, include="None", now=NOW)
    assert [column["name"] for column in made["columnDefinitions"]] == ["Name", "Age"]
    assert made["rows"][0]["cells"] == ["g", "10s"]


def test_rows_carry_what_was_asked_for() -> None:
    """Rows carry metadata, the whole object, or nothing; a list's own metadata stays on the table."""
    meta = {"resourceVersion": "7", "continue": "c", "remainingItemCount": 3}
    listed: dict[str, Any] = {"metadata": meta, "items": [{"metadata": {"name": "a"}, "spec": 1}]}
    made = {include: tables.table(_custom(), "v1", listed, include=include, now=NOW) for include in ("Metadata", "Object", "None")}
    assert made["None"]["metadata"] == meta
    assert made["None"]["rows"][0]["object"] is None
    assert made["Object"]["rows"][0]["object"] == listed["items"][0]
    partial = {"kind": "PartialObjectMetadata", "apiVersion": "meta.k8s.io/v1", "metadata": {"name": "a"}}
    assert made["Metadata"]["rows"][0]["object"] == partial


@pytest.mark.parametrize(
    ("seconds", "shown"),
    [
        (-5, "<invalid>"), (-1, "0s"), (0, "0s"), (119, "119s"), (120, "2m"), (125, "2m5s"), (600, "10m"), (3 * 3600 - 1, "179m"),
        (3 * 3600, "3h"), (3 * 3600 + 60, "3h1m"), (8 * 3600, "8h"), (48 * 3600, "2d"), (49 * 3600, "2d1h"), (8 * 86400, "8d"),
        (729 * 86400, "729d"), (730 * 86400, "2y"), (731 * 86400, "2y1d"), (8 * 365 * 86400, "8y"),
    ],
)  # fmt: skip
def test_ages_lose_precision_as_they_grow(seconds: int, shown: str) -> None:
    """An age is printed as kubectl users know it."""
    assert age(seconds) == shown


@pytest.mark.parametrize(
    ("timestamp", "shown"), [("", "<unknown>"), (None, "<unknown>"), ("yesterday", "<invalid>"), ("2027-01-15", "<invalid>")]
)
def test_timestamps_that_are_none_are_said_to_be(timestamp: str | None, shown: str) -> None:
    """A missing time is unknown, and what is no time is invalid."""
    assert since(timestamp, NOW) == shown
