"""What the Python front end follows: constants of other files, bodies built step by step, patches handed on, and errors around a write."""

from __future__ import annotations

import sys
import textwrap
from pathlib import Path

import pytest

from fiferail.audit import audit
from fiferail.audit.config import Config
from fiferail.audit.model import Site

BODIES = {
    "a dict that grows before it is sent": (
        """
        from kubernetes import client

        def report(api: client.CustomObjectsApi, name, ready):
            status = {"phase": "Running"}
            status["conditions"] = [ready]
            api.patch_namespaced_custom_object_status("example.io", "v1", "default", "gadgets", name, {"status": status})
        """,
        ("merge-patch", "status", "Gadget", ("phase", "conditions"), ("conditions",)),
    ),
    "a resourceVersion that is put in later": (
        """
        from kubernetes import client

        def report(api: client.CustomObjectsApi, gadget, name):
            body = {"metadata": {}, "status": {"phase": "Running"}}
            body["metadata"]["resourceVersion"] = gadget["metadata"]["resourceVersion"]
            api.patch_namespaced_custom_object_status("example.io", "v1", "default", "gadgets", name, body)
        """,
        ("merge-patch-locked", "status", "Gadget", ("phase",), ()),
    ),
    "a constant of the class": (
        """
        from kubernetes import client

        class Reporter:
            PLURAL = "gadgets"

            def report(self, api: client.CustomObjectsApi, name):
                api.patch_namespaced_custom_object_status("example.io", "v1", "default", self.PLURAL, name, {"status": {"phase": "Up"}})
        """,
        ("merge-patch", "status", "Gadget", ("phase",), ()),
    ),
    "status in a patch of the main resource": (
        """
        from kubernetes import client

        def report(api: client.CustomObjectsApi, name):
            body = {"status": {"phase": "Running"}}
            api.patch_cluster_custom_object("example.io", "v1", "gadgets", name, body)
        """,
        ("merge-patch", "status", "Gadget", ("phase",), ()),
    ),
    "a part of an object that was read": (
        """
        from kubernetes import client

        def stop(api: client.CustomObjectsApi, name):
            found = api.get_namespaced_custom_object("example.io", "v1", "default", "gadgets", name)
            body = {"spec": found["spec"]}
            api.patch_namespaced_custom_object("example.io", "v1", "default", "gadgets", name, body)
        """,
        ("merge-patch", "spec", "Gadget", (), ()),
    ),
    "a server-side apply of a receiver that is not known": (
        """
        from kubernetes import dynamic

        def send(resource, body):
            resource.server_side_apply(body, field_manager="gadgets", force_conflicts=True)
        """,
        ("ssa", "spec", "", (), ()),
    ),
    "a status patch of an object that nothing types": (
        """
        from . import kube

        def report(name):
            found = kube.find("Gadget", name)
            found.patch({"status": {"phase": "Running"}}, subresource="status")
        """,
        ("merge-patch", "status", "", ("phase",), ()),
    ),
    "a lightkube client that nothing types": (
        """
        from lightkube.generic_resource import create_namespaced_resource
        from lightkube.types import PatchType

        Gadget = create_namespaced_resource("example.io", "v1", "Gadget", "gadgets")

        def report(kube, name):
            kube.patch(Gadget.Status, name, {"status": {"phase": "Running"}}, patch_type=PatchType.MERGE)
        """,
        ("merge-patch", "status", "Gadget", ("phase",), ()),
    ),
    "several fields staged at once": (
        """
        import kopf

        @kopf.on.update("gadgets")
        def update(patch, **_):
            patch.status.update({"phase": "Running", "conditions": []}, checked=True)
        """,
        ("merge-patch", "status", "Gadget", ("checked", "phase", "conditions"), ("conditions",)),
    ),
    "a name that stands in its own text": (
        """
        from kubernetes import client

        def remove(api: client.CustomObjectsApi, plural, name):
            plural = f"{plural}s"
            api.delete_namespaced_custom_object("example.io", "v1", "default", plural, name)
        """,
        ("delete", "delete", "", (), ()),
    ),
    "a function that kopf runs on the metadata": (
        """
        import functools
        import kopf
        from gadgets import allow_deletion

        @kopf.on.update("gadgets")
        def update(patch, **_):
            patch.fns.append(functools.partial(allow_deletion, finalizer="example.io/gadget"))
        """,
        ("json-patch", "metadata", "Gadget", (), ()),
    ),
    "kopf's status from a model": (
        """
        import kopf

        @kopf.on.update("gadgets")
        def update(patch, status, **_):
            patch.status.update(**status.model_dump(by_alias=True))
        """,
        ("merge-patch", "status", "Gadget", (), ()),
    ),
    "finalizers alone": (
        """
        from kubernetes import client

        def release(api: client.CustomObjectsApi, name):
            api.patch_namespaced_custom_object("example.io", "v1", "default", "gadgets", name, {"metadata": {"finalizers": []}})
        """,
        ("merge-patch", "metadata", "Gadget", (), ()),
    ),
    "pykube's whole object, changed in its status": (
        """
        import pykube

        def report(api):
            gadget = pykube.object_factory(api, "example.io/v1", "Gadget").objects(api).get(name="g")
            gadget.obj["status"]["phase"] = "Running"
            gadget.update()
        """,
        ("merge-patch-locked", "status", "Gadget", ("phase",), ()),
    ),
    "a method looked up by its name": (
        """
        from kubernetes import client

        def remove(api: client.CoreV1Api, kind, name):
            getattr(api, f"delete_namespaced_{kind}")(name, "default")
        """,
        ("delete", "delete", "", (), ()),
    ),
    "a method that is kept to be called later": (
        """
        from kubernetes import client

        def remover(api: client.CoreV1Api, kind):
            return getattr(api, f"delete_namespaced_{kind}")
        """,
        ("delete", "delete", "", (), ()),
    ),
    "a content type set for the whole client": (
        """
        from kubernetes import client

        def report(api: client.CustomObjectsApi, name, body):
            api.api_client.set_default_header("Content-Type", "application/json-patch+json")
            api.patch_namespaced_custom_object_status("example.io", "v1", "default", "gadgets", name, body)
        """,
        ("json-patch", "status", "Gadget", (), ()),
    ),
    "a patch type that is the default of a parameter": (
        """
        from lightkube import Client
        from lightkube.resources.core_v1 import Pod
        from lightkube.types import PatchType

        def send(client: Client, name, obj, patch_type: PatchType = PatchType.APPLY):
            client.patch(Pod, name, obj, patch_type=patch_type)
        """,
        ("ssa", "spec", "Pod", (), ()),
    ),
    "an object as lightkube read it": (
        """
        from lightkube import Client
        from lightkube.resources.core_v1 import ConfigMap

        def send(client: Client, name):
            found = client.get(ConfigMap, name)
            found.data = {"a": "b"}
            client.patch(ConfigMap, name, found)
        """,
        ("merge-patch-locked", "spec", "ConfigMap", (), ()),
    ),
    "pykube's HTTP client": (
        """
        import pykube

        def send(resource):
            resource.api.patch(**resource.api_kwargs(headers={"Content-Type": "application/apply-patch+yaml"}, subresource="status"))
        """,
        ("ssa", "status", "", (), ()),
    ),
    "a kind of which only the plural is known": (
        """
        from kubernetes import client

        def remove(api: client.CustomObjectsApi, name):
            api.delete_namespaced_custom_object("kubevirt.io", "v1", "default", "virtualmachineinstances", name)
        """,
        ("delete", "delete", "VirtualMachineInstance", (), ()),
    ),
    "everything in a file": (
        """
        from kubernetes import client, utils

        def install(path):
            utils.create_from_yaml(client.ApiClient(), path)
        """,
        ("create", "create", "", (), ()),
    ),
    "a patch that an object keeps": (
        """
        class StatusBuilder:
            def __init__(self, patch):
                self.patch = patch
                self.patch.status["phase"] = "New"
        """,
        ("merge-patch", "status", "", ("phase",), ()),
    ),
}


