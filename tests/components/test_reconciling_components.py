"""One reconcile of a component on the embedded server, from the first apply to every reason its condition can have."""

from __future__ import annotations

from typing import Any

import pytest

from fiferail import Invalid
from fiferail.components import ClusterRole, Component, ConfigMap, Data, Deployment, Health, Job, Mutation, Reason, Secret, Service, Static


def config(name: str = "config", **data: str) -> Any:
    return {"metadata": {"name": name}, "data": data or {"host": "db"}}


def deployment(name: str = "web", replicas: int = 2, **metadata: str) -> Any:
    labels = {"app": name}
    container = {"name": "app", "image": "example.io/app:2"}
    template = {"metadata": {"labels": labels}, "spec": {"containers": [container]}}
    return {
        "metadata": {"name": name, **metadata},
        "spec": {"replicas": replicas, "selector": {"matchLabels": labels}, "template": template},
    }


def web(*resources: Any, **options: Any) -> Component:
    return Component("web", condition="WebReady", resources=resources or (ConfigMap(config()), Deployment(deployment())), **options)


async def ready(stand: Any, name: str = "web", replicas: int = 2) -> None:
    await stand.set_status("apps/v1", "Deployment", name, {"replicas": replicas, "readyReplicas": replicas})


async def test_a_component_converges_from_creating_to_healthy(stand: Any) -> None:
    """Resources are applied in order and the condition follows the Deployment's replicas."""
    await stand.reconcile(web().reconcile)
    assert await stand.says("WebReady") == ("False", "Creating")
    await stand.set_status("apps/v1", "Deployment", "web", {"replicas": 2, "readyReplicas": 1})
    await stand.reconcile(web().reconcile)
    assert await stand.says("WebReady") == ("False", "Creating")
    assert (await stand.condition("WebReady"))["message"] == "Deployment web: 1 of 2 replicas are ready"
    await ready(stand)
    await stand.reconcile(web().reconcile)
    assert await stand.says("WebReady") == ("True", "Healthy")
    assert stand.events == [
        ("CreatedConfigMap", "Created ConfigMap config"),
        ("CreatedDeployment", "Created Deployment web"),
        ("Creating", "WebReady went from Unknown to Creating: Deployment web: its controller has not seen generation 1 yet"),
        ("Healthy", "WebReady went from Creating to Healthy: all resources are ready"),
    ]


async def test_an_update_and_a_scaling_are_told_apart(stand: Any) -> None:
    """Updating when this pass changed the object, Scaling when replicas went away by themselves."""
    await stand.reconcile(web().reconcile)
    await ready(stand)
    await stand.reconcile(web().reconcile)
    await stand.set_status("apps/v1", "Deployment", "web", {"readyReplicas": 1})
    await stand.reconcile(web().reconcile)
    assert await stand.says("WebReady") == ("False", "Scaling")
    await ready(stand)
    await stand.reconcile(web().reconcile)
    await stand.reconcile(web(Deployment(deployment(replicas=3))).reconcile)
    assert await stand.says("WebReady") == ("False", "Updating")


async def test_resources_belong_to_the_owner_and_to_the_components_field_manager(stand: Any) -> None:
    """What is applied carries the owner as controller and the manager OwnerKind/component."""
    await stand.reconcile(web(ConfigMap(config())).reconcile)
    applied = await stand.get("v1", "ConfigMap", "config")
    [reference] = applied["metadata"]["ownerReferences"]
    assert (reference["kind"], reference["name"], reference["controller"]) == ("WebApp", "app", True)
    [managed] = applied["metadata"]["managedFields"]
    assert (managed["manager"], managed["operation"]) == ("WebApp/web", "Apply")


async def test_a_manager_name_that_is_too_long_becomes_its_digest(stand: Any) -> None:
    """The server takes 128 characters."""
    await stand.reconcile(Component("w" * 130, condition="WebReady", resources=[ConfigMap(config())]).reconcile)
    [managed] = (await stand.get("v1", "ConfigMap", "config"))["metadata"]["managedFields"]
    assert len(managed["manager"]) == 64


