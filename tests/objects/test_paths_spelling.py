"""The three spellings of a path."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fiferail.objects.paths import Key, Path, Value, fields_v1, from_fields_v1, parse, render, server_text

SPELLINGS: dict[str, tuple[str, Path, str]] = {
    "members": ("status.phase", ("status", "phase"), ".status.phase"),
    "condition": (
        "status.conditions[Ready].reason",
        ("status", "conditions", Key.of(type="Ready"), "reason"),
        '.status.conditions[type="Ready"].reason',
    ),
    "other keys": ("spec.refs[kind=X,name=Y]", ("spec", "refs", Key.of(kind="X", name="Y")), '.spec.refs[kind="X",name="Y"]'),
    "number in a key": (
        "ports[port=80,protocol=TCP]",
        ("ports", Key.of(port=80, protocol="TCP")),
        '.ports[port=80,protocol="TCP"]',
    ),
    "text that looks like a number": ('ports[name="80"]', ("ports", Key.of(name="80")), '.ports[name="80"]'),
    "type that looks like an index": ('list["0"]', ("list", Key.of(type="0")), '.list[type="0"]'),
    "set member": ("metadata.finalizers[=a]", ("metadata", "finalizers", Value("a")), '.metadata.finalizers[="a"]'),
    "boolean member": ("s[=true]", ("s", Value(True)), ".s[=true]"),
    "index": ("list[3].x", ("list", 3, "x"), ".list[3].x"),
    "quoted name": ('metadata.labels."a.b/c"', ("metadata", "labels", "a.b/c"), ".metadata.labels.a.b/c"),
    "nothing": ("", (), ""),
}


@pytest.mark.parametrize(("text", "path", "server"), SPELLINGS.values(), ids=SPELLINGS.keys())
def test_spellings(text: str, path: Path, server: str) -> None:
    """Text is parsed and rendered back, and the server's form is printed."""
    assert repr(parse(text)) == repr(path)
    assert render(path) == text
    assert server_text(path) == server


REFUSED = {
    "a..b": "expected a name in path 'a..b' at 2",
    "a[Ready": "expected ']' in path 'a[Ready' at 7",
    "a[k=1,x]": "expected '=' after key 'x' in path 'a[k=1,x]' at 7",
    'a."b': "unfinished quoted text in path 'a.\"b' at 2",
    "a[x]b": "expected '.' or '[' in path 'a[x]b' at 4, got 'b'",
}


@pytest.mark.parametrize(("text", "message"), REFUSED.items(), ids=REFUSED.keys())
def test_parse_refuses(text: str, message: str) -> None:
    """A text that is no path is refused with the place where it goes wrong."""
    with pytest.raises(ValueError, match="path") as caught:
        parse(text)
    assert str(caught.value) == message


words = st.text(min_size=1, max_size=6)
scalars = st.one_of(words, st.integers(-(2**40), 2**40), st.booleans())
any_path = st.lists(
    st.one_of(
        words, st.integers(0, 99), scalars.map(Value), st.dictionaries(words, scalars, min_size=1, max_size=2).map(lambda d: Key.of(**d))
    ),
    max_size=5,
).map(tuple)


@settings(derandomize=True, max_examples=100, deadline=None)
@given(any_path)
def test_text_round_trip(path: Path) -> None:
    """Whatever a path holds, its text reads back as the same path."""
    assert repr(parse(render(path))) == repr(path)


@settings(derandomize=True, max_examples=100, deadline=None)
@given(any_path)
def test_fields_v1_round_trip(path: Path) -> None:
    """Whatever a step holds, FieldsV1 spells it without loss."""
    assert repr(tuple(from_fields_v1(fields_v1(step)) for step in path)) == repr(path)


def test_steps_of_the_future_are_none() -> None:
    """A kind of step that nobody knows yet is recognised as such."""
    assert from_fields_v1("z:anything") is None
