"""Formats accept what a real kube-apiserver 1.36.3 accepted and refuse what it refused; patterns are Go's."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from fiferail.errors import Unsupported
from fiferail.objects.schema import formats, patterns

VECTORS = json.loads((Path(__file__).parent / "vectors" / "formats.json").read_text())


@pytest.mark.parametrize("name", sorted(VECTORS))
def test_a_format_accepts_exactly_what_the_real_server_accepts(name: str) -> None:
    """Every recorded text gets the recorded verdict; only unusual email addresses may be left undecided."""
    accepts = formats.check(name)
    assert accepts is not None
    verdicts: dict[str, Any] = {}
    for text in VECTORS[name]["accepted"] + VECTORS[name]["refused"]:
        try:
            verdicts[text] = accepts(text)
        except Unsupported:
            assert name == "email"
    expected = {text: text in VECTORS[name]["accepted"] for text in verdicts}
    assert verdicts == expected
    assert len(verdicts) > 15


@pytest.mark.parametrize(
    ("name", "type", "counts"),
    [
        ("date-time", "string", True),
        ("datetime", "", True),
        ("int32", "integer", True),
        ("int32", "string", False),
        ("date", "object", False),
        ("double", "number", True),
        ("float", "integer", False),
        ("made-up", "string", False),
    ],
)
def test_a_format_counts_only_where_the_server_heeds_it(name: str, type: str, counts: bool) -> None:
    """Formats of other types, and unknown ones, are ignored."""
    assert formats.effective(name, type) == (name if counts else "")


@pytest.mark.parametrize(
    ("pattern", "text"),
    [
        ("[a", "missing closing ]: `[a`"),
        ("(a", "missing closing ): `(a`"),
        ("a**", "invalid nested repetition operator: `**`"),
        ("*a", "missing argument to repetition operator: `*`"),
        ("(?=a)", "invalid or unsupported Perl syntax: `(?=`"),
        ("a\\", "trailing backslash at end of expression: ``"),
        ("\\C", "invalid escape sequence: `\\C`"),
        ("a{1001}", "invalid repeat count: `{1001}`"),
    ],
)
def test_a_pattern_that_go_cannot_compile_is_refused_in_its_words(pattern: str, text: str) -> None:
    """RE2's words are turned into Go's."""
    with pytest.raises(patterns.PatternError) as caught:
        patterns.matcher(pattern)
    assert str(caught.value) == f"error parsing regexp: {text}"


def test_a_unicode_class_that_only_go_may_know_is_not_decided() -> None:
    """Where Go and RE2 know different class names the answer would be a guess."""
    with pytest.raises(Unsupported, match="Unicode class"):
        patterns.matcher(r"\p{Letter}")


def test_patterns_match_anywhere_and_the_end_is_the_end() -> None:
    """As in Go, a match may start anywhere and `$` does not stop before a last newline."""
    assert patterns.matcher("b")("abc")
    assert not patterns.matcher("^b")("abc")
    assert not patterns.matcher("c$")("abc\n")
