"""JSON as the API server reads and writes it."""

from __future__ import annotations

import contextlib
import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fiferail.errors import Unsupported
from fiferail.objects import gojson, gosyntax
from fiferail.objects.tree import Json, same

scalars = st.none() | st.booleans() | st.integers(-(2**63), 2**63 - 1) | st.floats(allow_nan=False, allow_infinity=False) | st.text()
trees = st.recursive(scalars, lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4), max_leaves=20)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        (b"1", 1),
        (b"-0", 0),
        (b"1.0", 1.0),
        (b"1e2", 100.0),
        (b"9223372036854775807", 2**63 - 1),
        (b"9223372036854775808", 9.223372036854775808e18),
        (b"-9223372036854775808", -(2**63)),
        (b"-9223372036854775809", -9.223372036854775808e18),
        (b"1" + b"0" * 40, 1e40),
        (b'{"a":1,"a":2}', {"a": 2}),
        (b'"\\ud83d\\ude00"', "\U0001f600"),
        (b'"\\ud800"', "\ufffd"),
        (b'"\\ud800\\u0041"', "\ufffdA"),
        (b'"\\ud800\\ud800\\udc00"', "\ufffd\U00010000"),
        (b'{"\\udc00":["\\udc00"]}', {"\ufffd": ["\ufffd"]}),
        (b'"\xff\xe2\x82"', "\ufffd\ufffd\ufffd"),
        (b'"\xed\xa0\x80"', "\ufffd\ufffd\ufffd"),
        (b" \t\r\n null ", None),
    ],
    ids=repr,
)
def test_text_is_read_as_the_server_reads_it(text: bytes, value: Json) -> None:
    """Integers are int64 where they fit, other numbers floats, broken text is mended and the last twin wins."""
    assert same(gojson.decode(text), value)


SYNTAX_ERRORS = {
    b"": "unexpected end of JSON input",
    b" ": "unexpected end of JSON input",
    b"{": "unexpected end of JSON input",
    b'{"a"': "unexpected end of JSON input",
    b'"a': "unexpected end of JSON input",
    b'"\\u00': "invalid character ' ' in \\u hexadecimal character escape",
    b"x": "invalid character 'x' looking for beginning of value",
    b"[1,]": "invalid character ']' looking for beginning of value",
    b"{,}": "invalid character ',' looking for beginning of object key string",
    b'{"a":1,}': "invalid character '}' looking for beginning of object key string",
    b'{"a" 1}': "invalid character '1' after object key",
    b'{"a":1 2}': "invalid character '2' after object key:value pair",
    b"[1 2]": "invalid character '2' after array element",
    b"[1}": "invalid character '}' after array element",
    b"{} x": "invalid character 'x' after top-level value",
    b"01": "invalid character '1' after top-level value",
    b"-": "invalid character ' ' in numeric literal",
    b"-x": "invalid character 'x' in numeric literal",
    b"1.": "invalid character ' ' after decimal point in numeric literal",
    b"1e+": "invalid character ' ' in exponent of numeric literal",
    b"tr": "invalid character ' ' in literal true (expecting 'u')",
    b"falze": "invalid character 'z' in literal false (expecting 's')",
    b"nul": "invalid character ' ' in literal null (expecting 'l')",
    b"NaN": "invalid character 'N' looking for beginning of value",
    b'"\x01"': "invalid character '\\x01' in string literal",
    b'"\\x"': "invalid character 'x' in string escape code",
    b"'a'": "invalid character '\\'' looking for beginning of value",
    b'1"': "invalid character '\"' after top-level value",
    b"\xff": "invalid character '\u00ff' looking for beginning of value",
    b"\x80": "invalid character '\\u0080' looking for beginning of value",
    b"\xef\xbb\xbf{}": "invalid character '\u00ef' looking for beginning of value",
    b"[" * 10001: "invalid character '[' exceeded max depth",
}


@pytest.mark.parametrize(("text", "message"), SYNTAX_ERRORS.items(), ids=lambda each: repr(each[:20]))
def test_what_is_not_json_is_refused_in_go_words(text: bytes, message: str) -> None:
    """The message is the one of Go's scanner, and the error says that it is one of syntax."""
    with pytest.raises(gojson.DecodeError) as refusal:
        gojson.decode(text)
    assert refusal.value.message == message
    assert refusal.value.syntax


def test_a_number_past_float64_is_refused_in_go_words() -> None:
    """Such a text is JSON, but no value: the decoder's own error, not one of syntax."""
    with pytest.raises(gojson.DecodeError) as refusal:
        gojson.decode(b'{"a":[1,-1e400]}')
    assert refusal.value.message == "json: cannot unmarshal number -1e400 into Go value of type float64"
    assert not refusal.value.syntax


@pytest.mark.parametrize("depth", [257, 2000, 10000])
def test_nesting_that_we_could_not_walk_is_refused_by_name(depth: int) -> None:
    """Between our depth and the server's the answer is a clear refusal, never a crash."""
    with pytest.raises(Unsupported, match="JSON nested deeper than 256 levels"):
        gojson.decode(b'{"a":' * depth + b"1" + b"}" * depth)


def test_nesting_up_to_the_limit_is_read() -> None:
    """The limit itself is inside."""
    assert gojson.encode(gojson.decode(b"[" * 256 + b"]" * 256)) == b"[" * 256 + b"]" * 256


