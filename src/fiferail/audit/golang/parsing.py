"""Parsing Go, within limits. tree-sitter recovers from errors in time that may grow with the square of the file, and cannot be stopped.

Called by `lower`. Ordinary source of 16 kB takes two milliseconds; where a part of a file takes fifty times as long, the whole file is
tried first in a process of its own that may use one second, and one more for each megabyte.
"""

from __future__ import annotations

import os
import time
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tree_sitter import Node

_PART = 16_384
_SLOW = 0.1
_PARSER: Any = None


def parsed(source: bytes) -> Node | None:
    """The tree of a file; nothing where the parser would work on it for longer than on any real source."""
    parser = _parser()
    return None if _too_hard(parser, source) else parser.parse(source).root_node


def _parser() -> Any:
    global _PARSER
    if _PARSER is None:
        import tree_sitter_go
        from tree_sitter import Language, Parser

        _PARSER = Parser(Language(tree_sitter_go.language()))
    return _PARSER


def _too_hard(parser: Any, source: bytes) -> bool:
    if len(source) <= _PART or not hasattr(os, "fork"):
        return False
    for start in range(0, len(source), _PART):
        began = time.process_time()
        parser.parse(source[start : start + _PART])
        if time.process_time() - began > _SLOW:
            return not _parses_in_time(parser, source)
    return False


def _parses_in_time(parser: Any, source: bytes) -> bool:
    import resource

    child = os.fork()
    if child == 0:
        code = 1
        try:
            limit = 1 + len(source) // 1_000_000
            resource.setrlimit(resource.RLIMIT_CPU, (limit, limit))
            resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
            parser.parse(source)
            code = 0
        finally:
            os._exit(code)
    return os.waitpid(child, 0)[1] == 0
