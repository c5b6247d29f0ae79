"""From what resources say, and what was said before, to what is said now: the state machine without a server."""

from __future__ import annotations

from typing import Any

import pytest

from fiferail.components import Deployment, Job
from fiferail.components.converge import Result, verdict
from fiferail.components.grace import Previous, previous, remaining
from fiferail.components.reasons import Health, Reason

NOW = 1000.5
DEPLOYMENT = Deployment({"metadata": {"name": "web"}})
HALF = {
    "kind": "Deployment",
    "metadata": {"name": "web", "generation": 1},
    "spec": {"replicas": 2},
    "status": {"readyReplicas": 1, "observedGeneration": 1},
}
NONE = {**HALF, "status": {"observedGeneration": 1}}


def said(reason: Reason, message: str = "m", live: Any = HALF, resource: Any = DEPLOYMENT) -> Result:
    return Result(resource, Health(reason, message), live)


def before(reason: Reason, seconds_ago: float = 10, generation: int = 1) -> Previous:
    return Previous(reason, reason.is_true, "", float(int(NOW)) - seconds_ago, generation)


def judged(*results: Result, after: Previous, grace: float = 60, generation: int = 1) -> Any:
    return verdict(results, after, grace=grace, now=NOW, generation=generation)


@pytest.mark.parametrize("began", [Reason.CREATING, Reason.UPDATING, Reason.SCALING], ids=str)
def test_how_convergence_began_stays_while_it_lasts(began: Reason) -> None:
    """The reason is kept, the message is fresh, the clock runs on."""
    found = judged(said(Reason.SCALING, "1 of 2"), after=before(began))
    assert (found.health, found.restart) == (Health(began, "1 of 2"), False)


@pytest.mark.parametrize("trouble", [Reason.FAILING, Reason.OPERATION_FAILING, Reason.TASK_FAILING, Reason.BLOCKED], ids=str)
def test_trouble_is_not_hidden_by_how_convergence_began(trouble: Reason) -> None:
    """A failing or blocked resource shows at once."""
    assert judged(said(trouble), after=before(Reason.CREATING)).health == Health(trouble, "m")


def test_a_new_generation_begins_anew() -> None:
    """What was said of an older spec neither stays nor counts against the grace of the newer one."""
    found = judged(said(Reason.UPDATING), after=before(Reason.DOWN, seconds_ago=500), generation=2)
    assert (found.health.reason, found.restart) == (Reason.UPDATING, True)


@pytest.mark.parametrize("waited", [Reason.PREREQUISITE_NOT_MET, Reason.SUSPENDING, Reason.FEATURE_GATE_ERROR], ids=str)
def test_time_spent_on_something_else_does_not_count(waited: Reason) -> None:
    """Waiting for a prerequisite, or resting, is not converging: the clock begins with the first attempt."""
    found = judged(said(Reason.CREATING), after=before(waited, seconds_ago=500))
    assert (found.health.reason, found.restart) == (Reason.CREATING, True)


def test_time_spent_on_errors_counts() -> None:
    """A component that could not even apply its resources was on its way all the same."""
    assert judged(said(Reason.CREATING, live=NONE), after=before(Reason.ERROR, seconds_ago=500)).health.reason is Reason.DOWN


@pytest.mark.parametrize(
    ("results", "expected"),
    [
        pytest.param([said(Reason.CREATING)], Health(Reason.DEGRADED, "Deployment web: 1 of 2 replicas are ready"), id="some ready"),
        pytest.param([said(Reason.CREATING, live=NONE)], Health(Reason.DOWN, "Deployment web: 0 of 2 replicas are ready"), id="none ready"),
        pytest.param([said(Reason.CREATING), said(Reason.BLOCKED, "waits", live=None)], Health(Reason.DOWN, "waits"), id="blocked is down"),
        pytest.param(
            [said(Reason.HEALTHY), said(Reason.TASK_RUNNING, "runs", {}, Job({"metadata": {"name": "j"}}))],
            Health(Reason.DOWN, "runs"),
            id="what has no grade is down",
        ),
    ],
)
def test_past_its_grace_a_component_is_graded_by_the_worst(results: list[Result], expected: Health) -> None:
    """Only what has not converged is graded."""
    assert judged(*results, after=before(Reason.CREATING, seconds_ago=61)).health == expected