async def test_what_another_manager_holds_is_taken_by_force(stand: Any) -> None:
    """The component owns what it declares; what it does not declare stays with others."""
    await stand.outside.create(
        {
            "apiVersion": "v1",
            "kind": "ConfigMap",
            "metadata": {"name": "config", "namespace": "default"},
            "data": {"host": "x", "extra": "y"},
        }
    )
    await stand.reconcile(web(ConfigMap(config(host="db"))).reconcile)
    assert (await stand.get("v1", "ConfigMap", "config"))["data"] == {"host": "db", "extra": "y"}


async def test_a_namespaced_owner_leaves_no_reference_on_a_cluster_scoped_resource(stand: Any) -> None:
    """The server would collect such an object at once."""
    await stand.reconcile(web(ClusterRole({"metadata": {"name": "reader"}, "rules": []})).reconcile)
    role = await stand.get("rbac.authorization.k8s.io/v1", "ClusterRole", "reader", None)
    assert "ownerReferences" not in role["metadata"]


async def test_a_cluster_scoped_owner_owns_in_any_namespace(cluster_stand: Any) -> None:
    """It has no namespace to lend, so the resource names its own."""
    here = {"metadata": {"name": "config", "namespace": "default"}, "data": {"host": "db"}}
    await cluster_stand.reconcile(web(ConfigMap(here)).reconcile)
    [reference] = (await cluster_stand.get("v1", "ConfigMap", "config"))["metadata"]["ownerReferences"]
    assert reference["kind"] == "ClusterApp"


async def test_an_unowned_resource_carries_no_reference(stand: Any) -> None:
    """It outlives its owner."""
    await stand.reconcile(web(ConfigMap(config(), unowned=True)).reconcile)
    assert "ownerReferences" not in (await stand.get("v1", "ConfigMap", "config"))["metadata"]


async def test_a_failure_is_staged_as_an_error_and_raised(stand: Any) -> None:
    """The condition says what the server said; resources before it stay applied, later ones are not touched."""
    broken = Deployment({"metadata": {"name": "web"}, "spec": {"replicas": -1}})
    with pytest.raises(Invalid):
        await stand.reconcile(web(ConfigMap(config()), broken, Secret({"metadata": {"name": "s"}})).reconcile)
    found = await stand.condition("WebReady")
    assert (found["status"], found["reason"]) == ("False", "Error")
    assert 'Deployment.apps "web" is invalid' in found["message"]
    assert await stand.get("v1", "ConfigMap", "config") is not None
    assert await stand.get("v1", "Secret", "s") is None


# -- gates and prerequisites


async def test_a_closed_gate_deletes_what_is_managed_and_says_disabled(stand: Any) -> None:
    """It beats suspension and prerequisites, runs orphans, and does not touch what is only read."""
    kept = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "read", "namespace": "default"}}
    await stand.outside.create(kept)
    await stand.reconcile(web(ConfigMap(config()), ConfigMap(config("old")), ConfigMap(config("kept"))).reconcile)
    resources = [ConfigMap(config()), ConfigMap(config("old"), delete=True), ConfigMap(config("kept"), orphan_when=True)]
    resources.append(ConfigMap({"metadata": {"name": "read"}}, read_only=True))
    await stand.reconcile(web(*resources, gate=False, suspend=True, requires=["Never"]).reconcile)
    assert await stand.says("WebReady") == ("True", "Disabled")
    assert await stand.get("v1", "ConfigMap", "config") is None
    assert await stand.get("v1", "ConfigMap", "old") is None
    assert "ownerReferences" not in (await stand.get("v1", "ConfigMap", "kept"))["metadata"]
    assert await stand.get("v1", "ConfigMap", "read") is not None
    assert ("ResourceDeleted", "Deleted ConfigMap config: the component is disabled") in stand.events


async def test_a_gate_that_fails_is_told_and_raised(stand: Any) -> None:
    """Nothing is applied and nothing deleted on a guess."""

    def gate() -> bool:
        raise LookupError("the flag service is away")

    with pytest.raises(LookupError, match="the flag service is away"):
        await stand.reconcile(web(gate=gate).reconcile)
    found = await stand.condition("WebReady")
    assert (found["status"], found["reason"], found["message"]) == ("False", "FeatureGateError", "the flag service is away")
    assert await stand.get("v1", "ConfigMap", "config") is None


