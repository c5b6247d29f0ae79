"""Reconciling stages, the controller flushes once: every case of the flush, with real sessions on the embedded server."""

from __future__ import annotations

from typing import Any

import pytest

from fiferail import ApiError, Conflict
from fiferail.components import Aggregate, Component, ConfigMap, Health, Reason
from fiferail.components.staging import say


def component(name: str = "web", condition: str = "WebReady", **options: Any) -> Component:
    resource = ConfigMap({"metadata": {"name": name}, "data": {"a": "b"}})
    return Component(name, condition=condition, resources=[resource], **options)


async def status_of(stand: Any) -> Any:
    return (await stand.owner()).get("status", {})


def status_writes(stand: Any) -> list[str]:
    return [request for request in stand.writes.requests if request.endswith("/status")]


async def write_outside(stand: Any, status: Any) -> None:
    """Another writer's own status write, whatever else is there; a second later, so that managedFields can tell who was last."""
    stand.clock.seconds += 1
    await stand.outside.patch(await stand.owner(), {"status": status}, subresource="status")


async def test_staging_makes_no_call(stand: Any) -> None:
    """A client that refuses every request proves it: a condition can be staged without a server."""
    stand.wire.forbidden = stand.writes.forbidden = lambda request: True

    async def stage(ctx: Any) -> None:
        await say(ctx, "WebReady", Health(Reason.CREATING, "m"))
        assert ctx.status.conditions.get("WebReady")["reason"] == "Creating"
        stand.writes.forbidden = lambda request: False

    await stand.reconcile(stage)
    assert await stand.says("WebReady") == ("False", "Creating")


async def test_reconciling_a_component_never_writes_status(stand: Any) -> None:
    """Its client refuses every status write, in every mode, and nothing is missing at the end."""
    stand.wire.forbidden = lambda request: "/status" in request.path or "webapps" in request.path
    for options in ({}, {"suspend": True}, {"gate": False}, {"requires": ["Never"]}):
        await stand.reconcile(component(**options).reconcile)
    assert await stand.says("WebReady") == ("False", "PrerequisiteNotMet")


async def test_several_components_make_one_write(stand: Any) -> None:
    """However many conditions, and other fields beside them."""

    async def phase(ctx: Any) -> None:
        ctx.status["phase"] = "Running"

    ready = Aggregate("Ready", [component(), component("db", "DbReady")])
    await stand.reconcile(component().reconcile, component("db", "DbReady").reconcile, ready.stage, phase)
    assert len(status_writes(stand)) == 1
    found = await status_of(stand)
    assert ([entry["type"] for entry in found["conditions"]], found["phase"]) == (["WebReady", "DbReady", "Ready"], "Running")


async def test_nothing_changed_is_nothing_sent(stand: Any) -> None:
    """The second pass says the same, so it writes nothing."""
    for _ in range(2):
        await stand.reconcile(component().reconcile)
    assert len(status_writes(stand)) == 1


async def test_no_fetch_when_the_first_write_succeeds(stand: Any) -> None:
    """The owner is not read before it is written."""
    await stand.reconcile(component().reconcile)
    assert [request for request in stand.writes.requests if request.startswith("GET") and request.endswith("/app")] == []


async def test_an_error_that_is_no_conflict_surfaces_and_nothing_is_counted(stand: Any) -> None:
    """Metrics tell what is on the server, not what was meant to be."""
    told: list[Any] = []
    stand.machine.faults.next(verb="patch", kind="WebApp", answer=403)
    with pytest.raises(ApiError, match="403"):
        await stand.reconcile(component(metrics=Recording(told)).reconcile)
    assert [entry for entry in told if entry[0] == "condition"] == []
    await stand.reconcile(component(metrics=Recording(told)).reconcile)
    assert [entry for entry in told if entry[0] == "condition"] == [
        ("condition", "webapp", "WebApp", "app", "default", "WebReady", "True", "Healthy")
    ]


async def test_what_a_failed_reconcile_wrote_is_counted_by_the_next_one(stand: Any) -> None:
    """The error is on the server, so the gauge shows it, also after a restart of the process."""
    told: list[Any] = []
    broken = Component("web", condition="WebReady", resources=[ConfigMap({"metadata": {"name": "No"}})], metrics=Recording(told))
    for _ in range(2):
        with pytest.raises(Exception, match="No"):
            await stand.reconcile(broken.reconcile)
    assert [entry for entry in told if entry[0] == "condition"] == [
        ("condition", "webapp", "WebApp", "app", "default", "WebReady", "False", "Error")
    ]


async def test_without_metrics_it_still_persists(stand: Any) -> None:
    """Nobody has to count."""
    await stand.reconcile(component(metrics=None).reconcile)
    assert await stand.says("WebReady") == ("True", "Healthy")


