"""A base that came through a typed model lacks what the model does not know, and renders times in its own way.

When the live object has the very version that was read, the two can be laid side by side, and what was staged on the lossy
reading becomes what it would be on the real thing: nothing that the model dropped is lost. Pure.
"""

from __future__ import annotations

from ..objects.tree import ABSENT, Json, same


def regrown(lossy: Json, staged: Json, real: Json) -> Json:
    """The staged tree, with everything that was not changed taken from the real one."""
    if staged is lossy or real is ABSENT:
        return real if staged is lossy else staged
    if type(staged) is dict and type(lossy) is dict and type(real) is dict:
        unknown = {name: member for name, member in real.items() if name not in lossy}
        kept = {name: regrown(lossy.get(name, ABSENT), member, real.get(name, ABSENT)) for name, member in staged.items()}
        return {**unknown, **{name: member for name, member in kept.items() if member is not ABSENT}}  # not what the model made up
    if type(staged) is list and type(lossy) is list and type(real) is list and len(lossy) == len(real):
        return _regrown_list(lossy, staged, real)
    return real if same(staged, lossy) else staged


def _regrown_list(lossy: Json, staged: Json, real: Json) -> Json:
    """Entries that were kept, wherever they stand now; an edited entry is taken for the one that stood in its place."""
    free = dict(enumerate(lossy))
    places: list[int | None] = []
    for entry in staged:
        place = next((index for index, old in free.items() if old is entry), None)
        if place is None:
            place = next((index for index, old in free.items() if same(old, entry)), None)
        free.pop(-1 if place is None else place, None)
        places.append(place)
    return [
        real[place] if place is not None else regrown(lossy[index], entry, real[index]) if index in free else entry
        for index, (entry, place) in enumerate(zip(staged, places, strict=True))
    ]