def only_site(source: str, tmp_path: Path) -> Site:
    path = tmp_path / "operator.py"
    path.write_text(textwrap.dedent(source))
    sites = audit([str(path)], Config(cache=False)).facts.sites
    assert len(sites) == 1, [site.to_json() for site in sites]
    return sites[0]


@pytest.mark.parametrize("name", BODIES)
def test_a_body_is_read_as_it_stands_when_it_is_sent(name: str, tmp_path: Path) -> None:
    """Verb, target, kind, fields and lists of one write."""
    source, expected = BODIES[name]
    site = only_site(source, tmp_path)
    assert (str(site.verb), str(site.target), site.kind, site.fields, site.lists) == expected


def test_constants_and_kinds_come_from_other_files(tmp_path: Path) -> None:
    """The plural is a constant of a module; how the kind is spelled is said where such an object is built."""
    (tmp_path / "consts.py").write_text('GROUP, VERSION = "example.io", "v1"\nPLURAL = "gadgetgroups"\n')
    (tmp_path / "build.py").write_text('import kubernetes\n\n\ndef build():\n    return {"kind": "GadgetGroup"}\n')
    (tmp_path / "operator.py").write_text(
        "from kubernetes import client\nimport consts\n\n\ndef report(api: client.CustomObjectsApi, name, body):\n"
        '    api.replace_namespaced_custom_object_status("example.io", "v1", "default", consts.PLURAL, name, body)\n'
    )
    sites = audit([str(tmp_path)], Config(cache=False)).facts.sites
    assert [(site.file, site.kind) for site in sites] == [("operator.py", "GadgetGroup")]


