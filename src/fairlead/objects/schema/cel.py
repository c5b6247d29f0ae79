"""x-kubernetes-validations. (In the making: no rule is accepted yet.)"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...errors import Unsupported

if TYPE_CHECKING:
    from ..fielderrors import FieldError
    from ..tree import Json
    from .model import Schema


class Compiler:
    """Compiles the rules of one CRD schema."""

    def __init__(self, root: Json, known: frozenset[str]) -> None:
        self.root = root

    def flaws(self, schema: Json, path: str, uncorrelatable: str) -> list[FieldError]:
        """What is wrong with the rules of one node."""
        raise Unsupported("x-kubernetes-validations")


def default_flaws(value: Json, schema: Schema, at: str) -> list[FieldError]:
    """What the rules say of a default."""
    return []
