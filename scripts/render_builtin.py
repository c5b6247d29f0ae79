"""Writes docs/builtin-kinds.md from the catalogue of checks: `python scripts/render_builtin.py`."""

from __future__ import annotations

import pathlib

from fiferail.apiserver.builtin.validation import catalogue

PAGE = pathlib.Path(__file__).resolve().parent.parent / "docs/builtin-kinds.md"

if __name__ == "__main__":
    PAGE.write_text(catalogue.markdown())
