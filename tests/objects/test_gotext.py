"""Go's %q and %v; the vectors were printed by Go."""

from __future__ import annotations

import pytest

from fiferail.objects import gotext


@pytest.mark.parametrize(
    ("text", "printed"),
    [
        ("plain", '"plain"'),
        ('say "x"\\', '"say \\"x\\"\\\\"'),
        ("\a\b\f\n\r\t\v", '"\\a\\b\\f\\n\\r\\t\\v"'),
        ("\x00\x1b\x7f", '"\\x00\\x1b\\x7f"'),
        ("\x80\x85\xa0\xad", '"\\u0080\\u0085\\u00a0\\u00ad"'),
        ("\u00e9\u4e16", '"\u00e9\u4e16"'),
        ("\u2028\ufeff\u3000", '"\\u2028\\ufeff\\u3000"'),
        ("\U0001f600", '"\U0001f600"'),
        ("\U000e0001", '"\\U000e0001"'),
        ("\ud800", '"\\ufffd"'),
        ("<>&'", '"<>&\'"'),
    ],
    ids=ascii,
)
def test_text_is_quoted_as_strconv_quotes_it(text: str, printed: str) -> None:
    """Printable text stays, the rest is escaped in Go's way."""
    assert gotext.quoted(text) == printed


@pytest.mark.parametrize(
    ("value", "printed"),
    [
        (0, "0"),
        (10**30, "1" + "0" * 30),
        (0.0, "0"),
        (-0.0, "-0"),
        (1.0, "1"),
        (-2.5, "-2.5"),
        (123456.0, "123456"),
        (1e6, "1e+06"),
        (1450623.2521704712, "1.4506232521704712e+06"),
        (1004295280560891.0, "1.004295280560891e+15"),
        (1e21, "1e+21"),
        (1e100, "1e+100"),
        (0.0001, "0.0001"),
        (0.00012345, "0.00012345"),
        (0.00001, "1e-05"),
        (5e-324, "5e-324"),
        (float("inf"), "+Inf"),
        (float("-inf"), "-Inf"),
        (float("nan"), "NaN"),
    ],
    ids=repr,
)
def test_numbers_are_printed_as_fmt_prints_them(value: float, printed: str) -> None:
    """The shortest digits, with an exponent of at least two digits below 1e-4 and from 1e6 on."""
    assert gotext.number(value) == printed


@pytest.mark.parametrize(
    ("value", "printed"),
    [
        ({"b": [1, None, "x y"], "a": {}}, "map[a:map[] b:[1 <nil> x y]]"),
        ([True, 1.5, 1e6, ""], "[true 1.5 1e+06 ]"),
        (None, "<nil>"),
        ("text", "text"),
    ],
    ids=str,
)
def test_decoded_json_is_printed_as_fmt_prints_it(value: object, printed: str) -> None:
    """%v of maps, slices and what is in them; maps sorted."""
    assert gotext.plain(value) == printed


@pytest.mark.parametrize(
    ("value", "printed"),
    [("x", "x"), (1, "%!s(int64=1)"), (True, "%!s(bool=true)"), (1.5, "%!s(float64=1.5)"), (None, "%!s(<nil>)")],
    ids=str,
)
def test_what_is_no_string_is_complained_about_where_a_string_is_printed(value: object, printed: str) -> None:
    """%s of a scalar."""
    assert gotext.as_string(value) == printed
