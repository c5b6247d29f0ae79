"""Strategic merge patch: the tables were checked against apimachinery v0.36.3 with the Go types, a part of them on a real server."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fiferail.objects import strategic
from fiferail.objects.schema.model import Schema
from fiferail.objects.tree import Json, same, thaw

ANY = Schema()
STRINGS = Schema(type="object", additional=Schema(type="string"))


def merged_by(key: str, items: Schema = ANY, *, retain: bool = False) -> Schema:
    """A list that is merged by a key."""
    strategy = ("merge", "retainKeys") if retain else ("merge",)
    return Schema(type="array", items=items, patch_strategy=strategy, patch_merge_key=key)


def of(**properties: Schema) -> Schema:
    """An object."""
    return Schema(type="object", properties=properties)


ATOMIC = Schema(type="array", items=ANY)
CONTAINER = of(
    name=ANY,
    image=ANY,
    args=ATOMIC,
    env=merged_by("name", of(name=ANY, value=ANY, valueFrom=of(fieldRef=of()))),
    ports=merged_by("containerPort", of(containerPort=ANY, protocol=ANY)),
    resources=of(limits=STRINGS),
)
POD_SPEC = of(
    containers=merged_by("name", CONTAINER),
    volumes=merged_by("name", of(name=ANY, emptyDir=of(), hostPath=of(), configMap=of(name=ANY)), retain=True),
    tolerations=ATOMIC,
    nodeSelector=STRINGS,
)
META = of(
    name=ANY,
    labels=STRINGS,
    finalizers=Schema(type="array", items=Schema(type="string"), patch_strategy=("merge",)),
    ownerReferences=merged_by("uid"),
)
DEPLOYMENT = of(
    metadata=META,
    spec=of(
        replicas=ANY,
        template=of(metadata=META, spec=POD_SPEC),
        strategy=Schema(type="object", properties={"type": ANY, "rollingUpdate": of(maxSurge=ANY)}, patch_strategy=("retainKeys",)),
    ),
    status=of(conditions=merged_by("type", of(type=ANY, status=ANY))),
)


def pod(**spec: Json) -> Json:
    """A Deployment with this pod spec."""
    return {"spec": {"template": {"spec": spec}}}


def with_order(field: str, *names: str, **spec: Json) -> Json:
    """A patch of the pod spec with the order of one list."""
    return pod(**{f"$setElementOrder/{field}": [{"name": name} for name in names]}, **spec)


A, B, C = {"name": "a", "image": "1"}, {"name": "b", "image": "1"}, {"name": "c", "image": "1"}

MERGED: dict[str, tuple[Json, Json, Json]] = {
    "nothing": (pod(containers=[A]), {}, pod(containers=[A])),
    "null for a patch": (pod(containers=[A]), None, pod(containers=[A])),
    "an entry is merged by its key": (
        pod(containers=[A, B]),
        pod(containers=[{"name": "b", "image": "2"}]),
        pod(containers=[A, {"name": "b", "image": "2"}]),
    ),
    "a new entry goes before what the patch does not name": (pod(containers=[A, B]), pod(containers=[C]), pod(containers=[C, A, B])),
    "named entries take the order of the patch": (
        pod(containers=[A, B, C]),
        pod(containers=[{"name": "c"}, {"name": "a"}]),
        pod(containers=[B, C, A]),
    ),
    "an entry is deleted": (pod(containers=[A, B]), pod(containers=[{"name": "a", "$patch": "delete"}]), pod(containers=[B])),
    "deleting what is not there": (pod(containers=[A]), pod(containers=[{"name": "x", "$patch": "delete"}]), pod(containers=[A])),
    "a list is replaced": (pod(containers=[A, B]), pod(containers=[{"$patch": "replace"}, C]), pod(containers=[C])),
    "an object is replaced": (
        pod(nodeSelector={"a": "1"}),
        pod(nodeSelector={"$patch": "replace", "b": "2"}),
        pod(nodeSelector={"b": "2"}),
    ),
    "an object is deleted": (pod(nodeSelector={"a": "1"}), pod(nodeSelector={"$patch": "delete"}), pod(nodeSelector={})),
    "a directive for what is not there": (pod(), pod(nodeSelector={"$patch": "delete"}), pod()),
    "deep lists merge too": (
        pod(containers=[{**A, "env": [{"name": "X", "value": "1"}, {"name": "Y", "value": "1"}]}]),
        pod(containers=[{"name": "a", "env": [{"name": "Y", "value": "2"}, {"name": "X", "$patch": "delete"}]}]),
        pod(containers=[{**A, "env": [{"name": "Y", "value": "2"}]}]),
    ),
    "ports are told apart by number alone": (
        pod(containers=[{**A, "ports": [{"containerPort": 53, "protocol": "TCP"}, {"containerPort": 53, "protocol": "UDP"}]}]),
        pod(containers=[{"name": "a", "ports": [{"containerPort": 53, "protocol": "SCTP"}]}]),
        pod(containers=[{**A, "ports": [{"containerPort": 53, "protocol": "SCTP"}, {"containerPort": 53, "protocol": "UDP"}]}]),
    ),
    "lists without a strategy are replaced": (
        pod(tolerations=[{"key": "a"}]),
        pod(tolerations=[{"key": "b"}]),
        pod(tolerations=[{"key": "b"}]),
    ),
    "null removes a member": (pod(nodeSelector={"a": "1"}, tolerations=[]), pod(nodeSelector=None), pod(tolerations=[])),
    "null in an object removes": (
        pod(nodeSelector={"a": "1", "b": "2"}),
        pod(nodeSelector={"a": None, "x": None}),
        pod(nodeSelector={"b": "2"}),
    ),
    "nulls of a new object are dropped": (pod(), pod(nodeSelector={"a": None, "b": "1"}), pod(nodeSelector={"b": "1"})),
    "nulls of a new entry stay": (
        pod(containers=[A]),
        pod(containers=[{"name": "b", "image": None}]),
        pod(containers=[{"name": "b", "image": None}, A]),
    ),
    "entries of a new list that carry directives are dropped": (
        pod(),
        pod(containers=[A, {"name": "b", "$patch": "delete"}]),
        pod(containers=[A]),
    ),
    "another type takes over": ({"spec": {"replicas": 1}}, {"spec": {"replicas": "x"}}, {"spec": {"replicas": "x"}}),
    "finalizers are merged, those of the patch first": (
        {"metadata": {"finalizers": ["x", "y"]}},
        {"metadata": {"finalizers": ["z", "x"]}},
        {"metadata": {"finalizers": ["z", "x", "y"]}},
    ),
    "finalizers are deleted by name": (
        {"metadata": {"finalizers": ["x", "y", "z"]}},
        {"metadata": {"$deleteFromPrimitiveList/finalizers": ["x", "z", "none"]}},
        {"metadata": {"finalizers": ["y"]}},
    ),
    "deleting from a list that is not there": (
        {"metadata": {}},
        {"metadata": {"$deleteFromPrimitiveList/finalizers": ["x"]}},
        {"metadata": {}},
    ),
    "finalizers in a given order": (
        {"metadata": {"finalizers": ["x", "y", "z"]}},
        {"metadata": {"$setElementOrder/finalizers": ["z", "new", "x"], "finalizers": ["new"]}},
        {"metadata": {"finalizers": ["y", "z", "new", "x"]}},
    ),
    "keys are retained": (
        {"spec": {"strategy": {"type": "RollingUpdate", "rollingUpdate": {"maxSurge": 1}}}},
        {"spec": {"strategy": {"$retainKeys": ["type"], "type": "Recreate"}}},
        {"spec": {"strategy": {"type": "Recreate"}}},
    ),
    "the source of a volume changes": (
        pod(volumes=[{"name": "v", "emptyDir": {}}]),
        pod(volumes=[{"name": "v", "configMap": {"name": "c"}, "$retainKeys": ["name", "configMap"]}]),
        pod(volumes=[{"name": "v", "configMap": {"name": "c"}}]),
    ),
    "without retained keys both sources stay": (
        pod(volumes=[{"name": "v", "emptyDir": {}}]),
        pod(volumes=[{"name": "v", "configMap": {"name": "c"}}]),
        pod(volumes=[{"name": "v", "emptyDir": {}, "configMap": {"name": "c"}}]),
    ),
    "an order alone": (pod(containers=[A, B, C]), with_order("containers", "c", "a"), pod(containers=[B, C, A])),
    "an order with a new entry": (
        pod(containers=[A, B]),
        with_order("containers", "a", "c", "b", containers=[C]),
        pod(containers=[A, C, B]),
    ),
    "an order that leaves a foreign entry where it was": (
        pod(containers=[A, B, C]),
        with_order("containers", "c", "a", containers=[{"name": "a", "image": "2"}]),
        pod(containers=[B, C, {"name": "a", "image": "2"}]),
    ),
    "an order with a deletion": (
        pod(containers=[A, B]),
        with_order("containers", "c", containers=[{"name": "b", "$patch": "delete"}, C]),
        pod(containers=[A, C]),
    ),
    "an order for a list that is not there": (pod(), with_order("containers", "a", "b", containers=[A]), pod(containers=[A])),
    "an order for nothing at all": (pod(), with_order("containers", "a"), pod()),
    "an empty order": (pod(containers=[A, B]), with_order("containers"), pod(containers=[A, B])),
    "conditions merge by type": (
        {"status": {"conditions": [{"type": "A", "status": "True"}, {"type": "B", "status": "True"}]}},
        {"status": {"conditions": [{"type": "B", "status": "False"}]}},
        {"status": {"conditions": [{"type": "A", "status": "True"}, {"type": "B", "status": "False"}]}},
    ),
    "the whole object is deleted": ({"metadata": {"name": "x"}}, {"$patch": "delete"}, {}),
}


@pytest.mark.parametrize(("target", "patch", "result"), MERGED.values(), ids=list(MERGED))
def test_a_patch_merges(target: Json, patch: Json, result: Json) -> None:
    """The result is the server's; target and patch are left as they were."""
    before = thaw([target, patch])
    assert strategic.apply(target, patch, DEPLOYMENT) == result
    assert same([target, patch], before)


