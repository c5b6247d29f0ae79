"""The built-in kinds of Kubernetes: names and schemas derived from the real server, defaults and rules as tables.

    data/        what `scripts/derive_builtin.py` wrote: discovery, OpenAPI definitions, Go types
    gotypes      decoding into the server's types and printing them back        quantity, gotime, images: their values
    defaults     one function per type                                          conversions: what the internal version changes
    strategies   what a create and an update may set, per kind                  allocation: cluster IPs and node ports
    validation   the checks that `validation.catalogue` lists as exact
    schemas      schemas for patches and ownership
    served       everything put together

Importing this package reads no data: `kinds()` reads the list of resources, a request for a kind reads its types.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ..kinds import Kind


def kinds() -> list[Kind]:
    """All built-in kinds, in discovery order."""
    from .served import kinds as made

    return list(made())
