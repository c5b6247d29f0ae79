"""Configuration: `[tool.fiferail]` in pyproject.toml, or `.fiferail.toml`, next to what is audited or above it; arguments win.

Called by `run` and the command line. An unknown key or a wrong value is an error that names it: a typo must not switch a rule off.
"""

from __future__ import annotations

import os
import tomllib
from dataclasses import dataclass, replace
from typing import Any

from fiferail.audit import files
from fiferail.audit.model import Skipped
from fiferail.errors import FiferailError

POLICIES = ("locked", "disjoint")
_LIMIT = 4_000_000


class ConfigError(FiferailError):
    """The configuration cannot be used: the message names the file, the key, what was expected and what was found."""


@dataclass(frozen=True, slots=True)
class Config:
    policy: str = "locked"
    select: tuple[str, ...] = ()
    ignore: tuple[str, ...] = ()
    exclude: tuple[str, ...] = ()
    roles: tuple[str, ...] = ()
    baseline: str = ""
    tests: bool = False
    generated: bool = False
    cache: bool = True
    processes: int = 2


_KINDS: dict[str, type] = {
    "policy": str,
    "select": list,
    "ignore": list,
    "exclude": list,
    "roles": list,
    "baseline": str,
    "tests": bool,
    "generated": bool,
    "cache": bool,
}


def find(start: str, skipped: list[Skipped] | None = None) -> str:
    """The nearest configuration file above a path, or nothing.

    A pyproject.toml that does not parse and does not speak of fiferail is passed over, with a line in `skipped`.
    """
    directory = os.path.abspath(start if os.path.isdir(start) else os.path.dirname(start) or ".")
    while True:
        own = os.path.join(directory, ".fiferail.toml")
        if os.path.isfile(own):
            return own
        project = os.path.join(directory, "pyproject.toml")
        if os.path.isfile(project) and _speaks_of_us(project, skipped):
            return project
        parent = os.path.dirname(directory)
        if parent == directory or os.path.exists(os.path.join(directory, ".git")):
            return ""
        directory = parent


def _speaks_of_us(project: str, skipped: list[Skipped] | None) -> bool:
    try:
        return _table(project) is not None
    except _NotOurs as problem:
        if skipped is not None:
            skipped.append(Skipped(project, f"no configuration was taken from it: {problem}"))
        return False


class _NotOurs(ConfigError):
    """A pyproject.toml that cannot be read, and has no `[tool.fiferail]` as far as can be seen."""


def _table(path: str) -> dict[str, Any] | None:
    own = os.path.basename(path) != "pyproject.toml"
    try:
        data = files.read(path, _LIMIT)
    except files.Unreadable as problem:
        raise (ConfigError if own else _NotOurs)(f"{path}: {problem}") from problem
    try:
        content = tomllib.loads(data.decode())
    except (tomllib.TOMLDecodeError, UnicodeDecodeError, RecursionError) as problem:
        ours = own or b"fiferail" in data
        raise (ConfigError if ours else _NotOurs)(f"{path}: cannot be read as TOML: {problem}") from problem
    if own:
        return content
    tool = content.get("tool")
    table = tool.get("fiferail") if isinstance(tool, dict) else None
    if table is not None and not isinstance(table, dict):
        raise ConfigError(f"{path}: expected a table at `tool.fiferail`, got {type(table).__name__}")
    return table


def load(path: str, base: Config | None = None) -> Config:
    """The configuration of a file on top of a base. An `audit` table inside it is read too."""
    table = dict(_table(path) or {}) if path else {}
    inner = table.pop("audit", None)
    if isinstance(inner, dict):
        table = {**table, **inner}
    values: dict[str, Any] = {}
    for key, value in table.items():
        if key not in _KINDS:
            raise ConfigError(f"{path}: expected one of {', '.join(sorted(_KINDS))}, got `{key}`")
        if not isinstance(value, _KINDS[key]):
            raise ConfigError(f"{path}: expected {_KINDS[key].__name__} at `{key}`, got {type(value).__name__}")
        if isinstance(value, list) and not all(isinstance(item, str) for item in value):
            raise ConfigError(f"{path}: expected a list of text at `{key}`")
        values[key] = tuple(value) if isinstance(value, list) else value
    return checked(replace(base or Config(), **values), path)


def checked(config: Config, where: str = "") -> Config:
    if config.policy not in POLICIES:
        raise ConfigError(f"{where or 'arguments'}: expected policy to be one of {', '.join(POLICIES)}, got `{config.policy}`")
    return config
