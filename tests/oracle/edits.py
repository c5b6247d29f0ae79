"""What a caller does with a status that it holds open: every kind of read, every kind of write, each noted with what was seen.

An edit gets a `Pen` and one number that varies it. It notes in the deed what the caller saw and what it asserted, in the oracle's own
words, and it never looks at anything of the writer but what a user would. `peek` and the caller's own dict are used to find out what
stands there without reading it.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Mapping
from typing import Any

from .kind import MISSING, Json, Path, find, meets
from .models import MODELS
from .records import GONE, Deed

S = "status"
#: Scalars that anybody writes.
FIELDS = ("phase", "note", "owner")
MEMBERS = ("a", "b", "c")
TYPES = ("Ready", "Probed", "Synced")
ODD: tuple[Json, ...] = (
    [1, None, "x"], [{"a": None, "b": 1.5}], 1e21, 0.5, True, -7, "<&>\u2028 \u00e4", ["\U0001f600", [], {}], 12345678901234567,
    [[1], [2, []]],
)  # fmt: skip


class Pen:
    """A status open for edits, and the deed that it is noted in."""

    def __init__(self, status: Any, deed: Deed) -> None:
        self.status = status
        self.deed = deed
        self._count = 0

    def token(self) -> str:
        """A value that nobody else ever writes."""
        self._count += 1
        return f"t{self.deed.id}.{self._count};"

    def mark(self, path: Path, extra: str = "") -> str:
        """A token that is about to be put at the path."""
        token = self.token() + extra
        self.deed.want((S, *path), token, unique=True)
        return token

    def saw(self, path: Path, value: Json, how: str = "value") -> None:
        """Note a read; a first look at what the caller holds must show what the caller holds."""
        deed = self.deed
        fresh = "~" not in deed.id and not deed.runs and not any(meets(one.path, (S, *path)) for one in deed.wants)
        if fresh and how == "value":
            held = find(deed.held, (S, *path))
            if held != value:
                deed.wrong.append(f"newer base: the view shows {value!r} at {'.'.join(map(str, path))}, the caller's object has {held!r}")
        deed.see((S, *path), value, how)

    def assign(self, name: str, value: dict[str, Json]) -> None:
        """Assign a whole map."""
        self.deed.assigned.append((S, name))
        self.status[name] = value

    def looks_into(self, name: str) -> None:
        """Note that the caller reaches through a map or a list: it must be there."""
        self.deed.looked.append((S, name))

    def peek(self, name: str) -> Json:
        """What is staged now, without reading it."""
        found = self.status.peek(name)
        return MISSING if found is None else found


def plain(value: Any) -> Json:
    """A copy of a view as plain data; scalars as they are."""
    if isinstance(value, Mapping):
        return {name: plain(member) for name, member in value.items()}
    return value if isinstance(value, (str, int, float, bool)) or value is None else [plain(member) for member in value]


# -- scalars


def put(pen: Pen, n: int) -> None:
    """Assign without looking."""
    name = FIELDS[n % 3]
    pen.status[name] = pen.mark((name,))


def put_from_dict(pen: Pen, n: int) -> None:
    """Assign a value computed from the caller's own dict: only the written path protects it."""
    name = FIELDS[n % 2]
    pen.status[name] = pen.mark((name,), f" from {find(pen.deed.held, (S, name))}")


