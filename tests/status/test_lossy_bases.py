"""An object that came through a typed model: what the model does not know survives every edit of a list, or the edit is refused."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import pydantic
import pytest

from fiferail import StatusWriter
from fiferail.errors import FiferailError
from fiferail.status.lossy import regrown
from fiferail.status.shapes import Shapes
from fiferail.testing.server import ApiServer
from fiferail.wire import Request

#: What the server has, and what a model that knows `name` and `n` makes of it.
REAL: list[dict[str, Any]] = [{"name": name, "n": 1, "unknown": f"of {name}"} for name in "abc"]
LOSSY: list[dict[str, Any]] = [{"name": name, "n": 1} for name in "abc"]
A, B, C = REAL
KEYED = Shapes().declared({"items": ("name",)})
UNKEYED = Shapes()

EDITS: dict[str, tuple[Callable[[list[Any]], list[Any]], list[Any]]] = {
    "append": (lambda old: [*old, {"name": "d", "n": 1}], [A, B, C, {"name": "d", "n": 1}]),
    "remove the first": (lambda old: old[1:], [B, C]),
    "remove the middle": (lambda old: [old[0], old[2]], [A, C]),
    "reorder": (lambda old: [old[2], old[0], old[1]], [C, A, B]),
    "edit one": (lambda old: [old[0], {**old[1], "n": 2}, old[2]], [A, {**B, "n": 2}, C]),
    "edit one after removing another": (lambda old: [{**old[1], "n": 2}, old[2]], [{**B, "n": 2}, C]),
    "replace all": (lambda old: [{"name": "x", "n": 1}, {"name": "y", "n": 1}], [{"name": "x", "n": 1}, {"name": "y", "n": 1}]),
}
REFUSED = {"edit one": 1, "edit one after removing another": 0, "replace all": 0}


def grown(lossy: Any, staged: Any, real: Any, shapes: Shapes) -> Any:
    """The staged list on the real object."""
    before, after, live = ({"status": {"items": entries}} for entries in (lossy, staged, real))
    return regrown(before, after, live, shapes)["status"]["items"]


@pytest.mark.parametrize("copied", [False, True], ids=["the same entries", "equal entries"])
@pytest.mark.parametrize("edit", EDITS)
def test_entries_of_a_keyed_list_are_paired_by_key(edit: str, copied: bool) -> None:
    """No unknown field moves to another entry, and none is lost, whatever was done to the list."""
    change, expected = EDITS[edit]
    staged = change([dict(entry) for entry in LOSSY] if copied else LOSSY)
    assert grown(LOSSY, staged, REAL, KEYED) == expected


@pytest.mark.parametrize("copied", [False, True], ids=["the same entries", "equal entries"])
@pytest.mark.parametrize("edit", EDITS)
def test_entries_of_a_list_without_keys_are_recognised_or_the_edit_is_refused(edit: str, copied: bool) -> None:
    """Entries that were kept are found by their content; an edited one has no certain counterpart."""
    change, expected = EDITS[edit]
    staged = change([dict(entry) for entry in LOSSY] if copied else LOSSY)
    if edit not in REFUSED:
        assert grown(LOSSY, staged, REAL, UNKEYED) == expected
        return
    with pytest.raises(FiferailError) as refused:
        grown(LOSSY, staged, REAL, UNKEYED)
    assert str(refused.value) == (
        "status.items was edited on an object that came through a typed model, and "
        f"status.items[{REFUSED[edit]}].unknown is not known to the model. "
        "The entries of the list have no key to pair them by, so the write could remove what the model does not know; nothing was written. "
        'Read the object as a dict, or declare the key on the writer, keys={"items": (...)}'
    )


@pytest.mark.parametrize("edit", EDITS)
def test_a_list_of_which_the_model_knows_everything_may_be_edited(edit: str) -> None:
    """Nothing is at stake without unknown fields, with or without keys."""
    change, _ = EDITS[edit]
    assert grown(LOSSY, change(LOSSY), LOSSY, UNKEYED) == change(LOSSY)


def test_the_form_of_what_was_not_changed_stays() -> None:
    """An entry that is edited keeps the server's form of a time that the model renders otherwise."""
    lossy, real = [{"at": "2026-01-01T00:00:00.000000Z", "n": 1}], [{"at": "2026-01-01T00:00:00Z", "n": 1}]
    assert grown(lossy, [{**lossy[0], "n": 2}], real, UNKEYED) == [{"at": "2026-01-01T00:00:00Z", "n": 2}]


def test_a_null_is_no_unknown_field() -> None:
    """Models leave null members out; the entry may be edited, and keeps its null."""
    assert grown([{"n": 1}], [{"n": 2}], [{"n": 1, "at": None}], UNKEYED) == [{"n": 2, "at": None}]


def test_entries_that_only_the_server_can_tell_apart() -> None:
    """Which of two was removed is known by identity; a copy of the list does not say, and is refused."""
    lossy, real = [{"n": 1}, {"n": 1}], [{"n": 1, "unknown": "first"}, {"n": 1, "unknown": "second"}]
    assert grown(lossy, lossy[1:], real, UNKEYED) == [real[1]]
    assert grown(lossy, [{"n": 1}, {"n": 1}, {"n": 2}], real, UNKEYED) == [*real, {"n": 2}]
    with pytest.raises(FiferailError, match="entries 0 and 1 differ on the server and not in the model"):
        grown(lossy, [{"n": 1}], real, UNKEYED)


