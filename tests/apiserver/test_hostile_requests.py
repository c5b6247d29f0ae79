"""Bodies and queries of one repeated piece: whatever is repeated, the answer comes soon and is no crash."""

from __future__ import annotations

import time

import pytest

from fiferail.apiserver.machine import Machine
from fiferail.wire import APPLY_PATCH, JSON, JSON_PATCH, MERGE_PATCH, Answer, Request

MAPS = "/api/v1/namespaces/default/configmaps"
PIECES = ["{", '{"a":', "[", "]", '"', "\\", ",", ":", "!", "!a ", "&", "&a ", "*", "%", "|", ">\n", "\t", "?\n", "? ", "-\n", "- ",
          "---\n", "a:\n ", "- &a b\n- *a\n", "#", "\r\n", "9", "k: v\n", "<<: ", "{a: ", "é", "\ufeff", "\x85"]  # fmt: skip
SELECTORS = ["!", ",", "=", "(", ")", "a,", "a=b,", "a in (b),", "<", ">", " ", "\\", "a"]


def answered(request: Request) -> Answer:
    """The answer of a fresh server, which may take two seconds of the processor."""
    machine = Machine(clock=lambda: 1_700_000_000.0)
    started = time.process_time()
    answer = machine.handle(request)
    assert time.process_time() - started < 2
    assert isinstance(answer, Answer)
    return answer


@pytest.mark.parametrize("media_type", [JSON, "application/yaml", APPLY_PATCH, MERGE_PATCH, JSON_PATCH])
@pytest.mark.parametrize("piece", PIECES)
def test_bodies(piece: str, media_type: str) -> None:
    """A body of a megabyte that repeats one piece is refused, as bad or as unsupported."""
    data = piece.encode() * (1_000_000 // len(piece.encode()))
    if "patch" in media_type:
        path = f"{MAPS}/x" if media_type == APPLY_PATCH else "/api/v1/namespaces/default"
        request = Request(method="PATCH", path=path, query=(("fieldManager", "m"),), body=data, content_type=media_type)
    else:
        request = Request(method="POST", path=MAPS, body=data, content_type=media_type)
    assert answered(request).status in (400, 422, 501), answered(request).body[:300]


@pytest.mark.parametrize("parameter", ["labelSelector", "fieldSelector", "limit", "resourceVersion", "continue", "timeoutSeconds"])
@pytest.mark.parametrize("piece", SELECTORS)
def test_queries(piece: str, parameter: str) -> None:
    """A parameter that repeats one piece is carried out or refused."""
    text = piece * (50_000 // len(piece))
    assert answered(Request(method="GET", path=MAPS, query=((parameter, text),))).status in (200, 400)
