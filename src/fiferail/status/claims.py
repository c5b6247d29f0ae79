"""Who may write what: claims on paths of a kind's status, in a registry that writers share.

A claim is a promise between the writers of one program, checked before anything is sent. The registry is an argument, never a
global: tests and replicas make their own.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..errors import NotOwner
from ..objects.paths import Path, render
from ..objects.paths import parse as parse_path

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence


class Claims:
    """The registry: for each kind, which writer owns which paths."""

    def __init__(self) -> None:
        self._owners: dict[str, dict[Path, str]] = {}

    def claim(self, writer: str, claims: Mapping[str, Sequence[str]]) -> None:
        """Take paths for a writer. A path that overlaps another writer's is refused, and then nothing is taken."""
        for kind, texts in claims.items():
            for text in [texts] if isinstance(texts, str) else texts:
                if isinstance(texts, str) or parse_path(text)[:1] == ("status",):
                    raise ValueError(f"expected claims of {kind} as a list of paths below status, such as [\"phase\"], got {texts!r}")
        wanted = [(kind, ("status", *parse_path(text)), text) for kind, texts in claims.items() for text in texts]
        for kind, path, text in wanted:
            for other, owner in self._owners.get(kind, {}).items():
                if owner != writer and _overlap(path, other):
                    raise NotOwner(
                        f"{writer} claims {text} of {kind}, but {owner} has claimed {render(other)} already. "
                        f"One path has one owner: give it to one of them, or split the field."
                    )
        for kind, path, _ in wanted:
            self._owners.setdefault(kind, {})[path] = writer

    def owner(self, kind: str, path: Path) -> str | None:
        """The writer that claims the path, or something above or below it."""
        return next((owner for claimed, owner in self._owners.get(kind, {}).items() if _overlap(path, claimed)), None)

    def mentions(self, kind: str) -> bool:
        """Whether anybody claims anything of the kind."""
        return kind in self._owners

    def check(self, writer: str, kind: str, path: Path) -> None:
        """Refuse a write to what another writer claims."""
        if kind not in self._owners:
            return
        for claimed, owner in self._owners.get(kind, {}).items():
            if owner != writer and _overlap(path, claimed):
                raise NotOwner(
                    f"{writer} may not write {render(path)} of {kind}: {owner} has claimed {render(claimed)}. "
                    f"Let {owner} write it, or move the claim."
                )

    def owns(self, writer: str, kind: str, path: Path) -> bool:
        """Whether the writer claims the path, or something above it."""
        return any(owner == writer and path[: len(claimed)] == claimed for claimed, owner in self._owners.get(kind, {}).items())


def _overlap(one: Path, other: Path) -> bool:
    shorter = min(len(one), len(other))
    return one[:shorter] == other[:shorter]
