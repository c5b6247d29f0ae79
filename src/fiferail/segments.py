"""Names as path segments: a name must never reach another path than its own.

The rule is that of Kubernetes (`IsPathSegmentName` in apimachinery, which client-go applies to every name and namespace): not
empty, not `.` or `..`, no `/` and no `%`. The writer and the clients apply it alike. Everything else is percent-encoded by
`wire.Request.target`.
"""

from __future__ import annotations

from typing import Any

from .errors import FiferailError


def segment(value: Any, what: str) -> str:
    """Return the value if it is one path segment; `what` names it in the error."""
    if not isinstance(value, str):
        raise FiferailError(f"expected {what} to be text, got {type(value).__name__}: nothing was sent")
    if value in (".", ".."):
        raise FiferailError(f"invalid {what} {value!r}: it may not be {value!r}. Nothing was sent")
    for character in "/%":
        if character in value:
            raise FiferailError(f"invalid {what} {value!r}: it may not contain {character!r}. Nothing was sent")
    if not value.isprintable():
        raise FiferailError(f"invalid {what} {value!r}: it may not contain control characters. Nothing was sent")
    return value


def required_segment(value: Any, what: str, kind: str) -> str:
    """Return the name of an object; without one the path would be that of the collection, so a missing or empty one is refused."""
    if value is None or value == "":
        raise FiferailError(f"expected {what} of a {kind}, got none: nothing was sent")
    return segment(value, what)


def api_prefix(api_version: Any) -> str:
    """Return the path of an apiVersion: `/api/v1`, `/apis/example.io/v1`."""
    if not isinstance(api_version, str) or not 1 <= len(parts := api_version.split("/")) <= 2 or not all(parts):
        raise FiferailError(f"expected an apiVersion such as v1 or example.io/v1, got {api_version!r}: nothing was sent")
    path = "/".join(segment(part, "apiVersion") for part in parts)
    return f"/apis/{path}" if len(parts) == 2 else f"/api/{path}"
