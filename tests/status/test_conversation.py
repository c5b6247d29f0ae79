"""The conversation: scripted answers in, requests and an outcome or an error out."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from fiferail.errors import ApiError, Change, Conflict, FiferailError, Invalid, NotOwner, Unavailable
from fiferail.status.answers import FAILED_TEST
from fiferail.status.claims import Claims
from fiferail.status.conversation import TABLE
from fiferail.status.patience import Budget
from fiferail.status.strategies import APPLY, COMPARE, LOCKED, MERGE, Strategy
from fiferail.status.writer import StatusWriter
from fiferail.wire import Answer, Request

OBJECT: dict[str, Any] = {
    "apiVersion": "example.io/v1",
    "kind": "Gadget",
    "metadata": {"name": "g", "namespace": "default", "uid": "u", "resourceVersion": "7", "generation": 1},
    "spec": {"size": 3},
    "status": {"phase": "Pending", "count": 5},
}
DISCOVERY = {
    "resources": [
        {"name": "gadgets", "kind": "Gadget", "namespaced": True},
        {"name": "gadgets/status", "kind": "Gadget", "namespaced": True},
        {"name": "plains", "kind": "Plain", "namespaced": True},
    ]
}
REFUSED = {"kind": "Status", "code": 422, "reason": "Invalid", "message": FAILED_TEST, "details": {}}


class Script:
    """A server that answers from a list and remembers what it was asked. Discovery is not on the list."""

    def __init__(self, *answers: Any) -> None:
        self.answers = list(answers)
        self.asked: list[Request] = []
        self.waited: list[float] = []

    def send(self, request: Request, /, timeout: float | None = None) -> Answer:
        if request.path == "/apis/example.io/v1":
            return Answer(200, msgspec.json.encode(DISCOVERY))
        if request.path.startswith("/openapi"):
            return Answer(404, b"")
        self.asked.append(request)
        answer = self.answers.pop(0)
        if isinstance(answer, Exception):
            raise answer
        if isinstance(answer, tuple):
            code, body = answer
            return Answer(code, msgspec.json.encode(body), {"retry-after": "3"} if code == 429 else {})
        return Answer(200, msgspec.json.encode(answer))

    def stream(self, request: Request, /, timeout: float | None = None) -> Any:
        raise AssertionError("no watch here")

    def writer(self, manager: str = "me", **settings: Any) -> StatusWriter:
        """A writer on this script whose waits are recorded, not waited."""
        settings.setdefault("budget", Budget(tries=4))
        return StatusWriter(
            self, field_manager=manager, sleep=self.waited.append, chance=lambda: 0.5, now=lambda: "2026-01-02T03:04:05Z", **settings
        )

    @property
    def verbs(self) -> str:
        """What was asked, as verbs."""
        return " ".join(request.method for request in self.asked)


def live(version: str = "9", uid: str = "u", manager: str | None = None, **status: Any) -> dict[str, Any]:
    """The object as the server has it now; `manager` has written its phase last."""
    fields: dict[str, Any] = {"f:status": {"f:phase": {}}}
    entries = [{"manager": manager, "operation": "Update", "subresource": "status", "time": "2026-01-01T00:00:00Z", "fieldsV1": fields}]
    metadata = {**OBJECT["metadata"], "resourceVersion": version, "uid": uid, **({"managedFields": entries} if manager else {})}
    return {**OBJECT, "metadata": metadata, "status": {**OBJECT["status"], **status}}


def set_phase(status: Any) -> None:
    """Writes without looking."""
    status["phase"] = "Running"


def flip_phase(status: Any) -> None:
    """Looks, then writes."""
    status["phase"] = "Running" if status["phase"] == "Pending" else "Odd"


def test_stored_at_once_is_applied_in_one_request() -> None:
    """The ordinary case."""
    script = Script(live(phase="Running"))
    outcome = script.writer().mutate(OBJECT, set_phase)
    assert (outcome.kind, outcome.requests, script.verbs) == ("applied", 1, "PATCH")
    request = script.asked[0]
    assert request.path == "/apis/example.io/v1/namespaces/default/gadgets/g/status"
    assert request.query == (("fieldManager", "me"),)
    assert request.content_type == "application/json-patch+json"


def test_nothing_changed_sends_nothing() -> None:
    """Not even discovery is asked for."""
    script = Script()
    with script.writer().session(OBJECT) as status:
        status["phase"] = "Pending"
    assert status.outcome is not None
    assert (status.outcome.kind, status.outcome.requests, script.asked) == ("unchanged", 0, [])


def test_a_refusal_because_of_other_fields_is_rebased() -> None:
    """Nothing that this write looked at has moved, so the same change goes onto the live object."""
    script = Script((422, REFUSED), live(other=1), live("10", phase="Running", other=1))
    outcome = script.writer().mutate(OBJECT, set_phase)
    assert (outcome.kind, outcome.requests, script.verbs) == ("rebased", 3, "PATCH GET PATCH")


def test_a_second_refusal_while_nothing_moved_tests_the_version_instead() -> None:
    """A value that cannot be tested must not make a write fail for good."""
    script = Script((422, REFUSED), live(), (422, REFUSED), live(), live("10", phase="Running"))
    outcome = script.writer().mutate(OBJECT, set_phase)
    assert outcome.kind == "rebased"
    assert {"op": "test", "path": "/metadata/resourceVersion", "value": "9"} in msgspec.json.decode(script.asked[4].body)


def test_a_session_raises_when_what_it_read_has_changed() -> None:
    """The error names the field, old, new and wanted, and who wrote it."""
    script = Script((422, REFUSED), live(phase="Failed", manager="reporter"))
    with pytest.raises(Conflict) as caught, script.writer().session(OBJECT) as status:
        flip_phase(status)
    assert str(caught.value) == (
        "Gadget default/g changed while this write was being decided\n"
        '  status.phase  was "Pending", is now "Failed" (written by reporter), this write wanted "Running"\n'
        "Read the object again and decide again; fiferail did not write anything."
    )
    assert caught.value.changes == (Change("status.phase", "Pending", "Failed", "Running", "reporter"),)


def test_mutate_runs_again_on_the_live_object() -> None:
    """After a true conflict the function decides anew, on what is there now."""
    script = Script((422, REFUSED), live(phase="Failed"), live("10", phase="Odd"))
    outcome = script.writer().mutate(OBJECT, flip_phase)
    assert outcome.requests == 3
    assert {"op": "add", "path": "/status/phase", "value": "Odd"} in msgspec.json.decode(script.asked[2].body)


def test_an_overwrite_of_what_moved_is_a_conflict_even_when_unread() -> None:
    """No last-writer-wins by accident."""
    script = Script((422, REFUSED), live(phase="Failed", manager="reporter"))
    with pytest.raises(Conflict, match="written by reporter"), script.writer().session(OBJECT) as status:
        set_phase(status)


def test_live_that_holds_it_already_is_converged() -> None:
    """Somebody else brought the same value: nothing is left to do."""
    script = Script((409, {"reason": "Conflict"}), live(phase="Running"))
    assert script.writer().mutate(OBJECT, set_phase).kind == "converged"


@pytest.mark.parametrize("answer", [pytest.param((404, {}), id="not found"), pytest.param(live(uid="other"), id="recreated")])
def test_gone_ends_quietly(answer: Any) -> None:
    """An object that is no more, or another one of the same name, is not written to."""
    script = Script((422, REFUSED), answer)
    outcome = script.writer().mutate(OBJECT, set_phase)
    assert (outcome.kind, outcome.object) == ("gone", None)


@pytest.mark.parametrize(
    "nothing", [pytest.param(TimeoutError("slow"), id="timeout"), pytest.param((500, {}), id="500"), pytest.param((504, {}), id="504")]
)
def test_an_unknown_outcome_is_looked_up(nothing: Any) -> None:
    """A write whose answer is lost may have landed: the live object tells."""
    landed = Script(nothing, live(phase="Running", manager="me"))
    assert landed.writer().mutate(OBJECT, flip_phase).kind == "converged"
    not_landed = Script(nothing, live("7"), live(phase="Running"))
    assert not_landed.writer().mutate(OBJECT, flip_phase).kind == "rebased"


def test_after_an_unknown_outcome_anothers_same_value_is_not_taken_for_ours() -> None:
    """The value is there, but another manager wrote it: what was read has changed."""
    script = Script(TimeoutError(), live(phase="Running", manager="reporter"))
    with pytest.raises(Conflict), script.writer().session(OBJECT) as status:
        flip_phase(status)


def test_busy_waits_as_told() -> None:
    """429 and 503 with Retry-After are not failures."""
    script = Script((429, {}), live(phase="Running"))
    assert script.writer().mutate(OBJECT, set_phase).kind == "applied"
    assert script.waited == [3.0]


@pytest.mark.parametrize(
    ("answer", "error", "text"),
    [
        pytest.param((400, {"message": "bad", "reason": "BadRequest"}), Invalid, "bad", id="400"),
        pytest.param((403, {"message": "no", "reason": "Forbidden"}), ApiError, "403 Forbidden: no", id="403"),
    ],
)
def test_what_will_never_work_is_raised_at_once(answer: Any, error: type[Exception], text: str) -> None:
    """No retry, the server's words unchanged."""
    script = Script(answer)
    with pytest.raises(error) as caught:
        script.writer().mutate(OBJECT, set_phase)
    assert (str(caught.value), script.verbs) == (text, "PATCH")