REFUSED: dict[str, tuple[Json, Json, int, str]] = {
    "a list for a patch": ({}, [], 400, "json: cannot unmarshal array into Go value of type map[string]interface {}"),
    "an unknown directive": (pod(), {"$patch": "x", "a": 1}, 500, "unknown patch type: x in map: map[$patch:x a:1]"),
    "a directive that is no text": (pod(), {"$patch": 1}, 500, "unknown patch type: %!s(int64=1) in map: map[$patch:1]"),
    "merge as a directive of an entry": (
        pod(containers=[A]),
        pod(containers=[{"name": "a", "$patch": "merge"}]),
        500,
        "merging lists cannot yet be specified in the patch",
    ),
    "an unknown directive of an entry": (
        pod(containers=[A]),
        pod(containers=[{"name": "a", "$patch": "x"}]),
        500,
        "unknown patch type: x in map: map[$patch:x name:a]",
    ),
    "an entry without its key": (
        pod(containers=[A]),
        pod(containers=[{"image": "2"}]),
        500,
        "map: map[image:2] does not contain declared merge key: name",
    ),
    "a deletion without its key": (
        pod(containers=[A]),
        pod(containers=[{"$patch": "delete"}]),
        500,
        "map: map[$patch:delete] does not contain declared merge key: name",
    ),
    "entries of two types": (
        pod(containers=[A]),
        pod(containers=["x"]),
        500,
        "list element types are not identical: [[map[image:1 name:a]] [x]]",
    ),
    "lists of lists": (
        {"metadata": {"finalizers": []}},
        {"metadata": {"finalizers": [[]]}},
        422,
        "the server rejected our request due to an error in our request",
    ),
    "keys to retain that are no list": (pod(), pod(**{"$retainKeys": "x"}), 400, "invalid patch format of retainKeys"),
    "a member that is not retained": (
        pod(),
        {"spec": {"strategy": {}, "template": {"$retainKeys": ["spec"], "metadata": {}}}},
        400,
        "invalid patch format of retainKeys",
    ),
    "a deletion without a name": (
        {"metadata": {}},
        {"metadata": {"$deleteFromPrimitiveList": []}},
        400,
        "invalid patch format of primitive list",
    ),
    "an order without a name": (
        {"metadata": {}},
        {"metadata": {"$setElementOrder": []}},
        400,
        "invalid patch format of setElementOrder list",
    ),
    "an order that is no list": (
        {"metadata": {}},
        {"metadata": {"$setElementOrder/finalizers": "x"}},
        500,
        "expected a []interface {}, but received a string",
    ),
    "an order for null": (
        {"metadata": {}},
        {"metadata": {"$setElementOrder/finalizers": [], "finalizers": None}},
        500,
        "expected a []interface {}, but received a %!s(<nil>)",
    ),
    "an order that the patch does not keep": (
        pod(containers=[A]),
        with_order("containers", "a", containers=[B, {"name": "a"}]),
        500,
        "The order in patch list:\n[map[image:1 name:b] map[name:a]]\n doesn't match $setElementOrder list:\n[map[name:a]]\n",
    ),
    "an order of empty lists": (pod(containers=[]), with_order("containers", containers=[]), 500, "no elements in any of the given slices"),
    "an object in a map of strings": (
        pod(nodeSelector={"a": {}}),
        pod(nodeSelector={"a": {}}),
        500,
        "merging an object in json but data type is not struct, instead is: map",
    ),
}


