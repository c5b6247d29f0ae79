"""The pytest plugin: the fixture `apiserver` and the options that choose its server.

Loaded by pytest through the entry point of the package, in every test session of every user: importing it must stay cheap and
must never fail, so whatever is heavy is imported when the fixture is first asked for.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from collections.abc import Generator, Iterator

    from fiferail.testing.server import ApiServer, Backend

#: The server of a test, and whether the body of the test passed.
_SERVER: pytest.StashKey[ApiServer] = pytest.StashKey()
_PASSED: pytest.StashKey[bool] = pytest.StashKey()


def pytest_addoption(parser: pytest.Parser) -> None:
    """Adds `--fiferail-server` and `--fiferail-no-real`."""
    group = parser.getgroup("fiferail")
    group.addoption(
        "--fiferail-server",
        choices=("embedded", "real"),
        default="embedded",
        help="the API server behind the fixture `apiserver`: the one inside this process, or a real kube-apiserver and etcd",
    )
    group.addoption("--fiferail-no-real", action="store_true", help="skip every test that needs a real kube-apiserver")


@pytest.fixture(scope="session")
def _fiferail_real_world(request: pytest.FixtureRequest) -> Iterator[Any]:
    """The real server of this worker, started when a test first needs it."""
    if request.config.getoption("--fiferail-no-real"):
        pytest.skip("needs a real kube-apiserver, and --fiferail-no-real was given")
    from fiferail.testing.pooled import RealWorld

    world = RealWorld()
    yield world
    world.close()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item, call: pytest.CallInfo[None]) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Remembers whether the test passed; adds the faults that never struck to the report of one that failed."""
    report = yield
    server = item.stash.get(_SERVER, None)
    if call.when == "call" and server is not None:
        item.stash[_PASSED] = report.passed
        idle = server.idle_faults() if report.failed else ""
        if idle:
            report.sections.append(("fiferail", idle))
    return report


@pytest.fixture
def apiserver(request: pytest.FixtureRequest) -> Iterator[ApiServer]:
    """A Kubernetes API server of this test's own: embedded, or with `--fiferail-server=real` a real one, cleaned up afterwards."""
    yield from started(request, request.config.getoption("--fiferail-server"))


def _made(request: pytest.FixtureRequest, server: str) -> tuple[ApiServer, Backend]:
    from fiferail.testing.server import ApiServer, EmbeddedBackend

    backend: Backend
    if server == "real":
        from fiferail.testing.pooled import RealBackend

        backend = RealBackend(request.getfixturevalue("_fiferail_real_world"), request.getfixturevalue("tmp_path"))
    else:
        backend = EmbeddedBackend()
    return ApiServer(backend), backend


def started(request: pytest.FixtureRequest, server: str) -> Iterator[ApiServer]:
    """The body of the fixture `apiserver`, on the embedded or the real server: for a fixture that runs tests on both.

    A fault that never struck fails a test that passed otherwise. pytest shows the message without a traceback.
    """
    try:
        api, backend = _made(request, server)
    except ModuleNotFoundError as missing:
        from fiferail.errors import missing_extra

        pytest.fail("the fixture `apiserver` " + missing_extra("testing", missing.name), pytrace=False)
    request.node.stash[_SERVER] = api
    try:
        yield api
        idle = api.idle_faults() if request.node.stash.get(_PASSED, False) else ""
    finally:
        backend.close()
    if idle:
        pytest.fail(idle, pytrace=False)
