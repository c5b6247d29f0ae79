"""What the server's validator says about one value under one schema: every flaw, in its words and its order.

This is the explaining half of validation: exact and unhurried. `schema.validate` first asks a quick yes-or-no check and comes
here only when the answer is no. Mirrors kube-openapi's validation package, the count of matches that picks the nearest branch
of an anyOf included, and the ratcheting of apiextensions: a flaw in a part that an update left alone does not count.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from .. import gotext
from ..fielderrors import FieldError
from ..tree import Json, same
from . import formats, patterns
from .numbers import int64, is_json_integer, number_flaws

if TYPE_CHECKING:
    from .correlate import Correlated
    from .model import Schema


class Flaw(NamedTuple):
    """One finding. `name` is the validator's path, None where the server attaches a finding to the whole value."""

    text: str
    reason: str
    name: str | None
    value: Json
    detail: str

    def error(self, prefix: str) -> FieldError:
        """As a field error below `prefix`; a path that is empty altogether prints as the server prints a nil path."""
        name = (self.name or "").removeprefix(".")
        field = f"{prefix}.{name}" if prefix and name else prefix or name or "<nil>"
        return FieldError(self.reason, field, self.value, self.detail)


class Findings:
    """Flaws found so far, each text once, and the count of checks that matched."""

    __slots__ = ("_texts", "flaws", "matches")

    def __init__(self) -> None:
        self.flaws: list[Flaw] = []
        self.matches = 0
        self._texts: set[str] = set()

    def add(self, flaw: Flaw) -> None:
        if flaw.text not in self._texts:
            self._texts.add(flaw.text)
            self.flaws.append(flaw)

    def merge(self, other: Findings) -> None:
        for flaw in other.flaws:
            self.add(flaw)
        self.matches += other.matches


def invalid(path: str, value: Json, text: str) -> Flaw:
    """A value that breaks a constraint."""
    return Flaw(text, "FieldValueInvalid", path, value, text)


def about_all(text: str) -> Flaw:
    """A finding that the server attaches to the whole value under validation."""
    return Flaw(text, "FieldValueInvalid", None, "", text)


def wrong_type(path: str, expected: str, value: str) -> Flaw:
    """A value of another type, or of the wrong format."""
    text = f"{path} in body must be of type {expected}: {gotext.quoted(value)}"
    return Flaw(text, "FieldValueTypeInvalid", path, value, text)


def explain(value: Json, schema: Schema, path: str = "", pair: Correlated | None = None) -> Findings:
    """Every flaw of a value. With a pair the parts that equal their ancestors are forgiven."""
    found = Findings()
    if value is None:
        _type(found, None, schema, path)
        _enum(found, None, schema, path)
    else:
        _explain_present(found, value, schema, path, pair)
    if pair is not None and found.flaws and pair.equal():
        forgiven = Findings()
        forgiven.matches = found.matches
        return forgiven
    return found


def _explain_present(found: Findings, value: Json, schema: Schema, path: str, pair: Correlated | None) -> None:
    kind = type(value)
    if types(schema) or live_format(schema):
        _type(found, value, schema, path)
        found.matches += 1
    _combinations(found, value, schema, path)
    found.matches += 2
    if kind is str:
        for flaw in string_flaws(value, schema, path):
            found.add(flaw)
        found.matches += 1
        if formats.check(live_format(schema)) is not None:
            found.matches += 1
    elif kind is int or kind is float:
        for flaw in number_flaws(value, schema, path):
            found.add(flaw)
        found.matches += 2
    elif kind is list:
        _list(found, value, schema, path, pair)
        found.matches += 2
    _enum(found, value, schema, path)
    found.matches += 1
    if kind is dict:
        _object(found, value, schema, path, pair)
        found.matches += 1
    found.matches += 1


def types(schema: Schema) -> tuple[str, ...]:
    """The types that the validator allows."""
    if schema.int_or_string:
        return ("integer", "string")
    return (schema.type,) if schema.type else ()


