"""Switches: whether a component, a resource or a mutation is wanted at all.

A switch is a bool, or a function that answers with one and may fail. `Versions` is the switch that stands on one side of a release
boundary. Called when a component is built (resources, mutations) and when it is reconciled (the component's own gate).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias

import msgspec

from ..errors import FiferailError
from . import versions

if TYPE_CHECKING:
    from collections.abc import Callable

#: What can switch something on or off.
Gate: TypeAlias = "bool | Callable[[], bool]"


class Versions(msgspec.Struct, frozen=True):
    """On while the version is in the range: `Versions("1.9.3", "<2.0.0")`."""

    version: str
    range: str

    def __call__(self) -> bool:
        return versions.parse(self.version) in versions.parse_range(self.range)


def is_on(gate: Gate | None) -> bool:
    """What the gate says; no gate is an open one. Whatever a gate's function raises goes through."""
    if gate is None:
        return True
    answer = gate() if callable(gate) else gate
    if not isinstance(answer, bool):
        raise FiferailError(f"expected a gate to say True or False, got {answer!r}")
    return answer