@pytest.mark.parametrize(("target", "patch", "code", "message"), REFUSED.values(), ids=list(REFUSED))
def test_a_patch_that_cannot_be_merged_is_refused_in_the_server_words(target: Json, patch: Json, code: int, message: str) -> None:
    """What the server did not foresee is a 500 there too."""
    before = thaw([target, patch])
    with pytest.raises(strategic.PatchError) as refusal:
        strategic.apply(target, patch, DEPLOYMENT)
    assert (refusal.value.code, refusal.value.message) == (code, message)
    assert not refusal.value.panics
    assert same([target, patch], before)


CRASHES: dict[str, tuple[Json, Json]] = {
    "null first in a merged list": (pod(containers=[]), pod(containers=[None])),
    "an object among the keys to retain": (pod(), pod(**{"$retainKeys": [{}]})),
    "an object for a key": (pod(containers=[A, {"name": {}}]), pod(containers=[{"name": {}}])),
    "an order for objects without a key": (pod(tolerations=[{"key": "a"}]), pod(**{"$setElementOrder/tolerations": [{"key": "a"}]})),
}


@pytest.mark.parametrize(("target", "patch"), CRASHES.values(), ids=list(CRASHES))
def test_what_crashes_the_real_server_is_told_apart(target: Json, patch: Json) -> None:
    """The error carries the mark, so that nobody takes it for an answer."""
    with pytest.raises(strategic.PatchError, match=r"^the real server closes the connection here: ") as refusal:
        strategic.apply(target, patch, DEPLOYMENT)
    assert refusal.value.panics