async def test_every_staged_field_survives_a_conflict(stand: Any) -> None:
    """Conditions and other fields alike, and what the other writer did stays too."""
    old = await stand.owner()
    await write_outside(stand, {"region": "eu", "conditions": [{"type": "Probed", "status": "True"}]})

    async def phase(ctx: Any) -> None:
        ctx.status["phase"] = "Running"

    await stand.reconcile(component().reconcile, phase, obj=old)
    found = await status_of(stand)
    assert (found["phase"], found["region"]) == ("Running", "eu")
    assert {entry["type"] for entry in found["conditions"]} == {"Probed", "WebReady"}


async def test_a_refused_write_is_tried_again_on_what_is_live(stand: Any) -> None:
    """The refetch asks the server, not a cache."""
    stand.machine.faults.next(verb="patch", kind="WebApp", answer=409)
    await stand.reconcile(component().reconcile)
    assert await stand.says("WebReady") == ("True", "Healthy")
    assert "GET /apis/example.io/v1/namespaces/default/webapps/app" in stand.writes.requests


def hacked(conditions: Any) -> Any:
    """The conditions with somebody else's word in WebReady."""
    return [{**entry, "reason": "Hacked", "message": "mine"} if entry["type"] == "WebReady" else entry for entry in conditions]


async def test_an_owned_condition_keeps_its_staged_value(stand: Any) -> None:
    """Another writer's word on a condition that the controller claims is overruled, not obeyed."""
    stand.claims = [component().claim]
    await stand.reconcile(component(requires=["Never"]).reconcile)
    old = await stand.owner()
    await write_outside(stand, {"conditions": hacked(old["status"]["conditions"])})
    await stand.reconcile(component().reconcile, obj=old)
    assert await stand.says("WebReady") == ("True", "Healthy")


async def test_an_owned_condition_keeps_its_staged_absence(stand: Any) -> None:
    """Removed means removed, whoever wrote something else into it meanwhile."""
    stand.claims = [component().claim]
    await stand.reconcile(component().reconcile, component("db", "DbReady").reconcile)
    old = await stand.owner()
    await write_outside(stand, {"conditions": hacked(old["status"]["conditions"])})

    async def retire(ctx: Any) -> None:
        ctx.status.conditions.remove("WebReady")

    await stand.reconcile(retire, obj=old)
    assert await stand.condition("WebReady") is None
    assert await stand.says("DbReady") == ("True", "Healthy")


async def test_an_owned_condition_that_vanished_is_for_a_person_to_see(stand: Any) -> None:
    """Nobody is known to have removed it, so the reconcile is run again, and then says it again."""
    stand.claims = [component().claim]
    await stand.reconcile(component(requires=["Never"]).reconcile)
    old = await stand.owner()
    await write_outside(stand, {"conditions": []})
    with pytest.raises(Conflict, match="WebReady"):
        await stand.reconcile(component().reconcile, obj=old)
    await stand.reconcile(component().reconcile)
    assert await stand.says("WebReady") == ("True", "Healthy")


async def test_a_condition_that_was_not_staged_keeps_the_servers_newer_value(stand: Any) -> None:
    """And its time."""
    probed = {"type": "Probed", "status": "False", "reason": "Silent", "message": "", "lastTransitionTime": "2027-01-01T00:00:00Z"}
    await write_outside(stand, {"conditions": [probed]})
    old = await stand.owner()
    newer = {**probed, "status": "True", "reason": "Answered", "lastTransitionTime": "2027-02-02T00:00:00Z"}
    await write_outside(stand, {"conditions": [newer]})
    await stand.reconcile(component().reconcile, obj=old)
    assert await stand.condition("Probed") == newer


async def test_a_condition_added_meanwhile_is_kept(stand: Any) -> None:
    """The list is written by type, never as a whole."""

    async def meanwhile(ctx: Any) -> None:
        await write_outside(stand, {"conditions": [{"type": "Probed", "status": "True"}]})

    await stand.reconcile(component().reconcile, meanwhile)
    assert {entry["type"] for entry in (await status_of(stand))["conditions"]} == {"Probed", "WebReady"}


async def test_what_a_component_depends_on_may_not_change_under_it(stand: Any) -> None:
    """A prerequisite was read: when it has changed by the time of the write, the decision is void."""
    await write_outside(stand, {"conditions": [{"type": "InfraReady", "status": "True", "reason": "Healthy"}]})

    async def meanwhile(ctx: Any) -> None:
        await write_outside(stand, {"conditions": [{"type": "InfraReady", "status": "False", "reason": "Down"}]})

    with pytest.raises(Conflict, match="InfraReady"):
        await stand.reconcile(component(requires=["InfraReady"]).reconcile, meanwhile)
    assert await stand.condition("WebReady") is None


async def test_an_error_of_the_reconcile_is_not_masked_by_the_flush(stand: Any) -> None:
    """The flush's trouble is added to it as a note."""

    async def broken(ctx: Any) -> None:
        raise ValueError("the reconcile failed")

    stand.machine.faults.next(verb="patch", kind="WebApp", answer=403)
    with pytest.raises(ValueError, match="the reconcile failed") as caught:
        await stand.reconcile(component().reconcile, broken)
    assert ["403" in note for note in caught.value.__notes__] == [True]


