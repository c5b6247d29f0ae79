"""The list of exact checks is what the documentation prints, and names kinds that are checked."""

from __future__ import annotations

import pathlib

from fiferail.apiserver.builtin.validation import catalogue, table

PAGE = pathlib.Path(__file__).resolve().parent.parent.parent / "docs/builtin-kinds.md"


def test_page_is_current() -> None:
    """docs/builtin-kinds.md is what scripts/render_builtin.py writes."""
    assert PAGE.read_text() == catalogue.markdown()


def test_every_checked_kind_is_listed() -> None:
    """A kind that has a check of its own has a line in the list."""
    listed = " ".join(catalogue.EXACT)
    missing = {kind for _, kind in table()[0]} - {"PodTemplate"}
    assert sorted(kind for kind in missing if kind not in listed) == []
