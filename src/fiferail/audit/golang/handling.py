"""What becomes of the error of a write: returned, only logged, swallowed, or left to whoever runs the function again.

Called by `walk` with the `if` that looks at the error. Pure reading of statements: what other functions do with an error is not followed.
"""

from __future__ import annotations

import re
from typing import Any

from fiferail.audit.golang.trees import ends_process, flat, mentions, parts, render

_NOT_CONFLICT = re.compile(r"!\s*[\w.]*IsConflict")
_ONLY_ABSENT = re.compile(r"[\w.]*(?:IsNotFound|IsGone)\(\w+\)")
_FAILED = re.compile(r"\b(?:err[A-Z]\w*|\w*[eE]rr(?:or)?\d?) != nil|\bIs[A-Z]\w*\(\w*[eE]rr\w*[,)]")
_NOT_WELL = re.compile(r"!\(\w*[eE]rr(?:or)?\d? == nil\)$")
_RESPONSES = ("w", "rw", "resp", "writer", "response", "responseWriter")
_FAILURE = re.compile(r"(?i)fail|err|retry|requeue|again")
_QUEUES = re.compile(r"\.Add(?:RateLimited|After)\(|[qQ]ueue\w*(?:\(\))?\.Add\(|\.(?:Trigger|Retry|Reschedule|Enqueue)\w*\(")
_TAKES = re.compile(r"^(?:(?:Set|Add|Append|Mark|With)\w*(?:Fail|Err)\w*|Fail(?:ed|ure)?|Append|Add)$")
_NAMES_IT = re.compile(r"onflict|[rR]etry|[aA]gain|[bB]ackoff")
_ASKS = re.compile(r"^(?!\w*(?:[nN]o|[dD]ont|[nN]ot|[nN]ever)[rR]equeue)\w*[rR]equeue")
_ERROR_NAME = re.compile(r"^\w*[eE]rr(?:or)?s?\d?$")


def error_use(check: list[Any], name: str) -> str:
    """What a function does with the error of a write, from the `if` that looks at it."""
    condition = render(check[2])
    if _ONLY_ABSENT.fullmatch(condition):
        # What is gone needs no status; what becomes of other errors is said after it.
        return error_use(check[4][0], name) if check[4] and check[4][0][0] == "if" else "used"
    if f"{name} == nil" in condition or any(inner[0] == "=" and any(render(left) == name for left in inner[1]) for inner in check[3]):
        return "used"
    if any(
        "etry" in render(value) for inner in check[3] for value in (inner[2] if inner[0] == "=" else inner[1] if inner[0] == "r" else ())
    ):
        return "used"
    if "IsConflict" in condition and not _NOT_CONFLICT.search(condition) and _quiet(check[3], name):
        return "conflict-swallowed"
    for inner in check[3]:
        if (
            inner[0] == "if"
            and "IsConflict" in render(inner[2])
            and not render(inner[2]).startswith("!")
            and leaves(inner[3])
            and _quiet(inner[3], name)
        ):
            return "again" if inner[3][-1][:2] == ["br", "continue"] else "conflict-swallowed"
    if _NOT_CONFLICT.search(condition):
        return "conflict-swallowed" if _returns(check[3]) else "used"
    if _speaks(check[3], name):
        return "returned"
    if any(inner[0] == "=" and (any(asks_again(value) for value in inner[2]) or _marks_failure(inner)) for inner in check[3]):
        return "used"
    return "used" if not _quiet(check[3], name) else "swallowed" if _returns(check[3]) else "logged"


def _marks_failure(one: list[Any]) -> bool:
    """`failed = true`: who goes through many writes tells of all of them at the end."""
    return any(render(value) == "true" for value in one[2]) and any(_FAILURE.search(render(left)) for left in one[1])


def _returns(body: list[Any]) -> bool:
    return any(one[0] == "r" for one in flat(body))


def leaves(body: list[Any]) -> bool:
    return bool(body) and body[-1][0] in ("r", "br")


def _speaks(body: list[Any], name: str) -> bool:
    """Whether the error goes on: returned, joined, assigned to something that is, or a panic."""
    for one in flat(body):
        if one[0] == "r" and any(mentions(value, name) for value in one[1]):
            return True
        if one[0] == "r" and any(_makes_error(value) for value in one[1]):
            return True
        if one[0] == "=" and any(mentions(value, name) for value in one[2]) and any(not _logs(value) for value in one[2]):
            return True
        if one[0] == "e" and one[1][0] != "c" and mentions(one[1], name):
            # Sent to a channel.
            return True
        if one[0] == "e" and (ends_process(one[1]) or _answers(one[1]) or _keeps(one[1], name)):
            return True
    return False