async def test_an_error_of_the_flush_is_not_masked_by_the_reconcile(stand: Any) -> None:
    """A reconcile that went well does not make a failed write a success."""
    stand.machine.faults.next(verb="patch", kind="WebApp", answer=403)
    with pytest.raises(ApiError, match="403"):
        await stand.reconcile(component().reconcile)


async def test_a_failed_component_is_told_though_the_reconcile_raises(stand: Any) -> None:
    """What was staged before the error, and the error itself, are both on the server."""
    broken = Component("db", condition="DbReady", resources=[ConfigMap({"metadata": {"name": "No"}})])
    with pytest.raises(Exception, match="No"):
        await stand.reconcile(component().reconcile, broken.reconcile)
    assert await stand.says("WebReady") == ("True", "Healthy")
    assert await stand.says("DbReady") == ("False", "Error")


class Recording:
    """A recorder that keeps what it is told."""

    def __init__(self, told: list[Any]) -> None:
        self.told = told

    def condition(self, owner: Any, condition: str, status: str, reason: str) -> None:
        self.told.append(("condition", owner.controller, owner.kind, owner.name, owner.namespace, condition, status, reason))

    def applied(self, owner: Any, component: str, kind: str, operation: Any) -> None:
        self.told.append(("applied", component, kind, str(operation)))

    def failed(self, owner: Any, component: str, reason: str) -> None:
        self.told.append(("failed", component, reason))

    def forget(self, owner: Any) -> None:
        self.told.append(("forget", owner.name))


async def test_applies_and_failures_are_counted(stand: Any) -> None:
    """By what applying did, and by the reason of the failure."""
    told: list[Any] = []
    for _ in range(2):
        await stand.reconcile(component(metrics=Recording(told)).reconcile)
    broken = Component("db", condition="DbReady", resources=[ConfigMap({"metadata": {"name": "No"}})], metrics=Recording(told))
    with pytest.raises(Exception, match="No"):
        await stand.reconcile(broken.reconcile)
    assert [entry for entry in told if entry[0] != "condition"] == [
        ("applied", "web", "ConfigMap", "created"), ("applied", "web", "ConfigMap", "none"), ("failed", "db", "Error"),
    ]  # fmt: skip


async def test_prometheus_shows_what_the_condition_says_now(stand: Any) -> None:
    """One series per condition: the old reason goes when the new one comes, and all go with the owner."""
    from prometheus_client import CollectorRegistry

    from fiferail.components import PrometheusRecorder
    from fiferail.components.metrics import Owner

    registry = CollectorRegistry()
    recorder = PrometheusRecorder(registry)
    await stand.reconcile(component(metrics=recorder, requires=["Never"]).reconcile)
    await stand.reconcile(component(metrics=recorder).reconcile)
    [gauge] = [metric for metric in registry.collect() if metric.name == "fiferail_component_condition"]
    [sample] = gauge.samples
    assert (sample.labels["condition"], sample.labels["status"], sample.labels["reason"]) == ("WebReady", "True", "Healthy")
    recorder.forget(Owner("webapp", "WebApp", "app", "default"))
    [gauge] = [metric for metric in registry.collect() if metric.name == "fiferail_component_condition"]
    assert gauge.samples == []


# -- aggregates


async def test_an_aggregate_is_true_when_all_are(stand: Any) -> None:
    """Being suspended or disabled counts as being as it should."""
    web, db = component(), component("db", "DbReady", gate=False)
    await stand.reconcile(web.reconcile, db.reconcile, Aggregate("Ready", [web, db]).stage)
    found = await stand.condition("Ready")
    assert (found["status"], found["reason"], found["message"]) == ("True", "Disabled", "db: the component is disabled")


async def test_an_aggregate_has_the_reason_of_the_worst_that_is_not_true(stand: Any) -> None:
    """A suspended component ranks above a waiting one, but does not explain why the whole is not ready."""
    web, db = component(suspend=True), component("db", "DbReady", requires=["Never"])
    late = component("late", "LateReady")
    await stand.reconcile(web.reconcile, db.reconcile, Aggregate("Ready", [web, late, db]).stage)
    found = await stand.condition("Ready")
    assert (found["status"], found["reason"]) == ("False", "PrerequisiteNotMet")
    assert found["message"] == 'db: waiting for condition "Never", which is not there yet'


async def test_an_aggregate_waits_for_components_that_were_never_reconciled(stand: Any) -> None:
    """What has said nothing is not ready; and an aggregate of nothing is not either."""
    await stand.reconcile(Aggregate("Ready", [component()]).stage, Aggregate("Empty", []).stage)
    found = await stand.condition("Ready")
    assert (found["status"], found["reason"], found["message"]) == ("False", "Unknown", "web: has not been reconciled yet")
    assert (await stand.condition("Empty"))["message"] == "no components were given"
