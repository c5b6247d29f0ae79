"""What several ask about a kind at the same moment is asked once."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

import pytest

from fiferail.controllers.asking import AskedOnce
from fiferail.wire import Answer, Request

if TYPE_CHECKING:
    from collections.abc import AsyncIterator


class Held:
    """Answers, or fails, when told to."""

    def __init__(self) -> None:
        self.asked: list[asyncio.Future[Answer]] = []

    async def send(self, request: Request, /, timeout: float | None = None) -> Answer:
        """Waits."""
        self.asked.append(asyncio.get_running_loop().create_future())
        return await self.asked[-1]

    def stream(self, request: Request, /, timeout: float | None = None) -> AsyncIterator[bytes]:
        """Not used."""
        raise AssertionError


async def _asking(held: Held, path: str, method: str = "GET", times: int = 3) -> list[asyncio.Task[Answer]]:
    transport = AskedOnce(held)
    tasks = [asyncio.ensure_future(transport.send(Request(method=method, path=path))) for _ in range(times)]
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    return tasks


@pytest.mark.parametrize("path", ["/api/v1", "/apis/example.io/v1", "/openapi/v3/apis/example.io/v1"])
async def test_a_question_about_kinds_is_asked_once(path: str) -> None:
    """All get the one answer."""
    held = Held()
    tasks = await _asking(held, path)
    assert len(held.asked) == 1
    held.asked[0].set_result(Answer(200, b"{}"))
    assert [answer.status for answer in await asyncio.gather(*tasks)] == [200] * 3


@pytest.mark.parametrize(
    ("method", "path"),
    [("GET", "/apis/example.io/v1/gadgets"), ("GET", "/api/v1/namespaces/default"), ("POST", "/apis/example.io/v1")],
)
async def test_everything_else_goes_out_each_time(method: str, path: str) -> None:
    """Objects are never shared."""
    held = Held()
    tasks = await _asking(held, path, method)
    assert len(held.asked) == 3
    for asked in held.asked:
        asked.set_result(Answer(200))
    await asyncio.gather(*tasks)


@pytest.mark.parametrize(
    ("path", "body", "learned"),
    [
        ("/apis/example.io/v1", b'{"resources": [{"name": "gadgets", "kind": "Gadget"}]}', {"example.io/v1": ["Gadget"]}),
        ("/api/v1", b'{"resources": [{"name": "pods", "kind": "Pod"}]}', {"v1": ["Pod"]}),
        ("/apis/example.io", b'{"versions": []}', {}),
        ("/openapi/v3/apis/example.io/v1", b"{}", {}),
        ("/apis/example.io/v1", b"<html>", {}),
        ("/apis/example.io/v1", b'["no", "list"]', {}),
    ],
    ids=["a group", "the core", "a group's versions", "a schema", "no JSON", "another document"],
)
async def test_what_a_group_serves_is_kept_for_the_writers(path: str, body: bytes, learned: dict[str, list[str]]) -> None:
    """Only the document that says so counts, and whatever came goes on to who asked."""
    held, resources = Held(), dict[str, Any]()
    asking = asyncio.ensure_future(AskedOnce(held, resources).send(Request(method="GET", path=path)))
    await asyncio.sleep(0)
    held.asked[0].set_result(Answer(200, body))
    assert (await asking).body == body
    assert {version: list(kinds) for version, kinds in resources.items()} == learned


async def test_a_refusal_teaches_nothing() -> None:
    """A group that is not there today may be there tomorrow."""
    held, resources = Held(), dict[str, Any]()
    asking = asyncio.ensure_future(AskedOnce(held, resources).send(Request(method="GET", path="/apis/example.io/v1")))
    await asyncio.sleep(0)
    held.asked[0].set_result(Answer(404, b'{"resources": []}'))
    assert ((await asking).status, resources) == (404, {})


async def test_who_waited_for_a_question_that_failed_asks_for_himself() -> None:
    """A lost answer is one asker's, and so is his being cancelled."""
    held = Held()
    first, second, third = await _asking(held, "/api/v1")
    held.asked[0].set_exception(ConnectionError("gone"))
    with pytest.raises(ConnectionError, match="gone"):
        await first
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    assert len(held.asked) == 2
    second.cancel()
    for _ in range(4):
        await asyncio.sleep(0)
    assert len(held.asked) == 3
    held.asked[2].set_result(Answer(200))
    assert (await third).status == 200