def test_what_the_patch_does_not_change_is_shared() -> None:
    """The same object back when nothing changes, and the same subtrees elsewhere."""
    target = {"metadata": {"labels": {"a": "1"}}, **pod(containers=[A, B], nodeSelector={"x": "1"})}
    assert strategic.apply(target, pod(containers=[{"name": "b", "image": "1"}]), DEPLOYMENT) is target
    result = strategic.apply(target, pod(containers=[{"name": "b", "image": "2"}]), DEPLOYMENT)
    assert result["metadata"] is target["metadata"]
    assert result["spec"]["template"]["spec"]["nodeSelector"] is target["spec"]["template"]["spec"]["nodeSelector"]
    assert result["spec"]["template"]["spec"]["containers"][0] is A


names = st.lists(st.sampled_from("abcde"), unique=True, max_size=5)


@settings(derandomize=True, max_examples=200, deadline=None)
@given(names, names)
def test_a_given_order_is_kept_and_nothing_is_lost_or_doubled(held: list[str], order: list[str]) -> None:
    """Whatever the list and the order: the same entries, named ones in that order, the others in the order they had."""
    if not held:
        return
    target = pod(containers=[{"name": name} for name in held])
    result = strategic.apply(target, with_order("containers", *order), DEPLOYMENT)
    after = [entry["name"] for entry in result["spec"]["template"]["spec"]["containers"]]
    assert sorted(after) == sorted(held)
    assert [name for name in after if name in order] == [name for name in order if name in held]
    assert [name for name in after if name not in order] == [name for name in held if name not in order]
