"""Lists come in pages, and of each object is kept what the caller keeps."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec
import pytest

from fiferail import AsyncClient, NotFound
from fiferail.wire import Answer, Request

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

KINDS = {"resources": [{"name": "gadgets", "kind": "Gadget", "namespaced": True}]}


class Pages:
    """Answers discovery, then one answer after the other."""

    def __init__(self, *answers: tuple[int, Any]) -> None:
        self._answers = [(200, KINDS), *answers]
        self.asked: list[dict[str, str]] = []

    async def send(self, request: Request, /, timeout: float | None = None) -> Answer:
        """The next answer."""
        self.asked.append(dict(request.query))
        status, body = self._answers[len(self.asked) - 1]
        return Answer(status, msgspec.json.encode(body))

    def stream(self, request: Request, /, timeout: float | None = None) -> AsyncIterator[bytes]:
        """Not used."""
        raise AssertionError


def page(*items: Any, token: str = "", version: str = "7") -> tuple[int, Any]:
    """A page of a list of Gadgets."""
    metadata = {"resourceVersion": version, **({"continue": token} if token else {})}
    return 200, {"apiVersion": "example.io/v1", "kind": "GadgetList", "metadata": metadata, "items": list(items)}


def named(name: str, **more: Any) -> dict[str, Any]:
    """What a server lists: built-in kinds come without apiVersion and kind."""
    return {"metadata": {"name": name, "managedFields": [{}]}, **more}


async def test_pages_are_put_together_and_each_object_says_what_it_is() -> None:
    """The kind comes from the list where the object does not say it itself."""
    pages = Pages(page(named("a"), token="t"), page(named("b", kind="Other")))
    found, version = await AsyncClient(pages).snapshot("example.io/v1", "Gadget")
    assert [(obj["apiVersion"], obj["kind"], obj["metadata"]["name"]) for obj in found] == [
        ("example.io/v1", "Gadget", "a"), ("example.io/v1", "Other", "b"),
    ]  # fmt: skip
    assert version == "7"
    assert [asked.get("continue") for asked in pages.asked[1:]] == [None, "t"]


async def test_of_each_object_is_kept_what_the_caller_makes_of_it() -> None:
    """The function sees whole objects, one by one."""
    pages = Pages(page(named("a"), token="t"), page(named("b")))
    found, _ = await AsyncClient(pages).snapshot("example.io/v1", "Gadget", each=lambda obj: (obj["kind"], obj["metadata"]["name"]))
    assert found == [("Gadget", "a"), ("Gadget", "b")]


async def test_a_list_that_expires_on_the_way_starts_again() -> None:
    """What had come is thrown away: it may be of another time."""
    gone = (410, {"kind": "Status", "reason": "Expired", "message": "too old"})
    found, version = await AsyncClient(Pages(page(named("a"), token="t"), gone, page(named("b"), version="9"))).snapshot(
        "example.io/v1", "Gadget"
    )
    assert ([obj["metadata"]["name"] for obj in found], version) == (["b"], "9")


@pytest.mark.parametrize("items", [None, []], ids=["null", "empty"])
async def test_no_objects_are_an_empty_list(items: Any) -> None:
    """Whichever way the server says it."""
    body = {"apiVersion": "v1", "kind": "List", "metadata": {"resourceVersion": "3"}, "items": items}
    assert await AsyncClient(Pages((200, body))).snapshot("example.io/v1", "Gadget") == ([], "3")


async def test_a_refusal_is_raised() -> None:
    """With the server's words."""
    refused = (404, {"kind": "Status", "reason": "NotFound", "message": "the server could not find the requested resource"})
    with pytest.raises(NotFound, match="could not find the requested resource"):
        await AsyncClient(Pages(refused)).snapshot("example.io/v1", "Gadget")
