"""The embedded server answers the recorded requests as the real kube-apiserver did.

`scripts/record_builtin.py` wrote the answers into `cases/*.json`; it also says how what a server chooses is left out of the comparison.
"""

from __future__ import annotations

import importlib.util
import json
import pathlib
from functools import cache
from typing import Any
from urllib.parse import parse_qsl

import pytest

from fiferail.apiserver.machine import Machine
from fiferail.wire import Answer, Request

HERE = pathlib.Path(__file__).parent
ROOT = HERE.parent.parent

#: Steps whose text differs, and why: code, reason, and the fields of the causes are compared all the same. Each is a line of the limits.
OTHER_TEXT = {
    ("Deployment patch with unknown field", 1): "the refused object is shown with its members in another order",
    ("Deployment patch with unknown field", 3): "the refused object is shown with its members in another order",
    ("ConfigMap json patch", 2): "the refused object is shown with its members in another order",
    ("Pod updates", 4): "the refusal ends with a diff of the server's internal structs",
    ("Pod updates", 7): "the refusal ends with a diff of the server's internal structs",
    ("PersistentVolumeClaim updates", 3): "the refusal ends with a diff of the server's internal structs",
    ("PersistentVolumeClaim updates", 5): "the refusal ends with a diff of the server's internal structs",
    ("Job updates", 3): "the refusal shows the server's internal struct",
    ("Job template labels must stay", 1): "the refusal shows the server's internal struct",
    ("Job labels come from its template", 1): "the refusal shows the server's internal struct",
    ("Secret tls", 0): "certificates are not parsed for warnings",
}


@cache
def recorder() -> Any:
    spec = importlib.util.spec_from_file_location("record_builtin", ROOT / "scripts/record_builtin.py")
    assert spec
    assert spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def cases() -> list[Any]:
    found = []
    for file in sorted((HERE / "cases").glob("*.json")):
        for number, case in enumerate(json.loads(file.read_text())):
            found.append(pytest.param(case, f"case-{file.stem}-{number}", id=f"{file.stem}: {case['id']}"))
    return found


@cache
def machine() -> Machine:
    return Machine(clock=lambda: 1_800_000_000.0)


def send(method: str, target: str, content_type: str, body: bytes) -> tuple[int, Any, list[str]]:
    path, _, query = target.partition("?")
    request = Request(
        method=method, path=path, query=tuple(parse_qsl(query)), body=body, content_type=content_type, headers={"user-agent": "recorder"}
    )
    answer = machine().handle(request)
    assert isinstance(answer, Answer)
    warnings = recorder().warnings_of([answer.headers.get("warning", "")])
    try:
        return answer.status, answer.json(), warnings
    except ValueError:
        return answer.status, answer.body.decode(), warnings


@pytest.mark.parametrize(("case", "namespace"), cases())
def test_answers_are_those_of_the_real_server(case: Any, namespace: str) -> None:
    """Code, body with managedFields, and warnings of every step equal the recorded ones."""
    made = {"metadata": {"name": namespace}}
    assert send("POST", "/api/v1/namespaces", "application/json", json.dumps(made).encode())[0] == 201
    answers = recorder().run(case, namespace, send)
    for number, (step, answer) in enumerate(zip(case["steps"], answers, strict=True)):
        if (case["id"], number) in OTHER_TEXT:
            assert answer != step["answer"], "no longer different: take it off the list"
            assert gist(answer) == gist(step["answer"])
        else:
            assert answer == step["answer"], f"step {number}: {step['method']} {step['path']}"


def gist(answer: Any) -> tuple[Any, ...]:
    """What clients act on, without the words."""
    body = answer["body"]
    causes = (body.get("details") or {}).get("causes", [])
    return answer["code"], body.get("kind"), body.get("reason"), [(cause["reason"], cause["field"]) for cause in causes]


def test_listed_differences_belong_to_recorded_cases() -> None:
    """Every listed difference names a step that exists."""
    steps = {(param.values[0]["id"], number) for param in cases() for number in range(len(param.values[0]["steps"]))}
    assert steps.issuperset(OTHER_TEXT)