def test_what_a_function_stages_belongs_to_the_handler_that_calls_it(tmp_path: Path) -> None:
    """A function that is given kopf's patch is listed where it is called, with the handler's kind and as its own."""
    (tmp_path / "conditions.py").write_text("def ready(patch, reason):\n    patch.status['ready'] = reason\n")
    (tmp_path / "operator.py").write_text(
        "import kopf\nimport conditions\n\n\n@kopf.on.create('example.io', 'v1', 'gadgets')\ndef create(patch, **_):\n"
        "    conditions.ready(patch, 'AllUp')\n"
    )
    sites = audit([str(tmp_path)], Config(cache=False)).facts.sites
    said = {(site.file, str(site.verb), site.kind, str(site.ownership), site.controller) for site in sites}
    assert said == {("conditions.py", "merge-patch", "", "unknown", "ready"), ("operator.py", "helper", "Gadget", "own", "create")}


def test_children_are_what_handlers_of_the_same_kind_create(tmp_path: Path) -> None:
    """A handler's own kind, what its kind's handlers create, and what another kind's handlers have, are told apart."""
    path = tmp_path / "operator.py"
    path.write_text(
        "import kopf\nfrom kr8s.objects import Deployment, new_class\n\nConfig = new_class('Config', 'example.io/v1')\n\n\n"
        "@kopf.on.create('gadgets')\ndef create(**_):\n    Deployment({}).create()\n\n\n"
        "@kopf.on.delete('gadgets')\ndef delete(name, **_):\n    Deployment.get(name).delete()\n"
        "    Config.get(name).label({'a': 'b'})\n\n\n"
        "@kopf.on.create('configs')\ndef config(name, **_):\n    Config.get(name).label({'a': 'b'})\n"
    )
    sites = audit([str(path)], Config(cache=False)).facts.sites
    said = [(site.controller, site.kind, str(site.ownership)) for site in sites]
    assert said == [
        ("create", "Deployment", "child"),
        ("delete", "Deployment", "child"),
        ("delete", "Config", "foreign"),
        ("config", "Config", "own"),
    ]


ERRORS = {
    "nobody catches": ("pass", "", "returned"),
    "raised again": ("try", "raise", "returned"),
    "answered to the caller": ("try", "return False", "used"),
    "dropped": ("try", "pass", "ignored"),
    "said and forgotten": ("try", "print(problem)", "logged"),
    "a conflict taken for success": ("try", "if problem.status != 409:\n            raise", "conflict-swallowed"),
    "tried again later": ("try", "schedule_retry(problem)", "used"),
    "a message about trying again is no trying": ("try", "print('will retry')", "logged"),
}


@pytest.mark.parametrize("name", ERRORS)
def test_what_becomes_of_the_error_is_seen(name: str, tmp_path: Path) -> None:
    """The handler around a write decides whether a conflict reaches anybody."""
    kind, handler, expected = ERRORS[name]
    write = 'api.replace_namespaced_custom_object_status("example.io", "v1", "default", "gadgets", "g", gadget)'
    body = f"    {write}\n" if kind == "pass" else f"    try:\n        {write}\n    except ApiException as problem:\n        {handler}\n"
    source = f"from kubernetes.client.exceptions import ApiException\n\n\ndef report(api, gadget):\n{body}"
    assert only_site(source, tmp_path).error == expected


def test_a_long_chain_of_calls_is_followed_in_time(tmp_path: Path) -> None:
    """What a chain begins with is asked for at every link, and answered once: fifty links are as quick as five."""
    path = tmp_path / "operator.py"
    chain = "".join(f".step{number}(a.b(c).d({number}))" for number in range(50))
    path.write_text(
        "import kubernetes\n\n\nclass Builder:\n"
        + "".join(f"    def step{number}(self, x):\n        return self\n" for number in range(50))
        + f"\n\ndef build(a, c):\n    return Builder(){chain}\n"
    )
    calls = 0

    def counted(frame: object, event: str, argument: object) -> None:
        nonlocal calls
        calls += event == "call"

    sys.setprofile(counted)
    try:
        audit([str(path)], Config(cache=False))
    finally:
        sys.setprofile(None)
    assert calls < 1_000_000
