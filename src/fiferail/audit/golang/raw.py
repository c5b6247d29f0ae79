"""A write as one call shows it: what `writes` and `elsewhere` find, and `frontend` makes a site of."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from fiferail.audit.golang.patches import Patch
    from fiferail.audit.golang.types import Type

# A context, or a struct around one: `ctx`, `reqCtx`; a logger's own (`logctx`) is none.
CONTEXT = re.compile(r"(?:^|\.)(?!log)\w*[cC](?:tx|ontext)\w*(?:\(\))?$|^context\.(?:TODO|Background)\(\)$|^t\.Context\(\)$")


@dataclass(slots=True)
class Raw:
    """A write as one call shows it, before functions and callers are known."""

    target: str
    verb: str
    kind: str = ""
    api: str = ""
    subject: str = ""
    parameter: int = -1
    polymorphic: bool = False
    force: bool = False
    manager: str = ""
    patches: list[Patch] = field(default_factory=list)
    helper: str = ""
    object_type: Type = None
    literal: bool = False
    derived: int = -1
    versioned: bool = False
    way: str = ""
    through: str = ""
    subresource: int = -1
    settled: bool = False
    lent: bool = False
    held: bool = False
    # Where a request that is put together step by step begins.
    line: int = 0
