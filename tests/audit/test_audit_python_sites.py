"""What the Python front end reads in its fixtures: every write, client by client, and nothing that is none.

The fixtures of the rules say what is flagged; here is what is seen, so that a file that is left alone is one that was understood.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from fiferail.audit import audit
from fiferail.audit.config import Config
from fiferail.audit.rules import rules

FIXTURES = Path(__file__).parent / "fixtures"
CASES = {
    "FR001/bad_dynamic": ["7 update status Gadget"],
    "FR001/bad_lightkube": ["14 update status Gadget"],
    "FR001/bad_plain_client": ["7 update status -"],
    "FR001/bad_typed": ["7 update status Deployment"],
    "FR001/good": ["6 json-patch status -"],
    "FR001/good_in_memory": [],
    "FR001/good_lightkube": ["8 update spec Deployment"],
    "FR002/bad_asyncio": ["9 merge-patch status Gadget"],
    "FR002/bad_dynamic": ["10 merge-patch status Gadget"],
    "FR002/bad_executor": ["9 merge-patch status Gadget"],
    "FR002/bad_kopf_alias": ["6 merge-patch status -", "11 merge-patch status Gadget"],
    "FR002/bad_kopf_result": ["6 merge-patch status Gadget"],
    "FR002/bad_kr8s": ["8 merge-patch status Gadget"],
    "FR002/bad_kr8s_sync": ["6 merge-patch status Gadget"],
    "FR002/bad_lightkube": ["13 merge-patch status Gadget"],
    "FR002/bad_pykube": ["12 merge-patch status Gadget"],
    "FR002/good_dynamic": ["10 json-patch status Gadget"],
    "FR002/good_fiferail": ["13 json-patch status Gadget"],
    "FR002/good_kopf": ["6 json-patch status Gadget", "7 merge-patch metadata Gadget"],
    "FR002/good_kr8s": ["9 merge-patch-locked status Gadget"],
    "FR002/good_kr8s_spec": ["6 merge-patch spec Deployment", "7 merge-patch spec Deployment", "8 merge-patch metadata Deployment"],
    "FR002/good_lightkube": ["11 merge-patch-locked status Gadget"],
    "FR002/good_pykube": ["14 merge-patch-locked status Gadget"],
    "FR002/good_read_object": ["8 merge-patch-locked status Gadget"],
    "FR003/bad_helper": ["5 merge-patch status -", "10 helper status Gadget", "15 helper status Gadget"],
    "FR003/good_helper": ["5 merge-patch status -", "10 helper status Gadget", "15 helper status Widget"],
    "FR006/good_kr8s": ["13 json-patch status Gadget"],
    "FR007/good": ["9 update spec Gadget", "13 json-patch status Gadget"],
    "FR010/good_version": ["14 ssa status Gadget"],
    "FR011/good_on_change": ["13 merge-patch status Gadget"],
    "FR017/good_422": ["7 create create Service"],
    "FR017/good_options": ["5 merge-patch status Gadget"],
}


def seen(path: Path, **options: object) -> list[str]:
    report = audit([str(path)], Config(cache=False, tests=True, **options))  # type: ignore[arg-type]
    return [f"{site.line} {site.verb} {site.target} {site.kind or '-'}" for site in report.facts.sites]


def test_every_rule_has_python_fixtures_of_both_kinds() -> None:
    """No rule is without a Python file that it must flag and one that it must not; the two about grants take roles beside the file."""
    for code in rules():
        stems = {path.stem.split("_")[0] for path in (FIXTURES / "python" / code).glob("*.py")}
        assert stems == (set() if code in ("FR013", "FR014") else {"bad", "good"}), code


@pytest.mark.parametrize("name", CASES)
def test_every_write_of_a_fixture_is_read_as_it_is(name: str) -> None:
    """Line, verb, target and kind of each write, for each client."""
    assert seen(FIXTURES / "python" / f"{name}.py") == CASES[name]


@pytest.mark.parametrize(
    ("role", "said"),
    [
        pytest.param("granted", set(), id="what is used is granted and nothing else"),
        pytest.param(
            "missing",
            {("FR014", "create needs patch on gadgets/status and no marker or role grants it: the server answers 403")},
            id="kopf's patch is not granted",
        ),
        pytest.param(
            "unused",
            {("FR013", "update on widgets/status is granted and the audited code does not use it")},
            id="a grant that nothing uses",
        ),
    ],
)
def test_roles_are_held_against_what_python_writes(role: str, said: set[tuple[str, str]]) -> None:
    """Python has no markers: a role given by path grants, and FR013 and FR014 compare it with the writes."""
    directory = FIXTURES / "python_roles"
    config = Config(cache=False, select=("FR013", "FR014"), roles=(str(directory / f"{role}.yaml"),))
    report = audit([str(directory / "operator.py")], config)
    assert {(finding.code, finding.message) for finding in report.findings} == said


def test_a_class_and_a_client_from_other_files_are_followed(tmp_path: Path) -> None:
    """The file that writes names no client at all: class, base class and instance come from its neighbours."""
    package = tmp_path / "gadgets"
    package.mkdir()
    (package / "__init__.py").write_text("")
    (package / "base.py").write_text("import pykube\n\n\nclass Base(pykube.objects.NamespacedAPIObject):\n    pass\n")
    (package / "objects.py").write_text(
        "from .base import Base\n\n\nclass Gadget(Base):\n    version = 'example.io/v1'\n    endpoint = 'gadgets'\n    kind = 'Gadget'\n\n"
        "    @classmethod\n    def ours(cls, api):\n        return cls.objects(api).filter(selector={'ours': 'yes'})\n"
    )
    (package / "loop.py").write_text(
        "from gadgets.objects import Gadget\n\n\ndef turn(api):\n    for one in Gadget.ours(api):\n"
        "        one.patch({'status': {'phase': 'Running'}}, subresource='status')\n"
    )
    report = audit([str(tmp_path)], Config(cache=False))
    assert [(site.file, site.line, site.kind, str(site.target)) for site in report.facts.sites] == [
        ("gadgets/loop.py", 6, "Gadget", "status")
    ]


def test_a_method_of_the_project_is_not_taken_for_the_clients(tmp_path: Path) -> None:
    """A wrapper that has a client's method name is a function of the project: the write is where it sends."""
    path = tmp_path / "hook.py"
    path.write_text(
        "from kubernetes import client\n\n\nclass Hook:\n    def patch_namespaced_job(self, name, body):\n"
        "        return client.BatchV1Api().patch_namespaced_job(name, 'default', body)\n\n\n"
        "def run(hook, name):\n    hook.patch_namespaced_job(name, {'spec': {'suspend': False}})\n"
    )
    assert seen(path) == ["6 merge-patch spec Job"]
