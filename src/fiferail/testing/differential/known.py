"""Differences that docs/limits names: the fuzzer counts them and goes on.

Each entry is one line of that page. A difference that no entry describes is a defect.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from fiferail.testing.differential import schemas

if TYPE_CHECKING:
    from fiferail.testing.differential.compare import Difference


def limit(difference: Difference) -> str | None:
    """The name of the limit that explains the difference, or None. Left is the embedded server, right the real one."""
    if isinstance(difference.right_answer, dict) and difference.right_answer.get("code") == 0:
        return "the real server panics and closes the connection"
    if difference.path == ".code" and (difference.left, _reason(difference.right_answer)) == (200, "Expired"):
        return "the real server forgets old versions every five minutes, the embedded one by their number"
    refused = _refused_feature(difference.left_answer)
    if refused:
        return refused
    if difference.path == ".body.message" and str(difference.right).partition("\n@@")[0] == str(difference.left).rstrip("]"):
        return "the diff at the end of a refused pod update is left out"
    built_in = schemas.GROUP not in str(difference.right)
    if built_in and difference.path == ".body.message" and _emptied(difference.right) == _emptied(difference.left):
        return "an empty map or list of a built-in kind is shown as null"
    several = any("errors:\n" in str(said) or not str(said).startswith("failed to create") for said in (difference.left, difference.right))
    if difference.path == ".body.message" and several and _opening(difference.left) == _opening(difference.right) != "":
        return "which of several typed errors an apply is told first is random"
    return None


def _reason(answer: object) -> object:
    body = answer.get("body") if isinstance(answer, dict) else None
    return body.get("reason") if isinstance(body, dict) else None


def _emptied(message: object) -> str:
    """A message that does not tell something empty from nothing."""
    return str(message).replace("Invalid value: {}", "Invalid value: null").replace("Invalid value: []", "Invalid value: null")


def _refused_feature(answer: object) -> str | None:
    """What the embedded server says it does not do: a refusal by name is a limit, not a difference."""
    body = answer.get("body") if isinstance(answer, dict) and answer.get("code") == 501 else None
    message = str(body.get("message", "")) if isinstance(body, dict) else ""
    return message if message.startswith("the embedded API server does not support") else None


def _opening(message: object) -> str:
    """The part of an apply's typed error before the errors themselves, whose number and order come from a hash map."""
    openings = ("failed to create typed patch object", "failed to prune fields", "failed to convert", "failed to create typed live object")
    return next((opening for opening in openings if str(message).startswith(opening)), "")
