"""Pruning, defaulting and validation share what does not change, and skip what an update shares with the old object."""

from __future__ import annotations

from typing import Any

import pytest

from fiferail.objects.schema import coerce, default, listtypes, parse, prune, validate
from fiferail.objects.tree import replaced, thaw

SCHEMA = parse.parse_schema(
    {
        "type": "object",
        "properties": {
            "spec": {
                "type": "object",
                "properties": {
                    "size": {"type": "integer", "maximum": 5},
                    "mode": {"type": "string", "default": "fast"},
                    "names": {"type": "array", "items": {"type": "string", "maxLength": 2}},
                },
            },
            "status": {
                "type": "object",
                "properties": {
                    "conditions": {
                        "type": "array",
                        "x-kubernetes-list-type": "map",
                        "x-kubernetes-list-map-keys": ["type"],
                        "items": {
                            "type": "object",
                            "required": ["type"],
                            "properties": {"type": {"type": "string"}, "n": {"type": "integer"}},
                        },
                    }
                },
            },
        },
    }
)


def texts(errors: list[Any]) -> list[str]:
    """Errors as the server prints them."""
    return [error.full for error in errors]


def test_a_tree_with_nothing_to_drop_or_fill_comes_back_itself() -> None:
    """No copy is made where nothing changes."""
    tree = {"spec": {"size": 1, "mode": "slow", "names": ["a"]}, "status": {"conditions": [{"type": "A"}]}}
    pruned, dropped = prune.prune(tree, SCHEMA)
    assert pruned is tree
    assert dropped == []
    assert default.default(tree, SCHEMA) is tree
    assert default.drop_nulls(tree, SCHEMA) is tree


def test_dropped_paths_are_printed_as_the_server_prints_them() -> None:
    """Members with dots, entries with indices, sorted."""
    tree = {"spec": {"zip": 1, "names": [{"x": 1}]}, "status": {"conditions": [{"type": "A", "extra": {}}]}, "top": 1}
    pruned, dropped = prune.prune(tree, SCHEMA)
    assert dropped == ["spec.names[0].x", "spec.zip", "status.conditions[0].extra", "top"]
    assert pruned == {"spec": {"names": [{}]}, "status": {"conditions": [{"type": "A"}]}}


def test_pruning_and_defaulting_share_the_untouched_parts() -> None:
    """A change in spec leaves status the same object."""
    tree = {"spec": {"zip": 1}, "status": {"conditions": [{"type": "A"}]}}
    pruned, _ = prune.prune(tree, SCHEMA)
    filled = default.default(pruned, SCHEMA)
    assert filled["spec"] == {"mode": "fast"}
    assert filled["status"] is tree["status"]


@pytest.mark.parametrize("kept", ["apiVersion", "kind", "metadata"])
def test_a_resource_keeps_its_meta_fields_and_a_plain_value_does_not(kept: str) -> None:
    """Only at the root of a resource do apiVersion, kind and metadata stay unnamed."""
    assert prune.prune({kept: "x"}, SCHEMA) == ({kept: "x"}, [])
    assert prune.prune({kept: "x"}, SCHEMA, root=False)[0] == {}


def test_an_unchanged_flaw_is_forgiven_and_a_changed_one_is_not() -> None:
    """Ratcheting: what an update leaves alone may stay wrong; where it changes, it is judged."""
    old = {"spec": {"size": 9, "mode": "a"}}
    assert validate.validate({"spec": {"size": 9, "mode": "b"}}, SCHEMA, old) == []
    assert texts(validate.validate({"spec": {"size": 8, "mode": "b"}}, SCHEMA, old)) == [
        "spec.size: Invalid value: 8: spec.size in body should be less than or equal to 5"
    ]


def test_entries_of_plain_lists_are_judged_again_when_the_list_changes() -> None:
    """An atomic list has no ancestors for its entries, so an old flaw in it counts once the list differs."""
    old = {"spec": {"names": ["long"]}}
    assert validate.validate({"spec": {"names": ["long"]}}, SCHEMA, old) == []
    changed = {"spec": {"names": ["long", "b"]}}
    assert texts(validate.validate(changed, SCHEMA, old)) == ["spec.names[0]: Too long: may not be more than 2 bytes"]