def test_grades_are_given_anew_every_pass() -> None:
    """Down becomes Degraded when a replica comes up, and Healthy when all are."""
    down = before(Reason.DOWN, seconds_ago=500)
    assert judged(said(Reason.SCALING), after=down).health.reason is Reason.DEGRADED
    assert judged(said(Reason.HEALTHY), after=down).health.reason is Reason.HEALTHY


def test_a_grade_of_healthy_keeps_converging_and_is_told() -> None:
    """The two functions of one resource contradict each other: it stays as it began, and the resource is named, unless that is known."""
    mild = Deployment({"metadata": {"name": "web"}}, grade=lambda live: Health(Reason.HEALTHY))
    known = Deployment({"metadata": {"name": "web"}}, grade=lambda live: Health(Reason.HEALTHY), suppress_grace_warning=True)
    found = judged(said(Reason.SCALING, resource=mild), said(Reason.SCALING, resource=known), after=before(Reason.CREATING, seconds_ago=99))
    assert found.health == Health(Reason.CREATING, "m; m")
    assert [result.resource for result in found.milder] == [mild]


def test_without_a_grace_period_nothing_is_graded() -> None:
    """0 means never."""
    assert judged(said(Reason.SCALING), after=before(Reason.CREATING, seconds_ago=9999), grace=0).health.reason is Reason.CREATING


def test_a_condition_that_was_true_starts_its_clock_by_flipping() -> None:
    """The age of a True condition is no delay, whatever made it True."""
    for reason in (Reason.HEALTHY, Reason.SUSPENDED, Reason.DISABLED):
        found = judged(said(Reason.SCALING), after=before(reason, seconds_ago=9999))
        assert (found.health.reason, found.restart) == (Reason.SCALING, False)


def test_a_grade_must_be_a_grade() -> None:
    """Any other word is refused with the resource's name."""
    odd = Deployment({"metadata": {"name": "web"}}, grade=lambda live: Health(Reason.SCALING))
    with pytest.raises(ValueError, match="expected the grade of Deployment web to be Healthy, Degraded or Down, got Scaling"):
        judged(said(Reason.SCALING, resource=odd), after=before(Reason.CREATING, seconds_ago=61))


@pytest.mark.parametrize("grace", [60, 60.4], ids=["whole seconds", "a fraction"])
def test_the_remaining_grace_ends_at_the_first_whole_second_after_the_deadline(grace: float) -> None:
    """The server keeps whole seconds, so coming back earlier would find the grace not over."""
    since = float(int(NOW)) - 10
    left = remaining(before(Reason.CREATING), grace, NOW)
    assert left is not None
    assert NOW + left == since + 61


@pytest.mark.parametrize(
    ("said_before", "grace"),
    [
        pytest.param(before(Reason.CREATING), 0, id="no grace period"),
        pytest.param(before(Reason.CREATING, seconds_ago=61), 60, id="over"),
        pytest.param(Previous(), 60, id="never reconciled"),
        *(
            pytest.param(before(reason), 60, id=str(reason))
            for reason in (
                Reason.HEALTHY,
                Reason.DOWN,
                Reason.DEGRADED,
                Reason.SUSPENDING,
                Reason.SUSPENDED,
                Reason.DISABLED,
                Reason.PREREQUISITE_NOT_MET,
                Reason.FEATURE_GATE_ERROR,
            )
        ),
    ],
)
def test_nothing_remains_where_nothing_waits_for_the_deadline(said_before: Previous, grace: float) -> None:
    """None: the controller need not come back for it."""
    assert remaining(said_before, grace, NOW) is None


def test_a_stored_condition_is_read_with_care() -> None:
    """Whatever somebody else left there."""
    assert previous(None) == previous("x") == Previous()
    odd = previous({"type": "A", "status": "True", "reason": 5, "lastTransitionTime": "yesterday", "observedGeneration": "1"})
    assert odd == Previous(Reason.UNKNOWN, True, "", None, None)
