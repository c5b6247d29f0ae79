"""Regular expressions that are matched in time linear in the text: those that others write (`exclude`), and ours for whole files.

Called by the command line to check patterns, by `sources` and by `golang.load`. They are RE2's, which has no look-around and no
back-references: neither a hostile configuration nor a hostile file can make the auditor hang.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from fiferail.audit.config import ConfigError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence


def matcher(patterns: Sequence[str]) -> Callable[[str], bool]:
    """A function that says whether a path matches one of the patterns anywhere. Raises `ConfigError`."""
    compiled = [_compiled(pattern) for pattern in patterns]

    def matches(path: str) -> bool:
        data = os.fsencode(path)
        return any(one.search(data) is not None for one in compiled)

    return matches


def _compiled(pattern: str) -> Any:
    import re2

    options = re2.Options()
    options.log_errors = False
    try:
        return re2.compile(pattern.encode(), options)
    except (re2.error, UnicodeEncodeError) as problem:
        said = problem.args[0] if problem.args else ""
        words = said.decode("utf-8", "replace") if isinstance(said, bytes) else str(problem)
        raise ConfigError(f"expected a regular expression at `exclude`, got `{pattern}`: {words} (RE2)") from problem


def linear(pattern: bytes) -> Any:
    """A pattern of the auditor's own for bytes of any encoding: `search` gives a match or None."""
    import re2

    options = re2.Options()
    options.encoding = re2.Options.Encoding.LATIN1
    return re2.compile(pattern, options)
