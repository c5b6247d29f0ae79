"""Versions and their ranges, by precedence alone."""

from __future__ import annotations

import pytest

from fiferail.components.versions import BadVersion, Version, parse, parse_range


def test_precedence_is_that_of_the_specification() -> None:
    """The order that semver.org gives, build metadata ignored."""
    ordered = ["1.0.0-alpha", "1.0.0-alpha.1", "1.0.0-alpha.beta", "1.0.0-beta", "1.0.0-beta.2", "1.0.0-beta.11", "1.0.0-rc.1", "1.0.0"]
    assert [str(version) for version in sorted({parse(text) for text in ordered})] == ordered
    assert parse("1.0.0+linux") == parse("v1.0.0") == Version(1)


@pytest.mark.parametrize(
    ("text", "inside", "outside"),
    [
        ("<2.0.0", ["1.9.9", "2.0.0-rc.1"], ["2.0.0", "3"]),
        (">=2.0.0-0", ["2.0.0-rc.1", "2.0.0"], ["1.9.9"]),
        (">=1.2, <2.0.0", ["1.2.0", "1.9"], ["1.1.9", "2.0.0"]),
        (">=1.2 <2", ["1.2.0"], ["2.0.0"]),
        ("<1.0 || >=3", ["0.9", "3.0.0"], ["1.0.0", "2.5.0"]),
        ("1.2 - 1.9", ["1.2.0", "1.9.7"], ["1.1.9", "1.10.0"]),
        ("~1.2.3", ["1.2.3", "1.2.9"], ["1.2.2", "1.3.0", "1.3.0-rc.1"]),
        ("~1", ["1.0.0", "1.9.0"], ["2.0.0"]),
        ("^1.2.3", ["1.2.3", "1.9.0"], ["1.2.2", "2.0.0"]),
        ("^0.2.3", ["0.2.9"], ["0.3.0"]),
        ("^0.0.3", ["0.0.3"], ["0.0.4"]),
        ("1.x", ["1.0.0", "1.7.2"], ["2.0.0", "0.9.0"]),
        ("*", ["0.0.0", "99.1.0", "1.0.0-rc.1"], []),
        ("1.9", ["1.9.0", "1.9.5"], ["1.10.0", "1.8.0"]),
        ("=1.9.0", ["1.9.0"], ["1.9.1"]),
        ("!=1.9.0", ["1.9.1"], ["1.9.0"]),
        (">1.9", ["1.10.0"], ["1.9.5"]),
        ("<=1.9", ["1.9.5"], ["1.10.0"]),
    ],
)
def test_a_range_takes_in_what_it_names(text: str, inside: list[str], outside: list[str]) -> None:
    """Each spelling of a range, on both sides of its ends."""
    found = parse_range(text)
    assert [version for version in inside if parse(version) not in found] == []
    assert [version for version in outside if parse(version) in found] == []


@pytest.mark.parametrize("text", ["", "latest", "1.02.0", "1.0.0-", "1.0.0-01", "1.2.3.4", "-1.0.0"])
def test_what_is_no_version_is_refused(text: str) -> None:
    """The error says what was expected and what was got."""
    with pytest.raises(BadVersion, match="expected a version like 1.2.3 or 2.0.0-rc.1, got "):
        parse(text)


@pytest.mark.parametrize("text", ["", "||", ">=", "=>=1", "1.2 -", "new", "1.0.0 ||"])
def test_what_is_no_range_is_refused(text: str) -> None:
    """The error says what was expected and what was got."""
    with pytest.raises(BadVersion, match="expected a range of versions like "):
        parse_range(text)
