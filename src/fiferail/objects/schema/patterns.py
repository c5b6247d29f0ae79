"""Regular expressions as the server matches them: Go's regexp, which is RE2.

Called by validation for `pattern`, by the format checks that need Unicode classes, and by the check of a CRD's schema. google-re2
is imported on first use. Where it and Go's regexp differ the pattern is refused (`Unsupported`) rather than guessed at: Unicode
class names that only one of the two knows.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from ...errors import Unsupported

if TYPE_CHECKING:
    from collections.abc import Callable


class PatternError(Exception):
    """Go's regexp would not compile this; the text is Go's."""


#: RE2's words for a parse error, and Go's.
_WORDS = {
    "missing ]": "missing closing ]",
    "missing )": "missing closing )",
    "trailing \\": "trailing backslash at end of expression",
    "no argument for repetition operator": "missing argument to repetition operator",
    "invalid repetition size": "invalid repeat count",
    "bad repetition operator": "invalid nested repetition operator",
    "invalid perl operator": "invalid or unsupported Perl syntax",
    "invalid named capture group": "invalid named capture",
}
_CLASS = re.compile(r"\\[pP]\{\^?([^}]*)\}")


@lru_cache(maxsize=1024)
def matcher(pattern: str) -> Callable[[str], bool]:
    """A function that says whether the pattern matches anywhere in a text."""
    compiled = _compiled(pattern)
    # Reasons, types and names come again and again, and a search through RE2's Python layer costs more than remembering.
    remembered = lru_cache(maxsize=1024)(lambda text: compiled.search(text) is not None)
    return lambda text: remembered(text) if len(text) <= 256 else compiled.search(text) is not None


def _compiled(pattern: str) -> Any:
    if "\\C" in pattern.replace("\\\\", ""):
        # One byte of UTF-8: RE2 knows it, Go does not.
        raise PatternError("error parsing regexp: invalid escape sequence: `\\C`")
    import re2

    options = re2.Options()
    options.log_errors = False
    try:
        return re2.compile(pattern, options=options)
    except re2.error as error:
        raise _translated(error, pattern) from None


def _translated(error: Exception, pattern: str) -> Exception:
    said = error.args[0]
    text = said.decode("utf-8", "replace") if isinstance(said, bytes) else str(said)
    kind, _, part = text.partition(": ")
    if _CLASS.search(part):
        # Go 1.25 and later know long category names (\p{Letter}) and RE2 does not, so RE2's refusal proves nothing.
        return Unsupported("a Unicode class in a pattern that RE2 does not know", pattern)
    if kind == "trailing \\":
        return PatternError("error parsing regexp: trailing backslash at end of expression: ``")
    return PatternError(f"error parsing regexp: {_WORDS.get(kind, kind)}: `{part}`")


def found(pattern: str, text: str, limit: int) -> list[str]:
    """The texts of the first matches, all of them for a negative limit."""
    texts: list[str] = []
    for match in _compiled(pattern).finditer(text):
        if 0 <= limit <= len(texts):
            break
        texts.append(match[0])
    return texts
