"""Histories of one object: operations -> object, owners, error. Each one was replayed on a real kube-apiserver 1.36.3.

An operation is (verb, manager, body); the body is what stands in spec and status. `status:` before a manager's name sends it
through the status subresource, `!` after a verb forces. Owners are written as `manager operation [subresource]` -> paths.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import pytest

from fiferail.objects import mergepatch
from fiferail.objects.apply.managed import NOBODY, Managed
from fiferail.objects.apply.operations import ApplyConflict, ApplyFailed, applied, updated
from fiferail.objects.fieldset import FieldSet
from fiferail.objects.paths import server_text
from fiferail.objects.schema.default import default
from fiferail.objects.schema.parse import parse_schema
from fiferail.objects.tree import ABSENT

KEYED = {
    "type": "array",
    "x-kubernetes-list-type": "map",
    "x-kubernetes-list-map-keys": ["type"],
    "items": {
        "type": "object",
        "required": ["type"],
        "properties": {"type": {"type": "string"}, "status": {"type": "string"}, "tags": {"type": "array", "items": {"type": "string"}}},
    },
}
PORTS = {
    "type": "array",
    "x-kubernetes-list-type": "map",
    "x-kubernetes-list-map-keys": ["name", "port"],
    "items": {
        "type": "object",
        "required": ["name"],
        "properties": {"name": {"type": "string"}, "port": {"type": "integer", "default": 80}, "note": {"type": "string"}},
    },
}
SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {
        "spec": {
            "type": "object",
            "properties": {
                "a": {"type": "string"},
                "b": {"type": "string"},
                "n": {"type": "integer"},
                "flag": {"type": "boolean"},
                "object": {"type": "object", "properties": {"x": {"type": "string"}, "y": {"type": "string"}}},
                "map": {"type": "object", "additionalProperties": {"type": "string"}},
                "atomic": {"type": "object", "additionalProperties": {"type": "string"}, "x-kubernetes-map-type": "atomic"},
                "list": {"type": "array", "items": {"type": "string"}},
                "set": {"type": "array", "items": {"type": "string"}, "x-kubernetes-list-type": "set"},
                "numbers": {"type": "array", "items": {"type": "integer"}, "x-kubernetes-list-type": "set"},
                "keyed": KEYED,
                "ports": PORTS,
                "any": {"x-kubernetes-preserve-unknown-fields": True, "nullable": True},
                "either": {"x-kubernetes-int-or-string": True},
            },
        },
        "status": {"type": "object", "properties": {"phase": {"type": "string"}, "conditions": KEYED}},
    },
}


class Case(NamedTuple):
    """What is done, and what there is then. `error` is what the last operation is answered with."""

    steps: list[tuple[str, str, dict[str, Any]]]
    spec: Any = None
    status: Any = None
    owners: dict[str, str] | None = None
    error: str = ""


A = {"type": "A", "status": "True"}
B = {"type": "B", "status": "True"}

CASES: dict[str, Case] = {
    "create owns all that was sent, containers too": Case(
        [("create", "m1", {"spec": {"a": "1", "map": {"k": "v"}, "list": ["x"]}})],
        spec={"a": "1", "map": {"k": "v"}, "list": ["x"]},
        owners={"m1 Update": ".spec .spec.a .spec.list .spec.map .spec.map.k"},
    ),
    "apply owns what it names, not the objects on the way": Case(
        [("apply", "m1", {"spec": {"a": "1", "object": {"x": "1"}, "map": {"k": "v"}}})],
        spec={"a": "1", "object": {"x": "1"}, "map": {"k": "v"}},
        owners={"m1 Apply": ".spec.a .spec.map.k .spec.object.x"},
    ),
    "a change moves ownership to who made it": Case(
        [("create", "m1", {"spec": {"a": "1", "b": "1"}}), ("merge", "m2", {"spec": {"a": "2"}})],
        spec={"a": "2", "b": "1"},
        owners={"m1 Update": ".spec .spec.b", "m2 Update": ".spec.a"},
    ),
    "the same value again owns nothing": Case(
        [("create", "m1", {"spec": {"a": "1"}}), ("merge", "m2", {"spec": {"a": "1"}})],
        spec={"a": "1"},
        owners={"m1 Update": ".spec .spec.a"},
    ),
    "a removed field has no owner, an entry with nothing left goes": Case(
        [("create", "m1", {"spec": {"a": "1"}}), ("merge", "m2", {"spec": {"b": "1"}}), ("merge", "m3", {"spec": {"b": None}})],
        spec={"a": "1"},
        owners={"m1 Update": ".spec .spec.a"},
    ),
    "main and status are owned apart": Case(
        [("create", "m1", {"spec": {"a": "1"}}), ("merge", "status:m1", {"spec": {"a": "2"}, "status": {"phase": "x"}})],
        spec={"a": "1"},
        status={"phase": "x"},
        owners={"m1 Update": ".spec .spec.a", "m1 Update status": ".status .status.phase"},
    ),
    "status sent to the main resource is not owned": Case(
        [("apply", "m1", {"spec": {"a": "1"}, "status": {"phase": "x"}})],
        spec={"a": "1"},
        owners={"m1 Apply": ".spec.a"},
    ),
    "conflict with an applier": Case(
        [("apply", "m1", {"spec": {"a": "1"}}), ("apply", "m2", {"spec": {"a": "2"}})],
        spec={"a": "1"},
        owners={"m1 Apply": ".spec.a"},
        error='Apply failed with 1 conflict: conflict with "m1": .spec.a',
    ),
    "conflict with an updater of the status": Case(
        [
            ("create", "m1", {"spec": {"a": "1"}}),
            ("merge", "status:m1", {"status": {"conditions": [A]}}),
            ("apply", "status:m2", {"status": {"conditions": [{"type": "A", "status": "False"}]}}),
        ],
        spec={"a": "1"},
        status={"conditions": [A]},
        owners={
            "m1 Update": ".spec .spec.a",
            "m1 Update status": (
                '.status .status.conditions .status.conditions[type="A"] '
                '.status.conditions[type="A"].status .status.conditions[type="A"].type'
            ),
        },
        error=(
            'Apply failed with 1 conflict: conflict with "m1" with subresource "status" using x.io/v1: .status.conditions[type="A"].status'
        ),
    ),
    "several conflicts, sorted by owner": Case(
        [
            ("apply", "m2", {"spec": {"a": "1", "b": "1"}}),
            ("merge", "m1", {"spec": {"n": 1}}),
            ("apply", "m3", {"spec": {"a": "2", "b": "2", "n": 2}}),
        ],
        spec={"a": "1", "b": "1", "n": 1},
        owners={"m2 Apply": ".spec.a .spec.b", "m1 Update": ".spec.n"},
        error=('Apply failed with 3 conflicts: conflicts with "m1" using x.io/v1:\n- .spec.n\nconflicts with "m2":\n- .spec.a\n- .spec.b'),
    ),
    "force takes the field over": Case(
        [("apply", "m1", {"spec": {"a": "1", "b": "1"}}), ("apply!", "m2", {"spec": {"a": "2"}})],
        spec={"a": "2", "b": "1"},
        owners={"m1 Apply": ".spec.b", "m2 Apply": ".spec.a"},
    ),
    "the same value is owned together": Case(
        [("apply", "m1", {"spec": {"a": "1"}}), ("apply", "m2", {"spec": {"a": "1"}})],
        spec={"a": "1"},
        owners={"m1 Apply": ".spec.a", "m2 Apply": ".spec.a"},
    ),
    "who owns together may leave without removing": Case(
        [
            ("apply", "m1", {"spec": {"a": "1", "b": "1"}}),
            ("apply", "m2", {"spec": {"a": "1"}}),
            ("apply", "m1", {"spec": {"b": "1"}}),
        ],
        spec={"a": "1", "b": "1"},
        owners={"m1 Apply": ".spec.b", "m2 Apply": ".spec.a"},
    ),
    "what is left out and owned by nobody else goes": Case(
        [("apply", "m1", {"spec": {"a": "1", "b": "1"}}), ("apply", "m1", {"spec": {"b": "1"}})],
        spec={"b": "1"},
        owners={"m1 Apply": ".spec.b"},
    ),
    "what another changed meanwhile stays": Case(
        [
            ("apply", "m1", {"spec": {"a": "1", "b": "1"}}),
            ("merge", "m2", {"spec": {"a": "2"}}),
            ("apply", "m1", {"spec": {"b": "1"}}),
        ],
        spec={"a": "2", "b": "1"},
        owners={"m1 Apply": ".spec.b", "m2 Update": ".spec.a"},
    ),
    "an object whose last member is left out goes too": Case(
        [("apply", "m1", {"spec": {"a": "1", "object": {"x": "1"}}}), ("apply", "m1", {"spec": {"a": "1"}})],
        spec={"a": "1"},
        owners={"m1 Apply": ".spec.a"},
    ),
    "an object stays for another's member": Case(
        [
            ("apply", "m1", {"spec": {"a": "1", "object": {"x": "1"}}}),
            ("merge", "m2", {"spec": {"object": {"y": "2"}}}),
            ("apply", "m1", {"spec": {"a": "1"}}),
        ],
        spec={"a": "1", "object": {"y": "2"}},
        owners={"m1 Apply": ".spec.a", "m2 Update": ".spec.object.y"},
    ),
    "an atomic map is one value": Case(
        [("apply", "m1", {"spec": {"atomic": {"k": "1"}}}), ("apply", "m2", {"spec": {"atomic": {"l": "1"}}})],
        spec={"atomic": {"k": "1"}},
        owners={"m1 Apply": ".spec.atomic"},
        error='Apply failed with 1 conflict: conflict with "m1": .spec.atomic',
    ),
    "a map is merged by member": Case(
        [("apply", "m1", {"spec": {"map": {"k": "1"}}}), ("apply", "m2", {"spec": {"map": {"l": "1"}}})],
        spec={"map": {"k": "1", "l": "1"}},
        owners={"m1 Apply": ".spec.map.k", "m2 Apply": ".spec.map.l"},
    ),
    "a list without a type is one value": Case(
        [("apply", "m1", {"spec": {"list": ["a"]}}), ("apply!", "m2", {"spec": {"list": ["b"]}})],
        spec={"list": ["b"]},
        owners={"m2 Apply": ".spec.list"},
    ),
    "a set is owned by member": Case(
        [
            ("apply", "m1", {"spec": {"set": ["a", "b"]}}),
            ("apply", "m2", {"spec": {"set": ["b", "c"]}}),
            ("apply", "m1", {"spec": {"set": ["a"]}}),
        ],
        spec={"set": ["a", "b", "c"]},
        owners={"m1 Apply": '.spec.set[="a"]', "m2 Apply": '.spec.set[="b"] .spec.set[="c"]'},
    ),
    "members of a set in the order of the applier, others after what they followed": Case(
        [("apply", "m1", {"spec": {"set": ["a", "b", "c", "d"]}}), ("apply", "m2", {"spec": {"set": ["d", "x", "b"]}})],
        spec={"set": ["a", "c", "d", "x", "b"]},
        owners={
            "m1 Apply": '.spec.set[="a"] .spec.set[="b"] .spec.set[="c"] .spec.set[="d"]',
            "m2 Apply": '.spec.set[="b"] .spec.set[="d"] .spec.set[="x"]',
        },
    ),
    "numbers in a set sort as numbers": Case(
        [("apply", "m1", {"spec": {"numbers": [10, 9, 100]}})],
        spec={"numbers": [10, 9, 100]},
        owners={"m1 Apply": ".spec.numbers[=9] .spec.numbers[=10] .spec.numbers[=100]"},
    ),
    "entries by key: each applier its own": Case(
        [("apply", "m1", {"spec": {"keyed": [A]}}), ("apply", "m2", {"spec": {"keyed": [B]}})],
        spec={"keyed": [A, B]},
        owners={
            "m1 Apply": '.spec.keyed[type="A"] .spec.keyed[type="A"].status .spec.keyed[type="A"].type',
            "m2 Apply": '.spec.keyed[type="B"] .spec.keyed[type="B"].status .spec.keyed[type="B"].type',
        },
    ),
    "an entry that is left out goes, the others stay": Case(
        [("apply", "m1", {"spec": {"keyed": [A]}}), ("apply", "m2", {"spec": {"keyed": [B]}}), ("apply", "m1", {"spec": {"a": "1"}})],
        spec={"a": "1", "keyed": [B]},
        owners={
            "m1 Apply": ".spec.a",
            "m2 Apply": '.spec.keyed[type="B"] .spec.keyed[type="B"].status .spec.keyed[type="B"].type',
        },
    ),
    "one field of an entry": Case(
        [("create", "m1", {"spec": {"keyed": [A, B]}}), ("merge", "m2", {"spec": {"keyed": [A, {**B, "status": "False"}]}})],
        spec={"keyed": [A, {**B, "status": "False"}]},
        owners={
            "m1 Update": (
                '.spec .spec.keyed .spec.keyed[type="A"] .spec.keyed[type="B"] .spec.keyed[type="A"].status '
                '.spec.keyed[type="A"].type .spec.keyed[type="B"].type'
            ),
            "m2 Update": '.spec.keyed[type="B"].status',
        },
    ),
    "order alone is no change": Case(
        [("create", "m1", {"spec": {"set": ["a", "b"]}}), ("merge", "m2", {"spec": {"set": ["b", "a"]}})],
        spec={"set": ["b", "a"]},
        owners={"m1 Update": '.spec .spec.set .spec.set[="a"] .spec.set[="b"]'},
    ),
    "a defaulted key is part of the key": Case(
        [
            ("apply", "m1", {"spec": {"ports": [{"name": "x"}]}}),
            ("apply", "m2", {"spec": {"ports": [{"name": "x", "port": 80, "note": "n"}]}}),
        ],
        spec={"ports": [{"name": "x", "port": 80, "note": "n"}]},
        owners={
            "m1 Apply": '.spec.ports[name="x",port=80] .spec.ports[name="x",port=80].name',
            "m2 Apply": (
                '.spec.ports[name="x",port=80] .spec.ports[name="x",port=80].name '
                '.spec.ports[name="x",port=80].note .spec.ports[name="x",port=80].port'
            ),
        },
    ),
    "a large number in a key is shown as the float it was stored as": Case(
        [
            ("apply", "m1", {"spec": {"ports": [{"name": "x", "port": 1234567, "note": "a"}]}}),
            ("apply", "m2", {"spec": {"ports": [{"name": "x", "port": 1234567, "note": "b"}]}}),
        ],
        spec={"ports": [{"name": "x", "port": 1234567, "note": "a"}]},
        owners={
            "m1 Apply": (
                '.spec.ports[name="x",port=1234567] .spec.ports[name="x",port=1234567].name '
                '.spec.ports[name="x",port=1234567].note .spec.ports[name="x",port=1234567].port'
            )
        },
        error='Apply failed with 1 conflict: conflict with "m1": .spec.ports[name="x",port=1.234567e+06].note',
    ),
    "and as it was sent where it was sent": Case(
        [("apply", "m1", {"spec": {"ports": [{"name": "x", "port": 1234567}, {"name": "x", "port": 1234567}]}})],
        error=(
            'failed to create typed patch object (/o; x.io/v1, Kind=Thing): .spec.ports: duplicate entries for key [name="x",port=1234567]'
        ),
    ),
    "an empty object is owned": Case(
        [("apply", "m1", {"spec": {"map": {}, "object": {}}})],
        spec={"map": {}, "object": {}},
        owners={"m1 Apply": ".spec.map .spec.object"},
    ),
    "an empty set is not": Case(
        [("apply", "m1", {"spec": {"set": [], "a": "1"}})],
        spec={"set": [], "a": "1"},
        owners={"m1 Apply": ".spec.a"},
    ),
    "any value: objects by member, lists as one": Case(
        [("apply", "m1", {"spec": {"any": {"x": {"y": 1}, "l": [1, {"z": 1}]}}})],
        spec={"any": {"x": {"y": 1}, "l": [1, {"z": 1}]}},
        owners={"m1 Apply": ".spec.any.l .spec.any.x .spec.any.x.y"},
    ),
    "any value turns from object to scalar": Case(
        [("create", "m1", {"spec": {"any": {"x": 1}}}), ("merge", "m2", {"spec": {"any": 5}})],
        spec={"any": 5},
        owners={"m1 Update": ".spec", "m2 Update": ".spec.any"},
    ),
    "a number and its text differ": Case(
        [("apply", "m1", {"spec": {"either": 1}}), ("apply", "m2", {"spec": {"either": "1"}})],
        spec={"either": 1},
        owners={"m1 Apply": ".spec.either"},
        error='Apply failed with 1 conflict: conflict with "m1": .spec.either',
    ),
    "an applier of nothing owns nothing": Case(
        [("apply", "m1", {"spec": {"a": "1"}}), ("apply", "m2", {})],
        spec={"a": "1"},
        owners={"m1 Apply": ".spec.a"},
    ),
    "replace removes what it leaves out, from everyone": Case(
        [("apply", "m1", {"spec": {"a": "1", "b": "1"}}), ("replace", "m2", {"spec": {"b": "2"}})],
        spec={"b": "2"},
        owners={"m2 Update": ".spec.b"},
    ),
    "undeclared field": Case(
        [("apply", "m1", {"spec": {"zz": 1}})],
        error="failed to create typed patch object (/o; x.io/v1, Kind=Thing): .spec.zz: field not declared in schema",
    ),
    "text where a number belongs": Case(
        [("apply", "m1", {"spec": {"n": "x"}})],
        error="failed to create typed patch object (/o; x.io/v1, Kind=Thing): .spec.n: expected numeric (int or float), got string",
    ),
    "number where text belongs": Case(
        [("apply", "m1", {"spec": {"a": 5}})],
        error=(
            "failed to create typed patch object (/o; x.io/v1, Kind=Thing): .spec.a: expected string, got &value.valueUnstructured{Value:5}"
        ),
    ),
    "text where a boolean belongs": Case(
        [("apply", "m1", {"spec": {"flag": "x"}})],
        error="failed to create typed patch object (/o; x.io/v1, Kind=Thing): .spec.flag: expected boolean, got &{x}",
    ),
    "object where any scalar belongs": Case(
        [("apply", "m1", {"spec": {"keyed": "x"}})],
        error="failed to create typed patch object (/o; x.io/v1, Kind=Thing): .spec.keyed: expected list, got &{x}",
    ),
    "list where an object belongs": Case(
        [("apply", "m1", {"spec": {"object": [1, "x", None, True]}})],
        error="failed to create typed patch object (/o; x.io/v1, Kind=Thing): .spec.object: expected map, got &{[1 x <nil> true]}",
    ),
    "a member twice in an applied set": Case(
        [("apply", "m1", {"spec": {"set": ["a", "a"]}})],
        error='failed to create typed patch object (/o; x.io/v1, Kind=Thing): .spec.set: duplicate entries for key [="a"]',
    ),
    "a key twice in an applied list": Case(
        [("apply", "m1", {"spec": {"keyed": [A, A]}})],
        error='failed to create typed patch object (/o; x.io/v1, Kind=Thing): .spec.keyed: duplicate entries for key [type="A"]',
    ),
    "an entry without its key": Case(
        [("apply", "m1", {"spec": {"keyed": [{"status": "x"}]}})],
        error=(
            "failed to create typed patch object (/o; x.io/v1, Kind=Thing): .spec.keyed: element 0: associative list with keys "
            'has an element that omits all key fields ["type"] (and doesn\'t have default values for any key fields)'
        ),
    ),
}


NO_STATUS, ONLY_STATUS = FieldSet.of(("status",)), FieldSet.of(("metadata",), ("spec",))


class Replay:
    """One object under the operations of a case: just enough of a server to call what is tested."""

    def __init__(self) -> None:
        self.live: Any = ABSENT
        self.managed = NOBODY
        self.clock = 0

    def do(self, verb: str, who: str, content: dict[str, Any]) -> None:
        """Carry out one operation; nothing changes when it is refused."""
        self.clock += 1
        subresource, _, manager = who.rpartition(":")
        body = {"apiVersion": "x.io/v1", "kind": "Thing", "metadata": {"name": "o"}, **content}
        context: dict[str, Any] = {
            "manager": manager,
            "api_version": "x.io/v1",
            "subresource": subresource,
            "time": f"2026-01-01T00:00:{self.clock:02d}Z",
            "schema": schema,
            "ignored": ONLY_STATUS if subresource else NO_STATUS,
        }
        if verb.startswith("apply"):
            after, managed = applied(self.live, self.managed, body, force=verb.endswith("!"), **context)
        else:
            after = body if verb in ("create", "replace") else mergepatch.apply(self.live, body)
            managed = updated(self.live, after, self.managed, **context)
        self._store(default(after, schema), managed, subresource)

    def _store(self, after: Any, managed: Managed, subresource: str) -> None:
        """What a strategy does: each subresource keeps the other's part."""
        live = {} if self.live is ABSENT else self.live
        mine, theirs = (after, live) if subresource else (live, after)
        stored = {**theirs, "metadata": {**theirs["metadata"], "uid": "u"}}
        stored.pop("status", None)
        self.live = {**stored, "status": mine["status"]} if "status" in mine else stored
        self.managed = managed