def test_the_budget_ends_in_unavailable_with_the_transports_error() -> None:
    """After the last try the caller learns how it ended, and whether something may have landed."""
    script = Script(*[ConnectionError("cut")] * 8)
    with pytest.raises(Unavailable) as caught:
        script.writer().mutate(OBJECT, set_phase)
    assert str(caught.value) == (
        "Gadget default/g could not be written in 4 tries; it may have landed. The last answer: no answer (ConnectionError('cut'))"
    )
    assert isinstance(caught.value.__cause__, ConnectionError)


def test_waits_grow_and_are_jittered() -> None:
    """Backoff between tries, so that writers do not march in step."""
    script = Script((500, {}), (500, {}), (500, {}), (500, {}), (500, {}), (500, {}), (500, {}), (500, {}))
    with pytest.raises(Unavailable):
        script.writer().mutate(OBJECT, set_phase)
    assert script.waited == sorted(script.waited)
    assert len(set(script.waited)) == len(script.waited)


def test_an_exception_inside_a_session_still_flushes_what_was_staged() -> None:
    """A failed reconcile must be able to say so."""
    script = Script(live(phase="Running"))
    with pytest.raises(KeyError), script.writer().session(OBJECT) as status:
        set_phase(status)
        raise KeyError("boom")
    assert script.verbs == "PATCH"