async def test_prerequisites_hold_a_component_back_until_it_has_passed_them_once(stand: Any) -> None:
    """The first unmet one is told; later the same condition may go away without taking the component down."""
    infra = Component("infra", condition="InfraReady", resources=[ConfigMap(config("infra"))])
    gated = web(ConfigMap(config()), requires=["InfraReady", lambda ctx: "waiting for the moon"])
    await stand.reconcile(gated.reconcile)
    found = await stand.condition("WebReady")
    assert found["reason"] == "PrerequisiteNotMet"
    assert found["message"] == 'waiting for condition "InfraReady", which is not there yet'
    await stand.reconcile(infra.reconcile, gated.reconcile)
    assert (await stand.condition("WebReady"))["message"] == "waiting for the moon"
    await stand.reconcile(web(ConfigMap(config()), requires=["InfraReady"]).reconcile)
    assert await stand.says("WebReady") == ("True", "Healthy")
    broken = Component("infra", condition="InfraReady", resources=[ConfigMap(config("infra"), guard=lambda: False)])
    await stand.reconcile(broken.reconcile, web(ConfigMap(config()), requires=["InfraReady"]).reconcile)
    assert await stand.says("InfraReady") == ("False", "Blocked")
    assert await stand.says("WebReady") == ("True", "Healthy")


async def test_a_prerequisite_that_fails_keeps_the_barrier_up(stand: Any) -> None:
    """Staged as not met, with the error's text, and raised."""

    async def check(ctx: Any) -> bool:
        raise OSError("no route")

    with pytest.raises(OSError, match="no route"):
        await stand.reconcile(web(requires=[check]).reconcile)
    assert (await stand.condition("WebReady"))["reason"] == "PrerequisiteNotMet"


# -- guards and data


async def test_a_guard_waits_for_data_of_an_earlier_resource(stand: Any) -> None:
    """The reader and everything after it wait; the message names every missing cell."""
    host: Data[str] = Data("db-host", str)
    port: Data[int] = Data("port", int)
    copy = Mutation("host", lambda secret: secret.update(stringData={"host": f"{host.value}:{port.value}"}), reads=(host, port))

    def component() -> Component:
        source = ConfigMap({"metadata": {"name": "db"}}, read_only=True, extract={
            host: lambda live: live.get("data", {}).get("host"), port: lambda live: int(live["data"]["port"]) if "data" in live else None,
        })  # fmt: skip
        return web(source, Secret({"metadata": {"name": "s"}}, guard=[host, port], mutations=[copy]), ConfigMap(config("after")))

    db = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "db", "namespace": "default"}}
    await stand.outside.create(db)
    await stand.reconcile(component().reconcile)
    found = await stand.condition("WebReady")
    assert (found["reason"], found["message"]) == ("Blocked", 'waiting for data "db-host", "port"')
    assert await stand.get("v1", "ConfigMap", "after") is None
    await stand.outside.patch(db, {"data": {"host": "pg", "port": "5432"}})
    await stand.reconcile(component().reconcile)
    assert await stand.says("WebReady") == ("True", "Healthy")
    assert (await stand.get("v1", "Secret", "s"))["data"] == {"host": "cGc6NTQzMg=="}


async def test_a_blocked_auxiliary_resource_counts(stand: Any) -> None:
    """Else a component whose later resources were never looked at would call itself healthy."""
    await stand.reconcile(web(ConfigMap(config(), auxiliary=True, guard=lambda: "waiting for a key"), ConfigMap(config("b"))).reconcile)
    found = await stand.condition("WebReady")
    assert (found["reason"], found["message"]) == ("Blocked", "waiting for a key")


async def test_an_auxiliary_resource_does_not_count(stand: Any) -> None:
    """It is applied, and its health is its own affair."""
    await stand.reconcile(web(ConfigMap(config()), Deployment(deployment(), auxiliary=True)).reconcile)
    assert await stand.says("WebReady") == ("True", "Healthy")
    assert await stand.get("apps/v1", "Deployment", "web") is not None


async def test_data_of_another_type_is_refused(stand: Any) -> None:
    """The error names the cell, both types and the resource it came from."""
    port: Data[int] = Data("port", int)
    with pytest.raises(Exception, match='expected data "port" to be of type int, got str') as caught:
        await stand.reconcile(web(ConfigMap(config(), extract={port: lambda live: "5432"})).reconcile)
    assert caught.value.__notes__ == ['while extracting data "port" from ConfigMap config']


# -- read-only, delete, orphan, foreign