def owners(managed: Managed) -> dict[str, str]:
    """The entries as the cases write them."""
    return {
        " ".join(filter(None, (one.manager, one.operation, one.subresource))): " ".join(map(server_text, entry.fields))
        for one, entry in managed.entries.items()
    }


schema = parse_schema(SCHEMA)


@pytest.mark.parametrize("case", CASES.values(), ids=CASES.keys())
def test_history(case: Case) -> None:
    """Each history ends with the object, the owners and the answer that the real server gives."""
    replay = Replay()
    *before, last = case.steps
    for step in before:
        replay.do(*step)
    if case.error:
        with pytest.raises((ApplyConflict, ApplyFailed)) as refused:
            replay.do(*last)
        assert str(refused.value) == case.error
    else:
        replay.do(*last)
    live = {} if replay.live is ABSENT else replay.live
    assert live.get("spec") == case.spec
    assert live.get("status") == case.status
    assert owners(replay.managed) == (case.owners or {})


@pytest.mark.parametrize("case", CASES.values(), ids=CASES.keys())
def test_stored_text_reads_back(case: Case) -> None:
    """After every operation the entries survive their own encoding."""
    replay = Replay()
    for step in case.steps:
        try:
            replay.do(*step)
        except (ApplyConflict, ApplyFailed):
            continue
        encoded = replay.managed.encode()
        assert Managed.decode(encoded).encode() == encoded
        assert Managed.decode(encoded).entries == replay.managed.entries