def test_a_flush_error_never_masks_the_reconciles_own() -> None:
    """It is added as a note."""
    script = Script((403, {"message": "no", "reason": "Forbidden"}))
    with pytest.raises(KeyError) as caught, script.writer().session(OBJECT) as status:
        set_phase(status)
        raise KeyError("boom")
    assert caught.value.__notes__ == ["and the status could not be written: 403 Forbidden: no"]


@pytest.mark.parametrize("error", [KeyboardInterrupt, GeneratorExit])
def test_cancellation_discards(error: type[BaseException]) -> None:
    """Nothing is sent on the way out."""
    script = Script()
    with pytest.raises(error), script.writer().session(OBJECT) as status:
        set_phase(status)
        raise error
    assert script.asked == []


def test_on_error_discard_drops_what_was_staged() -> None:
    """For who wants all or nothing."""
    script = Script()
    with pytest.raises(KeyError), script.writer().session(OBJECT, on_error="discard") as status:
        set_phase(status)
        raise KeyError
    assert script.asked == []


def test_flush_moves_the_base() -> None:
    """A write-ahead inside the session; what follows is a second write from what the server has."""
    script = Script(live("8", phase="Running"), live("9", phase="Running", count=6))
    with script.writer().session(OBJECT) as status:
        set_phase(status)
        assert status.flush().kind == "applied"
        status["count"] = 6
    assert msgspec.json.decode(script.asked[1].body)[1:] == [
        {"op": "test", "path": "/status/count", "value": 5},
        {"op": "add", "path": "/status/count", "value": 6},
    ]