def live_format(schema: Schema) -> str:
    """The format, where the server heeds it."""
    if schema.format_as_written:
        return schema.format
    return formats.effective(schema.format, "" if schema.int_or_string else schema.type) if schema.format else ""


_NAMES = {
    bool: ("boolean", ""),
    str: ("string", ""),
    int: ("integer", "int64"),
    float: ("number", "float64"),
    list: ("array", ""),
    dict: ("object", ""),
}


def type_flaw(value: Json, schema: Schema, path: str) -> Flaw | None:
    """What is wrong with the type of a value, if anything. A list under a text format is let through, as on the server."""
    allowed, wanted = types(schema), live_format(schema)
    if not allowed and not wanted:
        return None
    if value is None:
        return wrong_type(path, ",".join(allowed), "null") if allowed and not schema.nullable else None
    name, own_format = _NAMES[type(value)]
    fits = (
        name in allowed
        or (name == "number" and "integer" in allowed and is_json_integer(value))
        or (name == "integer" and "number" in allowed)
    )
    textual = type(value) is str or type(value) is list
    if wanted and not textual and not fits and own_format != wanted:
        return wrong_type(path, wanted, own_format)
    if wanted and textual and "number" not in allowed and "integer" not in allowed:
        return None
    return None if fits else wrong_type(path, ",".join(allowed), name)


def _type(found: Findings, value: Json, schema: Schema, path: str) -> None:
    flaw = type_flaw(value, schema, path)
    if flaw is not None:
        found.add(flaw)
    else:
        found.matches += 1


def string_flaws(value: str, schema: Schema, path: str) -> list[Flaw]:
    """What is wrong with a text: the first of length and pattern, and the format."""
    flaws = []
    if schema.max_length is not None and len(value) > schema.max_length:
        text = f"{path} in body should be at most {schema.max_length} chars long"
        unit = "byte" if schema.max_length == 1 else "bytes"
        detail = f"may not be more than {schema.max_length} {unit}" if schema.max_length >= 0 else "value is too long"
        flaws.append(Flaw(text, "FieldValueTooLong", path, "", detail))
    elif schema.min_length is not None and len(value) < schema.min_length:
        flaws.append(invalid(path, value, f"{path} in body should be at least {schema.min_length} chars long"))
    elif schema.pattern and not patterns.matcher(schema.pattern)(value):
        flaws.append(invalid(path, value, f"{path} in body should match '{schema.pattern}'"))
    wanted = live_format(schema)
    accepts = formats.check(wanted) if wanted else None
    if accepts is not None and not accepts(value):
        flaws.append(wrong_type(path, wanted, value))
    return flaws


def enum_holds(value: Json, schema: Schema) -> bool:
    """Whether a value is one of those listed, after the conversions between numbers that the server makes; null never is."""
    return any(_converts(value, choice) for choice in schema.enum)


def _converts(value: Json, choice: Json) -> bool:
    kind, wanted = type(value), type(choice)
    if value is None or choice is None:
        return False
    if kind is wanted:
        return same(value, choice)
    if kind is float and wanted is int:
        return int64(value) == int(choice)
    if kind is int and wanted is float:
        return float(value) == float(choice)
    if kind is int and wanted is str:
        # Go turns an integer into the text of that one character.
        return (chr(value) if 0 <= value <= 0x10FFFF and not 0xD800 <= value <= 0xDFFF else "\ufffd") == str(choice)
    return False


def _enum(found: Findings, value: Json, schema: Schema, path: str) -> None:
    if not schema.enum or enum_holds(value, schema):
        return
    from ..gojson import encode

    shown = [choice if type(choice) is str else encode(choice).decode() for choice in schema.enum]
    detail = "supported values: " + ", ".join(map(gotext.quoted, shown))
    found.add(Flaw(f"{path} in body should be one of {shown}", "FieldValueNotSupported", path, value, detail))


def too_many(path: str, text: str, count: int, limit: int) -> Flaw:
    """More entries or members than allowed."""
    detail = f"must have at most {limit} {'item' if limit == 1 else 'items'}" if limit >= 0 else "has too many items"
    return Flaw(text, "FieldValueTooMany", path, count, detail)


