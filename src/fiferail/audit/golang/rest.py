"""Requests that are put together by hand: `client.Put().Resource("gadgets").Name(n).SubResource("status").Body(obj).Do(ctx)`.

Called by `writes` for calls of Do and DoRaw. The chain is followed back to the method that opened it, through one variable after another;
only a chain that names a resource is a request to the API.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from fiferail.audit.golang.scopes import Scope

SENDS = {"Do", "DoRaw"}
_OPENS = {"Put": "update", "Post": "create", "Delete": "delete", "Patch": "merge-patch"}
_NAMES_RESOURCE = {"Resource", "AbsPath", "RequestURI"}


@dataclass(slots=True)
class Request:
    """What a chain says: the verb and the line of its opening, and the arguments of every step."""

    verb: str
    opening: list[Any]
    line: int
    steps: dict[str, list[Any]] = field(default_factory=dict)


def request(call: list[Any], scope: Scope) -> Request | None:
    """The request that a call of Do sends, or nothing when it sends none that writes."""
    steps: dict[str, list[Any]] = {}
    at = call[1][1]
    for _ in range(24):
        if at and at[0] == "i":
            var = scope.find(at[1])
            if var is None or not var.values:
                return None
            at = var.values[-1][0]
            continue
        if not at or at[0] != "c" or at[1][0] != ".":
            return None
        method = at[1][2]
        if method in _OPENS and _NAMES_RESOURCE & set(steps):
            return Request(_OPENS[method], at[2], at[3], steps)
        steps.setdefault(method, at[2])
        at = at[1][1]
    return None
