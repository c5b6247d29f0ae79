"""One hazard told with one way of writing, and its verdict."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from fiferail.errors import ApiError, Conflict, FiferailError, Invalid

from .scenarios import Hazard, Scene

if TYPE_CHECKING:
    from .place import Place
    from .ways import Way

#: Everything is there. A caller got an error, and what is missing is that caller's. Something is missing, and nobody knows.
#: Nothing is missing, but the writes never end.
KEPT, TOLD, LOST, LOOPS = "kept", "told", "LOST", "loops"


@dataclass(frozen=True)
class Verdict:
    """What came of a scene."""

    word: str
    missing: tuple[tuple[str, str], ...] = ()
    told: dict[str, str] = field(default_factory=dict)
    #: The version with which the object began.
    origin: int = 0


def run(hazard: Hazard, way: Way, place: Place) -> Verdict:
    """Tell the story on a fresh object."""
    scene = Scene(place, way)
    hazard.tell(scene)
    for error in scene.told.values():
        if not _is_refusal(error):
            raise error
    told = {name: str(error) for name, error in scene.told.items()}
    silent = [actor for actor, _ in scene.missing if actor not in scene.told]
    word = LOST if silent else TOLD if scene.missing or scene.told else LOOPS if scene.idle_writes > 1 else KEPT
    return Verdict(word, tuple(scene.missing), told, scene.origin)


def _is_refusal(error: FiferailError) -> bool:
    """Whether a server said no. Anything else is a fault of the scenario."""
    if isinstance(error, ApiError):
        return error.code == 409 or "field not declared in schema" in error.message
    return isinstance(error, (Conflict, Invalid))
