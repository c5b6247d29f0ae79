"""Versions and ranges of them: which side of a boundary a release stands on.

Called by gates and mutations. Versions are ordered by precedence (semver.org, rule 11) and nothing else: 2.0.0-rc.1 is below
2.0.0, build metadata never counts, and `>=2.0.0-0` takes in the releases before 2.0.0. A missing minor or patch number is 0 in a
version and open in a range: `1.9` is 1.9.0, `=1.9` is any 1.9. Pure.

    >=1.2, <2.0.0      all must hold; a comma or a space
    <1.0 || >=3        one must hold
    1.2 - 1.9          both ends included; an end without a patch number takes in all of them
    ~1.2.3  ^1.2.3     the same minor, the same first number that is not 0
    1.x  *             any number there
"""

from __future__ import annotations

import functools
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import msgspec

from ..errors import FiferailError

if TYPE_CHECKING:
    from collections.abc import Callable

_NUMBER = r"(?:0|[1-9]\d*)"
_VERSION = re.compile(
    rf"v?(?P<major>{_NUMBER})(?:\.(?P<minor>{_NUMBER}))?(?:\.(?P<patch>{_NUMBER}))?(?:-(?P<pre>[0-9A-Za-z.-]+))?(?:\+[0-9A-Za-z.-]+)?"
)
_ANY = r"[xX*]"
_PARTIAL = re.compile(
    rf"v?(?P<major>{_NUMBER}|{_ANY})(?:\.(?P<minor>{_NUMBER}|{_ANY}))?(?:\.(?P<patch>{_NUMBER}|{_ANY}))?"
    r"(?:-(?P<pre>[0-9A-Za-z.-]+))?(?:\+[0-9A-Za-z.-]+)?"
)
_TERM = re.compile(r"(?P<operator>\^|~>?|==?|!=|>=?|<=?|=>|=<)?\s*(?P<version>[^\s,<>=!~^]+)")
_HYPHEN = re.compile(r"(?P<low>\S+)\s+-\s+(?P<high>\S+)")


class BadVersion(FiferailError):
    """A text that is no version, or no range of versions."""


@functools.total_ordering
@dataclass(frozen=True, eq=False)
class Version:
    """One release."""

    major: int
    minor: int = 0
    patch: int = 0
    pre: tuple[str, ...] = ()

    @property
    def order(self) -> tuple[Any, ...]:
        """Sorts as precedence demands: numbers as numbers and below words, fewer identifiers below more, none above all."""
        pre = tuple((0, int(part), "") if part.isdigit() else (1, 0, part) for part in self.pre)
        return (self.major, self.minor, self.patch, not self.pre, pre)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Version) and self.order == other.order

    def __lt__(self, other: Version) -> bool:
        return self.order < other.order

    def __hash__(self) -> int:
        return hash(self.order)

    def __str__(self) -> str:
        return f"{self.major}.{self.minor}.{self.patch}" + ("-" + ".".join(self.pre) if self.pre else "")


def parse(text: str) -> Version:
    """The version that a text names."""
    found = _VERSION.fullmatch(text.strip()) if isinstance(text, str) else None
    pre = _identifiers(found["pre"]) if found else None
    if found is None or pre is None:
        raise BadVersion(f"expected a version like 1.2.3 or 2.0.0-rc.1, got {text!r}")
    return Version(int(found["major"]), int(found["minor"] or 0), int(found["patch"] or 0), pre)


def _identifiers(text: str | None) -> tuple[str, ...] | None:
    if text is None:
        return ()
    parts = tuple(text.split("."))
    wrong = any(not part or (part.isdigit() and len(part) > 1 and part[0] == "0") for part in parts)
    return None if wrong else parts


class Range(msgspec.Struct, frozen=True):
    """A set of versions: any of several lists of bounds that must all hold."""

    text: str
    alternatives: tuple[tuple[Callable[[Version], bool], ...], ...]

    def __contains__(self, version: Version) -> bool:
        return any(all(bound(version) for bound in bounds) for bounds in self.alternatives)

    def __str__(self) -> str:
        return self.text


@functools.lru_cache(maxsize=256)
def parse_range(text: str) -> Range:
    """The range that a text names."""
    alternatives = tuple(_bounds(part.strip(), text) for part in text.split("||"))
    return Range(text, alternatives)


def _bounds(part: str, whole: str) -> tuple[Callable[[Version], bool], ...]:
    hyphen = _HYPHEN.fullmatch(part)
    if hyphen is not None:
        return (_bound(">=", hyphen["low"], whole), _bound("<=", hyphen["high"], whole))
    bounds: list[Callable[[Version], bool]] = []
    position = 0
    while position < len(part):
        term = _TERM.match(part, position)
        if term is None:
            raise _wrong(whole)
        bounds.append(_bound(term["operator"] or "=", term["version"], whole))
        position = _separated(part, term.end())
    if not bounds:
        raise _wrong(whole)
    return tuple(bounds)


def _separated(part: str, position: int) -> int:
    while position < len(part) and part[position] in ", ":
        position += 1
    return position


def _bound(operator: str, text: str, whole: str) -> Callable[[Version], bool]:
    low, above = _span(text, whole)
    match operator:
        case "=" | "==":
            return _between(low, above)
        case "!=":
            inside = _between(low, above)
            return lambda version: not inside(version)
        case ">=" | "=>":
            return lambda version: version >= low
        case "<":
            return lambda version: version < low
        case ">":
            return (lambda version: version > low) if above is None else (lambda version: version >= above)
        case "<=" | "=<":
            return (lambda version: version <= low) if above is None else (lambda version: version < above)
        case _:
            return _between(low, _next(low, text, operator))


def _between(low: Version, above: Version | None) -> Callable[[Version], bool]:
    """Exactly the one, or from it up to, not including, the other."""
    if above is None:
        return lambda version: version == low
    return lambda version: low <= version < above


def _span(text: str, whole: str) -> tuple[Version, Version | None]:
    """The lowest version that a partial one names, and the first one above all that it names; None when it names just one."""
    found = _PARTIAL.fullmatch(text)
    pre = _identifiers(found["pre"]) if found else None
    if found is None or pre is None:
        raise _wrong(whole)
    numbers = [int(found[name]) if (found[name] or "x").isdigit() else None for name in ("major", "minor", "patch")]
    major, minor, patch = numbers
    if major is None:
        return Version(0, pre=("0",)), Version(2**63)
    if minor is None:
        return Version(major), Version(major + 1, pre=("0",))
    if patch is None:
        return Version(major, minor), Version(major, minor + 1, pre=("0",))
    return Version(major, minor, patch, pre), None


def _next(low: Version, text: str, operator: str) -> Version:
    """Where `~` and `^` end: the first prerelease of the next line."""
    dots = text.split("-")[0].count(".")
    if operator == "^":
        if low.major or dots == 0:
            return Version(low.major + 1, pre=("0",))
        if low.minor or dots == 1:
            return Version(0, low.minor + 1, pre=("0",))
        return Version(0, 0, low.patch + 1, pre=("0",))
    return Version(low.major + 1, pre=("0",)) if dots == 0 else Version(low.major, low.minor + 1, pre=("0",))


def _wrong(text: str) -> BadVersion:
    return BadVersion(f"expected a range of versions like '>=1.2, <2.0.0 || 3.x', got {text!r}")
