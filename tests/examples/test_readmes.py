"""Each example as a newcomer runs it: the folder's CRDs on a server, `python main.py` with a kubeconfig, and the README's own object."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import pytest
import yaml

from fiferail.testing.server import ApiServer, EmbeddedBackend

EXAMPLES = Path(__file__).parents[2] / "examples"
#: Two of them serve probes on the same port, so all run in one worker.
pytestmark = pytest.mark.xdist_group("examples-as-programs")
#: Folder, and what shows in the status of the README's first object when the operator has done what it can without kubelets.
CASES = {
    "mutations_and_gating": ("WebReady", "Creating"),
    "grace_inconsistency": ("ModelReady", "Creating"),
    "extraction_and_guards": ("DatabaseReady", "Healthy"),
    "custom_resource": ("CertificateReady", "Healthy"),
    "component_prerequisites": ("AppReady", "PrerequisiteNotMet"),
    "version_matrix": ("BrokerReady", "Creating"),
    "reference_owner": ("Valid", "Checked"),
    "plan_executor": ("Ready", "PlanComplete"),
}


def text(example: str) -> str:
    return (EXAMPLES / example / "README.md").read_text()


def samples(example: str) -> list[Any]:
    """The objects that the README says to apply."""
    inline = [json.loads(found) for found in re.findall(r"<<<'(.*?)'", text(example))]
    named = [name for name in re.findall(r"-f (\S+\.yaml)", text(example)) if name not in ("crds.yaml", "rbac.yaml")]
    return inline + [obj for name in named for obj in yaml.safe_load_all((EXAMPLES / example / name).read_text())]


@pytest.mark.parametrize("example", CASES)
def test_what_the_readme_says_works(example: str) -> None:
    """The program finds the server, says what there is to say of the README's object, and ends on a signal."""
    backend = EmbeddedBackend()
    server = ApiServer(backend)
    server.apply(EXAMPLES / example / "crds.yaml", EXAMPLES / example / "rbac.yaml", *samples(example))
    command = [sys.executable, "main.py"]
    environment = {**os.environ, "KUBECONFIG": str(server.kubeconfig)}
    with subprocess.Popen(command, cwd=EXAMPLES / example, env=environment, stderr=subprocess.PIPE, text=True) as program:
        guard = threading.Timer(60, program.kill)
        guard.start()
        try:
            first = samples(example)[0]
            named = first["apiVersion"], first["kind"], first["metadata"]["name"]
            server.wait_for(*named, lambda obj: CASES[example] in said(obj), timeout=60)
        finally:
            program.terminate()
            told = program.communicate()[1]
            guard.cancel()
    assert program.returncode == 0, told
    assert "Traceback" not in told
    backend.close()


def said(obj: Any) -> list[tuple[str, str]]:
    return [(entry["type"], entry["reason"]) for entry in (obj.get("status") or {}).get("conditions") or []]


@pytest.mark.parametrize("example", CASES)
def test_a_readme_is_short_and_says_how_to_run_it(example: str) -> None:
    """A dozen lines: what it shows, then the commands, with the folder's own files."""
    lines = text(example).splitlines()
    assert lines[0].startswith("# ")
    assert len(lines) <= 15
    commands = [line.strip() for line in lines if line.startswith("    ")]
    assert commands[0] == "kubectl apply -f crds.yaml -f rbac.yaml"
    assert commands[1].startswith("python main.py ")
    assert commands[2].startswith("kubectl apply -f ")


def test_every_folder_is_in_the_list() -> None:
    """The list of examples names each folder, and each folder has its README."""
    listed = re.findall(r"\]\((\w+)/README\.md\)", (EXAMPLES / "README.md").read_text())
    folders = sorted(path.name for path in EXAMPLES.iterdir() if path.is_dir() and path.name != "__pycache__")
    assert sorted(listed) == folders
    assert all((EXAMPLES / name / "README.md").exists() for name in folders)
