"""Methods, media types and paths are answered as the real server answers them.

Each line of `recorded_requests.jsonl` is a request (method, path, the Accept header, or Content-Type when there is a body, the body)
and what kube-apiserver 1.36.3 said: code, content type, and the message of a Status, the kind of an object or a short plain text.
scripts/record_http.py makes it.
"""

from __future__ import annotations

import http.client
import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from fiferail.apiserver.embedded import EmbeddedServer
from fiferail.apiserver.inprocess import request_of

if TYPE_CHECKING:
    from collections.abc import Iterator

HERE = Path(__file__).parent
RECORDED = [json.loads(line) for line in (HERE / "recorded_requests.jsonl").read_text().splitlines()]
GADGETS = "/apis/example.io/v1/namespaces/default/gadgets"


@pytest.fixture(scope="module")
def connection() -> Iterator[http.client.HTTPConnection]:
    """One connection to one server for all requests: they are refused, or read."""
    with EmbeddedServer(crds=[HERE.parent / "clients_on_embedded" / "gadgets.yaml"]) as server:
        gadget = {"apiVersion": "example.io/v1", "kind": "Gadget", "metadata": {"name": "g"}, "spec": {"size": 3}}
        server.transport().send(request_of("POST", GADGETS, gadget))
        made = http.client.HTTPConnection("127.0.0.1", server.port, timeout=20)
        yield made
        made.close()


def told(content_type: str | None, body: bytes) -> str:
    """What the recording keeps of an answer."""
    try:
        document = json.loads(body)
    except ValueError:
        return body.decode("utf-8", "replace") if (content_type or "").startswith("text/plain") and len(body) < 100 else ""
    return str(document["message"]) if document.get("kind") == "Status" else str(document.get("kind") or "")


@pytest.mark.parametrize("recorded", RECORDED, ids=lambda recorded: " ".join(map(str, recorded[:3])))
def test_the_answer_is_the_recorded_one(connection: http.client.HTTPConnection, recorded: list[Any]) -> None:
    """Code, content type and words are the real server's."""
    method, path, media_type, body, status, content_type, text = recorded
    headers = {"User-Agent": "cmp/1"}
    if media_type or body:
        headers["Content-Type" if body else "Accept"] = media_type
    connection.request(method, path, body.encode() or None, headers)
    answer = connection.getresponse()
    received = answer.read()
    assert (answer.status, answer.getheader("content-type"), told(content_type, received)) == (status, content_type, text)