def _list(found: Findings, value: list[Json], schema: Schema, path: str, pair: Correlated | None) -> None:
    if schema.items is not None:
        for index, entry in enumerate(value):
            child = pair.entry(index) if pair is not None else None
            found.merge(explain(entry, schema.items, f"{path}[{index}]", child))
    count = len(value)
    if schema.min_items is not None and count < schema.min_items:
        found.add(invalid(path, count, f"{path} in body should have at least {schema.min_items} items"))
    if schema.max_items is not None and count > schema.max_items:
        found.add(too_many(path, f"{path} in body should have at most {schema.max_items} items", count, schema.max_items))
    if schema.unique_items and any(same(left, right) for at, left in enumerate(value) for right in value[:at]):
        found.add(invalid(path, "", f"{path} in body shouldn't contain duplicates"))


def _object(found: Findings, value: dict[str, Json], schema: Schema, path: str, pair: Correlated | None) -> None:
    count = len(value)
    if schema.min_properties is not None and count < schema.min_properties:
        found.add(invalid(path, count, f"{path} in body should have at least {schema.min_properties} properties"))
    if schema.max_properties is not None and count > schema.max_properties:
        found.add(too_many(path, f"{path} in body should have at most {schema.max_properties} properties", count, schema.max_properties))
    if schema.additional is not None and not schema.additional_any:
        for name in sorted(value):
            if name not in schema.properties:
                found.merge(explain(value[name], schema.additional, f"{path}.{name}", _ancestor(pair, path, name)))
    for name, child in schema.properties.items():
        if name in value:
            found.merge(explain(value[name], child, f"{path}.{name}" if path else name, _ancestor(pair, path, name)))
    for name in schema.required:
        if name not in value:
            found.add(Flaw(f"{path}.{name} in body is required", "FieldValueRequired", f"{path}.{name}", "", ""))


def _ancestor(pair: Correlated | None, path: str, name: str) -> Correlated | None:
    # Both sides were converted to one type, so a change of these two at the root cannot be seen.
    if pair is None or (not path and name in ("kind", "apiVersion")):
        return None
    return pair.member(name)


def _combinations(found: Findings, value: Json, schema: Schema, path: str) -> None:
    """allOf, anyOf, oneOf and not. Branches never forgive unchanged parts."""
    shown = gotext.quoted(path)
    if schema.any_of:
        _any_of(found, value, schema, path, shown)
    if schema.one_of:
        _one_of(found, value, schema, path, shown)
    if schema.all_of:
        results = [explain(value, branch, path) for branch in schema.all_of]
        for result in results:
            found.merge(result)
        failed = sum(1 for result in results if result.flaws)
        if failed:
            note = ". None validated" if failed == len(results) else ""
            found.add(about_all(f"{shown} must validate all the schemas (allOf){note}"))
    if schema.not_ is not None and not explain(value, schema.not_, path).flaws:
        found.add(about_all(f"{shown} must not validate the schema (not)"))


def _any_of(found: Findings, value: Json, schema: Schema, path: str, shown: str) -> None:
    nearest: Findings | None = None
    for branch in schema.any_of:
        result = explain(value, branch, path)
        if not result.flaws:
            found.merge(result)
            return
        if nearest is None or result.matches > nearest.matches:
            nearest = result
    found.add(about_all(f"{shown} must validate at least one schema (anyOf)"))
    if nearest is not None:
        found.merge(nearest)


def _one_of(found: Findings, value: Json, schema: Schema, path: str, shown: str) -> None:
    nearest: Findings | None = None
    holding: list[Findings] = []
    for branch in schema.one_of:
        result = explain(value, branch, path)
        if not result.flaws:
            holding.append(result)
            nearest = None
        elif not holding and (nearest is None or result.matches > nearest.matches):
            nearest = result
    if len(holding) == 1:
        found.merge(holding[0])
        return
    note = f"Found {len(holding)} valid alternatives" if holding else "Found none valid"
    found.add(about_all(f"{shown} must validate one and only one schema (oneOf). {note}"))
    if nearest is not None:
        found.merge(nearest)
