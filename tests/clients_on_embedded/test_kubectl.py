"""kubectl, built from the same sources as the real server, against the embedded one."""

from __future__ import annotations

import json
import os
import subprocess
import threading
from typing import TYPE_CHECKING, Any

import pytest

from fiferail.apiserver.real import build

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from fiferail.apiserver.embedded import EmbeddedServer

    Kubectl = Callable[..., str]


@pytest.fixture(scope="session")
def kubectl_binary() -> Path:
    """The binary, built on first use."""
    return build.ensure(only=("kubectl",)).kubectl


@pytest.fixture
def environment(kubeconfig: Path, tmp_path: Path) -> dict[str, str]:
    """kubectl's environment: its own home, so that nothing is cached between tests."""
    return {**os.environ, "KUBECONFIG": str(kubeconfig), "HOME": str(tmp_path)}


@pytest.fixture
def kubectl(kubectl_binary: Path, environment: dict[str, str]) -> Kubectl:
    """Runs kubectl and gives its output; `fails` expects it to fail and gives what it said."""

    def run(*arguments: str, stdin: Any = None, fails: bool = False) -> str:
        fed: str | None = stdin if stdin is None or isinstance(stdin, str) else json.dumps(stdin)
        command = [str(kubectl_binary), *arguments]
        done = subprocess.run(command, input=fed, env=environment, capture_output=True, text=True, timeout=60, check=False)
        assert (done.returncode != 0) == fails, done.stdout + done.stderr
        return done.stderr if fails else done.stdout

    return run


READY = '{"status":{"conditions":[{"type":"Ready","status":"True"}]}}'
DEPLOYMENT = {
    "apiVersion": "apps/v1",
    "kind": "Deployment",
    "metadata": {"name": "web"},
    "spec": {
        "replicas": 2,
        "selector": {"matchLabels": {"app": "web"}},
        "template": {"metadata": {"labels": {"app": "web"}}, "spec": {"containers": [{"name": "c", "image": "nginx"}]}},
    },
}


def test_kubectl_finds_out_what_is_served(kubectl: Kubectl) -> None:
    """version, api-resources and api-versions list what the server has, the CRD with its short name included."""
    assert "Server Version: v1.36.3" in kubectl("version")
    assert "gadgets   gd           example.io/v1   true         Gadget" in kubectl("api-resources", "--api-group=example.io")
    resources = kubectl("api-resources", "-o", "name").split()
    assert {"pods", "deployments.apps", "gadgets.example.io", "customresourcedefinitions.apiextensions.k8s.io"} <= set(resources)
    assert {"v1", "apps/v1", "example.io/v1"} <= set(kubectl("api-versions").split())


def test_apply_creates_changes_and_leaves_alone(kubectl: Kubectl, gadget: dict[str, Any]) -> None:
    """Client-side apply creates once, changes what changed, and says so when nothing did."""
    assert kubectl("apply", "-f", "-", stdin=gadget) == "gadget.example.io/g created\n"
    assert kubectl("apply", "-f", "-", stdin=gadget) == "gadget.example.io/g unchanged\n"
    gadget["spec"]["size"] = 4
    assert kubectl("apply", "-f", "-", stdin=gadget) == "gadget.example.io/g configured\n"
    assert kubectl("get", "gadget", "g", "-o", "jsonpath={.spec.size}") == "4"


def test_get_prints_the_columns_of_the_crd(kubectl: Kubectl, gadget: dict[str, Any]) -> None:
    """get draws the table that the server lays out, by any of the kind's names."""
    kubectl("apply", "-f", "-", stdin=gadget)
    kubectl("patch", "gd", "g", "--type=merge", "--subresource=status", "-p", READY)
    header, row = kubectl("get", "gd").splitlines()
    assert header.split() == ["NAME", "SIZE", "READY", "AGE"]
    assert row.split()[:3] == ["g", "3", "True"]
    assert "g " in kubectl("get", "all")
    assert "g " in kubectl("get", "gadgets.example.io", "-l", "app=demo", "-A")
    assert kubectl("get", "gd", "-l", "app=other") == ""


def test_server_side_apply_tells_of_conflicts(kubectl: Kubectl, gadget: dict[str, Any]) -> None:
    """A second manager that applies another value is refused by name, and may force."""
    kubectl("apply", "--server-side", "--field-manager=one", "-f", "-", stdin=gadget)
    gadget["spec"]["size"] = 5
    said = kubectl("apply", "--server-side", "--field-manager=two", "-f", "-", stdin=gadget, fails=True)
    assert 'conflict with "one": .spec.size' in said
    kubectl("apply", "--server-side", "--field-manager=two", "--force-conflicts", "-f", "-", stdin=gadget)
    assert kubectl("get", "gd", "g", "-o", "jsonpath={.spec.size}") == "5"


def test_unknown_fields_are_refused_by_apply(kubectl: Kubectl, gadget: dict[str, Any]) -> None:
    """kubectl asks for strict validation because OpenAPI says that the server does it, and is told the field."""
    gadget["spec"]["colour"] = "red"
    assert 'unknown field "spec.colour"' in kubectl("apply", "-f", "-", stdin=gadget, fails=True)