def test_a_session_starts_from_the_newest_version_the_writer_knows() -> None:
    """A cache that lags behind the writer's own last write makes neither a needless nor a missing write."""
    script = Script(live("8", phase="Running"), live("9", phase="Pending"))
    writer = script.writer()
    writer.mutate(OBJECT, set_phase)
    assert writer.mutate(OBJECT, set_phase).kind == "unchanged"
    outcome = writer.mutate(OBJECT, lambda status: status.update(phase="Pending"))
    assert outcome.kind == "applied"


def test_what_the_schema_prunes_is_not_sent_again_and_again() -> None:
    """The answer teaches what the server stores in place of what was sent."""
    script = Script(live("8"))
    writer = script.writer()
    first = writer.mutate(OBJECT, lambda status: status.update(unknown=1))
    assert first.altered == ("status.unknown",)
    assert writer.mutate(OBJECT, lambda status: status.update(unknown=1)).kind == "unchanged"


def test_a_guard_outside_status_is_tested() -> None:
    """What the decision depends on in the spec is part of the compare."""
    script = Script(live(phase="Running"))
    with script.writer().session(OBJECT, guard=["spec.size"]) as status:
        set_phase(status)
    assert {"op": "test", "path": "/spec/size", "value": 3} in msgspec.json.decode(script.asked[0].body)


def test_locked_sends_the_version_and_never_rebases() -> None:
    """Any write by anyone since the read is a conflict for a session."""
    script = Script((409, {"reason": "Conflict"}), live(other=1))
    writer = script.writer(strategy=LOCKED)
    with pytest.raises(Conflict, match='metadata.resourceVersion  was "7", is now "9"'), writer.session(OBJECT) as status:
        set_phase(status)
    assert msgspec.json.decode(script.asked[0].body) == {"metadata": {"resourceVersion": "7"}, "status": {"phase": "Running"}}


def test_merge_sends_the_difference_and_nothing_else() -> None:
    """No lock, no test: what it can lose is written down in docs/strategies."""
    script = Script(live(phase="Running"))
    script.writer(strategy=MERGE).mutate(OBJECT, set_phase)
    assert (script.asked[0].content_type, script.asked[0].body) == ("application/merge-patch+json", b'{"status":{"phase":"Running"}}')


def test_apply_sends_what_this_manager_owns_and_the_changes() -> None:
    """What is not sent would be removed, so what was applied before goes along."""
    entry = {"manager": "me", "operation": "Apply", "subresource": "status", "fieldsV1": {"f:status": {"f:count": {}}}}
    obj = {**OBJECT, "metadata": {**OBJECT["metadata"], "managedFields": [entry]}}
    script = Script(live(phase="Running"))
    script.writer(strategy=APPLY).mutate(obj, set_phase)
    assert msgspec.json.decode(script.asked[0].body)["status"] == {"count": 5, "phase": "Running"}


def test_apply_names_the_other_manager() -> None:
    """A field that another manager applied is theirs, and the error says whose."""
    cause = {"reason": "FieldManagerConflict", "message": 'conflict with "them" using example.io/v1', "field": ".status.phase"}
    script = Script((409, {"reason": "Conflict", "details": {"causes": [cause]}}))
    with pytest.raises(Conflict) as caught:
        script.writer(strategy=APPLY).mutate({**OBJECT, "metadata": {**OBJECT["metadata"], "managedFields": []}}, set_phase)
    assert (caught.value.changes[0].path, caught.value.changes[0].written_by) == ("status.phase", "them")


# -- claims


def test_writing_what_another_writer_claims_is_refused_where_it_is_written() -> None:
    """NotOwner names both, and nothing is sent."""
    registry, script = Claims(), Script()
    script.writer("owner", registry=registry, claims={"Gadget.example.io": ["phase"]})
    with pytest.raises(NotOwner, match="me may not write status.phase of Gadget.example.io: owner has claimed status.phase"):
        script.writer("me", registry=registry).mutate(OBJECT, set_phase)
    assert script.asked == []


def test_two_claims_of_one_path_fail_when_the_second_is_made() -> None:
    """Also when one lies below the other, and then nothing of the second is taken."""
    registry = Claims()
    registry.claim("one", {"Gadget.example.io": ["conditions[Ready]"]})
    with pytest.raises(NotOwner, match="two claims conditions of Gadget.example.io, but one has claimed status.conditions"):
        registry.claim("two", {"Gadget.example.io": ["free", "conditions"]})
    registry.claim("three", {"Gadget.example.io": ["free"]})