@pytest.mark.parametrize(
    ("tree", "text"),
    [
        ({"b": 1, "a": {"d": None, "c": True}}, b'{"a":{"c":true,"d":null},"b":1}'),
        ("<a href='x'>&\u2028\u2029", b"\"\\u003ca href='x'\\u003e\\u0026\\u2028\\u2029\""),
        ("\u2027\u00e9\U0001f600/\x7f", '"\u2027\u00e9\U0001f600/\x7f"'.encode()),
        ('\b\f\n\r\t\x00\x1f"\\', b'"\\b\\f\\n\\r\\t\\u0000\\u001f\\"\\\\"'),
        ([1.0, -0.0, 1.5, 100000.0], b"[1,-0,1.5,100000]"),
        ([1e20, 1e21, 1.5e21, 123456789012345680000.0], b"[100000000000000000000,1e+21,1.5e+21,123456789012345680000]"),
        ([1e-6, 1e-7, 1.5e-9, 1e-10, 5e-324], b"[0.000001,1e-7,1.5e-9,1e-10,5e-324]"),
        ([-(2**63), 2**63 - 1], b"[-9223372036854775808,9223372036854775807]"),
        (2**70, b"1.1805916207174113e+21"),
        ({"\u00e9": 1, "z": 2, "\U0001f600": 3, "\uffff": 4}, '{"z":2,"\u00e9":1,"\uffff":4,"\U0001f600":3}'.encode()),
        ("\ud800", '"\ufffd"'.encode()),
        ({}, b"{}"),
        ([], b"[]"),
    ],
    ids=ascii,
)
def test_trees_are_written_as_go_writes_them(tree: Json, text: bytes) -> None:
    """Sorted members, HTML escapes, raw UTF-8 and Go's form of numbers."""
    assert gojson.encode(tree) == text


@pytest.mark.parametrize(("value", "word"), [(float("nan"), "NaN"), (float("inf"), "\\+Inf"), (float("-inf"), "-Inf")])
def test_what_json_cannot_say_is_refused(value: float, word: str) -> None:
    """Go has no text for them either."""
    with pytest.raises(ValueError, match=f"^json: unsupported value: {word}$"):
        gojson.encode({"a": value})


def test_a_store_round_trip_turns_whole_floats_into_integers_and_shares_the_rest() -> None:
    """Only the path to what changed is copied."""
    tree = {"a": {"b": [1.0, 1.5]}, "c": {"d": [1]}}
    result = gojson.normalised(tree)
    assert same(result, {"a": {"b": [1, 1.5]}, "c": {"d": [1]}})
    assert result["c"] is tree["c"]


def test_a_tree_that_needs_no_change_comes_back_itself() -> None:
    """So that `is` goes on telling that nothing changed; floats that stay floats included."""
    for tree in ({"a": [1, "x", None]}, {"a": [1.5, 1e21]}):
        assert gojson.normalised(tree) is tree


@pytest.mark.parametrize(
    ("text", "complaints"),
    [
        (b'{"a":1,"b":2}', []),
        (b'{ "a": "x:y{", "b": [{"a":1}, {"a":1}] }', []),
        (b'{"a":1,"a":2}', ['duplicate field "a"']),
        (b'{"a":1,"a":2,"a":3}', ['duplicate field "a"']),
        (b'{"a":1,"\\u0061":2}', ['duplicate field "a"']),
        (b'{"s":{"c":[{},{"t":1,"t":2}]}, "s":1}', ['duplicate field "s.c[1].t"', 'duplicate field "s"']),
        (b'[{"a":1,"a":2}]', ['duplicate field "[0].a"']),
        (b'{"a\\"b":1,"a\\"b":2}', ['duplicate field "a\\"b"']),
        (b'{"\xff":1,"\\ufffd":2}', ['duplicate field "\ufffd"']),
    ],
    ids=repr,
)
def test_twins_are_reported_as_the_strict_decoder_reports_them(text: bytes, complaints: list[str]) -> None:
    """In the order of the text, each path once."""
    assert gojson.duplicates(text) == complaints
    assert gojson.duplicates(text, gojson.decode(text)) == complaints


def test_at_most_a_hundred_twins_are_reported() -> None:
    """The strict decoder stops counting there."""
    text = b"{" + b",".join(b'"k%d":1' % (n // 2) for n in range(300)) + b"}"
    assert len(gojson.duplicates(text)) == 100


@settings(derandomize=True, max_examples=200, deadline=None)
@given(trees)
def test_what_was_written_reads_back_as_its_normal_form(tree: Json) -> None:
    """A round trip equals `normalised`, and a second one changes nothing."""
    once = gojson.decode(gojson.encode(tree))
    assert same(once, gojson.normalised(tree))
    assert gojson.normalised(once) is once
    assert gojson.encode(gojson.decode(gojson.encode(once))) == gojson.encode(once)


@settings(derandomize=True, max_examples=300, deadline=None)
@given(
    st.lists(st.sampled_from([b"{", b"}", b"[", b"]", b",", b":", b'"a"', b'"', b"\\u00", b"1", b"-", b".5", b"e", b" ", b"null", b"\xff"]))
)
def test_the_two_parsers_agree_on_what_is_json(tokens: list[bytes]) -> None:
    """The scanner that words errors accepts exactly what the fast parser accepts."""
    text = b"".join(tokens)
    verdict = gosyntax.syntax_error(text)
    with contextlib.nullcontext() if verdict is None else pytest.raises(gojson.DecodeError, match=f"^{re.escape(verdict)}$"):
        gojson.decode(text)
