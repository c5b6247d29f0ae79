"""What a write says of its decision, in headers that only the checker of lost updates reads; the server ignores them.

    x-fiferail-base    the resourceVersion of the object that the caller passed
    x-fiferail-seen    the resourceVersions of own writes since then whose outcome the caller knows
    x-fiferail-reads   the paths that the caller looked at, as a JSON array
    x-fiferail-decides `once`: a refusal ends this call in an error; it has no function to run again
"""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING

from ..objects.paths import Path, render
from .conversation import JSON_ONLY

if TYPE_CHECKING:
    from collections.abc import Iterable

#: What was read is left out where it would make a longer header.
LONGEST = 4096


def said(base: int, seen: Iterable[int], reads: Iterable[Path], *, once: bool = False) -> dict[str, str]:
    """The headers; an object without a resourceVersion says nothing."""
    if base < 0:
        return JSON_ONLY
    found = {**JSON_ONLY, "x-fiferail-base": str(base)}
    own = " ".join([str(version) for version in seen])
    if own:
        found["x-fiferail-seen"] = own
    found.update(looked_at(reads))
    if once:
        found["x-fiferail-decides"] = "once"
    return found


def looked_at(reads: Iterable[Path]) -> dict[str, str]:
    """The header of what was read; none where it would be too long."""
    text = f"[{','.join([_text(path) for path in reads])}]"
    return {"x-fiferail-reads": text} if len(text) <= LONGEST else {}


@lru_cache(maxsize=4096)  # a reconcile reads the same few again and again
def _text(path: Path) -> str:
    import json  # here, because importing it takes time; not msgspec, which leaves text beyond ASCII as it is: no header can carry that

    return json.dumps(render(path))
