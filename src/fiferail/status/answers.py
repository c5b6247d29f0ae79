"""What an answer means to a write in flight. One table, read top to bottom.

    answer                                                          meaning
    ------                                                          -------
    200, 201                                                        STORED    the body is the new snapshot
    409; 422 of a failed test; 422 duplicate where we appended      REFUSED   nothing was written: look at the live object
    any other 422; 400; 413; 415; 500 'too large', 'not declared'   INVALID   nothing was written, and never will be
    404                                                             MISSING   the object, or its status subresource
    429; 503 with Retry-After                                       BUSY      not done: wait as asked
    500, 502, 503, 504, no answer                                   UNKNOWN   it may have landed: look at the live object
    all else                                                        REJECTED  ApiError, unchanged
"""

from __future__ import annotations

import re
from enum import Enum
from typing import TYPE_CHECKING

import msgspec

from ..errors import AlreadyExists, ApiError, Cause, Forbidden, Invalid, NotFound

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ..objects.tree import Json
    from ..wire import Answer

#: What the server says of a JSON patch whose test failed, and of nothing else.
FAILED_TEST = "the server rejected our request due to an error in our request"
_INDEX = re.compile(r"\[[^]]*\]")
#: 500s that would come again: the object does not fit into etcd; an apply names a field that the schema lacks.
HOPELESS = ("request is too large", "larger than max", "field not declared in schema")


class Meaning(Enum):
    """What to do next."""

    STORED = "stored"
    REFUSED = "refused"
    INVALID = "invalid"
    MISSING = "missing"
    BUSY = "busy"
    UNKNOWN = "unknown"
    REJECTED = "rejected"


class Lost(msgspec.Struct, frozen=True):
    """No answer: a timeout, a connection that broke. The transport's exception is kept for the error's cause."""

    error: Exception


def meaning(answer: Answer | Lost, appended: Sequence[str] = ()) -> Meaning:
    """Read the table. `appended`: the lists (status.conditions) to which this write appended entries without testing them."""
    if isinstance(answer, Lost):
        return Meaning.UNKNOWN
    code = answer.status
    if code in (200, 201):
        return Meaning.STORED
    if code == 404:
        return Meaning.MISSING
    if code == 429 or (code == 503 and retry_after(answer) is not None):
        return Meaning.BUSY
    if code == 422:
        return Meaning.REFUSED if _is_refusal(answer, appended) else Meaning.INVALID
    if code in (400, 413, 415):
        return Meaning.INVALID
    if code == 409:
        return Meaning.REFUSED
    if code == 500 and any(text in str(status_of(answer).get("message")) for text in HOPELESS):
        return Meaning.INVALID
    return Meaning.UNKNOWN if code in (500, 502, 503, 504) else Meaning.REJECTED


def _is_refusal(answer: Answer, appended: Sequence[str]) -> bool:
    status = status_of(answer)
    found = causes(status)
    if not found:
        return bool(status.get("message") == FAILED_TEST)
    return all(cause.reason == "FieldValueDuplicate" and _INDEX.sub("", cause.field) in appended for cause in found)


def retry_after(answer: Answer | Lost | None) -> float | None:
    """The seconds the server asks for, or None."""
    if answer is None or isinstance(answer, Lost):
        return None
    text = answer.headers.get("retry-after", "")
    return float(text) if text.isdigit() else None


def is_status(answer: Answer) -> bool:
    """Whether the body is a Status: the server answers 404 in plain text where the path itself is not served."""
    return answer.body.lstrip().startswith(b"{")


def is_hopeless(error: BaseException) -> bool:
    """Whether the client itself refused to send: it was closed, or is used wrongly. Trying again would not help."""
    return isinstance(error, (RuntimeError, TypeError, AttributeError, NotImplementedError)) or type(error).__name__ == "ClosedPoolError"


def status_of(answer: Answer) -> Json:
    """The Status in the body, or an empty one."""
    try:
        body = msgspec.json.decode(answer.body)
    except msgspec.DecodeError:
        return {"message": answer.body.decode("utf-8", "replace").strip()}
    return body if isinstance(body, dict) else {}


def causes(status: Json) -> list[Cause]:
    """The server's causes."""
    details = status.get("details") or {}
    return [Cause(c.get("reason") or "", c.get("message") or "", c.get("field") or "") for c in details.get("causes") or []]


def error(answer: Answer) -> Invalid | ApiError:
    """The answer as the error that a caller catches."""
    status = status_of(answer)
    code, reason, message = answer.status, status.get("reason") or "", status.get("message") or ""
    if meaning(answer) is Meaning.INVALID:
        return Invalid(message or f"the server answered {code}", causes(status), code, reason)
    kinds = {404: NotFound, 403: Forbidden}
    kind = AlreadyExists if reason == "AlreadyExists" else kinds.get(code, ApiError)
    return kind(code, reason, message, causes(status))
