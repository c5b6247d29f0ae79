"""The answer table: what each answer of the server means to a write in flight."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from fiferail.status.answers import FAILED_TEST, Lost, Meaning, error, meaning
from fiferail.wire import Answer


def answer(code: int, message: str = "", causes: list[dict[str, str]] | None = None, reason: str = "", **headers: str) -> Answer:
    """A Status answer."""
    details: dict[str, Any] = {"causes": causes} if causes else {}
    body = {"kind": "Status", "code": code, "reason": reason, "message": message, "details": details}
    return Answer(code, msgspec.json.encode(body), {name.replace("_", "-"): value for name, value in headers.items()})


DUPLICATE = {"reason": "FieldValueDuplicate", "message": "Duplicate value", "field": "status.conditions[1]"}
TYPE = {"reason": "FieldValueTypeInvalid", "message": "Invalid value", "field": "status.phase"}


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        pytest.param(Answer(200, b"{}"), Meaning.STORED, id="200"),
        pytest.param(Answer(201, b"{}"), Meaning.STORED, id="201"),
        pytest.param(answer(409, "object has been modified"), Meaning.REFUSED, id="409"),
        pytest.param(answer(422, FAILED_TEST), Meaning.REFUSED, id="422 of a failed test"),
        pytest.param(answer(422, "x is invalid", [DUPLICATE]), Meaning.REFUSED, id="422 duplicate where we appended"),
        pytest.param(
            answer(422, "x is invalid", [{**DUPLICATE, "field": "status.other[1]"}]), Meaning.INVALID, id="422 duplicate somewhere else"
        ),
        pytest.param(answer(422, "x is invalid", [TYPE]), Meaning.INVALID, id="422 of the schema"),
        pytest.param(answer(422, "denied by policy"), Meaning.INVALID, id="422 of a webhook, without causes"),
        pytest.param(answer(400, "bad"), Meaning.INVALID, id="400"),
        pytest.param(answer(413, "too large"), Meaning.INVALID, id="413"),
        pytest.param(answer(500, "etcdserver: request is too large"), Meaning.INVALID, id="500 too large"),
        pytest.param(answer(404, "not found"), Meaning.MISSING, id="404"),
        pytest.param(answer(429, "slow down", retry_after="2"), Meaning.BUSY, id="429"),
        pytest.param(answer(503, "", retry_after="1"), Meaning.BUSY, id="503 with Retry-After"),
        pytest.param(answer(503, ""), Meaning.UNKNOWN, id="503 without"),
        pytest.param(answer(500, "boom"), Meaning.UNKNOWN, id="500"),
        pytest.param(answer(504, "timeout"), Meaning.UNKNOWN, id="504"),
        pytest.param(Lost(TimeoutError()), Meaning.UNKNOWN, id="no answer"),
        pytest.param(answer(403, "no"), Meaning.REJECTED, id="403"),
        pytest.param(answer(401, "who"), Meaning.REJECTED, id="401"),
    ],
)
def test_every_row(given: Answer | Lost, expected: Meaning) -> None:
    """Each answer has one meaning."""
    assert meaning(given, appended=("status.conditions",)) is expected


def test_an_error_carries_the_servers_own_words() -> None:
    """Code, reason, message and causes are passed on unchanged."""
    caught = error(answer(422, "g is invalid", [TYPE], reason="Invalid"))
    assert (str(caught), caught.code, caught.reason, caught.causes[0].field) == ("g is invalid", 422, "Invalid", "status.phase")
    assert str(error(answer(403, "forbidden: no", reason="Forbidden"))) == "403 Forbidden: forbidden: no"


def test_a_body_that_is_no_json_is_quoted() -> None:
    """An unknown kind is answered in plain text, and the text is kept."""
    assert str(error(Answer(404, b"404 page not found\n"))) == "404: 404 page not found"
