"""Schemas: pruning, defaults, validation."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from fiferail.testing.api import Api


def test_unknown_field_is_pruned(api: Api) -> None:
    """An unknown field is dropped, with a warning."""
    reply = api.create(api.obj("g", spec={"size": 1, "nosuch": 2})).ok(201)
    assert reply.json["spec"] == {"size": 1}
    assert reply.warnings == '299 - "unknown field \\"spec.nosuch\\""'


def test_unknown_field_strict(api: Api) -> None:
    """With fieldValidation=Strict an unknown field is refused."""
    body = api.obj("g", spec={"nosuch": 2, "plain": [{"c": 1}]})
    reply = api.create(body, fieldValidation="Strict")
    assert reply.code == 400, reply.text
    assert reply.message == (
        'Gadget in version "v1" cannot be handled as a Gadget: strict decoding error: '
        'unknown field "spec.nosuch", unknown field "spec.plain[0].c"'
    )
    api.get("g").refused(404, "NotFound")


def test_unknown_field_strict_patch(api: Api) -> None:
    """With fieldValidation=Strict a merge patch with an unknown field is 422."""
    api.made("g", spec={})
    reply = api.patch("merge", "g", {"spec": {"nosuch": 2}}, fieldValidation="Strict").refused(422, "Invalid")
    assert 'strict decoding error: unknown field "spec.nosuch"' in reply.message


def test_unknown_field_ignore(api: Api) -> None:
    """With fieldValidation=Ignore nothing is said."""
    assert api.create(api.obj("g", spec={"nosuch": 2}), fieldValidation="Ignore").ok(201).warnings == ""


def test_bad_field_validation(api: Api) -> None:
    """An unknown fieldValidation is 422."""
    reply = api.create(api.obj("g", spec={}), fieldValidation="Maybe").refused(422, "Invalid")
    assert reply.causes[0][:2] == ("FieldValueNotSupported", "fieldValidation")


def test_duplicate_key_warns(api: Api) -> None:
    """A member that stands twice in the JSON gives a warning, and Strict refuses it."""
    body = b'{"apiVersion":"%s","kind":"Gadget","metadata":{"name":"g"},"spec":{"size":1,"size":2}}' % api.api_version.encode()
    reply = api.send("POST", api.path(), body).ok(201)
    assert reply.json["spec"] == {"size": 2}
    assert reply.warnings == '299 - "duplicate field \\"spec.size\\""'
    body = body.replace(b'"g"', b'"h"')
    assert api.send("POST", api.path(), body, fieldValidation="Strict").code == 400


def test_defaults(api: Api) -> None:
    """Defaults are filled in at every level on create."""
    shapes = api.of("shapes", "Shape")
    spec = shapes.made("s", spec={"title": "ok", "items": [{"s": "x"}, {"n": 2}]})["spec"]
    assert spec == {"title": "ok", "color": "red", "inner": {"deep": 7}, "items": [{"n": 1, "s": "x"}, {"n": 2}], "defaulted": "x"}


def test_null_of_non_nullable_is_defaulted(api: Api) -> None:
    """null for a field that is not nullable is dropped and then defaulted; for a nullable one it stays."""
    shapes = api.of("shapes", "Shape")
    spec = shapes.made("s", spec={"title": "ok", "color": None, "optional": None, "defaulted": None})["spec"]
    assert (spec["color"], spec["optional"], spec["defaulted"]) == ("red", None, None)


def test_preserve_unknown(api: Api) -> None:
    """Below x-kubernetes-preserve-unknown-fields everything is kept."""
    shapes = api.of("shapes", "Shape")
    opened = {"known": 1, "any": {"deep": [1, {"x": None}]}}
    assert shapes.made("s", spec={"title": "ok", "open": opened})["spec"]["open"] == opened


def test_number_forms(api: Api) -> None:
    """A whole number written as 1.0 is stored as 1."""
    shapes = api.of("shapes", "Shape")
    body = (
        b'{"apiVersion":"%s","kind":"Shape","metadata":{"name":"s"},"spec":{"title":"ok","even":4.0,"ratio":1e2}}'
        % api.api_version.encode()
    )
    reply = shapes.send("POST", shapes.path(), body)
    assert (reply.code, '"ratio":100' in reply.text) == (201, True), reply.text


CASES: dict[str, tuple[dict[str, Any], str, str]] = {
    "wrong type": ({"title": 5}, "spec.title", 'Invalid value: "integer": spec.title in body must be of type string: "integer"'),
    "required": ({"color": "x"}, "spec.title", "Required value"),
    "too short": ({"title": "x"}, "spec.title", 'Invalid value: "x": spec.title in body should be at least 2 chars long'),
    "null of a required field": ({"title": None}, "spec.title", "Required value"),
    "too many items": ({"title": "ok", "items": [{}, {}, {}, {}]}, "spec.items", "Too many: 4: must have at most 3 items"),
    "exclusive minimum": ({"title": "ok", "ratio": 0}, "spec.ratio", "Invalid value: 0: spec.ratio in body should be greater than 0"),
    "multiple": ({"title": "ok", "even": 3}, "spec.even", "Invalid value: 3: spec.even in body should be a multiple of 2"),
    "int or string": (
        {"title": "ok", "either": 1.5},
        "spec.either",
        'Invalid value: "number": spec.either in body must be of type integer,string: "number"',
    ),
    "date-time": (
        {"title": "ok", "when": "soon"},
        "spec.when",
        'Invalid value: "soon": spec.when in body must be of type date-time: "soon"',
    ),
    "date": ({"title": "ok", "day": "x"}, "spec.day", 'Invalid value: "x": spec.day in body must be of type date: "x"'),
    "duration": ({"title": "ok", "span": "x"}, "spec.span", 'Invalid value: "x": spec.span in body must be of type duration: "x"'),
    "uuid": ({"title": "ok", "id": "x"}, "spec.id", 'Invalid value: "x": spec.id in body must be of type uuid: "x"'),
    "ipv4": ({"title": "ok", "address": "x"}, "spec.address", 'Invalid value: "x": spec.address in body must be of type ipv4: "x"'),
    "byte": ({"title": "ok", "blob": "%"}, "spec.blob", 'Invalid value: "%": spec.blob in body must be of type byte: "%"'),
    "int32": (
        {"title": "ok", "small": 2**31},
        "<nil>",
        'Invalid value: "": Checked value must be of type integer with format int32 in spec.small',
    ),
    "too many properties": ({"title": "ok", "pair": {"a": 1, "b": 2, "c": 3}}, "spec.pair", "Too many: 3: must have at most 2 items"),
    "too few properties": (
        {"title": "ok", "pair": {}},
        "spec.pair",
        "Invalid value: 0: spec.pair in body should have at least 1 properties",
    ),
    "oneOf": (
        {"title": "ok", "one": {}},
        "<nil>",
        'Invalid value: "": "spec.one" must validate one and only one schema (oneOf). Found none valid',
    ),
}


@pytest.mark.parametrize("case", CASES)
def test_violations(api: Api, case: str) -> None:
    """A violation of the schema is 422 with its field and text."""
    spec, field, message = CASES[case]
    shapes = api.of("shapes", "Shape")
    reply = shapes.create(shapes.obj("s", spec=spec)).refused(422, "Invalid")
    assert (field, message) in [(where, text) for _, where, text in reply.causes], reply.causes


@pytest.mark.parametrize(
    ("spec", "field", "message"),
    [
        ({"mode": "warp"}, "spec.mode", 'Unsupported value: "warp": supported values: "slow", "fast"'),
        ({"code": "UP"}, "spec.code", "Invalid value: \"UP\": spec.code in body should match '^[a-z]+$'"),
        ({"code": "abcdefghi"}, "spec.code", "Too long: may not be more than 8 bytes"),
        ({"size": -1}, "spec.size", "Invalid value: -1: spec.size in body should be greater than or equal to 0"),
        ({"tags": ["a", "a"]}, "spec.tags[1]", 'Duplicate value: "a"'),
        ({"ports": [{"name": "a"}, {"name": "a"}]}, "spec.ports[1]", 'Duplicate value: {"name":"a","protocol":"TCP"}'),
    ],
    ids=["enum", "pattern", "maxLength", "minimum", "set", "map list"],
)
def test_gadget_violations(api: Api, spec: dict[str, Any], field: str, message: str) -> None:
    """A violation of the schema is 422 with its field and text, more kinds of it."""
    reply = api.create(api.obj("g", spec=spec)).refused(422, "Invalid")
    assert reply.causes[0][1:] == (field, message)


def test_missing_spec(api: Api) -> None:
    """A missing required spec is 422 at spec."""
    shapes = api.of("shapes", "Shape")
    reply = shapes.create({"apiVersion": api.api_version, "kind": "Shape", "metadata": {"name": "s"}}).refused(422, "Invalid")
    assert reply.causes == [("FieldValueRequired", "spec", "Required value")]


def test_rule(api: Api) -> None:
    """A CEL rule that does not hold is 422 with its message."""
    treaties = api.of("treaties", "Treaty")
    reply = treaties.create(treaties.obj("t", spec={"low": 11})).refused(422, "Invalid")
    assert reply.causes == [("FieldValueInvalid", "spec", "Invalid value: low must not exceed high")], reply.causes


def test_transition_rule(api: Api) -> None:
    """A CEL rule with oldSelf is judged on updates only."""
    treaties = api.of("treaties", "Treaty")
    treaties.made("t", spec={"high": 5})
    treaties.patch("merge", "t", {"spec": {"high": 6}}).ok(200)
    reply = treaties.patch("merge", "t", {"spec": {"high": 4}}).refused(422, "Invalid")
    assert reply.causes[0][1] == "spec.high"
    assert "high never falls" in reply.causes[0][2]


def test_rule_reason_and_expression(api: Api) -> None:
    """A CEL rule may give a reason and compute its message."""
    treaties = api.of("treaties", "Treaty")
    reply = treaties.create(treaties.obj("t", spec={"side": "none"})).refused(422, "Invalid")
    assert reply.causes == [("FieldValueForbidden", "spec.side", "Forbidden: side none is not one")]


def test_status_is_not_validated_on_create(api: Api) -> None:
    """A status that violates the schema does not matter in a create, because it is dropped first."""
    assert "status" not in api.create(api.obj("g", spec={}, status={"phase": 5})).ok(201).json


def test_embedded_resource(api: Api) -> None:
    """An embedded resource must name its apiVersion and kind."""
    shapes = api.of("shapes", "Shape")
    reply = shapes.create(shapes.obj("s", spec={"title": "ok", "template": {"spec": {}}})).refused(422, "Invalid")
    assert sorted(field for _, field, _ in reply.causes) == ["spec.template.apiVersion", "spec.template.kind"]


def test_dry_run_create(api: Api) -> None:
    """A dry-run create answers 201 and stores nothing."""
    answer = api.create(api.obj("g", spec={"size": 1}), dryRun="All").ok(201).json
    assert answer["metadata"]["uid"]
    assert "resourceVersion" not in answer["metadata"]
    api.get("g").refused(404, "NotFound")


def test_dry_run_patch(api: Api) -> None:
    """A dry-run patch answers the result and stores nothing."""
    stored = api.made("g", spec={"size": 1})
    answer = api.patch("merge", "g", {"spec": {"size": 2}}, dryRun="All").ok(200).json
    assert (answer["spec"]["size"], answer["metadata"]["resourceVersion"]) == (2, stored["metadata"]["resourceVersion"])
    assert api.get("g").json == stored


def test_bad_dry_run(api: Api) -> None:
    """A dryRun other than All is 422."""
    reply = api.create(api.obj("g", spec={}), dryRun="Some").refused(422, "Invalid")
    assert reply.causes == [("FieldValueNotSupported", "dryRun", 'Unsupported value: ["Some"]: supported values: "All"')]


def test_ratcheting(api: Api) -> None:
    """A value that was stored before it became invalid may stay while other fields change."""
    stored = api.made("g", spec={}, status={"conditions": [{"type": "A", "status": "True"}]})
    assert (
        api.patch("merge", "g", {"status": {"phase": "x"}}, "status").ok(200).json["status"]["conditions"] == stored["status"]["conditions"]
    )
