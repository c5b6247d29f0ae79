"""Every hazard, every way of writing, both servers: what is kept, what is told, what is lost."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from fiferail.history.findings import DROPPED
from fiferail.testing.hazards import page
from fiferail.testing.hazards.matrix import LOOPS, LOST, run
from fiferail.testing.hazards.place import Place
from fiferail.testing.hazards.scenarios import HAZARDS, Hazard
from fiferail.testing.hazards.ways import NAMES, WAYS

#: The columns: PUT, PUT with naive retry, PUT with conditions retried, MERGE, LOCKED, blind apply, APPLY, COMPARE.
EXPECTED = """
disjoint scalars      told   LOST   LOST   kept   kept   LOST   kept   kept
stale scalar          told   LOST   kept   LOST   kept   LOST   told   kept
increment             told   LOST   LOST   LOST   kept   LOST   LOST   kept
cleared plan          told   LOST   kept   LOST   kept   LOST   LOST   kept
older version         LOST   LOST   LOST   LOST   LOST   LOST   LOST   LOST
distinct conditions   told   LOST   kept   LOST   kept   LOST   kept   kept
first condition       told   LOST   kept   LOST   kept   LOST   kept   kept
double plan           told   LOST   LOST   LOST   kept   LOST   told   kept
reference list        told   LOST   LOST   LOST   kept   LOST   told   kept
swallowed conflict    LOST   LOST   LOST   kept   kept   LOST   kept   kept
resurrection          told   LOST   kept   LOST   kept   LOST   told   kept
recreated object      told   LOST   kept   LOST   kept   LOST   told   kept
lost answer           told   LOST   kept   kept   kept   LOST   kept   kept
partial retry         told   LOST   LOST   kept   kept   LOST   kept   kept
laundered base        told   LOST   LOST   LOST   kept   LOST   LOST   kept
stale no-op           LOST   LOST   LOST   kept   kept   kept   kept   kept
generation regress    told   LOST   kept   LOST   kept   LOST   told   kept
hot loop              loops  loops  loops  kept   kept   told   told   kept
"""
#: Losses without a request: a write that is never sent leaves nothing for a server to see.
UNSEEN = {("stale no-op", "PUT"), ("stale no-op", "PUT, naive retry"), ("stale no-op", "PUT, conditions retried"),
          ("increment", "PUT, conditions retried")}  # fmt: skip


def _expected() -> dict[tuple[str, str], str]:
    table = {}
    for line in EXPECTED.strip().splitlines():
        name, words = line[:22].strip(), line[22:].split()
        table.update({(name, way): word for way, word in zip(NAMES, words, strict=True)})
    return table


CELLS = [pytest.param(hazard, make, id=f"{hazard.name}-{name}") for hazard in HAZARDS for name, make in zip(NAMES, WAYS, strict=True)]


def test_the_table_has_a_verdict_for_every_cell() -> None:
    """Eighteen hazards by eight ways, none left out."""
    assert set(_expected()) == {(hazard.name, name) for hazard in HAZARDS for name in NAMES}


@pytest.mark.parametrize(("hazard", "make"), CELLS)
def test_the_embedded_server_gives_the_verdict_and_the_checker_sees_every_loss(hazard: Hazard, make: type, watched: Any) -> None:
    """A cell has its verdict; the checker finds what is lost or loops, and with COMPARE only what no client can prevent."""
    way = make()
    verdict = run(hazard, way, watched.place)
    assert verdict.word == _expected()[hazard.name, way.name], verdict
    found = watched.watchman.findings()
    if verdict.word == LOST and (hazard.name, way.name) not in UNSEEN:
        assert any(finding.is_loss for finding in found), verdict
    if verdict.word == LOOPS:
        assert {finding.name for finding in found} == {"waste"}
    if way.name == "COMPARE":
        assert [finding.kind for finding in found] == ([DROPPED] if hazard.name == "older version" else [])


@pytest.mark.parametrize(("hazard", "make"), CELLS)
def test_the_real_server_gives_the_same_verdict(hazard: Hazard, make: type, real_place: Place) -> None:
    """The same story on a real kube-apiserver ends the same way."""
    way = make()
    verdict = run(hazard, way, real_place)
    assert verdict.word == _expected()[hazard.name, way.name], verdict


def test_the_page_shows_what_the_cells_give() -> None:
    """docs/hazards.md is what a run of the matrix writes."""
    kept = Path(__file__).parents[2] / "docs" / "hazards.md"
    assert kept.read_text(encoding="utf-8") == page.render(), "write it again: python -m fiferail.testing.hazards.page docs/hazards.md"
