"""Where a writer that is nearly right would lose an update, send for ever, or refuse for nothing."""

from __future__ import annotations

import contextvars
import itertools
from typing import Any

import msgspec
import pytest

from fiferail.errors import Conflict, FiferailError
from fiferail.status.answers import FAILED_TEST
from fiferail.status.hooks import Hook
from fiferail.status.patience import Budget
from fiferail.status.shapes import ANY, Shapes
from fiferail.status.stage import Stage
from fiferail.status.strategies import compare
from fiferail.status.view import Status, plain
from fiferail.status.writer import StatusWriter
from fiferail.wire import Answer, Request

NOW = "2026-01-02T03:04:05Z"
A = {"type": "A", "status": "True", "reason": "R", "message": "", "lastTransitionTime": "2026-01-01T00:00:00Z"}
OBJECT: dict[str, Any] = {
    "apiVersion": "example.io/v1",
    "kind": "Gadget",
    "metadata": {"name": "g", "namespace": "default", "uid": "u", "resourceVersion": "7", "generation": 1},
    "spec": {"size": 3},
    "status": {"phase": "Pending", "count": 5},
}
REFUSED = {"kind": "Status", "code": 422, "reason": "Invalid", "message": FAILED_TEST, "details": {}}
GADGETS = [{"name": "gadgets", "kind": "Gadget", "namespaced": True}, {"name": "gadgets/status", "kind": "Gadget", "namespaced": True}]
LIST = {"type": "array", "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["type"], "items": {"type": "object"}}


def openapi(**status: Any) -> Any:
    """The schema document of the group."""
    gvk = [{"group": "example.io", "version": "v1", "kind": "Gadget"}]
    schema = {"x-kubernetes-group-version-kind": gvk, "properties": {"status": {"type": "object", "properties": status}}}
    return {"components": {"schemas": {"io.example.v1.Gadget": schema}}}


class World:
    """Answers from a list; discovery and schemas from what the test says; a clock that stands until moved."""

    def __init__(self, *answers: Any, resources: Any = None, schemas: Any = None) -> None:
        self.answers = list(answers)
        self.resources = [GADGETS] if resources is None else resources
        self.schemas = [] if schemas is None else schemas
        self.asked: list[Request] = []
        self.clock = 1000.0

    def send(self, request: Request, /, timeout: float | None = None) -> Answer:
        if request.path == "/apis/example.io/v1":
            found = self.resources.pop(0) if len(self.resources) > 1 else self.resources[0]
            return Answer(200, msgspec.json.encode({"resources": found}))
        if request.path.startswith("/openapi"):
            return Answer(200, msgspec.json.encode(self.schemas.pop(0))) if self.schemas else Answer(404, b"")
        self.asked.append(request)
        answer = self.answers.pop(0)
        if isinstance(answer, Exception):
            raise answer
        if isinstance(answer, tuple):
            return Answer(answer[0], msgspec.json.encode(answer[1]))
        return Answer(200, msgspec.json.encode(answer))

    def stream(self, request: Request, /, timeout: float | None = None) -> Any:
        raise AssertionError("no watch here")

    def writer(self, lossy: bool = False, **settings: Any) -> StatusWriter:
        """A writer whose clock is ours, and whose objects came through a model where the test says so."""
        settings.setdefault("budget", Budget(tries=4))
        held: Any = {"sleep": lambda _: None, "chance": lambda: 0.5, "now": lambda: NOW, "seconds": lambda: self.clock}
        writer = StatusWriter(self, field_manager="me", **held, **settings)
        if lossy:
            writer._plain = lambda obj: (obj, True)  # type: ignore[method-assign]
        return writer

    def patch(self, index: int) -> Any:
        """The body of a request."""
        return msgspec.json.decode(self.asked[index].body)

    @property
    def verbs(self) -> str:
        return " ".join(request.method for request in self.asked)


def live(version: str = "9", manager: str | None = None, **status: Any) -> dict[str, Any]:
    """The object as the server has it now."""
    entries: Any = [{"manager": manager, "operation": "Update", "time": NOW, "fieldsV1": {"f:status": {"f:phase": {}, "f:entry": {}}}}]
    metadata = {**OBJECT["metadata"], "resourceVersion": version, **({"managedFields": entries} if manager else {})}
    return {**OBJECT, "metadata": metadata, "status": {**OBJECT["status"], **status}}


def patched(obj: Any, edit: Any, shapes: Shapes) -> Any:
    """The patch of one session."""
    stage = Stage(obj, shapes=shapes, now=lambda: NOW)
    edit(Status(stage, ("status",)))
    body = compare(obj, stage.intents(), stage.reads, shapes)
    assert body is not None
    return msgspec.json.decode(body.content)


# -- appending on the server's promise


ENFORCED: dict[tuple[str, ...], tuple[str, ...]] = {("status", "conditions"): ("type",), ("status", "groups", ANY, "items"): ("name",)}
SHAPES = Shapes(keyed=ENFORCED, sets=frozenset({("spec", "tags")}), enforced=frozenset(ENFORCED))


@pytest.mark.parametrize(
    ("spec", "groups", "tests_the_list"),
    [
        pytest.param({"tags": ["a", "b"]}, {"g": {"items": [{"name": "x"}]}}, False, id="no duplicate anywhere"),
        pytest.param({"tags": ["a", "a"]}, {}, True, id="a set holds something twice"),
        pytest.param({}, {"g": {"items": [{"name": "x"}, {"name": "x"}]}}, True, id="a keyed list inside a map holds a key twice"),
    ],
)
def test_an_entry_is_appended_untested_only_where_no_list_holds_a_duplicate(spec: Any, groups: Any, tests_the_list: bool) -> None:
    """One duplicate in any keyed list or set turns the server's check off for all of them, so the promise is void."""
    obj = {**OBJECT, "spec": spec, "status": {"conditions": [A], "groups": groups}}
    patch = patched(obj, lambda status: status.conditions.set("B", True, reason="R"), SHAPES)
    assert ({"op": "test", "path": "/status/conditions", "value": [A]} in patch) is tests_the_list


def test_looking_for_a_part_of_an_entry_that_is_then_appended_tests_no_more_than_the_entry() -> None:
    """The server refuses a second entry of that type: whoever looked into it and found nothing is safe."""

    def edit(status: Status) -> None:
        if not status.conditions.is_true("B"):
            status.conditions.set("B", True, reason="R")

    patch = patched({**OBJECT, "status": {"conditions": [A]}}, edit, SHAPES)
    assert [step["path"] for step in patch] == ["/metadata/uid", "/status/conditions/-"]


def test_lists_below_maps_and_outside_status_are_found_in_the_schema() -> None:
    """They count, because a duplicate in them turns the server's check off."""
    from fiferail.status.schemas import shapes_of
    from fiferail.status.targets import target_of

    found = shapes_of(openapi(groups={"type": "object", "additionalProperties": {"properties": {"items": LIST}}}), target_of(OBJECT))
    assert found.keyed == {("status", "groups", ANY, "items"): ("type",)}


def test_a_duplicate_in_a_nested_list_that_was_appended_to_is_a_refusal() -> None:
    """The server spells the place with the index of each entry on the way."""
    from fiferail.status.answers import Meaning, meaning

    cause = {"reason": "FieldValueDuplicate", "field": "status.groups[2].items[1]", "message": "Duplicate value"}
    answer = Answer(422, msgspec.json.encode({"message": "x", "details": {"causes": [cause]}}))
    assert meaning(answer, appended=("status.groups.items",)) is Meaning.REFUSED


# -- what counts as there already


def test_a_lost_answer_whose_entry_gained_defaults_is_converged() -> None:
    """What we asserted is there; what the server added beside it does not make it another's."""
    stored = live(conditions=[], entry={"a": 1, "defaulted": True}, manager="me")
    world = World(TimeoutError(), stored)
    base = {**OBJECT, "status": {"entry": "text"}}
    assert world.writer().mutate(base, lambda status: status.update(entry={"a": 1})).kind == "converged"


def test_server_errors_do_not_count_as_refusals() -> None:
    """Only a refusal says that something cannot be tested: after two 500s the fields are still what is tested."""
    world = World((500, {}), live("7"), (500, {}), live("7"), live(phase="Running"))
    world.writer().mutate(OBJECT, lambda status: status.update(phase="Running"))
    assert [step["path"] for step in world.patch(4)] == ["/metadata/uid", "/status/phase", "/status/phase"]


def test_a_raise_that_the_schema_drops_is_not_sent_for_ever() -> None:
    """The second pass knows what came of the first."""
    world = World(live("8"))
    writer = world.writer()
    assert writer.mutate(OBJECT, lambda status: status.raise_to("observedGeneration", 4)).altered == ("status.observedGeneration",)
    assert writer.mutate(OBJECT, lambda status: status.raise_to("observedGeneration", 4)).kind == "unchanged"


def test_a_removal_that_a_default_undoes_is_not_sent_for_ever() -> None:
    """The server puts its default back at once: asking again changes nothing."""
    world = World(live("8"))
    writer = world.writer()
    assert writer.mutate(OBJECT, lambda status: status.pop("phase")).kind == "applied"
    assert writer.mutate(OBJECT, lambda status: status.pop("phase")).kind == "unchanged"


def test_what_the_server_altered_is_tried_again_after_a_while() -> None:
    """A CRD may be upgraded: the field that was dropped may be known by then."""
    world = World(live("8"), live("9", extra=1))
    writer = world.writer()
    writer.mutate(OBJECT, lambda status: status.update(extra=1))
    world.clock += 601
    assert writer.mutate(OBJECT, lambda status: status.update(extra=1)).altered == ()
    assert world.verbs == "PATCH PATCH"


# -- freshness


def test_a_no_op_is_judged_against_what_the_writer_wrote_meanwhile() -> None:
    """A session that was open while another one wrote must not take the old value for the present one."""
    world = World(live("8", phase="Running", manager="me"))
    writer = world.writer()
    with pytest.raises(Conflict, match='was "Pending", is now "Running"'), writer.session(OBJECT) as status:
        contextvars.Context().run(writer.mutate, OBJECT, lambda other: other.update(phase="Running"))  # somebody else's flow of control
        status["phase"] = "Pending"


def test_a_condition_that_was_there_is_judged_the_same_way() -> None:
    """Also for conditions, and only for what was assigned."""
    before, after = [A], [{**A, "status": "False", "reason": "Down"}]
    world = World(live("8", conditions=after, manager="me"))
    writer = world.writer()
    base = {**OBJECT, "status": {"conditions": before}}
    with pytest.raises(Conflict), writer.session(base) as status:
        contextvars.Context().run(writer.mutate, base, lambda other: other.conditions.set("A", False, reason="Down"))
        status.conditions.set("A", True, reason="R", observed_generation=None)


def test_an_outcome_belongs_to_the_caller() -> None:
    """Whatever the caller does to it, the next session starts from what the server said."""
    world = World(live("8", phase="Running"))
    writer = world.writer()
    outcome = writer.mutate(OBJECT, lambda status: status.update(phase="Running"))
    outcome.object["status"]["phase"] = "Scribbled"
    assert writer.mutate(OBJECT, lambda status: status.update(phase="Running")).kind == "unchanged"


def test_a_status_subresource_that_a_crd_gained_is_found() -> None:
    """Discovery is asked again before a kind is said to have none."""
    world = World(live(phase="Running"), resources=[GADGETS[:1], GADGETS])
    assert world.writer().mutate(OBJECT, lambda status: status.update(phase="Running")).kind == "applied"


def test_a_schema_that_appears_later_is_found() -> None:
    """A new CRD's schema is published some seconds after it is served: until then whole lists are tested, not for ever."""
    world = World(live("8", conditions=[A]), live("9", conditions=[A]), schemas=[{"components": {}}, openapi(conditions=LIST)])
    writer = world.writer()
    base = {**OBJECT, "status": {"conditions": []}}
    writer.mutate(base, lambda status: status.conditions.set("A", True, reason="R"))
    assert {"op": "test", "path": "/status/conditions", "value": []} in world.patch(0)
    world.clock += 31
    writer.mutate(live("8", conditions=[A]), lambda status: status.conditions.set("B", True, reason="R"))
    assert [step["path"] for step in world.patch(1)] == ["/metadata/uid", "/status/conditions/-"]


def test_mutate_counts_the_requests_of_every_run() -> None:
    """Two refusals and the looks after them, then the one that is stored."""
    versions = itertools.count(8)
    world = World(
        (422, REFUSED), live(str(next(versions)), count=6), (422, REFUSED), live(str(next(versions)), count=7), live("10", count=8)
    )
    outcome = world.writer().mutate(OBJECT, lambda status: status.update(count=status["count"] + 1))
    assert (outcome.requests, len(world.asked)) == (5, 5)


# -- objects that came through a typed model


FULL = live("7", unknown={"kept": True}, items=[{"name": "a", "hidden": 1}, {"name": "b", "hidden": 2}])
LOSSY = {**FULL, "status": {"phase": "Pending", "count": 5, "items": [{"name": "a"}, {"name": "b"}]}}


def test_unknown_fields_survive_a_write_on_a_lossy_base() -> None:
    """The model dropped them; the write is put on the object as the server has it, entry by entry."""
    world = World(FULL, FULL)
    with world.writer(lossy=True).session(LOSSY) as status:
        status["items"].append({"name": "c"})
        status["items"] = status["items"].plain()[::-1]
    assert world.patch(1)[-1] == {
        "op": "add", "path": "/status/items", "value": [{"name": "c"}, {"name": "b", "hidden": 2}, {"name": "a", "hidden": 1}],
    }  # fmt: skip


def test_an_edited_entry_of_a_lossy_list_without_keys_is_refused() -> None:
    """It cannot be told from a new entry beside a removed one, so its unknown field would be lost: nothing is written."""
    world = World(FULL)
    refused = pytest.raises(FiferailError, match=r"status\.items\[0\]\.hidden is not known to the model")
    with refused, world.writer(lossy=True).session(LOSSY) as status:
        status["items"][0]["name"] = "z"
    assert world.verbs == "GET"


def test_what_a_lossy_base_was_read_of_is_no_conflict_while_the_version_stands() -> None:
    """What the model left out has not changed: it was never seen."""
    world = World(FULL, live("8", phase="Running"))
    with world.writer(lossy=True).session(LOSSY) as status:
        assert status.plain()
        status["phase"] = "Running"
    assert status.outcome is not None
    assert (status.outcome.kind, world.verbs) == ("applied", "GET PATCH")


def test_a_lossy_base_that_is_also_old_is_judged_strictly() -> None:
    """Another version, and the list cannot be told from a changed one: a conflict, never a guess."""
    world = World({**FULL, "metadata": {**FULL["metadata"], "resourceVersion": "8"}})
    with pytest.raises(Conflict, match=r"status\.items"), world.writer(lossy=True).session(LOSSY) as status:
        status["items"].append({"name": "c"})


def test_create_once_on_a_lossy_base_does_not_replace_what_the_model_dropped() -> None:
    """A model without status must not make the writer put a fresh one in the place of the real one."""
    bare = {name: member for name, member in OBJECT.items() if name != "status"}
    world = World(OBJECT, live("8", plan=1))
    made = world.writer(lossy=True).create_once(bare, "plan", lambda _: 1)
    assert (made.created, world.patch(1)[-1]) == (True, {"op": "add", "path": "/status/plan", "value": 1})


def test_a_lossy_object_that_is_gone_is_gone() -> None:
    """The read before the write finds nothing."""
    world = World((404, {}))
    assert world.writer(lossy=True).mutate(LOSSY, lambda status: status.update(phase="x")).kind == "gone"


def test_a_lossy_object_of_a_version_that_the_writer_wrote_needs_no_read() -> None:
    """The writer has the whole of it from its own last answer."""
    world = World(FULL, live("8", phase="Running"), live("9", phase="Done"))
    writer = world.writer(lossy=True)
    writer.mutate(LOSSY, lambda status: status.update(phase="Running"))
    newer = {**LOSSY, "metadata": {**LOSSY["metadata"], "resourceVersion": "8"}}
    writer.mutate(newer, lambda status: status.update(phase="Done"))
    assert world.verbs == "GET PATCH PATCH"


# -- the rest


def test_create_once_is_told_to_hooks() -> None:
    """Like every other write."""

    heard: list[str] = []

    class Listening(Hook):
        def finished(self, kind: str, manager: str, outcome: Any, seconds: float) -> None:
            heard.append(f"{kind} {outcome.kind}")

    World(live("8", plan=1)).writer(hooks=[Listening()]).create_once(OBJECT, "plan", lambda _: 1)
    assert heard == ["Gadget.example.io applied"]


def test_create_once_without_a_status_subresource_says_so() -> None:
    """404 on status although the object is there: trying again would not help."""
    with pytest.raises(FiferailError, match="is there, but its kind has no status subresource"):
        World((404, {}), live("7")).writer().create_once(OBJECT, "plan", lambda _: 1)


@pytest.mark.parametrize(
    ("value", "text"),
    [
        pytest.param("a\ud800b", "expected text, got half a surrogate pair at status.x", id="half a surrogate pair"),
        pytest.param({"a\udc00": 1}, "expected text, got half a surrogate pair at status.x", id="the same in a name"),
        pytest.param(float("nan"), "expected a finite number, got nan at status.x", id="not a number"),
        pytest.param(10**400, "expected a number that fits into 64 bits, got one of 401 digits at status.x", id="a number past all"),
        pytest.param(object(), "expected a JSON value, got object at status.x", id="no JSON"),
        pytest.param({1: 2}, "expected member names of type str, got int at status.x", id="a number as a name"),
    ],
)
def test_what_json_cannot_carry_is_refused_with_its_path(value: Any, text: str) -> None:
    """Before anything is staged."""
    stage = Stage(OBJECT, shapes=Shapes(), now=lambda: NOW)
    with pytest.raises((TypeError, ValueError)) as caught:
        Status(stage, ("status",))["x"] = value
    assert str(caught.value).startswith(text)
    assert stage.tree is OBJECT


def test_a_value_without_end_is_refused() -> None:
    """Depth is bounded, so that nothing recurses into the ground."""
    deep: Any = []
    for _ in range(5000):
        deep = [deep]
    with pytest.raises(ValueError, match="expected a value of at most 200 levels"):
        plain(deep, ("status", "x"))


def test_numbers_are_taken_as_the_server_keeps_them() -> None:
    """Whole floats become integers, integers past 64 bits floats: what is stored is then what was staged."""
    assert [(n, type(n)) for n in plain([1.0, 2**63, True, 1e300], ("x",))] == [(1, int), (2.0**63, float), (True, bool), (1e300, float)]
