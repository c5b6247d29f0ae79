"""The derived data and the recorded answers are still what the real server says."""

from __future__ import annotations

import importlib.util
import json
import pathlib
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from collections.abc import Iterator

HERE = pathlib.Path(__file__).parent
ROOT = HERE.parent.parent
DATA = ROOT / "src/fiferail/apiserver/builtin/data"

pytestmark = pytest.mark.xdist_group("builtin_on_real_server")


def script(name: str) -> Any:
    spec = importlib.util.spec_from_file_location(name, ROOT / f"scripts/{name}.py")
    assert spec
    assert spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def real(request: pytest.FixtureRequest) -> Iterator[Any]:
    """A kube-apiserver of its own: the recordings count on nobody else's objects."""
    if request.config.getoption("--fiferail-no-real"):
        pytest.skip("needs a real kube-apiserver, and --fiferail-no-real was given")
    from fiferail.apiserver.real.launch import RealServer

    with RealServer() as server:
        yield server


def test_discovery_and_definitions_are_current(real: Any, tmp_path: pathlib.Path) -> None:
    """Deriving again gives the committed discovery and OpenAPI files byte for byte."""
    derive = script("derive_builtin")
    derive.derive_served(derive.Server(real.url, real.token), tmp_path)
    made = {file.relative_to(tmp_path): file.read_bytes() for file in tmp_path.rglob("*.json")}
    kept = {file.relative_to(DATA): file.read_bytes() for file in [DATA / "resources.json", *(DATA / "openapi").glob("*.json")]}
    assert made == kept


@pytest.mark.parametrize("file", sorted((HERE / "cases").glob("*.json")), ids=lambda file: file.stem)
def test_recorded_answers_are_current(real: Any, file: pathlib.Path) -> None:
    """Sending the recorded requests again gives the recorded answers."""
    recorder = script("record_builtin")
    server = recorder.Server(real.url, real.token)
    for number, case in enumerate(json.loads(file.read_text())):
        wanted = [without_versions(step["answer"]) for step in case["steps"]]
        for attempt in range(3):  # admission reads from caches that may lag behind the step before
            namespace = f"again{attempt}-{file.stem}-{number}"
            made = {"metadata": {"name": namespace}}
            server.send("POST", "/api/v1/namespaces", "application/json", json.dumps(made).encode())
            found = [without_versions(answer) for answer in recorder.run(case, namespace, server.send)]
            if found == wanted:
                break
        assert found == wanted, case["id"]


def without_versions(answer: Any) -> Any:
    """The answer, where a refusal quotes the whole object: without that text, because it names a resourceVersion."""
    if "resourceVersion" not in json.dumps(answer):
        return answer
    return answer["code"], answer["body"].get("reason"), [cause["field"] for cause in answer["body"].get("details", {}).get("causes", [])]
