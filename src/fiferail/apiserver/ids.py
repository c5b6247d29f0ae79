"""Where uids and the suffixes of generated names come from.

The machine never draws random numbers: it asks its `Ids`. `Counted` is deterministic and forks with the world, for tests and the
explorer; a shell that serves people may pass one that draws.
"""

from __future__ import annotations

from typing import Protocol

#: No vowels and nothing that looks like another character: what the server builds suffixes from.
ALPHABET = "bcdfghjklmnpqrstvwxz2456789"


class Ids(Protocol):
    """A source of identities."""

    def uid(self) -> str:
        """A uid that was never given before."""
        ...

    def suffix(self) -> str:
        """Five characters for metadata.generateName."""
        ...

    def fork(self) -> Ids:
        """A source for a copy of the world, which goes on where this one stands."""
        ...


class Counted:
    """Identities by number: the same world gives the same names."""

    __slots__ = ("_suffixes", "_uids")

    def __init__(self, uids: int = 0, suffixes: int = 0) -> None:
        self._uids = uids
        self._suffixes = suffixes

    def uid(self) -> str:
        """The next uid, in the form of a version 4 UUID."""
        self._uids += 1
        return f"00000000-0000-4000-8000-{self._uids:012x}"

    def suffix(self) -> str:
        """The next suffix."""
        # A step coprime to 27**5 visits every suffix once, and neighbours look unlike.
        number = self._suffixes * 5_000_011 % 27**5
        self._suffixes += 1
        text = ""
        for _ in range(5):
            number, digit = divmod(number, 27)
            text += ALPHABET[digit]
        return text

    def fork(self) -> Counted:
        """The same numbers from here on, on both sides."""
        return Counted(self._uids, self._suffixes)
