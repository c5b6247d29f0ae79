"""Configuration: `[tool.fiferail]` in pyproject.toml, or `.fiferail.toml`, next to what is audited or above it; arguments win.

Called by `run` and the command line. An unknown key or a wrong value is an error that names it: a typo must not switch a rule off.
"""

from __future__ import annotations

import os
import tomllib
from dataclasses import dataclass, replace
from typing import Any

from fiferail.errors import FiferailError

POLICIES = ("locked", "disjoint")


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


def find(start: str) -> str:
    """The nearest configuration file above a path, or nothing."""
    directory = os.path.abspath(start if os.path.isdir(start) else os.path.dirname(start) or ".")
    while True:
        own = os.path.join(directory, ".fiferail.toml")
        if os.path.isfile(own):
            return own
        project = os.path.join(directory, "pyproject.toml")
        if os.path.isfile(project) and _table(project) is not None:
            return project
        parent = os.path.dirname(directory)
        if parent == directory or os.path.exists(os.path.join(directory, ".git")):
            return ""
        directory = parent


def _table(path: str) -> dict[str, Any] | None:
    try:
        with open(path, "rb") as handle:
            content = tomllib.load(handle)
    except (OSError, tomllib.TOMLDecodeError) as problem:
        if path.endswith(".fiferail.toml"):
            raise ConfigError(f"{path}: cannot be read as TOML: {problem}") from problem
        return None
    if path.endswith(".fiferail.toml"):
        return content
    table = content.get("tool", {}).get("fiferail")
    return table if isinstance(table, dict) else None


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
        values[key] = tuple(str(item) for item in value) if isinstance(value, list) else value
    return checked(replace(base or Config(), **values), path)


def checked(config: Config, where: str = "") -> Config:
    if config.policy not in POLICIES:
        raise ConfigError(f"{where or 'arguments'}: expected policy to be one of {', '.join(POLICIES)}, got `{config.policy}`")
    return config
