"""The six examples of components, each run as it is by its own Manager on the embedded server."""

from __future__ import annotations

import logging
import os
from pathlib import Path
from typing import Any

import pytest
import yaml

from fiferail import Manager, NotFound
from fiferail.components import golden

NAMES = [
    "mutations_and_gating", "grace_inconsistency", "extraction_and_guards", "custom_resource", "component_prerequisites", "version_matrix",
]  # fmt: skip
EXAMPLES = Path(__file__).parents[2] / "examples"


@pytest.mark.parametrize("name", NAMES)
async def test_an_example_declares_the_rights_that_it_needs(run: Any, name: str) -> None:
    """Its rbac.yaml is what its controllers ask for, and its README is short enough to be read."""
    operator = await run(name)
    role = next(found for found in yaml.safe_load_all((EXAMPLES / name / "rbac.yaml").read_text()) if found["kind"] == "ClusterRole")
    assert role["rules"] == Manager(*operator.main.controllers()).rbac()
    assert len((EXAMPLES / name / "README.md").read_text().splitlines()) <= 12


async def test_mutations_and_gating(run: Any) -> None:
    """1.9, then debug, then 2.0, then metrics off, then suspended: each step changes what it should and nothing else."""
    operator = await run("mutations_and_gating")

    async def containers() -> Any:
        return (await operator.client.get("apps/v1", "Deployment", "one", "default"))["spec"]["template"]["spec"]["containers"]

    await operator.create("WebApp", {"version": "1.9.0", "tracing": True})
    [web, tracing] = await containers()
    assert (web["name"], [port["name"] for port in web["ports"]], tracing["name"]) == ("web", ["http"], "tracing")
    await operator.ready("one", 2)
    assert (await operator.says("WebApp", "WebReady"))[:2] == ("True", "Healthy")

    await operator.respec("WebApp", {"debug": True, "tracing": False})
    [web] = await containers()
    assert (web["name"], web["env"]) == ("web", [{"name": "LOG_LEVEL", "value": "debug"}])
    assert (await operator.says("WebApp", "WebReady"))[:2] == ("False", "Updating")

    await operator.respec("WebApp", {"version": "2.0.0"})
    [server] = await containers()
    assert (server["name"], server["image"]) == ("server", "example.io/web:2.0.0")
    assert [port["name"] for port in server["ports"]] == ["http", "metrics"]
    assert server["env"] == [{"name": "LOG_LEVEL", "value": "debug"}]
    await operator.ready("one", 2)
    assert (await operator.says("WebApp", "WebReady"))[:2] == ("True", "Healthy")

    assert (await operator.client.get("v1", "ConfigMap", "one-metrics", "default"))["data"] == {"interval": "30s"}
    await operator.respec("WebApp", {"metrics": False})
    with pytest.raises(NotFound):
        await operator.client.get("v1", "ConfigMap", "one-metrics", "default")
    assert (await operator.says("WebApp", "WebReady"))[:2] == ("True", "Healthy")

    await operator.respec("WebApp", {"suspend": True})
    assert (await operator.says("WebApp", "WebReady"))[:2] == ("False", "Suspending")
    await operator.ready("one", 0)
    assert (await operator.says("WebApp", "WebReady"))[:2] == ("True", "Suspended")


async def reconciled(operator: Any, reconciles: list[float]) -> None:
    """Note the time of each reconcile from now on."""
    [running] = operator.manager.running
    was = running.controller.reconcile

    async def noted(ctx: Any) -> Any:
        reconciles.append(operator.clock.today())
        return await was(ctx)

    running.controller.reconcile = noted


@pytest.mark.parametrize("quiet", [True, False], ids=["suppressed", "told"])
async def test_grace_inconsistency(run: Any, quiet: bool, caplog: pytest.LogCaptureFixture) -> None:
    """It stays Creating, comes back once when its grace is over, and then neither warns (unless it should) nor comes back."""
    operator = await run("grace_inconsistency")
    await operator.create("Model", {"image": "example.io/model:1", "quiet": quiet})
    assert (await operator.says("Model", "ModelReady"))[:2] == ("False", "Creating")
    reconciles: list[float] = []
    await reconciled(operator, reconciles)
    began = operator.clock.today()
    with caplog.at_level(logging.WARNING, "fiferail.components"):
        await operator.clock.advance(5)
        assert reconciles == []
        await operator.clock.advance(60)
    assert reconciles == [began + 6]
    assert (await operator.says("Model", "ModelReady"))[:2] == ("False", "Creating")
    warned = [record.getMessage() for record in caplog.records if record.name == "fiferail.components"]
    assert warned == ([] if quiet else [
        "Deployment one of component model is graded Healthy after its grace, but has not converged: "
        "Updating Deployment one: its controller has not seen generation 1 yet"
    ])  # fmt: skip


async def test_extraction_and_guards(run: Any) -> None:
    """The Secret waits until the ConfigMap names a host, and then has it."""
    operator = await run("extraction_and_guards")
    await operator.create("Backend", {})
    assert await operator.says("Backend", "DatabaseReady") == ("False", "Blocked", 'waiting for data "db-host"')
    with pytest.raises(NotFound):
        await operator.client.get("v1", "Secret", "one-credentials", "default")
    await operator.respec("Backend", {"databaseHost": "pg"})
    assert (await operator.says("Backend", "DatabaseReady"))[:2] == ("True", "Healthy")
    assert (await operator.client.get("v1", "Secret", "one-credentials", "default"))["data"] == {"host": "cGc=", "user": "YXBw"}
    assert (await operator.status("Backend"))["databaseHost"] == "pg"


