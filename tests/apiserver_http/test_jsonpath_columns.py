"""Printer columns find what client-go's JSONPath finds."""

from __future__ import annotations

from typing import Any

import pytest

from fiferail.apiserver import jsonpath

SPEC = {"size": 3, "share": 0.5, "on": True, "empty": None, "tags": ["a", "b", "c"], "dotted.name": "d", "nested": {"a": {"b": "deep"}}}
OBJECT = {
    "spec": SPEC,
    "status": {"conditions": [{"type": "Ready", "status": "True", "n": 1}, {"type": "Live", "status": "False", "n": 2}]},
}

FINDS = {
    "a member": (".spec.size", [3]),
    "a missing member gives nothing": (".spec.nothing", []),
    "a missing parent gives nothing": (".none.at.all", []),
    "null is found": (".spec.empty", [None]),
    "a root sign means nothing": ("$.spec.on", [True]),
    "an index": (".spec.tags[1]", ["b"]),
    "a negative index counts from the end": (".spec.tags[-1]", ["c"]),
    "a slice": (".spec.tags[0:2]", ["a", "b"]),
    "a slice with a step": (".spec.tags[::2]", ["a", "c"]),
    "all entries": (".spec.tags[*]", ["a", "b", "c"]),
    "a member in brackets": (".spec['size']", [3]),
    "an escaped dot": (r".spec.dotted\.name", ["d"]),
    "a filter by text": ('.status.conditions[?(@.type=="Ready")].status', ["True"]),
    "a filter in single quotes": (".status.conditions[?(@.type=='Live')].status", ["False"]),
    "a filter by difference": ('.status.conditions[?(@.type!="Ready")].type', ["Live"]),
    "a filter by number": (".status.conditions[?(@.n>1)].type", ["Live"]),
    "a filter that nothing passes": ('.status.conditions[?(@.type=="X")].status', []),
    "a filter by presence": (".status.conditions[?(@.n)].type", ["Ready", "Live"]),
    "a union": (".spec['size','share']", [3, 0.5]),
    "any member": (".spec.nested.*", [{"b": "deep"}]),
    "recursive descent": ("..b", ["deep"]),
}


@pytest.mark.parametrize(("expression", "found"), FINDS.values(), ids=FINDS)
def test_an_expression_finds_its_values(expression: str, found: list[Any]) -> None:
    """An expression gives what the real server's printer columns give, in order."""
    assert jsonpath.find(expression, OBJECT) == found


@pytest.mark.parametrize(
    ("expression", "message"),
    [
        (".spec.size[0]", "not array or slice"),
        (".spec.tags[7]", "array index out of bounds: index 7, length 3"),
        ('.spec[?(@.a=="b")]', "not array or slice and cannot be filtered"),
        ('.status.conditions[?(@.n=="1")].type', "incompatible types for comparison"),
        ("range .spec", "unrecognized identifier range"),
    ],
)
def test_an_expression_that_does_not_fit_the_object_is_an_error(expression: str, message: str) -> None:
    """What the server cannot evaluate is an error here too, so that the cell stays empty."""
    with pytest.raises(jsonpath.EvaluationError, match="^" + message.replace("[", r"\[")):
        jsonpath.find(expression, OBJECT)


@pytest.mark.parametrize(
    ("expression", "message"),
    [
        (".spec[", "unterminated array"),
        (".spec[x]", "invalid array index x"),
        ('.spec[?(@.a=="b"', "unterminated filter"),
        (".a....b", "invalid multiple recursive descent"),
        ("'abc", "unterminated quoted string"),
        ("#", "unrecognized character in action: U+0023 '#'"),
        (".a[?(@.b===1)]", "unrecognized filter operator ==="),
    ],
)
def test_an_expression_that_cannot_be_read_is_refused(expression: str, message: str) -> None:
    """A malformed expression is a SyntaxFault that says what is wrong."""
    with pytest.raises(jsonpath.SyntaxFault) as caught:
        jsonpath.compiled(expression)
    assert str(caught.value) == message


@pytest.mark.parametrize(("value", "printed"), [("a", "a"), (3, "3"), (0.5, "0.5"), (True, "true"), (None, "<no value>")])
def test_values_are_printed_as_go_prints_them(value: Any, printed: str) -> None:
    """A scalar found for a text column is printed as Go's fmt prints it."""
    assert jsonpath.text(value) == printed
