"""Nothing that a client can send makes the server crash, hang or answer with a traceback."""

from __future__ import annotations

import json
import os
import re
import socket
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from fiferail.apiserver.embedded import EmbeddedServer

if TYPE_CHECKING:
    from collections.abc import Iterator

CRD = Path(__file__).parent.parent / "clients_on_embedded" / "gadgets.yaml"
CONFIGMAPS = "/api/v1/namespaces/default/configmaps"
GADGETS = "/apis/example.io/v1/namespaces/default/gadgets"

WORDS = re.findall(r"\S+", """
    api apis v1 example.io apps gadgets g namespaces default status scale watch configmaps pods .. %00 %2f %C3%28 openapi v3
    version customresourcedefinitions apiextensions.k8s.io""")
OPTIONS = re.findall(r"\S+", """
    fieldManager dryRun force fieldValidation labelSelector fieldSelector limit continue resourceVersion resourceVersionMatch
    pretty propagationPolicy includeObject allowWatchBookmarks sendInitialEvents gracePeriodSeconds""")
OPTION_VALUES = ["", "0", "1", "-1", "true", "All", "a=b", "a in (b", "Exact", "999999999999999999999", "x" * 200, "%ff", "null"]
MEDIA_TYPES = [
    *("application/json", "application/yaml", "application/merge-patch+json", "application/json-patch+json"),
    *("application/apply-patch+yaml", "application/strategic-merge-patch+json", "application/vnd.kubernetes.protobuf"),
    *("text/plain", "", ";;;", "application/json; charset=utf-8"),
]
ACCEPTS = [
    *("application/json", "*/*", "application/yaml", "text/html", "", ";as=Table", "a/b;q=x"),
    "application/json;as=Table;v=v1;g=meta.k8s.io",
    "application/json;as=PartialObjectMetadata;v=v1;g=meta.k8s.io",
    "application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io",
]
MEMBERS = re.findall(r"\S+", """
    apiVersion kind metadata spec status name namespace labels size tags conditions type op path value uid resourceVersion
    finalizers managedFields ownerReferences data generateName items $patch""")
BROKEN = [b"", b"{", b"null", b"[]", b"[" * 3000, b'{"a":' * 3000, b'{"a":1,"a":2}', b"\xff\xfe", b"- a\n- b", b"&a [*a]", b"1e999"]

methods = st.sampled_from(["GET", "POST", "PUT", "PATCH", "DELETE", "HEAD", "OPTIONS", "FROB"])
segments = st.sampled_from([*WORDS, ""]) | st.text(st.characters(min_codepoint=33, max_codepoint=126, exclude_characters="?# "), max_size=8)
known_paths = st.sampled_from(
    [
        *(GADGETS, f"{GADGETS}/g", f"{GADGETS}/g/status", f"{GADGETS}/g/scale", "/apis/example.io/v1/gadgets"),
        *(CONFIGMAPS, f"{CONFIGMAPS}/g", "/api/v1/namespaces"),
        *("/apis/apps/v1/namespaces/default/deployments", "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"),
        "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews",
    ]
)
paths = known_paths | st.lists(segments, max_size=8).map(lambda parts: "/" + "/".join(parts))
pairs = st.lists(st.tuples(st.sampled_from(OPTIONS), st.sampled_from(OPTION_VALUES)), max_size=3)
queries = pairs.map(lambda given: "&".join(f"{name}={value}" for name, value in given))
scalars = st.none() | st.booleans() | st.integers(-(2**70), 2**70) | st.floats() | st.text(max_size=6)
members = st.sampled_from(MEMBERS)
values = st.recursive(scalars, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(members, inner, max_size=4), max_leaves=12)


def _named(api_version: str, kind: str, spec: Any, meta: Any) -> Any:
    given = meta if isinstance(meta, dict) else {}
    return {"apiVersion": api_version, "kind": kind, "metadata": {"name": "g", **given}, "spec": spec, "data": spec}


