"""What the CRD handler says of an object: nothing, or the list of field errors, verbatim.

Called by the API server on every create and update of a custom resource, after pruning and defaulting. A quick check, compiled
once per schema node, answers most calls: parts that an update shares with the old object (`is`) are skipped. Only when it says
no does `flaws` work out what to say. Nothing here changes a tree.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias

from ..tree import ABSENT, Absent, Json, counterparts
from . import formats, patterns
from .correlate import Correlated, keyed
from .flaws import enum_holds, explain, live_format, type_flaw, types
from .numbers import number_flaws

if TYPE_CHECKING:
    from collections.abc import Callable

    from ..fielderrors import FieldError
    from .model import Schema

#: (new value, the old one it descends from or ABSENT) -> whether the value is beyond reproach.
Check: TypeAlias = "Callable[[Json, Json | Absent], bool]"


def validate(new: Json, schema: Schema, old: Json | Absent = ABSENT, *, at: str = "") -> list[FieldError]:
    """The field errors of a value under a schema. With `old` unchanged parts are forgiven; `at` is where the value stands.

    The server words its texts relative to the value it validates: for a write to the status subresource that is the status alone,
    so pass the status, its schema, the old status and `at="status"`.
    """
    if (new is old and forgives(new, schema)) or checker(schema)(new, old):
        return []
    pair = None if old is ABSENT else Correlated(new, old, schema)
    return [flaw.error(at) for flaw in explain(new, schema, "", pair).flaws]


def checker(schema: Schema) -> Check:
    """The compiled check of a schema node."""
    if schema.checker is None:
        # A schema that contains itself finds this one while its own is being made.
        made: list[Check] = []
        schema.checker = lambda new, old: made[0](new, old)
        made.append(_compile(schema))
        schema.checker = made[0]
    found: Check = schema.checker
    return found


def _compile(schema: Schema) -> Check:
    return _with_type(schema, types(schema), _parts(schema))


def _parts(schema: Schema) -> tuple[Check, ...]:
    """The checks beyond that of the type."""
    parts: list[Check] = []
    allowed = types(schema)
    counted = schema.min_properties is not None or schema.max_properties is not None
    if schema.properties or schema.additional is not None or schema.required or counted:
        parts.append(_object_check(schema))
    if schema.items is not None or schema.min_items is not None or schema.max_items is not None or schema.unique_items:
        parts.append(_list_check(schema))
    if schema.pattern or live_format(schema) or schema.min_length is not None or schema.max_length is not None:
        parts.append(_text_check(schema))
    bounded = schema.minimum is not None or schema.maximum is not None or schema.multiple_of is not None
    if bounded or "integer" in allowed or (allowed and live_format(schema) == "float"):
        parts.append(_number_check(schema))
    if schema.enum:
        choices = frozenset(schema.enum) if all(type(choice) is str for choice in schema.enum) else frozenset()
        parts.append(lambda new, old: (type(new) is str and new in choices) or enum_holds(new, schema))
    if schema.any_of or schema.one_of or schema.all_of or schema.not_ is not None:
        parts.append(_combination_check(schema))
    return tuple(parts)


def _text_check(schema: Schema) -> Check:
    shortest, longest = schema.min_length or 0, schema.max_length
    pattern = schema.pattern
    accepts = formats.check(live_format(schema)) if live_format(schema) else None

    def check(new: Json, old: Json | Absent) -> bool:
        if type(new) is not str:
            return True
        if len(new) < shortest or (longest is not None and len(new) > longest):
            return False
        return (not pattern or patterns.matcher(pattern)(new)) and (accepts is None or accepts(new))

    return check


def _number_check(schema: Schema) -> Check:
    # Integers between whole bounds need no more than two comparisons; all else is left to the exact rules.
    bits = 31 if live_format(schema) == "int32" else 63
    least, most = -(2**bits), 2**bits - 1
    simple = schema.multiple_of is None and not schema.exclusive_minimum and not schema.exclusive_maximum
    if simple and schema.minimum is not None and float(schema.minimum).is_integer():
        least = max(least, int(schema.minimum))
    if simple and schema.maximum is not None and float(schema.maximum).is_integer():
        most = min(most, int(schema.maximum))
    whole = all(bound is None or (float(bound).is_integer() and abs(bound) < 2**31) for bound in (schema.minimum, schema.maximum))
    quick = simple and whole

    def check(new: Json, old: Json | Absent) -> bool:
        if type(new) is int:
            return (quick and least <= new <= most) or not number_flaws(new, schema, "")
        return type(new) is not float or not number_flaws(new, schema, "")

    return check


_EXACT = {"object": dict, "array": list, "string": str, "boolean": bool, "integer": int}


def _with_type(schema: Schema, allowed: tuple[str, ...], parts: tuple[Check, ...]) -> Check:
    usual = _EXACT.get(allowed[0], type(None)) if len(allowed) == 1 else type(None)
    only = parts[0] if len(parts) == 1 else None

    def check(new: Json, old: Json | Absent) -> bool:
        if new is None:
            return type_flaw(None, schema, "") is None and (not schema.enum or enum_holds(None, schema))
        if type(new) is not usual and type_flaw(new, schema, "") is not None:
            return False
        if only is not None:
            return only(new, old)
        for part in parts:  # noqa: SIM110 a generator costs more than the check
            if not part(new, old):
                return False
        return True

    return check


def _object_check(schema: Schema) -> Check:
    properties = {name: _with_lenience(child) for name, child in schema.properties.items()}
    additional = None if schema.additional is None or schema.additional_any else _with_lenience(schema.additional)
    required = frozenset(schema.required)
    least, most = schema.min_properties, schema.max_properties

    def check(new: Json, old: Json | Absent) -> bool:
        if type(new) is not dict:
            return True
        if (least is not None and len(new) < least) or (most is not None and len(new) > most):
            return False
        before = old if type(old) is dict else None
        for name, member in new.items():
            child = properties.get(name, additional)
            if child is None or type(member) is child[3]:
                continue
            ancestor = ABSENT if before is None else before.get(name, ABSENT)
            if member is ancestor and child[1] and (child[2] is None or _all_keyed(member, child[2])):
                continue
            if not child[0](member, ancestor):
                return False
        return required <= new.keys()

    return check


def _list_check(schema: Schema) -> Check:
    items = None if schema.items is None else checker(schema.items)
    forgiving = schema.list_type == "map" and schema.items is not None and ratchets(schema.items)
    least, most, unique, keys = schema.min_items, schema.max_items, schema.unique_items, schema.list_map_keys

    def check(new: Json, old: Json | Absent) -> bool:
        if type(new) is not list:
            return True
        if (least is not None and len(new) < least) or (most is not None and len(new) > most) or unique:
            return False
        if items is None:
            return True
        # An entry that is shared with the old list has the same keys there, so it descends from itself.
        known = old if forgiving and type(old) is list and _is_keyed(old, keys) else ABSENT
        for entry, ancestor in zip(new, counterparts(new, known), strict=True):
            if entry is not ancestor and not items(entry, ABSENT):
                return False
        return True

    return check


def _combination_check(schema: Schema) -> Check:
    any_of, one_of, all_of = (tuple(map(checker, branches)) for branches in (schema.any_of, schema.one_of, schema.all_of))
    never = None if schema.not_ is None else checker(schema.not_)

    def check(new: Json, old: Json | Absent) -> bool:
        if any_of and not any(branch(new, ABSENT) for branch in any_of):
            return False
        if one_of and sum(1 for branch in one_of if branch(new, ABSENT)) != 1:
            return False
        if not all(branch(new, ABSENT) for branch in all_of):
            return False
        return never is None or not never(new, ABSENT)

    return check


def _with_lenience(schema: Schema) -> tuple[Check, bool, Schema | None, type | None]:
    """A node's check, whether unchanged values are forgiven, the node itself where that depends on the keys of map lists in it,
    and the type of which every value will do.
    """
    return checker(schema), ratchets(schema), schema if has_map_lists(schema) else None, _sufficient(schema)


def _sufficient(schema: Schema) -> type | None:
    """str or bool where the schema asks for nothing but that type."""
    allowed = types(schema)
    return _EXACT.get(allowed[0]) if allowed in (("string",), ("boolean",)) and not _parts(schema) else None


def forgives(value: Json, schema: Schema) -> bool:
    """Whether a value that did not change is forgiven whatever is wrong with it."""
    return ratchets(schema) and (not has_map_lists(schema) or _all_keyed(value, schema))


def has_map_lists(schema: Schema) -> bool:
    """Whether a map list may stand in such a value; worked out once per schema."""
    if schema.keyed_lists is None:
        schema.keyed_lists = False
        children = [*schema.properties.values(), *(child for child in (schema.items, schema.additional) if child is not None)]
        schema.keyed_lists = schema.list_type == "map" or any(map(has_map_lists, children))
    return schema.keyed_lists


def _all_keyed(value: Json, schema: Schema) -> bool:
    """Whether each entry of each map list can be told from the others: one that cannot has no ancestor, even unchanged."""
    if type(value) is dict:
        for name, member in value.items():
            child = schema.properties.get(name, schema.additional)
            if child is not None and has_map_lists(child) and not _all_keyed(member, child):
                return False
    elif type(value) is list and schema.items is not None:
        if schema.list_type == "map" and not _is_keyed(value, schema.list_map_keys):
            return False
        if has_map_lists(schema.items):
            items = schema.items
            return all(_all_keyed(entry, items) for entry in value)
    return True


def _is_keyed(entries: list[Json], keys: tuple[str, ...]) -> bool:
    if len(keys) == 1:
        (key,) = keys
        texts = {text for entry in entries if type(entry) is dict and type(text := entry.get(key)) is str}
        if len(texts) == len(entries):
            return True
    return len(keyed(entries, keys)) == len(entries)


def ratchets(schema: Schema, _seen: frozenset[int] = frozenset()) -> bool:
    """Whether an unchanged value is always forgiven: not where members without a schema may stand, because those have no ancestor."""
    if id(schema) in _seen:
        return True
    if schema.preserve_unknown or schema.additional_any:
        return False
    seen = _seen | {id(schema)}
    children = [*schema.properties.values(), *(child for child in (schema.items, schema.additional) if child is not None)]
    return all(ratchets(child, seen) for child in children)
