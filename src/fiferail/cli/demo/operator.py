"""The mended operator: the config's controller is the only writer of the list, and the workloads write nothing on the config.

The same as examples/reference_owner, whose workloads have controllers of their own beside it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...controllers.references import references
from .kinds import AUTH, WORKLOADS

if TYPE_CHECKING:
    from ...controllers.context import Context
    from ...controllers.controller import Controller

REFERENCE = "spec.configRef.name"


def configs() -> Controller:
    """Who refers to a config, recomputed on every change; its deletion blocked while somebody does."""
    return references((AUTH, "AuthConfig"), from_=[(AUTH, kind, REFERENCE) for kind in WORKLOADS], then=validate, name="config")


async def validate(ctx: Context) -> None:
    """The config's own condition, in the same write as the list."""
    good = str(ctx.object["spec"].get("issuer", "")).startswith("https://")
    ctx.status.conditions.set("Valid", good, reason="Checked" if good else "BadIssuer")
