"""The releases of the official client that are not the installed one: the same tests of its adapters, with that release in front."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

HERE = Path(__file__).parent
_NO_REGISTRY = re.compile(r"No matching distribution|NewConnectionError|Temporary failure in name resolution|ConnectionError")


@pytest.mark.parametrize(
    ("release", "chosen", "count"),
    [
        pytest.param("35.0.0", "official", 9, id="35, which has no aio"),
        pytest.param("36.0.3", "official or kubernetes_aio", 11, id="36"),
    ],
)
def test_the_adapters_carry_with_this_release(
    tmp_path: Path, request: pytest.FixtureRequest, release: str, chosen: str, count: int
) -> None:
    """Sessions, refusals and watches go through the release as through the installed one."""
    if request.config.getoption("--fiferail-no-real"):
        pytest.skip("installs a package, and --fiferail-no-real was given")
    pip = [sys.executable, "-m", "pip", "install", "-q", "--no-deps", "--target", str(tmp_path), f"kubernetes=={release}"]
    installed = subprocess.run(pip, capture_output=True, text=True, check=False)
    if installed.returncode and _NO_REGISTRY.search(installed.stderr):
        pytest.skip("no package registry here")
    assert installed.returncode == 0, installed.stderr
    environment = {**os.environ, "PYTHONPATH": str(tmp_path)}
    imported = [sys.executable, "-c", "import kubernetes; print(kubernetes.__version__)"]
    assert subprocess.run(imported, capture_output=True, text=True, check=True, env=environment).stdout.strip() == release
    suite = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "no:xdist", str(HERE / "test_adapters.py")]
    ran = subprocess.run([*suite, "-k", f"({chosen}) and embedded"], capture_output=True, text=True, check=False, env=environment)
    assert ran.returncode == 0, ran.stdout
    assert f"{count} passed" in ran.stdout, ran.stdout
