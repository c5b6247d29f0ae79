"""Mutations, previews and golden files: what is rendered, for which version and flag, without a server."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

from fiferail import FiferailError
from fiferail.components import (
    Component,
    ConfigMap,
    CronJob,
    Data,
    DataMissing,
    Deployment,
    Job,
    Mutation,
    Pod,
    PodMutation,
    Secret,
    Service,
    Versions,
    container,
    golden,
    set_env,
)
from fiferail.components import data as cells

SIDECAR = PodMutation("tracing", lambda template: template["spec"]["containers"].append({"name": "tracing"}))


def pods() -> Any:
    return {"spec": {"containers": [{"name": "app"}]}}


def deployment(*mutations: Mutation, **options: Any) -> Deployment:
    return Deployment({"metadata": {"name": "web"}, "spec": {"template": pods()}}, mutations=mutations, **options)


def rendered(*resources: Any, **options: Any) -> Any:
    return Component("web", condition="WebReady", resources=resources, **options).preview()


def rename(template: Any) -> None:
    container(template, "app")["name"] = "server"


def debug(template: Any) -> None:
    set_env(container(template, "app"), "DEBUG", "1")


@pytest.mark.parametrize(
    ("versions", "when", "version", "fires"),
    [
        pytest.param("<2.0.0", True, "1.9.0", True, id="in range"),
        pytest.param("<2.0.0", True, "2.0.0", False, id="out of range"),
        pytest.param("<2.0.0", False, "1.9.0", False, id="in range, switched off"),
        pytest.param(None, lambda: True, None, True, id="switched on"),
        pytest.param(None, Versions("3.1", ">=3"), None, True, id="a version of something else"),
    ],
)
def test_a_mutation_fires_when_range_and_switch_agree(versions: Any, when: Any, version: Any, fires: bool) -> None:
    """Either gate alone can hold it back."""
    component = Component(
        "web", condition="WebReady", version=version, resources=[deployment(Mutation("m", lambda obj: None, versions, when))]
    )
    assert component.firing() == (("Deployment web", ("m",) if fires else ()),)


def test_later_mutations_see_what_earlier_ones_left() -> None:
    """A variable that is set before the rename survives it; one that is set after it does not find the old name."""
    [web] = rendered(deployment(PodMutation("debug", debug), PodMutation("rename", rename)))
    assert web["spec"]["template"]["spec"]["containers"] == [{"name": "server", "env": [{"name": "DEBUG", "value": "1"}]}]
    with pytest.raises(LookupError, match="expected a container 'app', got 'server'") as caught:
        rendered(deployment(PodMutation("rename", rename), PodMutation("debug", debug)))
    assert caught.value.__notes__ == ["in mutation 'debug'"]


def test_one_mutation_is_lifted_onto_any_kind_with_pods() -> None:
    """The same edit of a pod template, wherever the kind keeps it."""
    found = rendered(
        deployment(SIDECAR),
        Job({"metadata": {"name": "job"}, "spec": {"template": pods()}}, mutations=[SIDECAR]),
        CronJob({"metadata": {"name": "cron"}, "spec": {"jobTemplate": {"spec": {"template": pods()}}}}, mutations=[SIDECAR]),
        Pod({"metadata": {"name": "pod"}, **pods()}, mutations=[SIDECAR]),
    )
    templates = [found[0]["spec"]["template"], found[1]["spec"]["template"], found[2]["spec"]["jobTemplate"]["spec"]["template"], found[3]]
    assert [[entry["name"] for entry in template["spec"]["containers"]] for template in templates] == [["app", "tracing"]] * 4
    with pytest.raises(FiferailError, match="expected a kind with a pod template .*, got ConfigMap"):
        rendered(ConfigMap({"metadata": {"name": "c"}}, mutations=[SIDECAR]))


def test_an_edit_may_return_another_object() -> None:
    """Instead of changing the one it got."""
    [web] = rendered(deployment(Mutation("replace", lambda obj: {**obj, "spec": {"replicas": 1}})))
    assert web["spec"] == {"replicas": 1}
    [web] = rendered(deployment(PodMutation("replace", lambda template: {"spec": {}})))
    assert web["spec"]["template"] == {"spec": {}}


def test_what_was_given_is_never_changed() -> None:
    """Mutations work on a private copy, and setting a variable twice replaces it."""
    given = {"metadata": {"name": "web"}, "spec": {"template": pods()}}
    twice = [PodMutation("debug", debug), PodMutation("again", debug)]
    resource = Deployment(given, mutations=twice)
    first = rendered(resource)
    assert rendered(resource) == first
    assert given["spec"]["template"] == pods()
    assert first[0]["spec"]["template"]["spec"]["containers"][0]["env"] == [{"name": "DEBUG", "value": "1"}]


def test_a_preview_shows_what_would_be_applied() -> None:
    """In the owner's namespace, at rest when suspended, without what is read, deleted or let go."""
    component = Component("web", condition="WebReady", suspend=True, resources=[
        deployment(), ConfigMap({"metadata": {"name": "a"}}, read_only=True), ConfigMap({"metadata": {"name": "b"}}, gated_by=False),
        ConfigMap({"metadata": {"name": "c"}}, orphan_when=True),
    ])  # fmt: skip
    [web] = component.preview({"metadata": {"namespace": "prod"}})
    assert (web["kind"], web["metadata"], web["spec"]["replicas"]) == ("Deployment", {"name": "web", "namespace": "prod"}, 0)


