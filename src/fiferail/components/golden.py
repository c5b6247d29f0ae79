"""Golden files: what a component renders, per fixture and per regime of versions, kept beside the tests and reviewed as text.

A regime is a run of versions for which the same mutations fire: one file shows them all, and `regimes.yaml` says which versions
they are. A test calls `check`; with `update=True` the files are written instead, and a person reads the difference.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from . import versions as semver

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from .component import Component
    from .data import Data

INDEX = "regimes.yaml"


class Regime(msgspec.Struct, frozen=True):
    """Versions for which the same mutations fire, lowest first."""

    versions: tuple[str, ...]
    firing: tuple[tuple[str, tuple[str, ...]], ...]

    @property
    def name(self) -> str:
        """Its lowest version: the one that its golden file shows."""
        return self.versions[0]


def regimes(build: Callable[[str], Component], versions: Sequence[str]) -> list[Regime]:
    """The versions, grouped by the mutations that fire for them, in order of the lowest of each group."""
    groups: dict[tuple[tuple[str, tuple[str, ...]], ...], list[str]] = {}
    for version in sorted(versions, key=semver.parse):
        groups.setdefault(build(version).firing(), []).append(version)
    return [Regime(tuple(members), firing) for firing, members in groups.items()]


def check(
    directory: str | Path,
    build: Callable[[Any, str], Component],
    *,
    versions: Sequence[str],
    fixtures: Mapping[str, Any],
    data: Mapping[Data[Any], Any] | None = None,
    update: bool = False,
) -> None:
    """Compare with the golden files; AssertionError names every file that differs, is missing, or is left over."""
    wanted = rendered(build, versions=versions, fixtures=fixtures, data=data)
    root = Path(directory)
    if update:
        _write(root, wanted)
        return
    there = {path.relative_to(root).as_posix(): path.read_text() for path in root.rglob("*.yaml")} if root.exists() else {}
    problems = [f"{name} is missing" for name in wanted if name not in there]
    problems += [f"{name} is left over" for name in there if name not in wanted]
    problems += [_difference(name, there[name], text) for name, text in wanted.items() if name in there and there[name] != text]
    if problems:
        raise AssertionError("\n".join([*problems, f"run again with update=True, and review what changed in {root.name}/"]))


def rendered(
    build: Callable[[Any, str], Component], *, versions: Sequence[str], fixtures: Mapping[str, Any],
    data: Mapping[Data[Any], Any] | None = None,
) -> dict[str, str]:  # fmt: skip
    """Every golden file as it should be, by its path."""
    files: dict[str, str] = {}
    for name, fixture in fixtures.items():
        found = regimes(lambda version, fixture=fixture: build(fixture, version), versions)  # type: ignore[misc]
        files[f"{name}/{INDEX}"] = _yaml([_listed(regime) for regime in found])
        for regime in found:
            objects = build(fixture, regime.name).preview(data=data)
            files[f"{name}/{regime.name}.yaml"] = "---\n".join(_yaml(obj) for obj in objects)
    return files


def _listed(regime: Regime) -> dict[str, Any]:
    fires = {text: list(names) for text, names in regime.firing if names}
    return {"shown": f"{regime.name}.yaml", "versions": list(regime.versions), "fires": fires}


def _write(root: Path, files: Mapping[str, str]) -> None:
    for path in root.rglob("*.yaml") if root.exists() else ():
        if path.relative_to(root).as_posix() not in files:
            path.unlink()
    for name, text in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)


def _difference(name: str, before: str, after: str) -> str:
    import difflib

    lines = difflib.unified_diff(before.splitlines(), after.splitlines(), f"golden {name}", f"rendered {name}", lineterm="")
    return "\n".join(lines)


def _yaml(value: Any) -> str:
    import yaml

    text: str = yaml.safe_dump(value, sort_keys=True, default_flow_style=False, allow_unicode=True)
    return text
