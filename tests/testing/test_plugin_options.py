"""The plugin as a user's test session loads it."""

from __future__ import annotations

import pytest

pytest_plugins = ["pytester"]

BODY = """
def test_it(apiserver):
    apiserver.apply({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "c"}, "data": {"a": "1"}})
    assert apiserver.get("v1", "ConfigMap", "c")["data"] == {"a": "1"}
    apiserver.assert_nothing_lost()

def test_stale(apiserver):
    apiserver.faults.next(verb="list", answer="stale")
    assert apiserver.client.list("v1", "ConfigMap", namespace="default") == []
"""


def test_embedded_is_the_default(pytester: pytest.Pytester) -> None:
    """The fixture is there without a word of configuration, on the embedded server."""
    pytester.makepyfile(BODY)
    pytester.runpytest_subprocess("-q").assert_outcomes(passed=2)


def test_no_real_skips(pytester: pytest.Pytester) -> None:
    """`--fiferail-no-real` skips what needs the real server, and says so."""
    pytester.makepyfile(BODY)
    result = pytester.runpytest_subprocess("-q", "-rs", "--fiferail-server=real", "--fiferail-no-real")
    result.assert_outcomes(skipped=2)
    result.stdout.fnmatch_lines(["*needs a real kube-apiserver, and --fiferail-no-real was given*"])


def test_a_missing_extra_is_one_line(pytester: pytest.Pytester) -> None:
    """A test that asks for the fixture fails with the extra's name, without a traceback."""
    pytester.makeconftest("import sys\nsys.modules['httptools'] = None")
    pytester.makepyfile("def test_it(apiserver): pass")
    result = pytester.runpytest_subprocess("-q", "-p", "no:xdist")
    result.assert_outcomes(errors=1)
    text = "the fixture `apiserver` needs the extra `testing` (httptools is not installed)"
    result.stdout.fnmatch_lines([f"{text}; in a checkout of fiferail: pip install '.?testing]'"])
    result.stdout.no_fnmatch_line("*Traceback*")
    result.stdout.no_fnmatch_line("*ModuleNotFoundError*")
