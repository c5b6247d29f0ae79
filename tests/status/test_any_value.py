"""No value can make a write fail for good: any JSON is written, read, tested and written over, on both servers."""

from __future__ import annotations

import itertools
from typing import Any

from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

import fiferail
from fiferail.testing.server import ApiServer

_names = itertools.count()
FREE = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
CRD = {
    "apiVersion": "apiextensions.k8s.io/v1",
    "kind": "CustomResourceDefinition",
    "metadata": {"name": "bags.values.example.io"},
    "spec": {
        "group": "values.example.io",
        "scope": "Namespaced",
        "names": {"plural": "bags", "singular": "bag", "kind": "Bag", "listKind": "BagList"},
        "versions": [
            {
                "name": "v1", "served": True, "storage": True, "subresources": {"status": {}},
                "schema": {"openAPIV3Schema": {"type": "object", "properties": {"status": FREE}}},
            }
        ],
    },
}  # fmt: skip

ODD = "<&>äé\u2028\u2029\u0000\u007f\ufffd\U0001f600~/.[]\"\\\n "
TEXT = st.text(max_size=12) | st.text(alphabet=ODD, max_size=6)
NUMBERS = st.integers() | st.integers(-(2**70), 2**70) | st.floats(allow_nan=False, allow_infinity=False)
SCALARS = st.none() | st.booleans() | NUMBERS | TEXT
VALUES = st.recursive(SCALARS, lambda inner: st.lists(inner, max_size=4) | st.dictionaries(TEXT, inner, max_size=4), max_leaves=12)


def bag(server: ApiServer) -> Any:
    """A fresh object that takes anything as its status."""
    server.apply(CRD)
    metadata = {"name": f"b{next(_names)}", "namespace": "default"}
    return server.client.create({"apiVersion": "values.example.io/v1", "kind": "Bag", "metadata": metadata})


def live(server: ApiServer, obj: Any) -> Any:
    """The object as it is now."""
    return server.client.get("values.example.io/v1", "Bag", obj["metadata"]["name"], "default")


@settings(max_examples=60, deadline=None, derandomize=True, suppress_health_check=list(HealthCheck))
@given(first=VALUES, second=VALUES, name=TEXT)
@example(first=[None, {"a": [None]}], second={"a": None}, name="-")
@example(first=1e21, second=100000000000000000000, name="0")
@example(first={"": {"": {}}, "a": []}, second={"": {"": []}, "a": {}}, name="")
@example(first=-0.0, second=1e-7, name="~1")
@example(first=5e-324, second=1.7976931348623157e308, name="a/b~c.d[e]")
@example(first={"deep": [[[[[[[[{"x": [1.5, True, None]}]]]]]]]]}, second=None, name="conditions")
@example(first=[{"type": "a"}, {"type": "b"}], second=[{"type": "b"}, {"type": "c", "x": None}], name="conditions")
@example(first=[{"type": "a"}, {"type": "a"}], second=[{"type": None}], name="conditions")
def test_any_value_is_written_read_and_written_over(server: ApiServer, first: Any, second: Any, name: str) -> None:
    """Each write is one request: the tests in it hold, in the bytes that the server compares."""
    obj = bag(server)
    one = fiferail.StatusWriter(server.client, field_manager="one")
    two = fiferail.StatusWriter(server.client, field_manager="two")

    outcome = one.mutate(obj, lambda status: status.update({name: first, "beside": 1}))
    assert (str(outcome.kind), outcome.requests) == ("applied", 1)
    again = one.mutate(live(server, obj), lambda status: status.update({name: first, "beside": 1}))
    assert str(again.kind) == "unchanged"

    stored = live(server, obj)
    with two.session(stored) as status:
        status.plain()  # everything is read, so everything is tested
        status["beside"] = 2
    assert status.outcome is not None
    assert (str(status.outcome.kind), status.outcome.requests) == ("applied", 1)

    over = two.mutate(live(server, obj), lambda status: status.update({name: second}))
    assert str(over.kind) in ("applied", "unchanged")
    assert over.requests <= 1
    assert str(two.mutate(live(server, obj), lambda status: status.update({name: second})).kind) == "unchanged"

    gone = one.mutate(live(server, obj), lambda status: status.clear())
    assert (str(gone.kind), live(server, obj).get("status", {})) == ("applied", {})