def test_a_model_that_drops_entries_is_refused_without_keys() -> None:
    """Positions no longer correspond; with a key the entries that the model dropped stay."""
    with pytest.raises(FiferailError, match="it has 3 entries on the server and 2 in the model"):
        grown(LOSSY[1:], [LOSSY[1]], REAL, UNKEYED)
    assert grown(LOSSY[1:], [LOSSY[1]], REAL, KEYED) == [B, A]


def test_what_the_model_made_up_is_not_written() -> None:
    """A default that the server does not have stays away, as long as nobody changes it."""
    lossy, real = {"status": {"made": 0, "n": 1}}, {"status": {"n": 1}}
    assert regrown(lossy, {"status": {"made": 0, "n": 2}}, real, UNKEYED) == {"status": {"n": 2}}
    assert regrown(lossy, {"status": {"made": 5, "n": 1}}, real, UNKEYED) == {"status": {"made": 5, "n": 1}}


# -- on the servers


class Item(pydantic.BaseModel):
    """An entry, without what the model does not know."""

    name: str
    n: int = 0


class ItemsStatus(pydantic.BaseModel):
    """Lists of entries."""

    items: list[Item] = []
    plain: list[Item] = []


class Stock(pydantic.BaseModel):
    """The whole object, as a typed client would give it."""

    apiVersion: str
    kind: str
    metadata: dict[str, Any]
    status: ItemsStatus = ItemsStatus()


def _crd() -> Any:
    members = {"name": {"type": "string"}, "unknown": {"type": "string"}, "n": {"type": "integer"}}
    entry = {"type": "object", "required": ["name"], "properties": members}
    plain = {"type": "array", "items": entry}
    items = {**plain, "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["name"]}
    status = {"type": "object", "properties": {"items": items, "plain": plain, "phase": {"type": "string"}}}
    schema = {"openAPIV3Schema": {"type": "object", "properties": {"status": status}}}
    version = {"name": "v1", "served": True, "storage": True, "subresources": {"status": {}}, "schema": schema}
    names = {"plural": "stocks", "singular": "stock", "kind": "Stock"}
    spec = {"group": "lossy.example.io", "scope": "Namespaced", "names": names, "versions": [version]}
    return {
        "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition", "metadata": {"name": "stocks.lossy.example.io"},
        "spec": spec,
    }  # fmt: skip


def _await_schema(server: ApiServer) -> None:
    """The real server publishes the schema of a new CRD some time after it serves it."""
    asked = Request(method="GET", path="/openapi/v3/apis/lossy.example.io/v1", headers={"accept": "application/json"})
    deadline = time.monotonic() + 30
    while b"x-kubernetes-list-map-keys" not in server.client.transport.send(asked).body:
        assert time.monotonic() < deadline, "the schema of stocks.lossy.example.io was not published"


@pytest.fixture
def stock(server: ApiServer) -> Stock:
    """A typed object whose lists hold more on the server."""
    obj = {"apiVersion": "lossy.example.io/v1", "kind": "Stock", "metadata": {"name": "s", "namespace": "default"}}
    server.apply(_crd(), obj)
    _await_schema(server)
    made = server.get("lossy.example.io/v1", "Stock", "s")
    server.client.patch(made, {"status": {"items": REAL, "plain": REAL}}, subresource="status")
    return Stock.model_validate(server.get("lossy.example.io/v1", "Stock", "s"))


@pytest.mark.parametrize("edit", EDITS)
def test_edits_of_a_list_that_the_schema_keys(server: ApiServer, stock: Stock, edit: str) -> None:
    """The writer asks the schema for the key where it needs one, and every unknown field stays with its entry."""
    change, expected = EDITS[edit]

    def decide(status: Any) -> None:
        status["items"] = change(status["items"].plain())

    StatusWriter(server.client, field_manager="mine").mutate(stock, decide)
    stored = server.get("lossy.example.io/v1", "Stock", "s")["status"]["items"]
    assert sorted(stored, key=lambda entry: str(entry["name"])) == sorted(expected, key=lambda entry: str(entry["name"]))


@pytest.mark.parametrize("edit", EDITS)
def test_edits_of_a_list_without_keys(server: ApiServer, stock: Stock, edit: str) -> None:
    """What is refused leaves the list as it was; what is written keeps every unknown field with its entry."""
    change, expected = EDITS[edit]
    writer = StatusWriter(server.client, field_manager="mine")

    def decide(status: Any) -> None:
        status["plain"] = change(status["plain"].plain())

    if edit in REFUSED:
        with pytest.raises(FiferailError, match="status.plain was edited on an object that came through a typed model"):
            writer.mutate(stock, decide)
        expected = REAL
    else:
        writer.mutate(stock, decide)
    assert server.get("lossy.example.io/v1", "Stock", "s")["status"]["plain"] == expected


def test_declared_keys_allow_the_edit(server: ApiServer, stock: Stock) -> None:
    """What the error says to do works: `keys=` on the writer."""
    change, expected = EDITS["edit one"]

    def decide(status: Any) -> None:
        status["plain"] = change(status["plain"].plain())

    StatusWriter(server.client, field_manager="mine", keys={"plain": ("name",)}).mutate(stock, decide)
    assert server.get("lossy.example.io/v1", "Stock", "s")["status"]["plain"] == expected
