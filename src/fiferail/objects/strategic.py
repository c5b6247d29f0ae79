"""Strategic merge patch of built-in kinds, as the API server applies it.

Called by the API server's patch verb for built-in kinds; custom resources do not have it. Mirrors apimachinery's strategicpatch:
lists whose field says `merge` are merged by their key, and members of the patch that begin with `$` direct the merge:

    $patch: replace | delete           the object, or an entry of a list, is replaced or deleted
    $retainKeys: [...]                 every other member of the object goes
    $deleteFromPrimitiveList/f: [...]  these values leave the list f
    $setElementOrder/f: [...]          the order of the list f

This module merges objects, `strategiclists` merges lists. Neither changes what it is given; what the patch leaves alone is shared.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from . import gotext
from .strategicerrors import BAD_DELETE_LIST, BAD_RETAIN_KEYS, BAD_SET_ORDER, PatchError, bad_argument, bad_patch_type, failed, panic
from .strategiclists import check_order, merge_lists, ordered
from .tree import ABSENT, same

if TYPE_CHECKING:
    from .schema.model import Schema
    from .tree import Json

__all__ = ["PatchError", "apply", "spent"]

_DIRECTIVE = "$patch"
_RETAIN_KEYS = "$retainKeys"
_DELETE_LIST = "$deleteFromPrimitiveList"
_SET_ORDER = "$setElementOrder"


def apply(target: Json, patch: Json, schema: Schema) -> Json:
    """The object after the patch; PatchError when the patch cannot be applied. `patch` is the decoded body: an object, or null."""
    if patch is None:
        return target
    if not isinstance(patch, dict):
        raise PatchError(400, f"json: cannot unmarshal {_go_kind(patch)} into Go value of type map[string]interface {{}}")
    return _merge_maps(target, patch, schema)


def spent(patch: Json, target: Json) -> Json:
    """What the server's own copy of the patch is after the merge, which a refusal of the result quotes.

    Where the object had nothing of the kind, nulls and directives were taken out; `$patch: replace` was too. Lists that are
    merged entry by entry are shown as they were sent.
    """
    if not isinstance(patch, dict):
        return patch
    if _DIRECTIVE in patch:
        return {name: value for name, value in patch.items() if name != _DIRECTIVE or value != "replace"}
    shown: dict[str, Json] = {}
    for name, value in patch.items():
        held = target.get(name, ABSENT) if isinstance(target, dict) else ABSENT
        if isinstance(value, dict) and isinstance(held, dict):
            shown[name] = spent(value, held)
        else:
            shown[name] = value if isinstance(value, list) and isinstance(held, list) else _plain(value)
    return shown


def _plain(value: Json) -> Json:
    """A value of a patch without nulls and directives below it; one that is a directive itself stays."""
    if isinstance(value, dict):
        return {name: _plain(member) for name, member in value.items() if member is not None and not _directs(member)}
    return [_plain(entry) for entry in value if not _directs(entry)] if isinstance(value, list) else value


def _directs(value: Json) -> bool:
    return isinstance(value, dict) and _DIRECTIVE in value


def _merge_maps(original: dict[str, Json], patch: dict[str, Json], schema: Schema) -> dict[str, Json]:
    """One object with the patch for it."""
    if _DIRECTIVE in patch:
        return _directed(patch)
    merged = dict(original)
    rest = dict(patch)
    _retain_keys(merged, rest)
    for key in [key for key in rest if key.startswith(_SET_ORDER)]:
        _order(merged, rest, key, schema)
    for key, change in rest.items():
        _merge_member(merged, key, change, schema)
    return _shared(original, merged)


def _directed(patch: dict[str, Json]) -> dict[str, Json]:
    directive = patch[_DIRECTIVE]
    if directive == "replace":
        return {name: member for name, member in patch.items() if name != _DIRECTIVE}
    if directive == "delete":
        return {}
    raise bad_patch_type(directive, patch)


def _retain_keys(merged: dict[str, Json], patch: dict[str, Json]) -> None:
    if _RETAIN_KEYS not in patch:
        return
    retained = patch.pop(_RETAIN_KEYS)
    if not isinstance(retained, list):
        raise PatchError(400, BAD_RETAIN_KEYS)
    if any(isinstance(key, dict | list) for key in retained):
        raise panic("an object or a list in $retainKeys")
    for key, member in patch.items():
        if member is not None and not key.startswith((_DELETE_LIST, _SET_ORDER)) and key not in retained:
            raise PatchError(400, BAD_RETAIN_KEYS)
    for key in [key for key in merged if key not in retained]:
        del merged[key]


def _merge_member(merged: dict[str, Json], key: str, change: Json, schema: Schema) -> None:
    deletes = key.startswith(_DELETE_LIST)
    if deletes:
        key = _named_list(key, _DELETE_LIST, BAD_DELETE_LIST) or key
    if change is None:
        merged.pop(key, None)
        return
    before = merged.get(key, ABSENT)
    if type(before) is not type(change):
        if not deletes:
            _place(merged, key, _without_nulls(change))
    elif isinstance(change, dict):
        field = _field(schema, key)
        merged[key] = change if _strategy(field) == "replace" else _merge_maps(before, change, field)
    elif isinstance(change, list):
        field = _field(schema, key)
        merge = deletes or _strategy(field) == "merge"
        merged[key] = merge_lists(before, change, field, _merge_maps, deletes=deletes) if merge else change
    else:
        merged[key] = change


def _order(merged: dict[str, Json], patch: dict[str, Json], key: str, schema: Schema) -> None:
    """Merge and order the list that a $setElementOrder names. Its part of the patch is then done."""
    order = patch.pop(key)
    if not isinstance(order, list):
        raise bad_argument([], order)
    name = _named_list(key, _SET_ORDER, BAD_SET_ORDER)
    before, change = merged.get(name, ABSENT), patch.get(name, ABSENT)
    for given in (before, change):
        if given is not ABSENT and not isinstance(given, list):
            raise bad_argument([], given)
    field = _field(schema, name)
    check_order(change or [], order, field.patch_merge_key)
    if before is ABSENT and change is ABSENT:
        return
    if change is ABSENT:
        result = before
    elif before is ABSENT:
        result = _without_directives(change)
    elif _strategy(field) == "merge":
        result = merge_lists(before, change, field, _merge_maps)
    else:
        result = change
    merged[name] = ordered(result, order, field.patch_merge_key, before or [], change or [])
    patch.pop(name, None)


def _named_list(key: str, prefix: str, complaint: str) -> str:
    head, slash, name = key.partition("/")
    if not slash or head != prefix:
        raise PatchError(400, complaint)
    return name


def _field(schema: Schema, key: str) -> Schema:
    field = schema.properties.get(key)
    if field is not None:
        return field
    if not schema.properties and (schema.additional is not None or schema.additional_any):
        raise failed("merging an object in json but data type is not struct, instead is: map")
    raise failed(f"unable to find api field in struct for the json field {gotext.quoted(key)}")


def _strategy(field: Schema) -> str:
    strategies = [strategy for strategy in field.patch_strategy if strategy != "retainKeys"]
    return strategies[0] if strategies else ""


def _place(merged: dict[str, Json], key: str, value: Json) -> None:
    kept = _without_directives(value)
    if kept is ABSENT:
        merged.pop(key, None)
    else:
        merged[key] = kept


def _without_directives(value: Json) -> Json:
    """The value without objects that carry a $patch; ABSENT when it is one."""
    if isinstance(value, dict):
        if _DIRECTIVE in value:
            return ABSENT
        members = {name: _without_directives(member) for name, member in value.items()}
        return {name: member for name, member in members.items() if member is not ABSENT}
    if isinstance(value, list):
        return [entry for entry in map(_without_directives, value) if entry is not ABSENT]
    return value


def _without_nulls(value: Json) -> Json:
    if isinstance(value, dict):
        return {name: _without_nulls(member) for name, member in value.items() if member is not None}
    if isinstance(value, list):
        return [_without_nulls(entry) for entry in value]
    return value


def _shared(original: dict[str, Json], merged: dict[str, Json]) -> dict[str, Json]:
    """The merged object, with what is the same taken from the original; the original itself when all is."""
    untouched = len(original) == len(merged)
    for name, member in merged.items():
        before = original.get(name, ABSENT)
        if member is not before:
            if same(member, before):
                merged[name] = before
            else:
                untouched = False
    return original if untouched else merged


def _go_kind(value: Json) -> str:
    if isinstance(value, list):
        return "array"
    if isinstance(value, bool):
        return "bool"
    return "string" if isinstance(value, str) else "number"
