"""A server spoken to in bare requests: what the conformance rows and the raw-input tests are written in.

`Api` knows how paths and bodies are spelled and nothing about what should come back; a `Reply` reads an answer without judging it.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from fairlead import wire

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

TYPES = {
    "json": wire.JSON_PATCH,
    "merge": wire.MERGE_PATCH,
    "strategic": wire.STRATEGIC_MERGE_PATCH,
    "apply": wire.APPLY_PATCH,
}


@dataclass(frozen=True)
class Reply:
    """An answer, read."""

    answer: wire.Answer

    @property
    def code(self) -> int:
        return self.answer.status

    @property
    def json(self) -> Any:
        """The body as JSON; a body that is none fails with what it was."""
        try:
            return json.loads(self.answer.body)
        except ValueError:
            raise AssertionError(f"not JSON: {self.answer.status} {self.answer.body[:300]!r}") from None

    @property
    def text(self) -> str:
        return self.answer.body.decode(errors="replace")

    @property
    def reason(self) -> str:
        return str(self.json.get("reason", ""))

    @property
    def message(self) -> str:
        return str(self.json.get("message", ""))

    @property
    def details(self) -> dict[str, Any]:
        return dict(self.json.get("details") or {})

    @property
    def causes(self) -> list[tuple[str, str, str]]:
        """(reason, field, message) of each cause."""
        return [(cause.get("reason", ""), cause.get("field", ""), cause.get("message", "")) for cause in self.details.get("causes", [])]

    @property
    def warnings(self) -> str:
        return self.answer.headers.get("warning", "")

    @property
    def version(self) -> str:
        return str(self.json["metadata"]["resourceVersion"])

    def ok(self, code: int | None = None) -> Reply:
        """Itself when the code is the given one (any 2xx without one); else an error that shows the answer."""
        fine = self.code == code if code is not None else 200 <= self.code < 300
        assert fine, f"expected {code or '2xx'}, got {self.code}: {self.text[:600]}"
        return self

    def refused(self, code: int, reason: str, message: str | None = None) -> Reply:
        """Itself when the answer is that refusal; the message is compared whole when one is given."""
        self.ok(code)
        assert (self.json.get("status"), self.reason) == ("Failure", reason), self.text
        assert self.json.get("code") == code, self.text
        if message is not None:
            assert self.message == message, f"\nexpected: {message}\n     got: {self.message}"
        return self


@dataclass(frozen=True)
class Api:
    """One server, as one user agent, with a namespace of its own."""

    transport: wire.Transport
    server: str
    namespace: str = "default"
    group: str = "conformance.fairlead.dev"
    version: str = "v1"

    def send(
        self,
        method: str,
        path: str,
        body: Any = None,
        *,
        type: str = "",
        headers: Mapping[str, str] | None = None,
        **query: str | int | bool | None,
    ) -> Reply:
        """One request. A body that is not bytes is sent as JSON; query arguments that are None are left out."""
        content = body if isinstance(body, bytes) else b"" if body is None else json.dumps(body).encode()
        content_type = TYPES.get(type, type) or (wire.JSON if content else "")
        request = wire.Request(
            method=method,
            path=path,
            query=tuple((name, _text(value)) for name, value in query.items() if value is not None),
            body=content,
            content_type=content_type,
            headers={name.lower(): value for name, value in (headers or {}).items()},
        )
        return Reply(self.transport.send(request))

    def path(
        self,
        plural: str,
        name: str = "",
        sub: str = "",
        *,
        group: str | None = None,
        version: str | None = None,
        namespace: str | None = None,
    ) -> str:
        """The path of a collection, an object or a subresource. `namespace=""` is cluster scope, group "" the core group."""
        group, version = self.group if group is None else group, version or self.version
        namespace = self.namespace if namespace is None else namespace
        parts = [f"/apis/{group}/{version}" if group else f"/api/{version}"]
        parts += [f"namespaces/{namespace}"] if namespace else []
        return "/".join([*parts, plural, *([name] if name else []), *([sub] if sub else [])])

    def get(self, plural: str, name: str, **query: Any) -> Reply:
        return self.send("GET", self.path(plural, name), **query)

    def list(self, plural: str, **query: Any) -> Reply:
        return self.send("GET", self.path(plural), **query)

    def create(self, plural: str, body: Any, **query: Any) -> Reply:
        return self.send("POST", self.path(plural), body, **query)

    def put(self, plural: str, name: str, body: Any, sub: str = "", **query: Any) -> Reply:
        return self.send("PUT", self.path(plural, name, sub), body, **query)

    def patch(self, kind: str, plural: str, name: str, body: Any, sub: str = "", **query: Any) -> Reply:
        return self.send("PATCH", self.path(plural, name, sub), body, type=kind, **query)

    def apply(self, plural: str, name: str, body: Any, sub: str = "", *, manager: str | None = "one", **query: Any) -> Reply:
        return self.send("PATCH", self.path(plural, name, sub), body, type="apply", fieldManager=manager, **query)

    def delete(self, plural: str, name: str, body: Any = None, **query: Any) -> Reply:
        return self.send("DELETE", self.path(plural, name), body, **query)

    def watch(self, path: str, *, timeout: float = 10.0, **query: Any) -> Iterator[Any]:
        """The events of a watch, decoded, until the server ends it."""
        given = {"watch": "true", **query}
        request = wire.Request(method="GET", path=path, query=tuple((name, _text(value)) for name, value in given.items()))
        for line in self.transport.stream(request, timeout):
            yield json.loads(line)


def _text(value: str | int | bool) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)
