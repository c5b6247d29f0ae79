"""Validation rules (CEL) as a real kube-apiserver 1.36.3 compiled and evaluated them: the same verdicts and texts must come out here."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from fiferail.errors import Unsupported
from fiferail.objects.schema import cel, coerce, crd, default, parse, validate
from fiferail.objects.tree import ABSENT

VECTORS = Path(__file__).parent / "vectors"
RULES = json.loads((VECTORS / "rules.json").read_text())
COSTS = json.loads((VECTORS / "rule_costs.json").read_text())
COMPILED = json.loads((VECTORS / "rule_compilation.json").read_text())


def whole_schema() -> Any:
    """One schema with every rule on a field of its own: r0, r1 and so on, and the other fields beside them."""
    fields = {
        f"r{index}": {"type": "object", "properties": RULES["properties"], "x-kubernetes-validations": [rule]}
        for index, rule in enumerate(RULES["rules"])
    }
    spec = {"type": "object", "properties": {**fields, **RULES["others"]}}
    properties = {"spec": spec, "status": RULES["status"]}
    return {"type": "object", "x-kubernetes-validations": RULES["root_rules"], "properties": properties}


SCHEMA = parse.parse_schema(whole_schema())


def spec_of(case: Any, which: str) -> Any:
    """The spec of a case: a change of the base value under the rule's field, or the spec itself."""
    change = case[which]
    if case["rule"] is None:
        return change
    value = {name: member for name, member in RULES["base"].items() if name not in change["without"]}
    return {f"r{case['rule']}": {**value, **change["set"]}}


def stored(spec: Any) -> Any:
    """An object with this spec as it is after decoding and defaulting."""
    tree, _ = coerce.decode({"apiVersion": "b.io/v1", "kind": "T", "metadata": {"name": "x"}, "spec": spec}, SCHEMA)
    return default.default(tree, SCHEMA)


def named(index: int, case: Any) -> Any:
    """A case under a name that says what it is about."""
    rule = "" if case["rule"] is None else RULES["rules"][case["rule"]]["rule"]
    return pytest.param(case, id=f"{index}: {rule or json.dumps(case['new'])}"[:70])


@pytest.mark.parametrize("case", [named(index, case) for index, case in enumerate(RULES["cases"])])
def test_rules_judge_objects_as_the_real_server_does(case: Any) -> None:
    """Creates and updates get the real server's causes from rules of every kind."""
    new = stored(spec_of(case, "new"))
    old = ABSENT if case["old"] is None else stored(spec_of(case, "old"))
    errors = validate.validate(new, SCHEMA, old)
    errors += cel.rule_errors(new, old, SCHEMA, errors)
    assert sorted([error.reason, error.field, error.message] for error in errors) == case["causes"]


def crd_with(rule: Any) -> Any:
    """A CRD with one rule on its spec."""
    return crd_of({"type": "object", "properties": COMPILED["properties"], "x-kubernetes-validations": [rule]})


def crd_of(spec: Any) -> Any:
    """A CRD whose objects have this spec."""
    version = {"name": "v1", "served": True, "storage": True}
    version["schema"] = {"openAPIV3Schema": {"type": "object", "properties": {"spec": spec}}}
    names = {"plural": "gadgets", "kind": "Gadget"}
    whole = {"group": "b.io", "scope": "Namespaced", "names": names, "versions": [version]}
    return crd.default_crd({"metadata": {"name": "gadgets.b.io"}, "spec": whole})


@pytest.mark.parametrize("case", [pytest.param(case, id=case["rule"]) for case in COMPILED["cases"]])
def test_rules_compile_or_not_as_on_the_real_server(case: Any) -> None:
    """A rule is refused in the server's words, or at its field in ours; what is not implemented is refused by name."""
    whole = crd_with({"rule": case["rule"], "message": "x"})
    if "unsupported" in case:
        with pytest.raises(Unsupported) as caught:
            crd.validate_crd(whole)
        assert caught.value.feature == case["unsupported"]
        return
    errors = crd.validate_crd(whole)
    if "said" in case:
        assert [error.message.split("null}: ")[-1] for error in errors] == case["said"]
    else:
        assert [error.field.rpartition(".")[2] for error in errors] == ["rule"] * len(case["said_otherwise"])


@pytest.mark.parametrize("case", [pytest.param(case, id=f"{index}: {case['rule']}"[:70]) for index, case in enumerate(COSTS)])
def test_rules_cost_what_the_real_server_estimates(case: Any) -> None:
    """A rule within the budget is taken; one beyond it is refused with the real server's factor, alone and in total."""
    errors = crd.validate_crd(crd_of(case["spec"]))
    assert sorted([error.field, error.message] for error in errors) == case["causes"]


@pytest.mark.parametrize(
    ("rule", "where", "text"),
    [
        ({"rule": "self.i > 1", "optionalOldSelf": True}, "optionalOldSelf", "may not be set if oldSelf is not used in rule"),
        ({"rule": "self.b", "messageExpression": "self.i"}, "messageExpression", "messageExpression must evaluate to a string"),
        ({"rule": "self.b", "messageExpression": "self.zz"}, "messageExpression", "messageExpression compilation failed: ERROR"),
    ],
    ids=["optional old self unused", "message is no text", "message does not compile"],
)
def test_the_parts_of_a_rule_are_checked_too(rule: Any, where: str, text: str) -> None:
    """A rule's other members are refused at their own fields."""
    (error,) = crd.validate_crd(crd_with(rule))
    assert error.field.endswith(f"x-kubernetes-validations[0].{where}")
    assert error.detail.startswith(text)


def test_an_unchanged_value_is_forgiven_a_broken_rule_and_remembered_values_are_not_judged_by_it() -> None:
    """Ratcheting forgives what did not change, and forgiving is not taken for passing when the same value moves elsewhere."""
    schema = parse.parse_schema(
        {
            "type": "object",
            "properties": {
                "keep": {"type": "array", "items": {"type": "object", "properties": {"n": {"type": "integer"}}, **_rule("self.n < 5")}},
                "note": {"type": "string"},
            },
        }
    )
    broken = {"n": 9}
    old = {"keep": [broken], "note": "a"}
    assert cel.rule_flaws({"keep": [broken], "note": "b"}, schema, old) == []
    (error,) = cel.rule_flaws({"keep": [broken, {"n": 1}], "note": "b"}, schema, old)
    assert error.full == "keep[0]: Invalid value: failed rule: self.n < 5"


def _rule(text: str) -> Any:
    return {"x-kubernetes-validations": [{"rule": text}]}