def test_built_in_kinds_merge_by_key(kubectl: Kubectl) -> None:
    """A strategic merge patch changes a container by its name, and apply keeps what it did not set."""
    kubectl("apply", "-f", "-", stdin=DEPLOYMENT)
    env = '{"spec":{"template":{"spec":{"containers":[{"name":"c","env":[{"name":"A","value":"b"}]}]}}}}'
    assert kubectl("patch", "deployment", "web", "-p", env) == "deployment.apps/web patched\n"
    assert kubectl("set", "image", "deployment/web", "c=nginx:2") == "deployment.apps/web image updated\n"
    assert kubectl("apply", "-f", "-", stdin=DEPLOYMENT) == "deployment.apps/web configured\n"
    container = json.loads(kubectl("get", "deployment", "web", "-o", "json"))["spec"]["template"]["spec"]["containers"][0]
    assert container["image"] == "nginx"
    assert container["env"] == [{"name": "A", "value": "b"}]


def test_scale_works_on_both_kinds_of_kinds(kubectl: Kubectl, gadget: dict[str, Any]) -> None:
    """The scale subresource changes the replicas of a Deployment and of a custom kind."""
    kubectl("apply", "-f", "-", stdin=DEPLOYMENT)
    kubectl("apply", "-f", "-", stdin=gadget)
    assert kubectl("scale", "deployment/web", "--replicas=5") == "deployment.apps/web scaled\n"
    assert kubectl("scale", "gd/g", "--replicas=6") == "gadget.example.io/g scaled\n"
    assert kubectl("get", "deployment", "web", "-o", "jsonpath={.spec.replicas}") == "5"
    assert kubectl("get", "gd", "g", "-o", "jsonpath={.spec.size}") == "6"


def test_explain_reads_openapi(kubectl: Kubectl) -> None:
    """explain shows the CRD's own descriptions and the members of built-in kinds."""
    told = kubectl("explain", "gadget.spec.size")
    assert "KIND:       Gadget" in told
    assert "How big it is." in told
    assert "replicas" in kubectl("explain", "deployment.spec")
    assert "terminationGracePeriodSeconds" in kubectl("explain", "deployment.spec.template.spec")


def test_describe_shows_an_object(kubectl: Kubectl, gadget: dict[str, Any]) -> None:
    """describe finds its way through the object and its events."""
    kubectl("apply", "-f", "-", stdin=gadget)
    told = kubectl("describe", "gd", "g")
    assert "Kind:         Gadget" in told
    assert "Size:  3" in told


def test_wait_sees_a_condition_come_and_an_object_go(kubectl: Kubectl, gadget: dict[str, Any]) -> None:
    """wait follows a watch until the condition is there, and until the object is not."""
    kubectl("apply", "-f", "-", stdin=gadget)
    later = threading.Thread(target=lambda: kubectl("patch", "gd", "g", "--type=merge", "--subresource=status", "-p", READY))
    later.start()
    assert kubectl("wait", "gd/g", "--for=condition=Ready", "--timeout=30s") == "gadget.example.io/g condition met\n"
    later.join()
    assert 'gadget.example.io "g" deleted' in kubectl("delete", "gd", "g")
    assert kubectl("get", "gd") == ""


def test_get_watch_prints_changes(kubectl: Kubectl, kubectl_binary: Path, environment: dict[str, str], gadget: dict[str, Any]) -> None:
    """get -w prints a row for the object and one for each change."""
    kubectl("apply", "-f", "-", stdin=gadget)
    command = [str(kubectl_binary), "get", "gd", "-w", "--no-headers", "-o", "custom-columns=S:.spec.size"]
    with subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, text=True) as watching:
        assert watching.stdout is not None
        try:
            assert watching.stdout.readline().strip() == "3"
            kubectl("patch", "gd", "g", "--type=json", "-p", '[{"op":"replace","path":"/spec/size","value":9}]')
            assert watching.stdout.readline().strip() == "9"
        finally:
            watching.kill()


def test_errors_read_as_on_a_real_server(kubectl: Kubectl, gadget: dict[str, Any]) -> None:
    """kubectl prints the server's refusals as it prints a real server's."""
    said = kubectl("get", "gd", "nobody", fails=True)
    assert said == 'Error from server (NotFound): gadgets.example.io "nobody" not found\n'
    gadget["spec"]["size"] = -1
    said = kubectl("create", "-f", "-", stdin=gadget, fails=True)
    assert "spec.size: Invalid value: -1: spec.size in body should be greater than or equal to 0" in said
    assert "doesn't have a resource type" in kubectl("get", "unicorns", fails=True)


def test_dry_run_and_diff_change_nothing(kubectl: Kubectl, server: EmbeddedServer, gadget: dict[str, Any]) -> None:
    """A server-side dry run answers as if, and stores nothing."""
    before = server.machine.store.revision
    assert kubectl("create", "-f", "-", "--dry-run=server", stdin=gadget) == "gadget.example.io/g created (server dry run)\n"
    assert server.machine.store.revision == before
    assert kubectl("get", "gd") == ""
