"""The two servers of the conformance suite, and the table that its results become.

Every row is a test function whose docstring is the behaviour. Each runs on the embedded and on the real server, in a namespace
of its own. `--conformance-table FILE` writes the table.
"""

from __future__ import annotations

import itertools
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
import yaml

from fiferail.apiserver.real import build
from fiferail.apiserver.real.launch import RealServer
from fiferail.testing.api import Api
from fiferail.testing.conformance import Table
from fiferail.testing.transport import HttpTransport

if TYPE_CHECKING:
    from collections.abc import Iterator

_KINDS = Path(__file__).parent / "crds" / "kinds.yaml"
_NAMES = itertools.count(1)


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--conformance-table", type=Path, help="write the results as a Markdown table to this file")


def pytest_configure(config: pytest.Config) -> None:
    config.stash[_TABLE] = Table()


_TABLE = pytest.StashKey[Table]()


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """All rows in one worker: the servers start once."""
    for item in items:
        if Path(__file__).parent in item.path.parents:
            item.add_marker(pytest.mark.xdist_group("conformance"))


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Iterator[None]:
    report: Any = yield
    server = getattr(item, "callspec", None) and item.callspec.params.get("server")  # type: ignore[attr-defined]
    if server and (report.when == "call" or report.skipped or report.failed):
        item.config.stash[_TABLE].add(item, server, report)
    return report  # type: ignore[no-any-return]


def pytest_sessionfinish(session: pytest.Session) -> None:
    target = session.config.getoption("--conformance-table")
    if target is not None:
        session.config.stash[_TABLE].write(target)


@pytest.fixture(scope="session")
def real_server(request: pytest.FixtureRequest) -> Iterator[HttpTransport]:
    """The real server, with the kinds."""
    if request.config.getoption("--fiferail-no-real"):
        pytest.skip("needs a real kube-apiserver, and --fiferail-no-real was given")
    binaries = build.ensure()
    with RealServer(binaries=binaries) as server:
        transport = HttpTransport(server.url, token=server.token, context=server.ssl_context(), user_agent="conformance/1.0")
        _define(transport, "real")
        yield transport


@pytest.fixture(scope="session")
def embedded_server() -> Iterator[HttpTransport]:
    """The embedded server over HTTP, with the kinds."""
    from fiferail.testing.embedded import over_http

    with over_http() as url:
        transport = HttpTransport(url, user_agent="conformance/1.0")
        _define(transport, "embedded")
        yield transport


@pytest.fixture(params=["embedded", "real"])
def server(request: pytest.FixtureRequest) -> str:
    """Which server this row runs on."""
    return str(request.param)


@pytest.fixture
def api(request: pytest.FixtureRequest, server: str) -> Api:
    """The server, in a namespace that no other row uses."""
    transport = request.getfixturevalue(f"{server}_server")
    namespace = f"row-{next(_NAMES)}"
    api = Api(transport, server, namespace)
    api.send("POST", "/api/v1/namespaces", {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": namespace}}).ok(201)
    return api


def _define(transport: HttpTransport, server: str) -> None:
    """Creates the kinds and waits until each version that is served answers."""
    api = Api(transport, server)
    crds = list(yaml.safe_load_all(_KINDS.read_text()))
    for crd in list(crds):
        reply = api.send("POST", "/apis/apiextensions.k8s.io/v1/customresourcedefinitions", crd)
        if reply.code == 501:
            crds.remove(crd)  # a limit: the rows about this kind fail and say so
        else:
            reply.ok(201)
    deadline = time.monotonic() + 60
    for crd in crds:
        for version in crd["spec"]["versions"]:
            path = f"/apis/{crd['spec']['group']}/{version['name']}/{crd['spec']['names']['plural']}"
            while version["served"] and api.send("GET", path).code != 200:
                assert time.monotonic() < deadline, f"{path} is not served"
                time.sleep(0.05)
