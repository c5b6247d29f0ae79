"""What an operator pays for importing fiferail: next to nothing, and only what it uses."""

from __future__ import annotations

import subprocess
import sys

import pytest

LOADED = "import sys, msgspec; before = set(sys.modules); {code}; print(' '.join(sorted(set(sys.modules) - before)))"
HEAVY = {
    "asyncio", "inspect", "dataclasses", "logging", "ssl", "http.client", "yaml", "httpx2", "kubernetes", "kubernetes_asyncio", "lightkube",
    "kr8s", "kopf", "prometheus_client", "pydantic", "cel", "re2", "typer",
}  # fmt: skip


def loaded(code: str) -> set[str]:
    """The modules that the code loads in a fresh interpreter which has msgspec already."""
    done = subprocess.run([sys.executable, "-c", LOADED.format(code=code)], check=True, capture_output=True, text=True)
    return set(done.stdout.split())


def test_importing_fiferail_loads_nothing_but_its_front_door() -> None:
    """The rooms come with the first name that is used."""
    assert loaded("import fiferail") == {"fiferail", "fiferail._version"}


@pytest.mark.parametrize("code", ["fiferail.StatusWriter", "fiferail.AsyncStatusWriter", "fiferail.Conflict", "fiferail.COMPARE"])
def test_the_writer_loads_no_client_and_nothing_heavy(code: str) -> None:
    """Neither asyncio nor a Kubernetes client, nor anything that takes longer to import than the writer itself."""
    found = loaded(f"import fiferail; {code}")
    assert {name.partition(".")[0] if name not in HEAVY else name for name in found} & HEAVY == set()
    assert {name.split(".")[1] for name in found if name.count(".") > 1} <= {"objects", "status", "clients"}


def test_a_name_that_fiferail_does_not_have_is_named() -> None:
    """As any module says it."""
    import fiferail

    with pytest.raises(AttributeError, match="module 'fiferail' has no attribute 'Nonsense'"):
        fiferail.Nonsense
