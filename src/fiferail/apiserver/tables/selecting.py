"""Labels and label selectors as one line of text, as apimachinery prints them."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ...objects.tree import Json


def labels(given: Json) -> str:
    """A set of labels."""
    return ",".join(f"{name}={value}" for name, value in sorted((given or {}).items())) or "<none>"


def selector(given: Json) -> str:
    """A LabelSelector; empty when it selects everything, or nothing."""
    if not given:
        return ""
    parts = [(name, f"{name}={value}") for name, value in (given.get("matchLabels") or {}).items()]
    parts += [(expression.get("key", ""), _requirement(expression)) for expression in given.get("matchExpressions") or []]
    return ",".join(text for _, text in sorted(parts, key=lambda part: part[0]))


def _requirement(expression: Json) -> str:
    key, values = expression.get("key", ""), ",".join(sorted(expression.get("values") or []))
    match expression.get("operator"):
        case "In":
            return f"{key} in ({values})"
        case "NotIn":
            return f"{key} notin ({values})"
        case "DoesNotExist":
            return f"!{key}"
    return str(key)
