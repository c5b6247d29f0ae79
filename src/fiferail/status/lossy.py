"""A base that came through a typed model lacks what the model does not know, and renders times in its own form.

When the live object has the very version that was read, the two are compared side by side, and what was staged on the lossy
reading becomes what it would be on the real object: nothing that the model dropped is lost. Entries of lists are paired by the
list's key; without one, an entry that was not edited is recognised by its content, and an edited one is refused where its
counterpart may hold more than the model knows. Called by `Stage.reground`. Pure.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..errors import FiferailError
from ..objects.paths import Path, render
from ..objects.tree import ABSENT, Json, same
from .shapes import identities, key_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from .shapes import Shapes


class Unpaired(FiferailError):
    """A list was edited whose entries cannot be paired with those on the server. More may be known once the schema was read."""


def regrown(lossy: Json, staged: Json, real: Json, shapes: Shapes, at: Path = ()) -> Json:
    """The staged tree, with everything that was not changed taken from the real one.

    lossy: the object as the model gave it; staged: the same with the caller's changes; real: that version as the server has it.
    Raises Unpaired where an edited entry of a list without keys may have members on the server that the model does not know.
    """
    if staged is lossy or same(staged, lossy):
        return real
    if type(staged) is dict and type(lossy) is dict and type(real) is dict:
        unknown = {name: member for name, member in real.items() if name not in lossy}
        kept = {
            name: regrown(lossy.get(name, ABSENT), member, real.get(name, ABSENT), shapes, (*at, name)) for name, member in staged.items()
        }
        return {**unknown, **{name: member for name, member in kept.items() if member is not ABSENT}}  # not what the model made up
    if type(staged) is list and type(lossy) is list and type(real) is list:
        return _regrown_list(lossy, staged, real, shapes, at)
    return staged


def _regrown_list(lossy: list[Json], staged: list[Json], real: list[Json], shapes: Shapes, at: Path) -> list[Json]:
    names = shapes.names(at)
    if names is not None:
        known, wanted, stored = (identities(entries, names) for entries in (lossy, staged, real))
        if known is not None and wanted is not None and stored is not None:
            before, there = dict(zip(known, lossy, strict=True)), dict(zip(stored, real, strict=True))
            grown = [
                regrown(before.get(key, {}), entry, there[key], shapes, (*at, key_of(entry, names))) if key in there else entry
                for key, entry in zip(wanted, staged, strict=True)
            ]
            return grown + [entry for key, entry in there.items() if key not in before and key not in wanted]
    return _Pairing(lossy, real, at).grown(staged, shapes)


class _Pairing:
    """The entries of a list without keys. The model keeps their order, so its entries and the real ones correspond by position."""

    def __init__(self, lossy: list[Json], real: list[Json], at: Path) -> None:
        self._lossy, self._real, self._at = lossy, real, at
        if len(lossy) != len(real):
            raise self._refusal(f"it has {len(real)} entries on the server and {len(lossy)} in the model")

    def grown(self, staged: list[Json], shapes: Shapes) -> list[Json]:
        """Entries that were kept, wherever they stand now, as the server has them; new ones as they were given."""
        places = self._places(staged)
        edited = [index for index, place in enumerate(places) if place is None]
        free = [index for index in range(len(self._lossy)) if index not in places]
        if edited:
            self._check_nothing_unknown(free)
        # Nothing unknown is at stake here. An entry that was edited where it stood keeps the server's form of what it did not change.
        counterparts = dict(zip(edited, free, strict=True)) if len(edited) == len(free) else {}
        return [self._entry(entry, places[index], counterparts.get(index), shapes) for index, entry in enumerate(staged)]

    def _entry(self, entry: Json, place: int | None, counterpart: int | None, shapes: Shapes) -> Json:
        if place is not None:
            return self._real[place]
        if counterpart is None:
            return entry
        return regrown(self._lossy[counterpart], entry, self._real[counterpart], shapes, (*self._at, counterpart))

    def _places(self, staged: list[Json]) -> list[int | None]:
        """Where each staged entry stood: the same object first, then one with the same content."""
        places: list[int | None] = [None] * len(staged)
        free = dict(enumerate(self._lossy))
        for index, entry in enumerate(staged):
            if isinstance(entry, (dict, list)):
                place = next((old for old, known in free.items() if known is entry), None)
                if place is not None:
                    places[index] = place
                    del free[place]
        for index, entry in enumerate(staged):
            if places[index] is None:
                alike = [old for old, known in free.items() if same(known, entry)]
                if alike:
                    self._check_alike(alike, sum(places[i] is None and same(other, entry) for i, other in enumerate(staged)))
                    places[index] = alike[0]
                    del free[alike[0]]
        return places

    def _check_alike(self, alike: Sequence[int], wanted: int) -> None:
        """Entries that the model cannot tell apart may differ on the server: then nobody knows which of them was removed."""
        if len(alike) > wanted and any(not same(self._real[index], self._real[alike[0]]) for index in alike):
            raise self._refusal(f"entries {alike[0]} and {alike[1]} differ on the server and not in the model")

    def _check_nothing_unknown(self, free: Sequence[int]) -> None:
        """A new entry beside one that is gone may be that one, edited."""
        for index in free:
            unknown = _unknown(self._lossy[index], self._real[index], (*self._at, index))
            if unknown is not None:
                raise self._refusal(f"{render(unknown)} is not known to the model")

    def _refusal(self, why: str) -> Unpaired:
        field = ".".join(step for step in self._at[1:] if isinstance(step, str))
        return Unpaired(
            f"{render(self._at)} was edited on an object that came through a typed model, and {why}. The entries of the list have no key "
            "to pair them by, so the write could remove what the model does not know; nothing was written. "
            f'Read the object as a dict, or declare the key on the writer, keys={{"{field}": (...)}}'
        )


def _unknown(lossy: Json, real: Json, at: Path) -> Path | None:
    """The first place where the server has something that the model dropped."""
    if type(real) is dict and type(lossy) is dict:
        held = [(name, member) for name, member in real.items() if member is not None]  # models leave null out, and nothing is lost
        below = (_unknown(lossy[name], member, (*at, name)) if name in lossy else (*at, name) for name, member in held)
        return next((path for path in below if path is not None), None)
    if type(real) is list and type(lossy) is list:
        if len(real) != len(lossy):
            return at
        entries = (_unknown(old, entry, (*at, index)) for index, (old, entry) in enumerate(zip(lossy, real, strict=True)))
        return next((path for path in entries if path is not None), None)
    return at if type(real) in (dict, list) else None
