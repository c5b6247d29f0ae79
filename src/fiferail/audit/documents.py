"""YAML of unknown origin, with limits that hold before anything is built.

Called by `rbac`. The parser's events are counted first: nesting and what aliases stand for are bounded, so that neither the C parser's
stack nor merge keys can be made to explode. Scalars stay text: a role has nothing but text, lists and maps.
"""

from __future__ import annotations

import re
from typing import Any

import yaml

DEPTH = 100
#: How many nodes the aliases of one file may stand for, all together.
ALIASED = 100_000

_BASE: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


class TooMuch(Exception):
    """YAML beyond a limit; the text says which."""


def load(data: bytes) -> list[Any]:
    """The documents of a file, made of dicts, lists and text.

    Raises `TooMuch` beyond a limit, and `yaml.YAMLError`, `ValueError` or `UnicodeDecodeError` for what is not YAML.
    """
    _check(data)
    return list(yaml.load_all(data, Loader=_Loader))


class _Loader(_BASE):  # type: ignore[misc]
    """A safe loader that knows text, lists, maps and merge keys, and takes every other tag for the node that it stands on."""

    yaml_implicit_resolvers = {"<": [("tag:yaml.org,2002:merge", re.compile(r"^(?:<<)$"))]}  # noqa: RUF012 - PyYAML's name
    yaml_constructors: dict[Any, Any] = {}  # noqa: RUF012 - PyYAML's name


def _construct(loader: Any, node: Any) -> Any:
    if isinstance(node, yaml.MappingNode):
        return _BASE.construct_yaml_map(loader, node)
    if isinstance(node, yaml.SequenceNode):
        return _BASE.construct_yaml_seq(loader, node)
    return loader.construct_scalar(node)


_Loader.add_constructor(None, _construct)


def _check(data: bytes) -> None:
    """Count nesting and aliases without building anything."""
    # The nodes below each open collection, and its anchor.
    sizes: list[int] = []
    anchors: list[str | None] = []
    known: dict[str, int] = {}
    aliased = 0
    for event in yaml.parse(data, Loader=_BASE):
        size = 1
        if isinstance(event, yaml.CollectionStartEvent):
            sizes.append(1)
            anchors.append(event.anchor)
            if event.anchor is not None:
                known[event.anchor] = 0
            if len(sizes) > DEPTH:
                raise TooMuch(f"is nested more than {DEPTH} deep")
            continue
        if isinstance(event, yaml.CollectionEndEvent):
            size, anchor = sizes.pop(), anchors.pop()
            if anchor is not None:
                known[anchor] = size
        elif isinstance(event, yaml.AliasEvent):
            size = known.get(event.anchor or "", 1)
            if size == 0:
                raise TooMuch(f"has an alias inside of what it stands for: *{event.anchor}")
            aliased += size
            if aliased > ALIASED:
                raise TooMuch(f"has aliases that stand for more than {ALIASED} values")
        elif isinstance(event, yaml.ScalarEvent):
            if event.anchor is not None:
                known[event.anchor] = 1
        else:
            continue
        if sizes:
            sizes[-1] += size