def put_from_view(pen: Pen, n: int) -> None:
    """Assign a value computed from another field, read through the view."""
    source = FIELDS[n % 3]
    seen = pen.status.get(source)
    pen.saw((source,), MISSING if seen is None else seen)
    target = FIELDS[(n // 3) % 3]
    pen.status[target] = pen.mark((target,), f" from {seen}")


def put_from_object(pen: Pen, n: int) -> None:
    """Assign a value computed from the spec, read through `status.object` where there is one."""
    whole = getattr(pen.status, "object", None)
    if whole is not None:
        size = whole["spec"]["size"]
        pen.deed.see(("spec", "size"), size)
        pen.status["note"] = pen.mark(("note",), f" for {size}")


def choose_mode(pen: Pen, n: int) -> None:
    """Assign one of two values that others assign too."""
    value = ("Up", "Down")[n % 2]
    pen.status["mode"] = value
    pen.deed.want((S, "mode"), value)


def bump(pen: Pen, n: int) -> None:
    """Count up by one."""
    counter = pen.status.get("counter")
    if counter is None:
        pen.saw(("counter",), MISSING)
        seen = 0
    else:
        found = counter.get("n")
        pen.saw(("counter", "n"), MISSING if found is None else found)
        seen = found or 0
    pen.deed.want((S, "counter", "n"), seen + 1)
    pen.status["counter"] = {"n": seen + 1, "by": pen.mark(("counter", "by"))}


def pop(pen: Pen, n: int) -> None:
    """Remove a scalar and look at what it was."""
    name = FIELDS[n % 2]
    seen = pen.status.pop(name, None)
    pen.saw((name,), MISSING if seen is None else seen)
    pen.deed.want((S, name), GONE)


def delete(pen: Pen, n: int) -> None:
    """Remove a scalar without looking."""
    name = FIELDS[n % 2]
    if pen.peek(name) is not MISSING:
        del pen.status[name]
        pen.deed.want((S, name), GONE)


def raise_to(pen: Pen, n: int) -> None:
    """At least this number."""
    pen.status.raise_to("gen", n % 50)
    pen.deed.want((S, "gen"), n % 50, raised=True)


def raise_and_read(pen: Pen, n: int) -> None:
    """At least this number, and decide on what it is then."""
    raise_to(pen, n)
    seen = pen.status["gen"]
    pen.deed.see((S, "gen"), seen)
    pen.status["note"] = pen.mark(("note",), f" at {seen}")


def odd_value(pen: Pen, n: int) -> None:
    """Any JSON value, as one."""
    value = ODD[n % len(ODD)]
    pen.status["anything"] = value
    pen.deed.want((S, "anything"), value)


def unknown_field(pen: Pen, n: int) -> None:
    """A field that the schema lacks."""
    pen.status["unheardOf"] = pen.mark(("unheardOf",))


# -- maps


def put_member(pen: Pen, n: int) -> None:
    """One member of a free map."""
    name = MEMBERS[n % 3]
    if not isinstance(pen.peek("net"), dict):
        pen.assign("net", {name: pen.mark(("net", name))})
    else:
        pen.looks_into("net")
        pen.status["net"][name] = pen.mark(("net", name))


def assign_map(pen: Pen, n: int) -> None:
    """A whole map: what the caller knew of it goes, what it did not know may stay."""
    standing = pen.peek("net")
    name = MEMBERS[n % 3]
    for member in standing if isinstance(standing, dict) else ():
        if member != name:
            pen.deed.want((S, "net", member), GONE)
    pen.assign("net", {name: pen.mark(("net", name))})


def assign_and_read_back(pen: Pen, n: int) -> None:
    """A whole map, and then a decision on its members."""
    assign_map(pen, n)
    seen = plain(pen.status["net"])
    pen.deed.see((S, "net"), seen)
    pen.status["note"] = pen.mark(("note",), f" with {len(seen)}")


def setdefault(pen: Pen, n: int) -> None:
    """A member below a map that may not be there yet."""
    name = f"{MEMBERS[n % 3]}{n % 2}"
    standing = pen.peek("extra")
    pen.looks_into("extra")
    found = pen.status.setdefault("extra", {})
    if not any(one.path[:2] == (S, "extra") for one in pen.deed.wants):
        pen.saw(("extra",), "absent" if standing is MISSING else "map", "present")
    found[name] = pen.mark(("extra", name))


def look_whether(pen: Pen, n: int) -> None:
    """Decide on whether a map or a list is there, in each of the ways in which one looks."""
    name = ("net", "refs", "plan", "extra", "parts")[n % 5]
    status = pen.status
    ways: tuple[Callable[[], bool], ...] = (
        lambda: status.get(name) is not None,
        lambda: _is_there(status, name),
        lambda: isinstance(status.get(name), Mapping) if name in ("net", "plan", "extra") else status.get(name) is not None,
        lambda: name in status,
    )  # fmt: skip
    found = ways[(n // 5) % 4]()
    kind = "absent" if not found else "map" if name in ("net", "plan", "extra") else "list"
    if not any(one.path[:2] == (S, name) for one in pen.deed.wants):
        pen.saw((name,), kind, "present")
    status["note"] = pen.mark(("note",), f" as {name} is {kind}")


def _is_there(status: Any, name: str) -> bool:
    try:
        status[name]
    except KeyError:
        return False
    return True


def deep_copy(pen: Pen, n: int) -> None:
    """Decide on a copy."""
    if isinstance(pen.peek("net"), dict):
        try:
            seen = plain(copy.deepcopy(pen.status["net"]))
        except Exception as error:
            pen.deed.wrong.append(f"deepcopy: {type(error).__name__}: {error}")
            return
        pen.saw(("net",), seen)
        pen.status["note"] = pen.mark(("note",), f" of {sorted(seen)}")


def iterate(pen: Pen, n: int) -> None:
    """Decide on the names of members."""
    if isinstance(pen.peek("net"), dict):
        names = sorted(pen.status["net"])
        pen.looks_into("net")
        if not any(one.path[:2] == (S, "net") for one in pen.deed.wants):
            pen.saw(("net",), names, "names")
        pen.status["note"] = pen.mark(("note",), f" of {names}")


# -- lists


def append(pen: Pen, n: int) -> None:
    """One more element of a list: without keys it is one value, in a set only the element counts."""
    name = ("refs", "tags")[n % 2]
    standing = pen.peek(name)
    elements = list(standing) if isinstance(standing, list) else []
    token = pen.token()
    if standing is MISSING:
        pen.status[name] = [token]
    else:
        pen.looks_into(name)
        if name == "refs":
            pen.saw((name,), elements)  # a list that is changed in place is carried along
        pen.status[name].append(token)
    if name == "tags":
        pen.deed.want((S, name, ("", token)), token, unique=True)
    else:
        pen.deed.want((S, name), [*elements, token], unique=True)


def count_elements(pen: Pen, n: int) -> None:
    """Decide on how long a list is."""
    standing = pen.peek("refs")
    if isinstance(standing, list):
        length = len(pen.status["refs"])
        pen.saw(("refs",), standing)
        pen.status["note"] = pen.mark(("note",), f" of {length}")


def put_entry(pen: Pen, n: int) -> None:
    """A member of one entry of a keyed list."""
    name = MEMBERS[n % 3]
    pen.status.entry("parts", name=name)["by"] = pen.mark(("parts", ("name", name), "by"))


def read_entry(pen: Pen, n: int) -> None:
    """Decide on a member of one entry."""
    name = MEMBERS[n % 3]
    seen = pen.status.entry("parts", name=name).get("by")
    pen.saw(("parts", ("name", name), "by"), MISSING if seen is None else seen)
    pen.status["note"] = pen.mark(("note",), f" by {seen}")


def assign_entries(pen: Pen, n: int) -> None:
    """The whole keyed list, without an entry that was there and with another."""
    standing = pen.peek("parts")
    entries = [copy.deepcopy(entry) for entry in standing] if isinstance(standing, list) else []
    name = MEMBERS[n % 3]
    gone = next((entry for entry in entries if entry["name"] != name), None)
    kept = [entry for entry in entries if entry is not gone and entry["name"] != name]
    if gone is not None:
        pen.deed.want((S, "parts", ("name", gone["name"])), GONE)
    mine = next((entry for entry in entries if entry["name"] == name), {"name": name})
    mine["by"] = pen.mark(("parts", ("name", name), "by"))
    pen.deed.assigned.append((S, "parts"))
    pen.status["parts"] = [*kept, mine]


def drop_row(pen: Pen, n: int) -> None:
    """A list of objects without keys: one row goes, another is added."""
    standing = pen.peek("rows")
    rows = [copy.deepcopy(row) for row in standing] if isinstance(standing, list) else []
    gone = n % max(1, len(rows))
    value = [*rows[:gone], *rows[gone + 1 :], {"name": MEMBERS[n % 3], "by": pen.token()}]
    pen.status["rows"] = value
    pen.deed.want((S, "rows"), value, unique=True)


# -- conditions


def set_condition(pen: Pen, n: int) -> None:
    """Say a condition."""
    name = TYPES[n % 3]
    message = pen.mark(("conditions", ("type", name), "message"))
    pen.status.conditions.set(name, (True, False, None)[(n // 3) % 3], reason="Said", message=message)


def read_condition(pen: Pen, n: int) -> None:
    """Decide on a condition."""
    name = TYPES[n % 3]
    path: Path = ("conditions", ("type", name), "message")
    found = pen.status.conditions.get(name)
    seen = MISSING if found is None else found.get("message", MISSING)
    pen.saw(path, seen)
    pen.status["note"] = pen.mark(("note",), f" as {name} says {seen}")


def remove_condition(pen: Pen, n: int) -> None:
    """Take a condition away."""
    name = TYPES[n % 3]
    pen.status.conditions.remove(name)
    pen.deed.want((S, "conditions", ("type", name)), GONE)


# -- models


def store_model(pen: Pen, n: int) -> None:
    """Load a model, change one declared member, store it: what the model does not declare is nobody's business."""
    model = MODELS[n % len(MODELS)]
    loaded = pen.status.load(model.type)
    for path, value in model.seen(loaded).items():
        pen.saw(path, MISSING if value is None else value)
    model.change(loaded, pen.mark(("deep", "inner", "known")))
    pen.status.store(loaded)


EDITS: dict[str, Callable[[Pen, int], None]] = {
    edit.__name__: edit
    for edit in (
        put, put_from_dict, put_from_view, put_from_object, choose_mode, bump, pop, delete, raise_to, raise_and_read, odd_value,
        unknown_field, put_member, assign_map, assign_and_read_back, setdefault, look_whether, deep_copy, iterate, append, count_elements,
        put_entry, read_entry, assign_entries, drop_row, set_condition, read_condition, remove_condition, store_model,
    )
}  # fmt: skip