specs: st.SearchStrategy[Any] = values | st.fixed_dictionaries({"size": scalars}) | st.just({})
metas: st.SearchStrategy[Any] = values | st.just({}) | st.dictionaries(members, values, max_size=2)
objects = st.builds(_named, st.just("example.io/v1"), st.just("Gadget"), specs, metas) | st.builds(
    _named, st.just("v1"), st.just("ConfigMap"), specs, metas
)
operations = st.fixed_dictionaries(
    {
        "op": st.sampled_from(["add", "remove", "replace", "test", "move", "copy", "x"]),
        "path": st.sampled_from(["/spec/size", "/status", "", "/-", "x", "/metadata/finalizers"]),
    },
    optional={"value": values, "from": st.sampled_from(["/spec", "/none"])},
)
documents = values | objects | st.lists(operations, max_size=3)
bodies = documents.map(lambda value: json.dumps(value).encode()) | st.binary(max_size=40) | st.sampled_from(BROKEN)
media_types, accepts = st.sampled_from(MEDIA_TYPES), st.sampled_from(ACCEPTS)
#: Anything with anything.
wild = st.tuples(methods, paths, media_types, bodies)
collections = st.sampled_from([GADGETS, CONFIGMAPS])
singles = st.sampled_from([f"{GADGETS}/g", f"{GADGETS}/g/status", f"{GADGETS}/g/scale", f"{CONFIGMAPS}/g"])
encoded_objects = objects.map(lambda value: json.dumps(value).encode())
encoded_operations = st.lists(operations, min_size=1, max_size=3).map(lambda value: json.dumps(value).encode())
#: What fits together on the outside, so that the inside gets its share.
fitting = (
    st.tuples(st.just("POST"), collections, st.just("application/json"), encoded_objects)
    | st.tuples(st.just("PUT"), singles, st.just("application/json"), encoded_objects)
    | st.tuples(st.just("PATCH"), singles, st.sampled_from(MEDIA_TYPES[2:3] + MEDIA_TYPES[4:6]), encoded_objects)
    | st.tuples(st.just("PATCH"), singles, st.just("application/json-patch+json"), encoded_operations)
    | st.tuples(st.sampled_from(["GET", "DELETE"]), collections | singles, st.just(""), st.just(b""))
)
requests = wild | fitting
CHECKS = [HealthCheck.function_scoped_fixture, HealthCheck.too_slow]
EXAMPLES = int(os.environ.get("FIFERAIL_RAW_EXAMPLES", "400"))


@pytest.fixture(scope="module")
def server() -> Iterator[EmbeddedServer]:
    """One server for all examples: what one leaves behind, the next one meets."""
    with EmbeddedServer(crds=[CRD]) as running:
        yield running


def exchange(server: EmbeddedServer, raw: bytes) -> bytes:
    with socket.create_connection(("127.0.0.1", server.port), timeout=20) as connection:
        connection.sendall(raw)
        connection.shutdown(socket.SHUT_WR)
        received = b""
        while True:
            try:
                part = connection.recv(65536)
            except ConnectionResetError:
                return received
            if not part:
                return received
            received += part


def judge(server: EmbeddedServer, received: bytes) -> None:
    """No crash and no traceback."""
    crash = server.http.crashes.pop() if server.http.crashes else None
    assert crash is None, repr(crash)
    assert b"Traceback" not in received


@settings(max_examples=EXAMPLES, deadline=None, derandomize=True, suppress_health_check=CHECKS)
@given(request=requests, query=queries, accept=accepts)
def test_well_formed_requests_always_get_an_answer(
    server: EmbeddedServer, request: tuple[str, str, str, bytes], query: str, accept: str
) -> None:
    """Whatever method, path, query, headers and body, there is one HTTP answer, and the next request works."""
    method, path, content_type, body = request
    head = f"{method} {path}?{query} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n"
    head += f"Accept: {accept}\r\nContent-Type: {content_type}\r\n"
    received = exchange(server, f"{head}Content-Length: {len(body)}\r\n\r\n".encode("latin-1") + body)
    judge(server, received)
    assert received.startswith(b"HTTP/1.1 "), received


def nearly(text: str) -> bytes:
    """A request with arbitrary text in its target and as a header."""
    return f"GET /{text} HTTP/1.1\r\nHost: localhost\r\n{text}\r\n\r\n".encode()


@settings(max_examples=EXAMPLES // 2, deadline=None, derandomize=True, suppress_health_check=CHECKS)
@given(raw=st.binary(max_size=200) | st.text(max_size=60).map(nearly))
def test_bytes_that_are_no_request_are_refused(server: EmbeddedServer, raw: bytes) -> None:
    """Arbitrary bytes end in a refusal or a closed connection, never in a crash."""
    judge(server, exchange(server, raw))
    assert exchange(server, b"GET /healthz HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n").endswith(b"ok")
