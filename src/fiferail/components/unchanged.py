"""Whether applying an object would change nothing: told from the live object alone, so that a pass without news sends nothing.

Called before each apply. The live object's managedFields say what this manager has applied; when that is exactly what is desired now,
and every desired value stands there, in that order, the server would only say so again. Whatever is not plain (a null, a list that is
neither keyed nor a set nor one value, a field that the server stores under another name) is applied: a doubt costs a request, an error
would cost a change. Pure.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias

import msgspec

from ..objects.tree import ABSENT, same

if TYPE_CHECKING:
    from ..objects.tree import Json

Known: TypeAlias = "dict[str, dict[str, Json]]"

#: Names the object, so it is never among the managed fields.
_NAMING = ("apiVersion", "kind")
_NAMING_METADATA = ("name", "namespace")
#: What the server fills into values of built-in kinds that are owned as a whole, by the member they stand in.
_DEFAULTS: Known = {
    "fieldRef": {"apiVersion": "v1"},
    "resourceFieldRef": {"divisor": "0"},
    "ports": {"protocol": "TCP"},
    "volumeClaimTemplates": {"apiVersion": "v1", "kind": "PersistentVolumeClaim", "status": {"phase": "Pending"}},
    "spec": {"volumeMode": "Filesystem"},
}


def is_applied(desired: Json, live: Json, manager: str) -> bool:
    """Whether this manager has applied exactly this, and it still stands."""
    fields = _fields(live, manager, desired["apiVersion"])
    if fields is None:
        return False
    metadata = {name: member for name, member in desired["metadata"].items() if name not in _NAMING_METADATA}
    body = {name: member for name, member in desired.items() if name not in (*_NAMING, "metadata")}
    known = _DEFAULTS if _is_built_in(desired["apiVersion"]) else {}
    return _object({**body, "metadata": metadata} if metadata else body, live, fields, known)


def _fields(live: Json, manager: str, api_version: str) -> Json | None:
    for entry in live["metadata"].get("managedFields") or []:
        if entry.get("manager") == manager and entry.get("operation") == "Apply" and not entry.get("subresource"):
            return entry.get("fieldsV1") if entry.get("apiVersion") == api_version else None
    return None


def _is_built_in(api_version: str) -> bool:
    group = api_version.rpartition("/")[0]
    return "." not in group or group.endswith(".k8s.io")


def _stands(desired: Json, live: Json, fields: Json, known: Known, at: str) -> bool:
    if desired is None or live is ABSENT:
        return False
    below = [name for name in fields if name != "."]
    if not below:
        return same(desired, live) or (bool(known) and _same_but_defaults(desired, live, at))
    if isinstance(desired, dict):
        return isinstance(live, dict) and _object(desired, live, fields, known)
    if isinstance(desired, list) and isinstance(live, list):
        return _keyed(desired, live, fields, known, at) if below[0].startswith("k:") else _set(desired, live, below)
    return False


def _same_but_defaults(desired: Json, live: Json, at: str) -> bool:
    """The same value, but for members that the server has filled in and would fill in again."""
    if isinstance(desired, dict) and isinstance(live, dict):
        filled = {name: member for name, member in live.items() if name not in desired}
        mine = all(_same_but_defaults(member, live.get(name, ABSENT), name) for name, member in desired.items())
        return mine and filled.items() <= _DEFAULTS.get(at, {}).items()
    if isinstance(desired, list) and isinstance(live, list):
        return len(desired) == len(live) and all(_same_but_defaults(one, other, at) for one, other in zip(desired, live, strict=True))
    return same(desired, live)


def _object(desired: Json, live: Json, fields: Json, known: Known) -> bool:
    if {f"f:{name}" for name in desired} != {name for name in fields if name != "."}:
        return False
    return all(_stands(member, live.get(name, ABSENT), fields[f"f:{name}"], known, name) for name, member in desired.items())


def _keyed(desired: list[Json], live: list[Json], fields: Json, known: Known, at: str) -> bool:
    """Each desired entry has its own key, finds its live entry by it, and the live ones stand in the desired order."""
    keys = {text: msgspec.json.decode(text[2:]) for text in fields if text.startswith("k:")}
    if len(keys) != len(desired) or len(keys) != len([name for name in fields if name != "."]):
        return False
    places = []
    for entry in desired:
        found = [text for text, key in keys.items() if isinstance(entry, dict) and all(same(entry.get(n, v), v) for n, v in key.items())]
        if len(found) != 1:
            return False
        key = keys.pop(found[0])
        place = next((at for at, other in enumerate(live) if all(same(other.get(n, ABSENT), v) for n, v in key.items())), None)
        if place is None or not _stands(entry, live[place], fields[found[0]], known, at):
            return False
        places.append(place)
    return places == sorted(places)


def _set(desired: list[Json], live: list[Json], below: list[str]) -> bool:
    if not all(name.startswith("v:") for name in below) or len(below) != len(desired):
        return False
    values = [msgspec.json.decode(name[2:]) for name in below]
    return all(item in values for item in desired) and [item for item in live if item in desired] == desired