@pytest.mark.parametrize(
    ("options", "says"),
    [
        pytest.param({"block_on_absence": True}, ("False", "Blocked"), id="blocked on"),
        pytest.param({"ignore_if_absent": True}, ("True", "Healthy"), id="ignored"),
    ],
)
async def test_a_read_only_resource_that_is_not_there(stand: Any, options: Any, says: tuple[str, str]) -> None:
    """It is waited for, or it does not matter, as the option says."""
    await stand.reconcile(web(ConfigMap(config("other"), read_only=True, **options)).reconcile)
    assert await stand.says("WebReady") == says
    assert await stand.get("v1", "ConfigMap", "other") is None


async def test_a_read_only_resource_that_is_not_there_is_an_error_by_default(stand: Any) -> None:
    """The message says what can be done."""
    with pytest.raises(LookupError, match="ConfigMap other is not there, and is only read: create it, or say block_on_absence"):
        await stand.reconcile(web(ConfigMap(config("other"), read_only=True)).reconcile)
    assert await stand.says("WebReady") == ("False", "Error")


async def test_the_health_of_a_read_only_resource_counts(stand: Any) -> None:
    """Though it is never written."""
    theirs = {"apiVersion": "apps/v1", "kind": "Deployment", **deployment("theirs")}
    theirs["metadata"]["namespace"] = "default"
    made = await stand.outside.create(theirs)
    await stand.reconcile(web(Deployment({"metadata": {"name": "theirs"}}, read_only=True)).reconcile)
    assert await stand.says("WebReady") == ("False", "Updating")
    await ready(stand, "theirs")
    await stand.reconcile(web(Deployment({"metadata": {"name": "theirs"}}, read_only=True)).reconcile)
    assert await stand.says("WebReady") == ("True", "Healthy")
    assert (await stand.get("apps/v1", "Deployment", "theirs"))["metadata"]["uid"] == made["metadata"]["uid"]


@pytest.mark.parametrize(
    "option",
    [{"delete": True}, {"delete_when": True}, {"gated_by": False}, {"gated_by": lambda: False}],
    ids=["delete", "delete_when", "gated_by", "gated_by a function"],
)
async def test_what_is_no_longer_wanted_is_deleted_after_the_condition_is_staged(stand: Any, option: Any) -> None:
    """Once: what is missing already is success, and is not told again."""
    await stand.reconcile(web(ConfigMap(config())).reconcile)
    for _ in range(2):
        await stand.reconcile(web(ConfigMap(config(), **option)).reconcile)
    assert await stand.get("v1", "ConfigMap", "config") is None
    assert [event for event in stand.events if event[0] == "ResourceDeleted"] == [
        ("ResourceDeleted", "Deleted ConfigMap config: no longer wanted")
    ]
    assert await stand.says("WebReady") == ("True", "Healthy")


async def test_a_kind_that_is_not_installed_has_nothing_to_delete(stand: Any) -> None:
    """Removing an optional integration must not need its CRD."""
    gone = {"apiVersion": "cert.example.io/v1", "kind": "Certificate", "metadata": {"name": "c"}}
    await stand.reconcile(web(Static(gone, delete=True)).reconcile)
    assert await stand.says("WebReady") == ("True", "Healthy")


async def test_orphaning_drops_this_owners_reference_only(stand: Any) -> None:
    """By uid; other owners, and the object, stay."""
    await stand.reconcile(web(ConfigMap(config())).reconcile)
    live = await stand.get("v1", "ConfigMap", "config")
    other = {"apiVersion": "v1", "kind": "ConfigMap", "name": "x", "uid": "11111111-1111-1111-1111-111111111111"}
    await stand.outside.patch(live, {"metadata": {"ownerReferences": [other, *live["metadata"]["ownerReferences"]]}})
    for _ in range(2):
        await stand.reconcile(web(ConfigMap(config(), orphan_when=True)).reconcile)
    assert (await stand.get("v1", "ConfigMap", "config"))["metadata"]["ownerReferences"] == [other]
    assert [event for event in stand.events if event[0] == "ResourceOrphaned"] == [("ResourceOrphaned", "Let go of ConfigMap config")]


