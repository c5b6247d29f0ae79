"""The wording of field errors."""

from __future__ import annotations

import pytest

from fiferail.objects import fielderrors
from fiferail.objects.fielderrors import FieldError

WORDED = {
    "spec.a: Required value": fielderrors.required("spec.a"),
    "spec.a: Required value: must be given": fielderrors.required("spec.a", "must be given"),
    'spec.a: Invalid value: "x\\ny": too odd': fielderrors.invalid("spec.a", "x\ny", "too odd"),
    "spec.a: Invalid value: 5": fielderrors.invalid("spec.a", 5),
    "spec.a: Invalid value: 1e+06": fielderrors.invalid("spec.a", 1e6),
    "spec.a: Invalid value: true": fielderrors.invalid("spec.a", True),
    "spec.a: Invalid value: null": fielderrors.invalid("spec.a", None),
    'spec.a: Invalid value: {"b":"\\u003c","c":[1]}': fielderrors.invalid("spec.a", {"c": [1], "b": "<"}),
    'spec.a: Invalid value: "string": must be integer': fielderrors.type_invalid("spec.a", "string", "must be integer"),
    'status.conditions[1]: Duplicate value: {"type":"A"}': fielderrors.duplicate("status.conditions[1]", {"type": "A"}),
    "spec.a: Forbidden: may not change": fielderrors.forbidden("spec.a", "may not change"),
    'spec.a: Not found: "x"': fielderrors.not_found("spec.a", "x"),
    'spec.a: Unsupported value: "x": supported values: "b", "a"': fielderrors.not_supported("spec.a", "x", ["b", "a"]),
    'spec.a: Unsupported value: "x"': fielderrors.not_supported("spec.a", "x", []),
    "spec.a: Too long: may not be more than 3 bytes": fielderrors.too_long("spec.a", 3),
    "spec.a: Invalid value: no value shown": FieldError("FieldValueInvalid", "spec.a", detail="no value shown"),
}


@pytest.mark.parametrize(("text", "error"), WORDED.items(), ids=list(WORDED))
def test_a_field_error_reads_as_the_server_words_it(text: str, error: FieldError) -> None:
    """The full text is the field and the message of the cause."""
    assert error.full == text
    assert error.message == text.partition(": ")[2]


def test_one_error_stands_alone_and_several_in_brackets_each_once() -> None:
    """As apimachinery joins an aggregate."""
    first, second = fielderrors.required("a"), fielderrors.required("b")
    assert fielderrors.aggregate([first]) == "a: Required value"
    assert fielderrors.aggregate([first, second, first]) == "[a: Required value, b: Required value]"
