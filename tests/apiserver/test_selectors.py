"""Selectors: what they match, and what is said of those that cannot be read."""

from __future__ import annotations

import time

import pytest

from fiferail.apiserver import selectors
from fiferail.apiserver.selectors import SelectorError

LABELS = {"app": "web", "tier": "", "size": "5", "in": "x"}


@pytest.mark.parametrize(
    ("text", "matches"),
    [
        ("", True),
        ("app=web", True),
        ("app==web", True),
        ("app!=web", False),
        ("app=db", False),
        ("app", True),
        ("!app", False),
        ("!other", True),
        ("app in (web,db)", True),
        ("app notin (web,db)", False),
        ("other notin (web)", True),
        ("other!=x", True),
        ("tier=", True),
        ("tier in ()", True),
        ("tier in (,a)", True),
        ("size>4,size<6", True),
        ("size>5", False),
        ("app>1", False),
        (" app = web , tier ", True),
        ("in in (x)", True),
    ],
)
def test_labels(text: str, matches: bool) -> None:
    """A selector holds or does not hold, term by term."""
    assert selectors.labels(text).matches(LABELS) is matches


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("a b", "unable to parse requirement: found 'b', expected: in, notin, =, ==, !=, gt, lt"),
        ("a in (b", "unable to parse requirement: found '', expected: ',' or ')'"),
        ("a in b", "unable to parse requirement: found 'b' expected: '('"),
        (",", "found ',', expected: !, identifier, or 'end of string'"),
        ("a,", "found '', expected: identifier after ','"),
        ("!", "unable to parse requirement: found '', expected: identifier"),
        ("a=b=c", "found '=', expected: ',' or 'end of string'"),
        ("a>x", "unable to parse requirement: values[0]: Invalid value: \"x\": for 'Gt', 'Lt' operators, the value must be an integer"),
    ],
)
def test_unreadable_labels(text: str, complaint: str) -> None:
    """The complaint is the server's."""
    with pytest.raises(SelectorError) as error:
        selectors.labels(text)
    assert str(error.value) == complaint


@pytest.mark.parametrize(
    ("text", "matches"),
    [
        ("metadata.name=a", True),
        ("metadata.name!=a", False),
        ("metadata.name==a,status.phase=", True),
        ("metadata.name=a\\,b", False),
        (",", True),
    ],
)
def test_fields(text: str, matches: bool) -> None:
    """An absent field is empty text."""
    assert selectors.matches_fields(selectors.fields(text), {"metadata.name": "a"}) is matches


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("a", "invalid selector: 'a'; can't understand 'a'"),
        ("a=b\\z", "invalid field selector: invalid escape sequence: \\z"),
        ("a=b=c", "invalid field selector: unescaped character in value: 61"),
    ],
)
def test_unreadable_fields(text: str, complaint: str) -> None:
    """The complaint is the server's."""
    with pytest.raises(SelectorError) as error:
        selectors.fields(text)
    assert str(error.value) == complaint


@pytest.mark.parametrize("text", ["!" * 200_000, "!a," * 60_000 + "=", "=" * 200_000, "(" * 200_000, "a in (" + "x," * 100_000])
def test_long_selectors_are_refused_at_once(text: str) -> None:
    """The time to refuse a selector grows with its length, not with the square of it."""
    started = time.process_time()
    with pytest.raises(SelectorError):
        selectors.labels(text)
    assert time.process_time() - started < 1