async def foreign(stand: Any, name: str = "config") -> Any:
    """An object of that name which another WebApp controls."""
    other = await stand.outside.create(
        {"apiVersion": "example.io/v1", "kind": "WebApp", "metadata": {"name": "other", "namespace": "default"}}
    )
    reference = {"apiVersion": "example.io/v1", "kind": "WebApp", "name": "other", "uid": other["metadata"]["uid"], "controller": True}
    theirs = {"metadata": {"name": name, "namespace": "default", "ownerReferences": [reference]}, "spec": {"ports": [{"port": 80}]}}
    return await stand.outside.create({"apiVersion": "v1", "kind": "Service", **theirs})


@pytest.mark.parametrize(
    ("options", "component", "says"),
    [
        pytest.param({}, {}, ("False", "Blocked"), id="converging"),
        pytest.param({}, {"suspend": True}, ("True", "Suspended"), id="suspending"),
        pytest.param({"delete": True}, {}, ("True", "Healthy"), id="deleting"),
        pytest.param({}, {"gate": False}, ("True", "Disabled"), id="disabling"),
    ],
)
async def test_what_another_controller_owns_is_left_alone(stand: Any, options: Any, component: Any, says: tuple[str, str]) -> None:
    """It blocks, names who controls it, and is neither suspended nor deleted."""
    theirs = await foreign(stand, "front")
    front = Service({"metadata": {"name": "front"}, "spec": {"ports": [{"port": 81}]}}, block_on_foreign_controller=True, **options)
    await stand.reconcile(web(front, **component).reconcile)
    assert await stand.says("WebReady") == says
    if says == ("False", "Blocked"):
        assert (await stand.condition("WebReady"))["message"] == "Service front is controlled by WebApp other"
    assert await stand.get("v1", "Service", "front") == theirs


# -- suspension


async def test_suspending_scales_down_and_waits_for_it(stand: Any) -> None:
    """Suspending while replicas are left, Suspended when none is; waking up restores what is desired."""
    await stand.reconcile(web().reconcile)
    await ready(stand)
    await stand.reconcile(web(suspend=True).reconcile)
    found = await stand.condition("WebReady")
    assert (found["reason"], found["message"]) == ("Suspending", "Deployment web: 2 replicas are still there")
    assert (await stand.get("apps/v1", "Deployment", "web"))["spec"]["replicas"] == 0
    await stand.set_status("apps/v1", "Deployment", "web", {"replicas": 0, "readyReplicas": 0})
    await stand.reconcile(web(suspend=True).reconcile)
    assert await stand.says("WebReady") == ("True", "Suspended")
    await stand.reconcile(web().reconcile)
    assert (await stand.get("apps/v1", "Deployment", "web"))["spec"]["replicas"] == 2
    assert await stand.says("WebReady") == ("False", "Updating")


async def test_what_is_absent_is_created_at_rest_or_stays_absent(stand: Any) -> None:
    """A Deployment is made with no replicas; a Service, which a rest deletes, is not made at all; static ones are not touched."""
    service = Service({"metadata": {"name": "front"}, "spec": {"ports": [{"port": 80}]}})
    await stand.reconcile(web(ConfigMap(config()), Deployment(deployment()), service, suspend=True).reconcile)
    assert (await stand.get("apps/v1", "Deployment", "web"))["spec"]["replicas"] == 0
    assert await stand.get("v1", "Service", "front") is None
    assert await stand.get("v1", "ConfigMap", "config") is None
    assert await stand.says("WebReady") == ("True", "Suspended")


async def test_what_a_rest_deletes_goes_only_when_it_has_come_to_rest(stand: Any) -> None:
    """A Job is stopped first, and deleted once its pods are gone."""
    pod = {"spec": {"restartPolicy": "Never", "containers": [{"name": "m", "image": "example.io/m:1"}]}}
    job = Job({"metadata": {"name": "migrate"}, "spec": {"template": pod}})
    await stand.reconcile(web(job).reconcile)
    assert await stand.says("WebReady") == ("False", "TaskPending")
    await stand.set_status("batch/v1", "Job", "migrate", {"active": 1, "startTime": "2027-01-15T08:00:00Z"})
    await stand.reconcile(web(job, suspend=True).reconcile)
    assert (await stand.condition("WebReady"))["message"] == "Job migrate: 1 pods are still active"
    assert (await stand.get("batch/v1", "Job", "migrate"))["spec"]["suspend"] is True
    await stand.set_status("batch/v1", "Job", "migrate", {"active": 0, "startTime": None})
    for _ in range(2):
        await stand.reconcile(web(job, suspend=True).reconcile)
    assert await stand.says("WebReady") == ("True", "Suspended")
    assert await stand.get("batch/v1", "Job", "migrate") is None
    assert [event for event in stand.events if event[0] == "ResourceDeleted"] == [("ResourceDeleted", "Deleted Job migrate: suspended")]


