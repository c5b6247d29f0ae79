"""A server spoken to in bare requests: what the conformance rows and the raw-input tests are written in.

`Api` knows how paths and bodies are spelled and nothing about what should come back; a `Reply` reads an answer without judging it.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from fiferail import wire

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
    """One server, one namespace, one kind. `of` turns to another kind, `at` to another version, `within` to another namespace."""

    transport: wire.Transport
    server: str
    namespace: str = "default"
    group: str = "conformance.fiferail.dev"
    version: str = "v1"
    plural: str = "gadgets"
    kind: str = "Gadget"

    def of(self, plural: str, kind: str, group: str | None = None, version: str | None = None, *, cluster: bool = False) -> Api:
        """The same server, about another kind."""
        group = self.group if group is None else group
        namespace = "" if cluster else self.namespace
        return replace(self, plural=plural, kind=kind, group=group, version=version or self.version, namespace=namespace)

    def at(self, version: str) -> Api:
        """The same kind in another version."""
        return replace(self, version=version)

    def within(self, namespace: str) -> Api:
        """The same kind in another namespace; "" is all of them."""
        return replace(self, namespace=namespace)

    # bodies

    @property
    def api_version(self) -> str:
        return f"{self.group}/{self.version}" if self.group else self.version

    def obj(self, name: str, metadata: dict[str, Any] | None = None, **members: Any) -> dict[str, Any]:
        """An object of this kind."""
        return {"apiVersion": self.api_version, "kind": self.kind, "metadata": {"name": name, **(metadata or {})}, **members}

    def made(self, name: str, metadata: dict[str, Any] | None = None, **members: Any) -> Any:
        """Creates an object, then its status when one is given; the object as stored."""
        stored = self.create(self.obj(name, metadata, **members)).ok(201).json
        if "status" in members:
            stored = self.patch("merge", name, {"status": members["status"]}, "status", fieldManager="setup").ok(200).json
        return stored

    # requests

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
        request = wire.Request(
            method=method,
            path=path,
            query=_query(query),
            body=content,
            content_type=TYPES.get(type, type) or (wire.JSON if content else ""),
            headers={name.lower(): value for name, value in (headers or {}).items()},
        )
        return Reply(self.transport.send(request))

    def path(self, name: str = "", sub: str = "") -> str:
        """The path of the collection, of an object, or of its subresource."""
        root = f"/apis/{self.group}/{self.version}" if self.group else f"/api/{self.version}"
        scope = [f"namespaces/{self.namespace}"] if self.namespace else []
        return "/".join([root, *scope, self.plural, *([name] if name else []), *([sub] if sub else [])])

    def get(self, name: str, sub: str = "", **query: Any) -> Reply:
        return self.send("GET", self.path(name, sub), **query)

    def list(self, **query: Any) -> Reply:
        return self.send("GET", self.path(), **query)

    def create(self, body: Any, **query: Any) -> Reply:
        return self.send("POST", self.path(), body, **query)

    def put(self, name: str, body: Any, sub: str = "", **query: Any) -> Reply:
        return self.send("PUT", self.path(name, sub), body, **query)

    def patch(self, type: str, name: str, body: Any, sub: str = "", **query: Any) -> Reply:
        return self.send("PATCH", self.path(name, sub), body, type=type, **query)

    def apply(
        self,
        name: str,
        sub: str = "",
        *,
        manager: str | None = "one",
        metadata: dict[str, Any] | None = None,
        query: Any = None,
        **members: Any,
    ) -> Reply:
        """Server-side apply of an object with these members."""
        body = self.obj(name, metadata, **members)
        return self.send("PATCH", self.path(name, sub), body, type="apply", fieldManager=manager, **(query or {}))

    def delete(self, name: str, body: Any = None, **query: Any) -> Reply:
        return self.send("DELETE", self.path(name), body, **query)

    def watch(self, *, timeout: float = 10.0, **query: Any) -> Iterator[Any]:
        """The events of a watch of the collection, decoded, until the server ends it."""
        request = wire.Request(method="GET", path=self.path(), query=_query({"watch": True, **query}))
        for line in self.transport.stream(request, timeout):
            yield json.loads(line)


def _query(given: Mapping[str, Any]) -> tuple[tuple[str, str], ...]:
    sent = {name: value for name, value in given.items() if value is not None}
    return tuple((name, str(value).lower() if isinstance(value, bool) else str(value)) for name, value in sent.items())
