"""The pytest plugin: the fixture `apiserver` and the option that chooses its server.

Loaded by pytest through the entry point of the package, in every test session of every user: importing it must stay cheap and
must never fail, so whatever is heavy is imported when the fixture is first asked for.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pytest


def pytest_addoption(parser: pytest.Parser) -> None:
    """Adds `--fairlead-server`."""
    group = parser.getgroup("fairlead")
    group.addoption(
        "--fairlead-server",
        choices=("embedded", "real"),
        default="embedded",
        help="the API server behind the fixture `apiserver`: the one inside this process, or a real kube-apiserver and etcd",
    )
