"""The config's status as it changes, step by step: a live table on a terminal, plain lines where somebody reads it from a pipe."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import msgspec

if TYPE_CHECKING:
    from collections.abc import Iterator

    from rich.console import Console
    from rich.table import Table

    from ...objects.tree import Json

_LIST = "referencingWorkloads"
_TITLES = ("what happens", "after", "writes", _LIST, "conditions")
_WIDTHS = (27, 8, 6, 29)


class Row(msgspec.Struct):
    """One step: what happened, how long the operator took to answer it, how often it wrote, and what stands in the config then."""

    what: str
    seconds: float | None = None
    writes: int = 0
    obj: Any = None

    def cells(self) -> tuple[str, str, str, str, str]:
        """As text."""
        after = "..." if self.seconds is None else f"{self.seconds * 1000:.1f} ms"
        if self.obj is None:
            return self.what, after, str(self.writes), "-", "the config is gone" if self.seconds is not None else "-"
        return self.what, after, str(self.writes), ", ".join(listed(self.obj)) or "nobody", ", ".join(conditions(self.obj)) or "none"


class Shown:
    """The table, and where it goes."""

    def __init__(self, console: Console) -> None:
        self.console = console
        self.live = console.is_terminal and not console.is_dumb_terminal
        self.rows: list[Row] = []

    @contextmanager
    def running(self) -> Iterator[Shown]:
        """While this lasts the table follows what happens."""
        if not self.live:
            self._print(_TITLES)
            yield self
            return
        from rich.live import Live

        # Drawn by a thread of its own: what is measured does not wait for it.
        with Live(get_renderable=self._table, console=self.console, refresh_per_second=8) as display:
            display.refresh()
            yield self

    def began(self, what: str, obj: Json | None) -> Row:
        """A step begins."""
        row = Row(what, obj=obj)
        self.rows.append(row)
        return row

    def done(self) -> None:
        """The last row is complete."""
        if not self.live:
            self._print(self.rows[-1].cells())

    def _print(self, cells: tuple[str, ...]) -> None:
        columns = [f"{cell:<{width}}" for cell, width in zip(cells, _WIDTHS, strict=False)]
        self.console.print("  " + " ".join([*columns, cells[-1]]), markup=False, soft_wrap=True)

    def _table(self) -> Table:
        from rich import box
        from rich.markup import escape
        from rich.table import Table

        table = Table(box=box.SIMPLE_HEAD, collapse_padding=True, show_edge=False)
        for title in _TITLES:
            figure = title in ("after", "writes")
            width = len(_LIST) if title == _LIST else None
            table.add_column(title, justify="right" if figure else "left", no_wrap=figure, width=width)
        for row in self.rows:
            what, after, writes, entries, said = row.cells()
            colour = "yellow" if "Blocked" in said else "green"
            table.add_row(what, after, writes, f"[cyan]{escape(entries)}[/]", f"[{colour}]{escape(said)}[/]")
        return table


def listed(obj: Json) -> list[str]:
    """Who refers to the config, as its status says."""
    return [f"{entry['kind']}/{entry['name']}" for entry in (obj.get("status") or {}).get("referencingWorkloads") or []]


def conditions(obj: Json) -> list[str]:
    """What its conditions say: the type where it is True, with the reason for it where that has words."""
    found = (obj.get("status") or {}).get("conditions") or []
    return [_said(entry) for entry in sorted(found, key=lambda entry: str(entry["type"]))]


def _said(entry: Json) -> str:
    text = str(entry["type"]) if entry["status"] == "True" else f"{entry['type']}={entry['status']}"
    return f"{text} ({entry['message']})" if entry.get("message") else text