def test_a_preview_takes_data_that_only_a_cluster_has() -> None:
    """And says which is missing."""
    host: Data[str] = Data("db-host", str)
    copy = Mutation("host", lambda secret: secret.update(stringData={"host": host.value}), reads=(host,))
    component = Component("web", condition="WebReady", resources=[
        ConfigMap({"metadata": {"name": "db"}}, read_only=True, extract={host: lambda live: "x"}),
        Secret({"metadata": {"name": "s"}}, mutations=[copy]),
    ])  # fmt: skip
    assert component.preview(data={host: "pg"})[0]["data"] == {"host": "cGc="}
    assert not host.is_set
    with pytest.raises(FiferailError, match='Secret s needs data "db-host": give preview'):
        component.preview()


async def test_cells_are_private_to_the_reconcile_that_fills_them() -> None:
    """Two tasks that share a cell never see each other's value, and reading an empty one says which."""
    host: Data[str] = Data("db-host", str)

    async def fill(value: str) -> str:
        cells.clear([host])
        host.set(value)
        await asyncio.sleep(0)
        return host.value

    assert list(await asyncio.gather(fill("a"), fill("b"))) == ["a", "b"]
    with pytest.raises(DataMissing, match='data "db-host" is not there yet'):
        host.value


def test_a_cell_has_a_name_and_a_plain_type() -> None:
    """What could not be checked is refused when the cell is made."""
    with pytest.raises(FiferailError, match="expected a name for a data cell, got none"):
        Data("", str)
    with pytest.raises(FiferailError, match='expected data "hosts" to be of a plain class such as str or dict, got list'):
        Data("hosts", list[str])


# -- golden files


def build(app: Any, version: str) -> Component:
    mutations = [
        PodMutation("legacy-name", rename, versions="<2.0.0"),
        PodMutation("tracing", SIDECAR.edit, when=app.get("tracing", False)),
        Mutation("zones", lambda obj: obj["spec"].update(zones=3), versions=">=3"),
    ]
    return Component("web", condition="WebReady", version=version, resources=[deployment(*mutations), Service({"metadata": {"name": "s"}})])


VERSIONS = ["2.1.0", "1.0.0", "3.0.0", "1.9.0", "2.0.0"]


def test_versions_whose_mutations_fire_alike_are_one_regime() -> None:
    """In order of version, however they are listed."""
    found = golden.regimes(lambda version: build({}, version), VERSIONS)
    assert [(regime.name, regime.versions) for regime in found] == [
        ("1.0.0", ("1.0.0", "1.9.0")), ("2.0.0", ("2.0.0", "2.1.0")), ("3.0.0", ("3.0.0",)),
    ]  # fmt: skip


def test_golden_files_are_written_once_and_compared_ever_after(tmp_path: Path) -> None:
    """A change, a missing file and a left-over one are all named."""
    fixtures = {"plain": {}, "traced": {"tracing": True}}
    golden.check(tmp_path, build, versions=VERSIONS, fixtures=fixtures, update=True)
    golden.check(tmp_path, build, versions=VERSIONS, fixtures=fixtures)
    assert (tmp_path / "plain" / "regimes.yaml").read_text() == (
        "- fires:\n    Deployment web:\n    - legacy-name\n  shown: 1.0.0.yaml\n  versions:\n  - 1.0.0\n  - 1.9.0\n"
        "- fires: {}\n  shown: 2.0.0.yaml\n  versions:\n  - 2.0.0\n  - 2.1.0\n"
        "- fires:\n    Deployment web:\n    - zones\n  shown: 3.0.0.yaml\n  versions:\n  - 3.0.0\n"
    )
    (tmp_path / "plain" / "1.0.0.yaml").rename(tmp_path / "plain" / "0.9.0.yaml")
    (tmp_path / "traced" / "2.0.0.yaml").write_text("kind: Deployment\n")
    with pytest.raises(AssertionError) as caught:
        golden.check(tmp_path, build, versions=VERSIONS, fixtures=fixtures)
    text = str(caught.value)
    assert text.startswith("plain/1.0.0.yaml is missing\nplain/0.9.0.yaml is left over\n--- golden traced/2.0.0.yaml\n")
    assert "+      - name: tracing" in text
    golden.check(tmp_path, build, versions=VERSIONS, fixtures=fixtures, update=True)
    golden.check(tmp_path, build, versions=VERSIONS, fixtures=fixtures)
