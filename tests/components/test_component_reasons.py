"""The words of a condition: their order, their truth, whose messages are told together."""

from __future__ import annotations

import pytest

from fiferail.components import Static
from fiferail.components.converge import Result, counted, summary
from fiferail.components.reasons import Health, Reason, reason_of

ORDER = [
    {"Error", "FeatureGateError"},
    {"Down"},
    {"Degraded"},
    {"PendingSuspension"},
    {"Suspending"},
    {"Suspended"},
    {"Disabled"},
    {"Failing"},
    {"OperationFailing"},
    {"TaskFailing"},
    {"Blocked", "PrerequisiteNotMet"},
    {"Scaling"},
    {"TaskRunning"},
    {"Updating"},
    {"Creating"},
    {"OperationPending"},
    {"TaskPending"},
    {"Healthy"},
    {"Operational"},
    {"Completed"},
    {"Unknown"},
]


def result(reason: Reason, message: str = "", *, auxiliary: bool = False) -> Result:
    resource = Static({"apiVersion": "v1", "kind": "Thing", "metadata": {"name": "t"}}, auxiliary=auxiliary)
    return Result(resource, Health(reason, message), {})


def test_every_reason_has_its_rank() -> None:
    """From Error, 20, down to Unknown, 0, with two pairs that share a rank."""
    assert {reason.value: reason.rank for reason in Reason} == {word: 20 - place for place, words in enumerate(ORDER) for word in words}


def test_five_reasons_make_a_condition_true() -> None:
    """Being disabled or suspended is as asked for, so it is True like health is."""
    assert {reason.value for reason in Reason if reason.is_true} == {"Healthy", "Operational", "Completed", "Disabled", "Suspended"}


def test_a_reason_that_no_component_wrote_is_unknown() -> None:
    """A foreign word in the condition counts as never reconciled."""
    assert [reason_of("Scaling"), reason_of("AllUp"), reason_of(None)] == [Reason.SCALING, Reason.UNKNOWN, Reason.UNKNOWN]


@pytest.mark.parametrize(
    ("said", "reason", "message"),
    [
        pytest.param([(Reason.COMPLETED, "a"), (Reason.OPERATIONAL, "b")], Reason.HEALTHY, "all resources are ready", id="all ready"),
        pytest.param([], Reason.HEALTHY, "all resources are ready", id="no resources"),
        pytest.param([(Reason.CREATING, "a"), (Reason.TASK_RUNNING, "b")], Reason.TASK_RUNNING, "b", id="the higher rank wins"),
        pytest.param([(Reason.SCALING, "a"), (Reason.TASK_RUNNING, "b")], Reason.SCALING, "a; b", id="messages of the same severity join"),
        pytest.param(
            [(Reason.BLOCKED, "a"), (Reason.CREATING, "b"), (Reason.UPDATING, "c")],
            Reason.BLOCKED,
            "a; b",
            id="blocked ranks above updating, with its own severity",
        ),
        pytest.param(
            [(Reason.FAILING, "a"), (Reason.TASK_FAILING, ""), (Reason.OPERATION_FAILING, "c")],
            Reason.FAILING,
            "a; c",
            id="empty messages are left out",
        ),
    ],
)
def test_the_summary_takes_the_highest_reason_and_the_messages_of_its_severity(
    said: list[tuple[Reason, str]], reason: Reason, message: str
) -> None:
    """Rank picks the word, severity picks the messages."""
    assert summary([result(*entry) for entry in said]) == Health(reason, message)


def test_auxiliary_resources_count_only_when_blocked() -> None:
    """A blocked one hides all later ones, so its silence would be taken for health."""
    failing, blocked = result(Reason.FAILING, auxiliary=True), result(Reason.BLOCKED, auxiliary=True)
    assert counted([failing, blocked]) == [blocked]
