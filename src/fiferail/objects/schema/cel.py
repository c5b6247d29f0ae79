"""x-kubernetes-validations: whether a CRD's rules compile, and what they say of objects.

`Compiler` serves the check of a CRD, `rule_flaws` the write path, after the schema's own validation found nothing that
blocks rules. Messages are the server's. Mirrors apiextensions' schema/cel.
"""

from __future__ import annotations

from collections import OrderedDict
from typing import TYPE_CHECKING, Any, NamedTuple

from ..fielderrors import FieldError, forbidden, invalid, required
from ..tree import ABSENT, Absent, Json
from . import celcost, fieldpaths, internal
from .celmeter import METER, OBJECT_LIMIT, CostExceeded, Meter
from .celruntime import NONE, CelError, Optional
from .celtypes import Type, of_schema, optional
from .correlate import Correlated, entry_key, keyed

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from .celcheck import Compiled
    from .model import Rule, Schema

_REMEMBERED = 128


class _Program(NamedTuple):
    """A rule ready to run: its expressions and the path of the field it blames."""

    rule: Rule
    test: Compiled
    message: Compiled | None
    field_path: str


class Compiler:
    """Compiles the rules of one CRD schema, to say what is wrong with them."""

    def __init__(self, root: Json) -> None:
        self._root = root
        self._spent: list[tuple[int, str]] = []

    def flaws(self, schema: Json, path: str, uncorrelatable: str, cardinality: int | None = 1) -> list[FieldError]:
        """What is wrong with the rules of one node, which is known to be structural and otherwise sound."""
        resource = schema is self._root or bool(schema.get("x-kubernetes-embedded-resource"))
        kind = of_schema(schema, resource=resource)
        found: list[FieldError] = []
        for index, rule in enumerate(schema["x-kubernetes-validations"]):
            where = f"{path}.x-kubernetes-validations[{index}]"
            if kind is None:
                text = "internal error: failed to retrieve type information for x-kubernetes-validations"
                return [FieldError("InternalError", f"{path}.x-kubernetes-validations", "", text)]
            count = cardinality if cardinality is not None else celcost.REQUEST_BYTES // (kind.least + 1)
            found += _rule_flaws(rule, kind, where, uncorrelatable, count, self._spent)
        return found

    def total_flaws(self, path: str) -> list[FieldError]:
        """What is wrong with the cost of all rules together."""
        total = min(sum(cost for cost, _ in self._spent), celcost.MOST)
        if total <= celcost.CRD_LIMIT:
            return []
        heavy = sorted((entry for entry in self._spent if entry[0] >= celcost.CRD_LIMIT // 100), key=lambda entry: -entry[0])[:4]
        text = "contributed to estimated rule cost total exceeding cost limit for entire OpenAPIv3 schema"
        what = "x-kubernetes-validations estimated rule cost total for entire OpenAPIv3 schema"
        return [*(forbidden(where, text) for _, where in heavy), forbidden(path, celcost.exceeds(what, total, celcost.CRD_LIMIT))]


def _rule_flaws(
    rule: Json, kind: Type, where: str, uncorrelatable: str, count: int, spent: list[tuple[int, str]]
) -> Iterator[FieldError]:
    from .celcheck import CompileRefused

    uses_old_self = False
    try:
        compiled = _compiled(rule["rule"], kind, optional_old=bool(rule.get("optionalOldSelf")))
        uses_old_self = compiled.uses_old_self
        if compiled.cost is not None and compiled.type.name == "bool" and not compiled.folded:
            cost = celcost.times(compiled.cost, count)
            spent.append((cost, f"{where}.rule"))
            if cost > celcost.RULE_LIMIT:
                yield forbidden(f"{where}.rule", celcost.exceeds("estimated rule cost", cost, celcost.RULE_LIMIT))
        if compiled.type.name != "bool":
            uses_old_self = False
            yield invalid(f"{where}.rule", internal.rule(rule), "cel expression must evaluate to a bool")
        elif compiled.folded:
            yield invalid(f"{where}.rule", internal.rule(rule), f"program instantiation failed: {compiled.folded}")
        elif rule.get("messageExpression"):
            yield from _message_flaws(rule, kind, where, spent)
    except CompileRefused as refusal:
        yield invalid(f"{where}.rule", internal.rule(rule), f"compilation failed: {refusal}")
    if uses_old_self and uncorrelatable:
        text = f"oldSelf cannot be used on the uncorrelatable portion of the schema within {uncorrelatable}"
        yield invalid(f"{where}.rule", rule["rule"], text)
    elif not uses_old_self and rule.get("optionalOldSelf") is not None:
        yield invalid(f"{where}.optionalOldSelf", rule["optionalOldSelf"], "may not be set if oldSelf is not used in rule")


def _message_flaws(rule: Json, kind: Type, where: str, spent: list[tuple[int, str]]) -> Iterator[FieldError]:
    from .celcheck import CompileRefused

    try:
        message = _compiled(rule["messageExpression"], kind, optional_old=bool(rule.get("optionalOldSelf")))
        if message.type.name != "string":
            yield invalid(f"{where}.messageExpression", internal.rule(rule), "messageExpression must evaluate to a string")
        elif message.folded:
            yield invalid(f"{where}.messageExpression", internal.rule(rule), f"messageExpression instantiation failed: {message.folded}")
        elif message.cost is not None:
            spent.append((message.cost, f"{where}.messageExpression"))
            if message.cost > celcost.RULE_LIMIT:
                text = celcost.exceeds("estimated messageExpression cost", message.cost, celcost.RULE_LIMIT)
                yield forbidden(f"{where}.messageExpression", text)
    except CompileRefused as refusal:
        yield invalid(f"{where}.messageExpression", internal.rule(rule), f"messageExpression compilation failed: {refusal}")


def _compiled(text: str, kind: Type, *, optional_old: bool) -> Compiled:
    from .celcheck import compile_rule

    return compile_rule(text, {"self": kind, "oldSelf": optional(kind) if optional_old else kind})


class _State:
    """One look at one object: what was forgiven, what may still be spent, and whether it was stopped."""

    __slots__ = ("forgiven", "remaining", "stopped")

    def __init__(self) -> None:
        self.forgiven: list[str] = []
        self.remaining: float = OBJECT_LIMIT
        self.stopped = False


class Rules:
    """The rules of a schema node and of those below it."""

    __slots__ = ("_passed", "additional", "items", "programs", "properties", "schema", "shown_type")

    def __init__(self, schema: Schema, *, resource: bool) -> None:
        self.schema = schema
        source = schema.source if isinstance(schema.source, dict) else {}
        kind = of_schema(source, resource=resource) if schema.rules else None
        self.programs = tuple(_program(rule, kind, source) for rule in schema.rules) if kind is not None else ()
        below = {name: rules_of(child) for name, child in schema.properties.items()}
        self.properties = {name: rules for name, rules in below.items() if rules is not None}
        self.items = None if schema.items is None else rules_of(schema.items)
        self.additional = None if schema.additional is None or schema.additional_any else rules_of(schema.additional)
        self.shown_type = schema.type
        # Values that passed, held so that an unchanged part is not judged again; identity is safe while they are held.
        self._passed: OrderedDict[tuple[int, int], tuple[Json, Json]] = OrderedDict()

    def __bool__(self) -> bool:
        return bool(self.programs or self.properties or self.items or self.additional)

    def flaws(
        self, new: Json, old: Json, path: str, pair: Correlated | None, parent: Correlated | None, state: _State
    ) -> Iterator[FieldError]:
        """What the rules say. `old` is None without an ancestor; `pair` correlates for ratcheting, `parent` is the nearest that could.

        `state` collects the paths whose errors were forgiven because nothing changed there, and the cost.
        """
        if new is None or state.stopped:
            return
        key = (id(new), id(old))
        if key in self._passed:
            return
        before = len(state.forgiven)
        found = [*self._own(new, old, path, pair, parent, state), *self._below(new, old, path, pair, parent, state)]
        if not found and len(state.forgiven) == before and isinstance(new, (dict, list)):
            self._passed[key] = (new, old)
            if len(self._passed) > _REMEMBERED:
                self._passed.popitem(last=False)
        yield from found

    def _own(
        self, new: Json, old: Json, path: str, pair: Correlated | None, parent: Correlated | None, state: _State
    ) -> Iterator[FieldError]:
        for program in self.programs:
            if state.stopped:
                return
            uses_old = program.test.uses_old_self
            if uses_old and old is None and not program.rule.optional_old_self:
                continue
            variables: dict[str, Any] = {"self": new, "oldSelf": old, METER: Meter()}
            if program.rule.optional_old_self:
                variables["oldSelf"] = NONE if old is None else Optional(True, old)
            stop = None
            try:
                error = self._judged(program, variables, new, path)
            except CostExceeded as stopped:
                shown = program.rule.message.strip() or program.rule.rule.strip()
                stop = f"'{stopped}': no further validation rules will be run due to call cost exceeds limit for rule: {shown}"
            state.remaining -= variables[METER].spent
            if state.remaining < 0:
                stop = "validation failed due to running out of cost budget, no further validation rules will be run"
            if stop is not None:
                state.stopped = True
                yield invalid(path or "<nil>", self.shown_type, stop)
                return
            if error is None:
                continue
            ancestor = pair if pair is not None else parent
            if error[1] and not uses_old and ancestor is not None and ancestor.equal():
                state.forgiven.append(path)
                continue
            yield error[0]

    def _judged(self, program: _Program, variables: dict[str, Any], new: Json, path: str) -> tuple[FieldError, bool] | None:
        """The error of a rule, and whether an unchanged value would be forgiven it (a failed evaluation is not)."""
        rule = program.rule
        shown = rule.message.strip() or rule.rule.strip()
        try:
            if program.test.run(variables) is True:
                return None
        except CelError as error:
            text = f"{error} evaluating rule: {shown}"
            if str(error).startswith("no such overload"):
                text = f"'{error}': call arguments did not match a supported operator, function or macro signature for rule: {shown}"
            return invalid(path or "<nil>", self.shown_type, text), False
        detail = _evaluated(program.message, variables) or (rule.message.strip() if rule.message else f"failed rule: {shown}")
        where = f"{path}.{program.field_path}" if path and program.field_path else path or program.field_path or "<nil>"
        value: Json | Absent = ABSENT if self.shown_type in ("object", "array") else new
        if rule.reason == "FieldValueForbidden":
            return forbidden(where, detail), True
        if rule.reason == "FieldValueRequired":
            return required(where, detail), True
        if rule.reason == "FieldValueDuplicate":
            return FieldError("FieldValueDuplicate", where, value), True
        return FieldError("FieldValueInvalid", where, value, detail), True

    def _below(
        self, new: Json, old: Json, path: str, pair: Correlated | None, parent: Correlated | None, state: _State
    ) -> Iterator[FieldError]:
        nearest = pair if pair is not None else parent
        if type(new) is dict:
            before = old if type(old) is dict else {}
            for name, member in new.items():
                if self.additional is not None and name not in self.schema.properties:
                    inside = None if pair is None else pair.member(name)
                    yield from self.additional.flaws(member, before.get(name), f"{path}[{name}]", inside, nearest, state)
                rules = self.properties.get(name)
                if rules is not None:
                    root_meta = pair is not None and parent is None and name in ("apiVersion", "kind")
                    inside = None if pair is None or root_meta else pair.member(name)
                    where = f"{path}.{name}" if path else name
                    yield from rules.flaws(member, before.get(name), where, inside, None if root_meta else nearest, state)
        elif type(new) is list and self.items is not None:
            known = keyed(old, self.schema.list_map_keys) if type(old) is list and self.schema.list_type == "map" else {}
            for index, entry in enumerate(new):
                key = entry_key(entry, self.schema.list_map_keys) if known else None
                inside = None if pair is None else pair.entry(index)
                ancestor = None if key is None else known.get(key)
                yield from self.items.flaws(entry, ancestor, f"{path}[{index}]", inside, nearest, state)


def _program(rule: Rule, kind: Type, source: Json) -> _Program:
    maybe = bool(rule.optional_old_self)
    message = _compiled(rule.message_expression, kind, optional_old=maybe) if rule.message_expression else None
    try:
        where = fieldpaths.follow(rule.field_path, source)[0] if rule.field_path else ""
    except fieldpaths.PathRefused:
        where = ""
    return _Program(rule, _compiled(rule.rule, kind, optional_old=maybe), message, where)


def _evaluated(message: Compiled | None, variables: dict[str, Any]) -> str:
    """The text of a messageExpression, or "" when it fails or gives nothing that may be shown."""
    if message is None:
        return ""
    try:
        text = message.run({**variables, METER: Meter()})
    except (CelError, CostExceeded):
        return ""
    trimmed = text.strip() if isinstance(text, str) else ""
    return "" if "\n" in trimmed or len(trimmed.encode()) > 5120 else trimmed


def rules_of(schema: Schema, *, resource: bool | None = None) -> Rules | None:
    """The rules of a schema, compiled once; None where there are none."""
    if schema.cel is None:
        schema.cel = False  # a schema that contains itself has no rules: only built-in kinds do that
        try:
            rules = Rules(schema, resource=schema.embedded_resource if resource is None else resource)
        except BaseException:
            schema.cel = None
            raise
        schema.cel = rules or False
    return schema.cel or None


def rule_flaws(new: Json, schema: Schema, old: Json | Absent = ABSENT) -> list[FieldError]:
    """What the rules of a custom resource's schema say of a whole object, or of its update."""
    rules = rules_of(schema, resource=True)
    if rules is None:
        return []
    pair = None if old is ABSENT else Correlated(new, old, schema)
    return list(rules.flaws(new, None if old is ABSENT else old, "", pair, None, _State()))


_BLOCKING = frozenset({"FieldValueNotSupported", "FieldValueRequired", "FieldValueTooLong", "FieldValueTooMany", "FieldValueTypeInvalid"})
_UNCHECKED = "some validation rules were not checked because the object was invalid; correct the existing errors to complete validation"


def rule_errors(new: Json, old: Json | Absent, schema: Schema, found: Sequence[FieldError] = ()) -> list[FieldError]:
    """What rules add to the errors found so far: their own, or a note that such errors kept them from being run."""
    if rules_of(schema, resource=True) is None:
        return []
    if any(error.reason in _BLOCKING for error in found):
        return [invalid("<nil>", None, _UNCHECKED)]
    return rule_flaws(new, schema, old)


def default_flaws(value: Json, schema: Schema, at: str) -> list[FieldError]:
    """What the rules say of a default, once as its own successor and once as a new value."""
    rules = rules_of(schema)
    if rules is None:
        return []
    return list(rules.flaws(value, value, at, None, None, _State())) or list(rules.flaws(value, None, at, None, None, _State()))
