"""Operations on a conditions list."""

from __future__ import annotations

import pytest

from fiferail.errors import Invalid
from fiferail.objects import conditions
from fiferail.objects.tree import Json, same

THEN, NOW = "2024-01-01T00:00:00Z", "2024-06-01T12:00:00Z"
READY: Json = {
    "type": "Ready",
    "status": "True",
    "reason": "AllUp",
    "message": "3 of 3",
    "lastTransitionTime": THEN,
    "observedGeneration": 4,
}
FOREIGN: Json = {"type": "Synced", "status": "False", "severity": "low"}


def test_a_new_condition_goes_to_the_end_with_the_time_given() -> None:
    """The list it was put into stays as it was."""
    old = [FOREIGN]
    new = conditions.put(old, "Ready", True, reason="AllUp", message="3 of 3", now=NOW, observed_generation=4)
    assert new == [FOREIGN, {**READY, "lastTransitionTime": NOW}]
    assert old == [FOREIGN]
    assert new[0] is FOREIGN


@pytest.mark.parametrize(("status", "text"), [(True, "True"), (False, "False"), (None, "Unknown")])
def test_the_status_is_written_as_the_api_spells_it(status: bool | None, text: str) -> None:
    """None is Unknown."""
    assert conditions.put([], "Ready", status, reason="R", now=NOW)[0]["status"] == text


@pytest.mark.parametrize(("status", "moves"), [(True, False), (False, True), (None, True)])
def test_the_transition_time_moves_only_when_the_status_flips(status: bool | None, moves: bool) -> None:
    """A new reason or message alone is no transition."""
    changed = conditions.put([READY], "Ready", status, reason="Other", message="new", now=NOW)[0]
    assert changed["lastTransitionTime"] == (NOW if moves else THEN)
    assert changed["reason"] == "Other"


def test_a_missing_transition_time_is_filled_in() -> None:
    """The API requires one."""
    assert conditions.put([{"type": "A", "status": "True"}], "A", True, reason="R", now=NOW)[0]["lastTransitionTime"] == NOW


@pytest.mark.parametrize(("sent", "kept"), [(3, 4), (4, 4), (5, 5), (None, 4)])
def test_the_observed_generation_is_never_lowered(sent: int | None, kept: int) -> None:
    """An older reconcile may still speak, but not turn the clock back."""
    changed = conditions.put([READY], "Ready", False, reason="R", now=NOW, observed_generation=sent)[0]
    assert changed["observedGeneration"] == kept


def test_saying_the_same_again_gives_the_same_list() -> None:
    """So that nothing is written."""
    old = [FOREIGN, READY]
    assert conditions.put(old, "Ready", True, reason="AllUp", message="3 of 3", now=NOW, observed_generation=4) is old


def test_order_and_foreign_members_are_kept() -> None:
    """An entry changes in its place, and what others put into it stays."""
    new = conditions.put([READY, FOREIGN, "odd"], "Synced", False, reason="Lag", message="m", now=NOW)
    assert same(new, [READY, {**FOREIGN, "reason": "Lag", "message": "m", "lastTransitionTime": NOW}, "odd"])
    assert new[0] is READY


@pytest.mark.parametrize(
    ("message", "kept"),
    [("x" * 32768, 32768), ("x" * 32769, 32768), ("\u00e9" * 16384, 16384), ("x" + "\u00e9" * 16384, 16384), ("\U0001f600" * 8193, 8192)],
    ids=["fits", "one too long", "fits in two bytes each", "not inside a character", "four bytes each"],
)
def test_a_message_is_cut_on_a_character(message: str, kept: int) -> None:
    """No more than 32768 bytes, and whole characters."""
    written = conditions.put([], "A", True, reason="R", message=message, now=NOW)[0]["message"]
    assert written == message[:kept]
    assert len(written.encode()) <= 32768


@pytest.mark.parametrize("reason", ["", "not ok", "1st", "Ends:", "Ends,", "Ünknown", "a" * 1025, "With-Dash", "Line\n"])
def test_a_reason_the_api_would_refuse_is_refused_before_it_is_sent(reason: str) -> None:
    """The error names the condition, the rule and what it got."""
    with pytest.raises(Invalid) as refusal:
        conditions.put([], "Ready", True, reason=reason, now=NOW)
    assert str(refusal.value) == (
        "condition 'Ready': expected reason to be one CamelCase word for machines, "
        f"matching [A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?, up to 1024; got {reason!r}"
    )
    assert refusal.value.causes[0].field == "status.conditions[Ready].reason"


@pytest.mark.parametrize("reason", ["A", "AllUp", "a_b:c,d_", "Http404"])
def test_a_reason_the_api_takes_is_taken(reason: str) -> None:
    """The pattern is the API's."""
    assert conditions.put([], "Ready", True, reason=reason, now=NOW)[0]["reason"] == reason


@pytest.mark.parametrize("type", ["", "a b", "-x", "A/b/c", "Example.IO/Ready", "x" * 317])
def test_a_type_the_api_would_refuse_is_refused(type: str) -> None:
    """A prefix is a DNS name in lower case."""
    with pytest.raises(Invalid, match=r"expected type to be a name"):
        conditions.put([], type, True, reason="R", now=NOW)


def test_a_status_that_is_none_of_three_is_refused() -> None:
    """The text form is a common slip."""
    with pytest.raises(Invalid, match=r"expected status to be True, False, or None for Unknown; got 'True'"):
        conditions.put([], "Ready", "True", reason="R", now=NOW)  # type: ignore[arg-type]


def test_reading_and_removing() -> None:
    """Lookups never fail, and removing what is not there gives the same list."""
    held = [READY, FOREIGN, "odd"]
    assert conditions.get(held, "Ready") is READY
    assert conditions.get(held, "None") is None
    assert conditions.types(held) == ["Ready", "Synced"]
    assert [conditions.is_true(held, name) for name in ("Ready", "Synced", "None")] == [True, False, False]
    assert conditions.remove(held, "Ready") == [FOREIGN, "odd"]
    assert conditions.remove(held, "None") is held