async def test_a_rest_asks_no_guard_and_fetches_nothing_that_is_only_read(stand: Any) -> None:
    """What is missing for running is not missing for resting; fields that need extracted data are left as they are."""
    size: Data[str] = Data("size", str)
    grow = Mutation("size", lambda obj: obj["metadata"].update(annotations={"size": size.value}), reads=(size,))

    def component(**options: Any) -> Component:
        source = ConfigMap({"metadata": {"name": "sizes"}}, read_only=True, extract={size: lambda live: live["data"]["size"]})
        return web(source, Deployment(deployment(), guard=size, mutations=[grow]), **options)

    sizes = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "sizes", "namespace": "default"}, "data": {"size": "big"}}
    await stand.reconcile(component(suspend=True).reconcile)
    assert await stand.says("WebReady") == ("True", "Suspended")
    await stand.outside.create(sizes)
    await stand.reconcile(component().reconcile)
    await stand.outside.delete(sizes)
    await stand.reconcile(component(suspend=True).reconcile)
    live = await stand.get("apps/v1", "Deployment", "web")
    assert (live["spec"]["replicas"], live["metadata"]["annotations"]["size"]) == (0, "big")


async def test_one_that_cannot_rest_does_not_keep_the_others_up(stand: Any) -> None:
    """All are tried, and all errors are told."""

    def refuse(live: Any) -> Health:
        raise ValueError("no")

    broken = [Deployment(deployment(name), suspended=refuse) for name in ("a", "b")]
    with pytest.raises(Exception, match="no; no"):
        await stand.reconcile(web(*broken, Deployment(deployment("c")), suspend=True).reconcile)
    assert (await stand.get("apps/v1", "Deployment", "c"))["spec"]["replicas"] == 0
    assert await stand.says("WebReady") == ("False", "Error")


# -- grace


async def test_grace_runs_out_on_the_clock_of_the_condition(stand: Any) -> None:
    """The reconcile says when to come back; then the component is Down, Degraded with one replica, Healthy with all."""
    left = await stand.reconcile(web(grace=60).reconcile)
    assert left == 60.5
    stand.clock.seconds += 30
    assert await stand.reconcile(web(grace=60).reconcile) == 30.5
    stand.clock.seconds += 30.5
    assert await stand.reconcile(web(grace=60).reconcile) is None
    assert await stand.says("WebReady") == ("False", "Down")
    await stand.set_status("apps/v1", "Deployment", "web", {"replicas": 2, "readyReplicas": 1})
    await stand.reconcile(web(grace=60).reconcile)
    assert await stand.says("WebReady") == ("False", "Degraded")
    await ready(stand)
    await stand.reconcile(web(grace=60).reconcile)
    assert await stand.says("WebReady") == ("True", "Healthy")


async def test_a_new_generation_restarts_the_clock(stand: Any) -> None:
    """The condition's time moves with it, though it stays False."""
    await stand.reconcile(web(grace=60).reconcile)
    began = (await stand.condition("WebReady"))["lastTransitionTime"]
    stand.clock.seconds += 100
    await stand.reconcile(web(grace=60).reconcile)
    assert await stand.says("WebReady") == ("False", "Down")
    await stand.respec({"size": 2})
    assert await stand.reconcile(web(grace=60).reconcile) == 60.5
    found = await stand.condition("WebReady")
    assert (found["reason"], found["observedGeneration"]) == ("Updating", 2)
    assert found["lastTransitionTime"] > began


async def test_a_reason_of_its_own_kind(stand: Any) -> None:
    """A custom convergence says what the built-in one cannot know."""
    failing = Deployment(deployment(), converge=lambda live, operation: Health(Reason.FAILING, "the pods crash"))
    await stand.reconcile(web(failing).reconcile)
    found = await stand.condition("WebReady")
    assert (found["reason"], found["message"]) == ("Failing", "the pods crash")


