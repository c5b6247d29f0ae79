"""Cuts a stream of chunks into the lines of a watch."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator


class Lines:
    """Keeps what is left of a chunk until its line is complete."""

    def __init__(self) -> None:
        self._rest: list[bytes] = []

    def feed(self, chunk: bytes) -> list[bytes]:
        """The lines that this chunk completes."""
        *complete, rest = chunk.split(b"\n")
        if complete:
            complete[0] = b"".join([*self._rest, complete[0]])
            self._rest = []
        if rest:
            self._rest.append(rest)
        return [line for line in complete if line.strip()]


def lines_of(chunks: Iterable[bytes]) -> Iterator[bytes]:
    """The lines of an iterable of chunks."""
    lines = Lines()
    for chunk in chunks:
        yield from lines.feed(chunk)