def test_entries_of_map_lists_descend_by_key() -> None:
    """An entry of a map list is forgiven by its key, wherever it has moved."""
    old = {"status": {"conditions": [{"type": "A", "n": "bad"}, {"type": "B", "n": 1}]}}
    new = {"status": {"conditions": [{"type": "B", "n": 2}, {"type": "A", "n": "bad"}]}}
    assert validate.validate(new, SCHEMA, old) == []


def test_the_status_alone_is_worded_relative_to_itself() -> None:
    """For the status subresource the field has the prefix and the text has not."""
    status = SCHEMA.properties["status"]
    assert texts(validate.validate({"conditions": 5}, status, {}, at="status")) == [
        'status.conditions: Invalid value: "integer": conditions in body must be of type array: "integer"'
    ]


def test_an_old_duplicate_switches_the_check_off_for_every_list() -> None:
    """Duplicates count only when the old object had none anywhere."""
    twice = {"status": {"conditions": [{"type": "A"}, {"type": "A"}]}}
    once = {"status": {"conditions": [{"type": "A"}]}}
    assert texts(listtypes.duplicates_introduced(twice, once, SCHEMA)) == ['status.conditions[1]: Duplicate value: {"type":"A"}']
    assert listtypes.duplicates_introduced({**twice, "spec": {}}, twice, SCHEMA) == []


DECODED = parse.parse_schema(
    {
        "type": "object",
        "properties": {
            "metadata": {"type": "object", "properties": {"name": {"type": "string"}}},
            "spec": {
                "type": "object",
                "properties": {
                    "text": {"type": "string"},
                    "maybe": {"type": "string", "nullable": True},
                    "any": {"type": "object", "x-kubernetes-preserve-unknown-fields": True, "properties": {"known": {"type": "string"}}},
                    "map": {"type": "object", "additionalProperties": {"type": "string"}},
                    "list": {
                        "type": "array",
                        "items": {"type": "object", "properties": {"n": {"type": "string"}, "d": {"type": "string", "default": "x"}}},
                    },
                },
            },
        },
    }
)
CLEAN = {
    "apiVersion": "x.io/v1",
    "kind": "X",
    "metadata": {"name": "x"},
    "spec": {
        "text": "t", "maybe": None, "any": {"free": None}, "map": {"a": "b"}, "list": [{"n": str(n), "d": "y"} for n in range(4)],
    },
}  # fmt: skip
ENTRIES = CLEAN["spec"]["list"]  # type: ignore[index]
CHANGES: dict[str, tuple[list[str | int], Any]] = {
    "a null where none may stand": (["spec", "text"], None),
    "a null that may stand": (["spec", "maybe"], None),
    "a null in a map": (["spec", "map", "c"], None),
    "a null among preserved fields": (["spec", "any"], {"free": None, "known": None}),
    "a null in an entry": (["spec", "list", 1], {"n": None}),
    "metadata without its name": (["metadata"], {"name": None}),
    "no metadata": (["metadata"], None),
    "an unknown member": (["spec", "other"], {"x": 1}),
    "an unknown member of an entry": (["spec", "list", 2], {**ENTRIES[2], "other": 1}),
    "entries that moved up": (["spec", "list"], [*ENTRIES[1:], {"n": None, "z": 1}]),
    "entries that changed places": (["spec", "list"], [ENTRIES[1], ENTRIES[0], {"z": 1}, ENTRIES[3]]),
    "no entries": (["spec", "list"], []),
}


@pytest.mark.parametrize(("location", "value"), CHANGES.values(), ids=CHANGES)
def test_a_change_is_read_as_the_whole_object_would_be(location: list[str | int], value: Any) -> None:
    """What is shared with an object that was read before may be skipped, and that shows nowhere."""
    changed = replaced(CLEAN, location, value)
    whole, unknown = coerce.decode(thaw(changed), DECODED)
    part, unknown_too = coerce.decode(changed, DECODED, clean=CLEAN)
    assert (part, unknown_too) == (whole, unknown)
    assert default.drop_nulls(part, DECODED) is part
    assert default.default(part, DECODED, clean=CLEAN) == default.default(whole, DECODED)