def _makes_error(value: list[Any]) -> bool:
    text = render(value)
    if value[0] == "i" and _ERROR_NAME.match(text):
        # Another error than the write's own: the caller is told all the same.
        return True
    return text.startswith(("fmt.Errorf", "errors.New", "errors.Wrap", "Errorf")) or "Err" in text.split("(")[0]


def _answers(call: list[Any]) -> bool:
    """Whether whoever sent the request is told: `http.Error(w, ...)`, `fail(w, err)`, `c.AbortWithError(...)`."""
    if call[0] != "c":
        return False
    name = render(call[1])
    return name == "http.Error" or ".AbortWith" in name or any(argument[0] == "i" and argument[1] in _RESPONSES for argument in call[2])


def _keeps(call: list[Any], name: str) -> bool:
    """Whether something takes the error down that is looked at later: `status.Failed(err)`, `errs.AddError(err)`."""
    if call[0] != "c" or call[1][0] != "." or not any(mentions(argument, name) for argument in call[2]):
        return False
    return _TAKES.match(call[1][2]) is not None and not _logs(call)


def _logs(value: list[Any]) -> bool:
    return value[0] == "c" and any(word in render(value[1]).lower() for word in ("log", "record", "event"))


def _quiet(body: list[Any], name: str) -> bool:
    """A branch that neither passes the error on nor asks to run again."""
    if _speaks(body, name):
        return False
    for one in flat(body):
        if one[0] == "r" and len(one[1]) == 1 and one[1][0][0] == "c" and not _logs(one[1][0]):
            # What another call answers is what the caller hears: one more try, or a write that says so.
            return False
        if one[0] == "r":
            text = " ".join(render(value) for value in one[1])
            if any(asks_again(value) for value in one[1]) or "equeue" in text or any(render(value) == "true" for value in one[1]):
                return False
            if any(value[0] in (".", "i") and _NAMES_IT.search(render(value)) for value in one[1]):
                # An outcome of the project's own that says what happened: `return worker.StatusConflict`.
                return False
        if one[0] == "=" and any(asks_again(value) for value in one[2]):
            return False
        if one[0] in ("e", "=") and "equeue" in " ".join(render(value) for value in (one[2] if one[0] == "=" else [one[1]])):
            return False
        if one[0] == "e" and _QUEUES.search(render(one[1])):
            return False
    return True


def asks_again(value: list[Any]) -> bool:
    """A result that asks to be run again, or a function named after that: `Result{Requeue: true}`, `RequeueAfterInterval(...)`."""
    return any(
        (part[0] == "L" and any(key in ("Requeue", "RequeueAfter") for key, _ in part[2]))
        or (part[0] == "c" and _ASKS.search(render(part[1]).rsplit(".", 1)[-1]) is not None)
        for part in parts(value)
    )


def speaks_of_failure(guard: str) -> bool:
    """Whether a branch is taken because something failed."""
    return bool(_NOT_WELL.match(guard) if guard.startswith("!(") else _FAILED.search(guard))


def marks_done(body: list[Any], rests: list[list[Any]]) -> bool:
    """A failure skips the rest of a round, and what follows marks the object as done, or takes it off a list: that this was not done asks
    for another round."""
    skips = bool(body) and body[-1][0] == "br" and body[-1][1] == "continue"
    return skips and any(
        (one[0] == "=" and one[3] == "=" and len(one[1]) == 1 and one[1][0][0] == ".")
        or (one[0] == "e" and one[1][0] == "c" and render(one[1][1]) == "delete")
        for rest in rests
        for one in rest
    )


def is_error(condition: list[Any], name: str) -> bool:
    """Whether a condition takes a variable for an error: it is compared with nil, or asked for its kind."""
    for part in parts(condition):
        if part[0] == "b" and part[1] in ("==", "!=") and render(part[2]) == name and render(part[3]) == "nil":
            return True
        if part[0] == "c" and any(mentions(argument, name) for argument in part[2]):
            return True
    return False
