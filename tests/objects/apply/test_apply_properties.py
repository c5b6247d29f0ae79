"""What holds for every object and configuration, whatever the schema says of them."""

from __future__ import annotations

from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from fiferail.objects.apply.collect import collect
from fiferail.objects.apply.compare import compare
from fiferail.objects.apply.conform import conform
from fiferail.objects.apply.managed import NOBODY, Managed
from fiferail.objects.apply.merge import merge
from fiferail.objects.apply.operations import ApplyConflict, applied, updated
from fiferail.objects.apply.remove import remove
from fiferail.objects.apply.types import root_type
from fiferail.objects.apply.values import equal
from fiferail.objects.paths import find
from fiferail.objects.schema.parse import parse_schema
from fiferail.objects.tree import ABSENT, thaw

STRING = {"type": "string"}
SCHEMA = parse_schema(
    {
        "type": "object",
        "properties": {
            "spec": {
                "type": "object",
                "properties": {
                    "text": STRING,
                    "map": {"type": "object", "additionalProperties": STRING},
                    "atomic": {"type": "object", "additionalProperties": STRING, "x-kubernetes-map-type": "atomic"},
                    "set": {"type": "array", "items": STRING, "x-kubernetes-list-type": "set"},
                    "list": {"type": "array", "items": STRING},
                    "any": {"x-kubernetes-preserve-unknown-fields": True},
                    "keyed": {
                        "type": "array",
                        "x-kubernetes-list-type": "map",
                        "x-kubernetes-list-map-keys": ["type"],
                        "items": {"type": "object", "properties": {"type": STRING, "a": STRING, "b": STRING}},
                    },
                },
            }
        },
    }
)
TYPE = root_type(SCHEMA)

words = st.sampled_from(["u", "v", "w"])
maps = st.dictionaries(st.sampled_from(["k", "l", "m.n"]), words, max_size=3)
items = st.fixed_dictionaries({"type": st.sampled_from("ABC")}, optional={"a": words, "b": words})
anything = st.recursive(st.one_of(words, st.integers(0, 3), st.booleans()), lambda inner: st.one_of(st.lists(inner, max_size=2), maps))
specs = st.fixed_dictionaries(
    {},
    optional={
        "text": words,
        "map": maps,
        "atomic": maps,
        "set": st.lists(words, unique=True, max_size=3),
        "list": st.lists(words, max_size=3),
        "any": anything,
        "keyed": st.lists(items, unique_by=lambda item: item["type"], max_size=3),
    },
)
objects = specs.map(lambda spec: {"apiVersion": "x.io/v1", "kind": "Thing", "metadata": {"name": "o"}, "spec": spec})
repeatable = settings(derandomize=True, max_examples=150, deadline=None)


def do_apply(live: Any, managed: Managed, patch: Any, manager: str, **more: Any) -> tuple[Any, Managed]:
    return applied(live, managed, patch, manager=manager, api_version="x.io/v1", time="2026-01-01T00:00:00Z", schema=SCHEMA, **more)


@repeatable
@given(objects, objects)
def test_comparison_is_empty_for_the_same_and_disjoint_otherwise(old: Any, new: Any) -> None:
    """Nothing changed between an object and its copy; a path is removed, modified or added, never two of these."""
    assert not any(compare(old, thaw(old), TYPE))
    removed, modified, added, changed = compare(old, new, TYPE)
    assert not removed.intersection(added)
    assert not modified.intersection(added)
    assert not modified.intersection(removed)
    assert changed == modified.union(added)


@repeatable
@given(objects, objects)
def test_comparison_ignores_sharing(old: Any, new: Any) -> None:
    """Shared subtrees are a shortcut, not a difference in outcome."""
    mixed = {**new, "spec": {**new["spec"], **{name: old["spec"][name] for name in list(old["spec"])[:2]}}}
    assert compare(old, mixed, TYPE) == compare(thaw(old), thaw(mixed), TYPE)


@repeatable
@given(objects, objects)
def test_merge_says_what_the_configuration_says(live: Any, config: Any) -> None:
    """Everything claimed has the configuration's value after a merge, and merging again changes nothing."""
    merged = merge(live, config, TYPE)
    for path in collect(config, TYPE).leaves():
        said = find(config, path)
        assert said == {} or equal(find(merged, path), said)
    conform(merged, TYPE)
    assert equal(merge(merged, config, TYPE), merged)


@repeatable
@given(objects, objects)
def test_nothing_is_changed_in_place(live: Any, config: Any) -> None:
    """The arguments are the same after an apply as before it."""
    copies = thaw(live), thaw(config)
    do_apply(live, NOBODY, config, "m", force=True)
    assert (live, config) == copies


@repeatable
@given(objects, objects)
def test_apply_twice_is_apply_once(live: Any, config: Any) -> None:
    """The second apply of a configuration returns the object itself and the same owners."""
    after, managed = do_apply(live, NOBODY, config, "m", force=True)
    again, same = do_apply(after, managed, config, "m")
    assert again is after
    assert {one: entry.fields for one, entry in same.entries.items()} == {one: entry.fields for one, entry in managed.entries.items()}


@repeatable
@given(objects, objects, objects)
def test_two_appliers_never_touch_each_others_fields(live: Any, mine: Any, theirs: Any) -> None:
    """Without force an apply conflicts, or leaves every field of the other applier as that one applied it."""
    after, managed = do_apply(live, NOBODY, theirs, "theirs", force=True)
    try:
        last, _ = do_apply(after, managed, mine, "mine")
    except ApplyConflict:
        return
    claimed = collect(theirs, TYPE)
    assert not compare(after, last, TYPE).changed.intersection(claimed)


@repeatable
@given(objects, objects)
def test_every_change_has_its_writer(old: Any, new: Any) -> None:
    """After an update each changed path belongs to who changed it, and to nobody else; what was removed to no one."""
    managed = updated(ABSENT, old, NOBODY, manager="a", api_version="x.io/v1", time="2026-01-01T00:00:00Z", schema=SCHEMA)
    stored = {**old, "metadata": {"name": "o", "uid": "u"}}
    after = updated(stored, new, managed, manager="b", api_version="x.io/v1", time="2026-01-01T00:00:01Z", schema=SCHEMA)
    removed, _, _, changed = compare(old, new, TYPE)
    owned = {one.manager: entry.fields for one, entry in after.entries.items()}
    assert owned.get("b", changed) == changed
    if "a" in owned:
        assert not owned["a"].intersection(changed.union(removed))


@repeatable
@given(objects)
def test_removing_all_claims_leaves_no_leaf(value: Any) -> None:
    """An object without everything it claims has nothing left but null containers; with nothing else it is itself."""
    claimed = collect(value, TYPE)
    left = remove(value, claimed, TYPE)
    assert not collect(left or {}, TYPE).intersection(claimed.leaves())
    assert remove(value, collect({}, TYPE), TYPE) is value
