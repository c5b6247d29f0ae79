"""Refusals, worded exactly as the server words them.

Every verb raises `Refusal`; the machine turns it into an Answer. Mirrors the constructors of apimachinery's `api/errors`: code,
reason, message and details are what clients match on, so nothing here is rephrased.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from ..objects import fielderrors, gotext
from ..wire import Answer

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from ..objects.fielderrors import FieldError
    from ..objects.tree import Json

JSON_HEADERS = {"content-type": "application/json"}
_encode = msgspec.json.Encoder().encode

#: What a write that lost an optimistic lock is told.
MODIFIED = "the object has been modified; please apply your changes to the latest version and try again"


class Refusal(Exception):
    """An answer other than success. `status` is the body, `headers` go with it (Retry-After)."""

    def __init__(self, status: Json, headers: dict[str, str] | None = None) -> None:
        super().__init__(status["message"])
        self.status: Json = status
        self.headers = headers or {}

    @property
    def code(self) -> int:
        """The HTTP status."""
        return int(self.status["code"])

    def answer(self, warnings: Sequence[str] = ()) -> Answer:
        """The refusal as it goes over the wire."""
        headers = {**JSON_HEADERS, **self.headers}
        seconds = self.status.get("details", {}).get("retryAfterSeconds")
        if seconds:
            headers["retry-after"] = str(seconds)
        if warnings:
            headers["warning"] = warning_header(warnings)
        return Answer(self.code, _encode(self.status), headers)


class PlainRefusal(Exception):
    """A refusal in plain text: what no handler of the server feels responsible for."""

    def __init__(self, code: int, text: str) -> None:
        super().__init__(text)
        self.code = code
        self.text = text

    def answer(self) -> Answer:
        """The refusal as it goes over the wire."""
        headers = {"content-type": "text/plain; charset=utf-8", "x-content-type-options": "nosniff"}
        return Answer(self.code, self.text.encode(), headers)


def warning_header(texts: Sequence[str]) -> str:
    """Warning headers, one per text, each once, in their order (RFC 7234 code 299)."""
    return ", ".join(f"299 - {_header_quoted(text)}" for text in dict.fromkeys(texts))


def _header_quoted(text: str) -> str:
    printable = "".join(char for char in text if char.isprintable())
    escaped = printable.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'


def status(code: int, reason: str, message: str, details: Json = None) -> Refusal:
    """A failure with these parts; empty ones are left out, as the server leaves them out."""
    body: Json = {"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure", "message": message}
    if reason:
        body["reason"] = reason
    if details is not None:
        body["details"] = {name: value for name, value in details.items() if value not in ("", [], 0, None)}
    body["code"] = code
    return Refusal(body)


def success(details: Json) -> Json:
    """The Status that a delete is answered with."""
    return {"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success", "details": details}


def _qualified(group: str, resource: str) -> str:
    return f"{resource}.{group}" if group else resource


def page_not_found() -> PlainRefusal:
    """No such path."""
    return PlainRefusal(404, "404 page not found\n")


def not_found(group: str, resource: str, name: str) -> Refusal:
    """The object is not there."""
    details = {"name": name, "group": group, "kind": resource}
    return status(404, "NotFound", f"{_qualified(group, resource)} {gotext.quoted(name)} not found", details)


def already_exists(group: str, resource: str, name: str, *, generated: bool = False, deleting: bool = False) -> Refusal:
    """The name is taken; for a generated name the client may try again."""
    message = f"{_qualified(group, resource)} {gotext.quoted(name)} already exists"
    if generated:
        message += ", the server was not able to generate a unique name for the object"
    if deleting:
        message = f"object is being deleted: {message}"
    details = {"name": name, "group": group, "kind": resource, "retryAfterSeconds": 1 if generated else 0}
    return status(409, "AlreadyExists", message, details)


def conflict(group: str, resource: str, name: str, error: str) -> Refusal:
    """The write was based on something that is no longer so."""
    message = f"Operation cannot be fulfilled on {_qualified(group, resource)} {gotext.quoted(name)}: {error}"
    return status(409, "Conflict", message, {"name": name, "group": group, "kind": resource})


def apply_conflict(message: str, causes: list[Json]) -> Refusal:
    """Another manager owns what an apply wanted to change."""
    return status(409, "Conflict", message, {"causes": causes})


def invalid(group: str, kind: str, name: str, errors: Iterable[FieldError]) -> Refusal:
    """The content is wrong: one cause per field."""
    errors = list(errors)
    causes = [{"reason": error.reason, "message": error.message, "field": error.field} for error in errors]
    for cause in causes:
        if not cause["field"]:
            del cause["field"]
    message = f"{_qualified(group, kind)} {gotext.quoted(name)} is invalid: {fielderrors.aggregate(errors)}"
    return status(422, "Invalid", message, {"name": name, "group": group, "kind": kind, "causes": causes})


def bad_request(message: str) -> Refusal:
    """The request makes no sense."""
    return status(400, "BadRequest", message)


def forbidden(group: str, resource: str, name: str, error: str, causes: list[Json] | None = None) -> Refusal:
    """Admission said no."""
    subject = _qualified(group, resource) + (f" {gotext.quoted(name)}" if name else "")
    details = {"name": name, "group": group, "kind": resource, "causes": causes or []}
    return status(403, "Forbidden", f"{subject} is forbidden: {error}", details)


def method_not_supported(group: str, resource: str, action: str) -> Refusal:
    """The resource is there, the verb is not."""
    message = f"{action} is not supported on resources of kind {gotext.quoted(_qualified(group, resource))}"
    return status(405, "MethodNotAllowed", message, {"group": group, "kind": resource})


def method_not_allowed() -> Refusal:
    """No route of the path takes this method."""
    return status(405, "MethodNotAllowed", "the server does not allow this method on the requested resource", {})


def too_large(limit: int) -> Refusal:
    """The body is over the limit."""
    return status(413, "RequestEntityTooLarge", f"Request entity too large: limit is {limit}")


def patch_too_large(message: str) -> Refusal:
    """A patch of too many operations."""
    return status(413, "RequestEntityTooLarge", f"Request entity too large: {message}")


def unsupported_media_type(accepted: Iterable[str], sent: str = "") -> Refusal:
    """The Content-Type is none that is understood here. To a client that sends what only the real server takes, it is not offered."""
    accepted = [media_type for media_type in accepted if media_type != sent]
    message = f"the body of the request was in an unknown format - accepted media types include: {', '.join(accepted)}"
    return status(415, "UnsupportedMediaType", message)


def not_acceptable(accepted: Iterable[str]) -> Refusal:
    """The Accept header names nothing that can be served."""
    message = f"only the following media types are accepted: {', '.join(accepted)}"
    return status(406, "NotAcceptable", message)


def expired(message: str) -> Refusal:
    """What was asked for has been compacted away."""
    return status(410, "Expired", message)


def resource_version_too_large(asked: int, current: int) -> Refusal:
    """The client knows a future that has not happened."""
    details = {"causes": [{"reason": "ResourceVersionTooLarge", "message": "Too large resource version"}], "retryAfterSeconds": 1}
    return status(504, "Timeout", f"Timeout: Too large resource version: {asked}, current: {current}", details)


def internal_error(error: str) -> Refusal:
    """Something inside gave up."""
    return status(500, "InternalError", f"Internal error occurred: {error}", {"causes": [{"message": error}]})


def failed_test() -> Refusal:
    """A JSON patch that cannot be applied: the server keeps the reason to itself."""
    return status(422, "Invalid", "the server rejected our request due to an error in our request", {})


def unprocessable() -> Refusal:
    """A strategic merge patch that contradicts itself."""
    return failed_test()


def unsupported(feature: str) -> Refusal:
    """The embedded server would have to guess, so it says no. Not an answer of the real server."""
    return status(501, "NotImplemented", f"the embedded API server does not support {feature}")


def refuse_impersonation(headers: Iterable[str]) -> None:
    """Refuses a request in another user's name: answered as the sender's own it would show what that user may not see."""
    for name in headers:
        if name.startswith("impersonate-"):
            raise unsupported("impersonation")
