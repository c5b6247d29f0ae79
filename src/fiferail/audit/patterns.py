"""Regular expressions that others write (`exclude`), matched in time linear in the text.

Called by the command line to check them and by `sources` to use them. They are RE2's, which has no look-around and no back-references:
a pattern of a hostile configuration cannot make the auditor hang.
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
