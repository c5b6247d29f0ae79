"""The first place where two servers disagree about one conversation."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from fiferail.testing.differential.canonical import Canon

if TYPE_CHECKING:
    from collections.abc import Callable

    from fiferail.testing.differential.conversations import Conversation
    from fiferail.testing.differential.runner import Run


@dataclass(frozen=True)
class Difference:
    """Where two runs part: at which step (None: in the watch), at which path of the answer, and what each said there."""

    step: int | None
    path: str
    left: Any
    right: Any
    left_answer: Any
    right_answer: Any
    signature: str


def first_difference(
    conversation: Conversation, left: Run, right: Run, namespaces: tuple[str, str], excused: Callable[[Difference], bool]
) -> Difference | None:
    """None when the runs agree. An excused difference is passed over."""
    canons = Canon(left, namespaces[0]), Canon(right, namespaces[1])
    for index, (one, two) in enumerate(zip(left.heard, right.heard, strict=True)):
        answers = canons[0].answer(index, one), canons[1].answer(index, two)
        found = differing(*answers)
        if found is not None:
            step = conversation.steps[index]
            what = f"{step.method} {step.type} {step.path.split('/')[3:]}"
            difference = _difference(index, what, found, answers)
            if not excused(difference):
                return difference
            if one.code != two.code and 200 <= two.code < 300:
                return None  # the one refused what the other did: from here on they are in different states
    if left.events_error != right.events_error:
        return Difference(
            None, "watch", left.events_error, right.events_error, None, None, f"watch {left.events_error} {right.events_error}"
        )
    events = [canons[0].event(index) for index in range(len(left.events))], [canons[1].event(index) for index in range(len(right.events))]
    found = differing(*events)
    return None if found is None else _difference(None, "watch", found, events)


def _difference(step: int | None, what: str, found: tuple[str, Any, Any], answers: tuple[Any, Any]) -> Difference:
    path, left, right = found
    codes = [answer["code"] if isinstance(answer, dict) else "" for answer in answers]
    shape = re.sub(r"\[\d+\]", "[]", path)
    shape = re.sub(r"\b(alpha|beta|gamma|delta|extra|other|name|port|added|unknown)\b", "*", shape)
    signature = f"{what} {codes} {shape} {_shape(left)} {_shape(right)}"
    return Difference(step, path, left, right, *answers, signature)


def _shape(value: Any) -> str:
    """A value without its particulars, so that one cause gives one signature."""
    text = value if isinstance(value, str) else type(value).__name__
    text = re.sub(r'"[^"]*"', '""', text)
    text = re.sub(r"\b(spec|status)[.\[][\w.\[\]{}:\"-]*", "PATH", text)
    return re.sub(r"\d+", "0", text)[:80]


def differing(left: Any, right: Any, at: str = "") -> tuple[str, Any, Any] | None:
    """(path, left, right) of the first difference. The order of members does not count, as in JSON."""
    if isinstance(left, dict) and isinstance(right, dict):
        for name in [*left, *(name for name in right if name not in left)]:
            if name not in left or name not in right:
                return f"{at}.{name}", left.get(name, "<absent>"), right.get(name, "<absent>")
            found = differing(left[name], right[name], f"{at}.{name}")
            if found is not None:
                return found
        return None
    if isinstance(left, list) and isinstance(right, list):
        for index, (one, two) in enumerate(zip(left, right, strict=False)):
            found = differing(one, two, f"{at}[{index}]")
            if found is not None:
                return found
        if len(left) != len(right):
            rest = (left if len(left) > len(right) else right)[min(len(left), len(right))]
            return f"{at}[{min(len(left), len(right))}]", *((rest, "<absent>") if len(left) > len(right) else ("<absent>", rest))
        return None
    return None if type(left) is type(right) and left == right else (at, left, right)


def compact(tree: Any, width: int = 400) -> str:
    """A tree on one line, cut."""
    text = json.dumps(tree, ensure_ascii=False)
    return text if len(text) <= width else text[:width] + " ..."