async def test_an_error_is_not_masked_by_a_condition_that_may_not_be_staged(stand: Any) -> None:
    """Another controller claims the condition: both are told, the first one is raised."""
    from fiferail.status.claims import Claims

    registry = Claims()
    registry.claim("other", {"WebApp.example.io": ["conditions[WebReady]"]})
    stand.registry = registry
    with pytest.raises(LookupError, match="ConfigMap x is not there") as caught:
        await stand.reconcile(web(ConfigMap({"metadata": {"name": "x"}}, read_only=True)).reconcile)
    assert caught.value.__notes__[0].startswith("and the condition WebReady could not be staged: operator may not write")


async def test_cut_off_at_any_request_the_next_pass_ends_the_same(fresh: Any) -> None:
    """The process dies at each request in turn, before it or before its answer; a new one finds what is there and completes it."""

    def component() -> Component:
        return web(
            ConfigMap(config()),
            ConfigMap(config("old"), delete=True),
            ConfigMap(config("kept"), orphan_when=True),
            Deployment(deployment()),
        )

    async def world(cut: int | None, answered: bool) -> Any:
        stand = await fresh()
        await stand.reconcile(web(ConfigMap(config("old")), ConfigMap(config("kept"))).reconcile)
        sent = 0

        def dies(request: Any) -> bool:
            nonlocal sent
            sent += 1
            if sent == cut and answered and request.method != "GET":
                stand.machine.handle(request)
            return sent == cut

        stand.wire.forbidden = dies
        try:
            await stand.reconcile(component().reconcile)
        except AssertionError:
            stand.writer = None
            await stand.reconcile(component().reconcile)
        names = [("ConfigMap", "v1", "config"), ("ConfigMap", "v1", "old"), ("ConfigMap", "v1", "kept"), ("Deployment", "apps/v1", "web")]
        found = [await stand.get(version, kind, name) for kind, version, name in names]
        return [obj and (obj["metadata"].get("ownerReferences"), obj.get("data"), obj.get("spec")) for obj in found], sent

    wanted, requests = await world(None, answered=True)
    assert requests > 5
    for cut in range(1, requests + 1):
        for answered in (True, False):
            assert (await world(cut, answered))[0] == wanted


async def test_an_owner_that_is_deleted_after_what_it_owns_makes_nothing_new(stand: Any) -> None:
    """Foreground deletion: a component that put its resources back would fight the garbage collector, and win."""
    await stand.reconcile(web().reconcile)
    await stand.outside.delete(await stand.owner(), propagation="Foreground")
    await stand.outside.delete(await stand.get("apps/v1", "Deployment", "web"))
    assert await stand.reconcile(web().reconcile) is None
    assert await stand.get("apps/v1", "Deployment", "web") is None
    assert await stand.says("WebReady") == ("False", "Creating")


@pytest.mark.parametrize(
    ("method", "component", "options", "says"),
    [
        pytest.param("PATCH", {}, {}, ("False", "Blocked"), id="before it is applied"),
        pytest.param("PATCH", {"suspend": True}, {}, ("True", "Suspended"), id="before it is suspended"),
        pytest.param("DELETE", {}, {"delete": True}, ("True", "Healthy"), id="before it is deleted"),
    ],
)
async def test_what_another_controller_takes_at_the_last_moment_is_left_alone_too(
    stand: Any, method: str, component: Any, options: Any, says: tuple[str, str]
) -> None:
    """Between the look and the write: the server refuses the write, and the second look sees who has it."""
    await stand.outside.create({"apiVersion": "apps/v1", "kind": "Deployment", **deployment(namespace="default")})
    other = await stand.outside.create(
        {"apiVersion": "example.io/v1", "kind": "WebApp", "metadata": {"name": "other", "namespace": "default"}}
    )
    reference = {"apiVersion": "example.io/v1", "kind": "WebApp", "name": "other", "uid": other["metadata"]["uid"], "controller": True}

    def taken(request: Any) -> bool:
        if request.method == method:
            stand.wire.forbidden = lambda request: False
            stand.sync.patch(
                {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "web", "namespace": "default"}},
                {"metadata": {"ownerReferences": [reference]}},
            )
        return False

    stand.wire.forbidden = taken
    ours = Deployment(deployment(replicas=9), block_on_foreign_controller=True, **options)
    await stand.reconcile(web(ours, **component).reconcile)
    assert await stand.says("WebReady") == says
    theirs = await stand.get("apps/v1", "Deployment", "web")
    assert (theirs["metadata"]["ownerReferences"], theirs["spec"]["replicas"]) == ([reference], 2)