async def test_custom_resource(run: Any) -> None:
    """The certificate is edited like any other object, and what its issuer says of it comes back into the site's status."""
    operator = await run("custom_resource")
    await operator.create("Site", {"domain": "example.org", "team": "web", "www": True})
    made = await operator.client.get("certs.example.io/v1", "Certificate", "one", "default")
    assert made["metadata"]["labels"] == {"team": "web"}
    assert made["spec"] == {"secretName": "one-tls", "dnsNames": ["example.org", "www.example.org"]}
    assert (await operator.says("Site", "CertificateReady"))[:2] == ("True", "Healthy")
    await operator.respec("Site", {"www": False})
    made = await operator.client.get("certs.example.io/v1", "Certificate", "one", "default")
    assert made["spec"]["dnsNames"] == ["example.org"]
    await operator.set_status("certs.example.io/v1", "Certificate", "one", {"notAfter": "2030-01-01T00:00:00Z"})
    assert (await operator.status("Site"))["certificateEnds"] == "2030-01-01T00:00:00Z"


@pytest.mark.parametrize(("kind", "namespace"), [("Platform", "default"), ("ClusterPlatform", None)])
async def test_component_prerequisites(run: Any, kind: str, namespace: str | None) -> None:
    """The app begins when the infra is ready, one write tells of both, and an upgrade of the infra does not stop the app."""
    operator = await run("component_prerequisites")
    spec = {"version": "1.0.0"} if namespace else {"version": "1.0.0", "namespace": "default"}
    await operator.create(kind, spec, namespace=namespace)
    assert operator.status_writes() == 1
    assert (await operator.says(kind, "InfraReady", namespace=namespace))[:2] == ("False", "Creating")
    waits = 'waiting for condition "InfraReady", which is False (Creating)'
    assert await operator.says(kind, "AppReady", namespace=namespace) == ("False", "PrerequisiteNotMet", waits)
    assert await operator.says(kind, "Ready", namespace=namespace) == ("False", "PrerequisiteNotMet", f"app: {waits}")
    await operator.ready("one-database", 1)
    assert (await operator.says(kind, "InfraReady", namespace=namespace))[:2] == ("True", "Healthy")
    assert (await operator.says(kind, "AppReady", namespace=namespace))[:2] == ("False", "Creating")
    assert operator.status_writes() == 2
    await operator.ready("one-app", 1)
    assert (await operator.says(kind, "Ready", namespace=namespace))[:2] == ("True", "Healthy")
    await operator.respec(kind, {"version": "2.0.0"}, namespace=namespace)
    assert (await operator.says(kind, "InfraReady", namespace=namespace))[:2] == ("False", "Updating")
    assert (await operator.says(kind, "AppReady", namespace=namespace))[:2] == ("False", "Updating")
    app = await operator.client.get("apps/v1", "Deployment", "one-app", "default")
    assert app["spec"]["template"]["spec"]["containers"][0]["image"] == "example.io/app:2.0.0"


def test_version_matrix_matches_its_golden_files() -> None:
    """Per regime of versions, and per kind of cluster. FIFERAIL_GOLDEN=update writes them anew."""
    import importlib.util

    spec = importlib.util.spec_from_file_location("example_version_matrix", EXAMPLES / "version_matrix" / "main.py")
    assert spec is not None
    assert spec.loader is not None
    main = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(main)
    fixtures = {
        "small": {"metadata": {"name": "one"}, "spec": {"size": 1}},
        "asleep": {"metadata": {"name": "two"}, "spec": {"suspend": True}},
    }
    update = os.environ.get("FIFERAIL_GOLDEN") == "update"
    golden.check(EXAMPLES / "version_matrix" / "golden", main.broker, versions=main.VERSIONS, fixtures=fixtures, update=update)
    regimes = golden.regimes(lambda version: main.broker(fixtures["small"], version), main.VERSIONS)
    assert [regime.versions for regime in regimes] == [("8.5.0",), ("8.6.0", "8.7.4"), ("8.8.0-rc.1", "8.8.0", "8.8.3", "8.9.0")]


async def test_version_matrix_upgrades_in_place(run: Any) -> None:
    """Across the boundary the sidecar goes and the image changes, in the same StatefulSet."""
    operator = await run("version_matrix")
    await operator.create("BrokerCluster", {"version": "8.7.4", "size": 1})
    before = await operator.client.get("apps/v1", "StatefulSet", "one", "default")
    assert [entry["image"] for entry in before["spec"]["template"]["spec"]["containers"]] == [
        "example.io/broker:8.7.4",
        "example.io/gateway:8",
    ]
    await operator.respec("BrokerCluster", {"version": "8.8.0"})
    after = await operator.client.get("apps/v1", "StatefulSet", "one", "default")
    assert [entry["image"] for entry in after["spec"]["template"]["spec"]["containers"]] == ["example.io/orchestration:8.8.0"]
    assert (after["metadata"]["uid"], after["spec"]["minReadySeconds"]) == (before["metadata"]["uid"], 10)
    await operator.ready("one", 1, "StatefulSet")
    assert (await operator.says("BrokerCluster", "BrokerReady"))[:2] == ("True", "Healthy")