def test_a_claimed_path_that_another_manager_changed_is_repaired_and_reported() -> None:
    """The owner puts it right, and the outcome says who had written there."""
    script = Script((422, REFUSED), live(phase="Failed", manager="intruder"), live("10", phase="Running"))
    with script.writer(claims={"Gadget.example.io": ["phase"]}).session(OBJECT) as status:
        set_phase(status)
    assert status.outcome is not None
    assert (status.outcome.kind, status.outcome.repaired) == ("rebased", (("status.phase", "intruder"),))


def test_a_claimed_path_that_another_replica_changed_is_a_conflict() -> None:
    """The same manager wrote it: the other replica may know better."""
    script = Script((422, REFUSED), live(phase="Failed", manager="me"))
    with pytest.raises(Conflict), script.writer(claims={"Gadget.example.io": ["phase"]}).session(OBJECT) as status:
        set_phase(status)


# -- create once


def test_create_once_returns_what_stands_without_a_request() -> None:
    """The plan is there: nobody builds."""
    made = Script().writer().create_once({**OBJECT, "status": {"plan": {"id": 1}}}, "plan", lambda _: pytest.fail("built"))
    assert (made.value, made.created, made.outcome.requests) == ({"id": 1}, False, 0)


def test_create_once_tests_the_version_on_its_first_try() -> None:
    """A stale reconcile must not make again what was made, run and cleared."""
    script = Script(live("8", plan={"id": 2}))
    made = script.writer().create_once(OBJECT, "plan", lambda _: {"id": 2})
    assert (made.value, made.created) == ({"id": 2}, True)
    assert {"op": "test", "path": "/metadata/resourceVersion", "value": "7"} in msgspec.json.decode(script.asked[0].body)


def test_the_loser_of_create_once_gets_the_winners_plan() -> None:
    """Exactly one winner."""
    script = Script((422, REFUSED), live("8", plan={"id": "winner"}))
    made = script.writer().create_once(OBJECT, "plan", lambda _: {"id": "mine"})
    assert (made.value, made.created) == ({"id": "winner"}, False)


def test_create_once_builds_again_on_the_live_object() -> None:
    """After a refusal for another reason the decision is made anew, and may be that there is nothing to do."""
    built: list[Any] = []

    def build(obj: Any) -> Any:
        built.append(obj["status"]["phase"])
        return {"id": 1} if obj["status"]["phase"] == "Pending" else None

    made = Script((422, REFUSED), live("8", phase="Done")).writer().create_once(OBJECT, "plan", build)
    assert (built, made.value, made.created) == (["Pending", "Done"], None, False)


@pytest.mark.parametrize(
    ("token", "standing", "created"),
    [
        pytest.param("", "mine", None, id="an equal value may be another replica's"),
        pytest.param("id", "mine", True, id="the token is this call's"),
        pytest.param("id", "other", False, id="the token is another's"),
    ],
)
def test_create_once_whose_answer_was_lost_says_what_it_knows(token: str, standing: str, created: bool | None) -> None:
    """After a lost answer only a value that is unique to the call tells who made it."""
    script = Script(TimeoutError(), live("8", plan={"id": standing, "defaulted": 1}))
    made = script.writer().create_once(OBJECT, "plan", lambda _: {"id": "mine"}, token=token)
    assert (made.created, made.outcome.kind) == (created, "converged")


def test_a_fence_is_tested() -> None:
    """The id of the last plan that was cleared must be the one that was seen."""
    script = Script((422, REFUSED), live("8"), live("9", plan={"id": 1}))
    build = lambda obj: {"id": 1, "after": obj["status"].get("lastPlan")}  # noqa: E731
    script.writer().create_once({**OBJECT, "status": {"lastPlan": "p0"}}, "plan", build, fence="lastPlan")
    assert {"op": "test", "path": "/status/lastPlan", "value": None} in msgspec.json.decode(script.asked[2].body)


# -- edit


def test_edit_writes_the_main_resource_guarded() -> None:
    """Spec and metadata go through the same conversation, with the same tests."""
    script = Script(live("8"))
    script.writer().add_finalizer(OBJECT, "example.io/f")
    assert script.asked[0].path == "/apis/example.io/v1/namespaces/default/gadgets/g"
    assert msgspec.json.decode(script.asked[0].body)[1:] == [
        {"op": "test", "path": "/metadata/finalizers", "value": None},
        {"op": "add", "path": "/metadata/finalizers", "value": ["example.io/f"]},
    ]


def test_a_finalizer_is_removed_and_the_others_stay() -> None:
    """One line, one guarded request; none where it is not there."""
    held = {**OBJECT, "metadata": {**OBJECT["metadata"], "finalizers": ["other.io/f", "example.io/f"]}}
    script = Script(live("8"))
    script.writer().remove_finalizer(held, "example.io/f")
    operations = msgspec.json.decode(script.asked[0].body)
    assert {"op": "test", "path": "/metadata/finalizers", "value": ["other.io/f", "example.io/f"]} in operations
    assert operations[-1] == {"op": "remove", "path": "/metadata/finalizers/1"}
    assert script.writer().remove_finalizer(OBJECT, "example.io/f").kind == "unchanged"


@pytest.mark.parametrize(("strategy", "refusal"), [(COMPARE, (422, REFUSED)), (LOCKED, (409, {"reason": "Conflict"}))])
def test_a_conflict_of_an_edit_goes_to_the_caller(strategy: Strategy, refusal: Any) -> None:
    """The function is not run again behind the caller's back, and nothing more is sent."""
    runs: list[int] = []

    def grow(obj: Any) -> None:
        runs.append(obj["spec"]["size"])
        obj["spec"]["size"] += 1

    script = Script(refusal, {**live("9"), "spec": {"size": 8}})
    with pytest.raises(Conflict, match=r"spec\.size  was 3, is now 8"):
        script.writer().edit(OBJECT, grow, strategy=strategy)
    assert (runs, script.verbs) == ([3], "PATCH GET")


def test_an_edit_that_touches_status_says_that_status_is_not_written_there() -> None:
    """The server would ignore it silently."""
    script = Script()
    with pytest.raises(FiferailError, match=r"this edit changes status.phase, but status is not written on the main resource"):
        script.writer().edit(OBJECT, lambda obj: obj["status"].update(phase="x"))
    assert script.asked == []


def test_an_edit_is_never_unguarded() -> None:
    """MERGE is refused by name."""
    with pytest.raises(FiferailError, match="expected COMPARE or LOCKED for an edit, got MERGE"):
        Script().writer().edit(OBJECT, lambda obj: None, strategy=MERGE)


# -- bad input


@pytest.mark.parametrize(
    ("obj", "text"),
    [
        (None, "expected an object to write to, got None"),
        ("g", "expected an object (a mapping with apiVersion, kind and metadata), got str"),
        ({"kind": "Gadget"}, "expected an object with metadata, got one without"),
        ({**OBJECT, "metadata": {"uid": "u"}}, "expected an object with metadata.name, got one without"),
        ({**OBJECT, "metadata": {"name": "g"}}, "expected an object with metadata.uid, got one without"),
        ({**OBJECT, "kind": ""}, "expected an object with kind, got one without"),
        ({**OBJECT, "kind": "Plain"}, "Plain.example.io has no status subresource"),
        ({**OBJECT, "kind": "Nonsense"}, "the server has no kind Nonsense in example.io/v1: is its CRD installed?"),
    ],
    ids=["None", "text", "no metadata", "no name", "no uid", "no kind", "no status subresource", "unknown kind"],
)
def test_an_object_that_cannot_be_written_is_refused_before_any_write(obj: Any, text: str) -> None:
    """A clear error, and nothing but discovery was asked."""
    script = Script()
    with pytest.raises(FiferailError) as caught:
        script.writer().mutate(obj, set_phase)
    assert text in str(caught.value)
    assert script.asked == []


def test_the_table_reaches_every_state_and_ends() -> None:
    """The documented machine has no dead ends: every state but DONE and FAIL has a way on."""
    states = {row[0] for row in TABLE}
    assert {row[2] for row in TABLE} - states == {"DONE", "FAIL"}
