"""The status as the caller edits it: mappings and sequences that record what was read and stage what was written.

A value is read when the caller could have decided on it: scalars when fetched, containers when iterated, counted, compared, copied
or turned into plain data. Fetching a map or a list reads that it is there, and its truth that it is not empty. A list is read, and
written, as a whole; entries of keyed lists are reached by key (`entry`, `conditions`). `repr` and `peek` never count.

    MapView, ListView         a map and a list that can be edited
    SeenMap, SeenList, SeenObject    the same, read-only: `status.object`, what `build` gets, the status in `ctx.object`
    Conditions, Status        the conditions by type, and the root of it all
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, MutableMapping, MutableSequence
from typing import TYPE_CHECKING, Any, NoReturn, TypeAlias, TypeVar, overload

from ..errors import FiferailError
from ..objects import conditions
from ..objects.paths import Key, Path, Value, index_of, render
from ..objects.paths import parse as parse_path
from ..objects.tree import ABSENT, Json, same, thaw
from .reads import Look
from .shapes import key_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from . import models
    from .scopes import Scope
    from .stage import Stage

    #: What a view edits.
    Staging: TypeAlias = "Stage | Scope"

Model = TypeVar("Model")
#: Trees deeper than this are refused: no status needs it, and everything that walks one recurses.
DEEPEST = 200


class _View:
    """A place in the tree. Below an entry of a list it is only good until entries of that list come, go or change places."""

    __slots__ = ("_place", "_since", "_stage")

    def __init__(self, stage: Staging, path: Path) -> None:
        self._stage = stage
        self._place = path
        self._since = stage.shifts

    @property
    def _path(self) -> Path:
        if self._since != self._stage.shifts:
            for length, step in enumerate(self._place):
                if isinstance(step, int) and self._stage.shifted.get(self._place[:length], 0) > self._since:
                    raise FiferailError(
                        f"{render(self._place)} was taken before entries of {render(self._place[:length])} came, went or changed places: "
                        "take it again"
                    )
        return self._place


class MapView(_View, MutableMapping[str, Any]):
    """One object of the tree."""

    __slots__ = ()

    def __getitem__(self, name: str) -> Any:
        path = (*self._path, name)
        found = _looked(self._stage, path)
        if isinstance(found, dict):
            return MapView(self._stage, path)
        if isinstance(found, list):
            return ListView(self._stage, path)
        if found is ABSENT:
            raise KeyError(name)
        return found

    def __setitem__(self, name: str, value: Any) -> None:
        self._stage.put((*self._path, _name(name, self._path)), plain(value, (*self._path, name)))

    def __delitem__(self, name: str) -> None:
        if self._stage.get((*self._path, name)) is ABSENT:
            _read(self._stage, (*self._path, name))
            raise KeyError(name)
        self._stage.drop((*self._path, name))

    def __contains__(self, name: object) -> bool:
        return isinstance(name, str) and _looked(self._stage, (*self._path, name)) is not ABSENT

    def __iter__(self) -> Iterator[str]:
        return iter(list(self._read()))

    def __len__(self) -> int:
        return len(self._read())

    def __bool__(self) -> bool:
        filled = bool(self._tree())
        _looked(self._stage, self._path, Look.FILLED if filled else Look.VALUE)
        return filled

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Mapping) and same(self._read(), plain(other, self._path))

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return repr(self._tree())

    def __copy__(self) -> dict[str, Any]:
        return self.plain()

    def __deepcopy__(self, memo: Any) -> dict[str, Any]:
        return self.plain()

    def __reduce__(self) -> Any:
        return dict, (self.plain(),)

    def copy(self) -> dict[str, Any]:
        """A dict of its own; counts as a read of everything below."""
        return self.plain()

    def setdefault(self, name: str, default: Any = None) -> Any:
        """The member that is there, or else the default, staged; a map or a list comes back as a view, so that edits of it count."""
        if name not in self:
            self[name] = default
        return self[name]

    def pop(self, name: str, *default: Any) -> Any:
        """Remove a member and give its plain value."""
        found = _read(self._stage, (*self._path, name))
        if found is ABSENT and not default:
            raise KeyError(name)
        self._stage.drop((*self._path, name))  # also where nothing is: that it shall not be there may be news to the server
        return default[0] if found is ABSENT else thaw(found)

    def popitem(self) -> tuple[str, Any]:
        """Remove the last member and give it; reads the whole map."""
        names = list(self._read())
        if not names:
            raise KeyError("popitem(): the map is empty")
        return names[-1], self.pop(names[-1])

    def clear(self) -> None:
        """Remove every member that is there; reads the whole map."""
        for name in list(self._read()):
            self._stage.drop((*self._path, name))

    def plain(self) -> dict[str, Any]:
        """A dict of its own; counts as a read of everything below."""
        copied: dict[str, Any] = thaw(self._read())
        return copied

    def _tree(self) -> dict[str, Any]:
        found = self._stage.get(self._path)
        return found if isinstance(found, dict) else {}

    def _read(self) -> dict[str, Any]:
        _read(self._stage, self._path)
        return self._tree()


class ListView(_View, MutableSequence[Any]):
    """One list of the tree. Its length, its order and its entries are one decision: looking at any of them reads all of it."""

    __slots__ = ()

    @overload
    def __getitem__(self, index: int) -> Any: ...
    @overload
    def __getitem__(self, index: slice) -> list[Any]: ...
    def __getitem__(self, index: int | slice) -> Any:
        entries = self._read()
        if isinstance(index, slice):
            return thaw(entries[index])
        found = entries[index]
        place = range(len(entries))[index]
        if isinstance(found, dict):
            return MapView(self._stage, (*self._path, place))
        return ListView(self._stage, (*self._path, place)) if isinstance(found, list) else found

    def __setitem__(self, index: Any, value: Any) -> None:
        entry = plain(value, self._path)

        def edit(entries: list[Any]) -> None:
            entries[index] = entry

        self._read()
        self._edit(edit)

    def __delitem__(self, index: Any) -> None:
        self._read()
        self._edit(lambda entries: entries.__delitem__(index))

    def insert(self, index: int, value: Any) -> None:
        """Insert an entry."""
        entry = plain(value, self._path)
        self._read()
        self._edit(lambda entries: entries.insert(index, entry))

    def append(self, value: Any) -> None:
        """Add an entry at the end."""
        self.extend([value])

    def extend(self, values: Iterable[Any]) -> None:
        """Add entries at the end."""
        more = plain(list(values), self._path)
        steps = [self._step(entry) for entry in more]
        there = self._tree()
        if all(step is not None and index_of(there, step) is None for step in steps):
            for step, entry in zip(steps, more, strict=True):  # one by one: what others have beside them is not looked at
                assert step is not None
                self._stage.put((*self._path, step), entry)
            return
        self._read_where_one_value()
        self._edit(lambda entries: entries.extend(more))

    def sort(self, *, key: Callable[[Any], Any] | None = None, reverse: bool = False) -> None:
        """Sort in place; reads the list."""
        self._read()
        self._edit(lambda entries: entries.sort(key=key, reverse=reverse))

    def reverse(self) -> None:
        """Reverse in place; reads the list."""
        self._read()
        self._edit(lambda entries: entries.reverse())

    def pop(self, index: int = -1) -> Any:
        """Remove an entry and give its plain value; reads the list."""
        found = thaw(self._read()[index])
        self._edit(lambda entries: entries.pop(index))
        return found

    def copy(self) -> list[Any]:
        """A list of its own; counts as a read."""
        return self.plain()

    def __copy__(self) -> list[Any]:
        return self.plain()

    def __deepcopy__(self, memo: Any) -> list[Any]:
        return self.plain()

    def __reduce__(self) -> Any:
        return list, (self.plain(),)

    def __bool__(self) -> bool:
        filled = bool(self._tree())
        _looked(self._stage, self._path, Look.FILLED if filled else Look.VALUE)
        return filled

    def __len__(self) -> int:
        return len(self._read())

    def __eq__(self, other: object) -> bool:
        return isinstance(other, (list, tuple, ListView)) and same(self._read(), plain(list(other), self._path))

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return repr(self._tree())

    def plain(self) -> list[Any]:
        """A list of its own; counts as a read."""
        copied: list[Any] = thaw(self._read())
        return copied

    def _step(self, entry: Any) -> Key | Value | None:
        """The step to an entry that is written on its own: of a keyed list, or of a set."""
        shapes, path = self._stage.shapes, self._path
        names = shapes.names(path)
        if names is not None and isinstance(entry, dict) and all(isinstance(entry.get(name), (str, int)) for name in names):
            return key_of(entry, names)
        return Value(entry) if shapes.is_set(path, [entry]) else None

    def _read_where_one_value(self) -> None:
        """A longer list is made of the one that is there: it is looked at, unless its entries are written one by one."""
        if self._stage.shapes.is_one_value(self._path):
            self._read()

    def _edit(self, edit: Callable[[list[Any]], object]) -> None:
        """Change a copy of the list, with nobody staging in between."""

        def edited(there: Any) -> list[Any]:
            entries = list(there) if isinstance(there, list) else []
            edit(entries)
            return entries

        self._stage.change(self._path, edited)

    def _tree(self) -> list[Any]:
        found = self._stage.get(self._path)
        return found if isinstance(found, list) else []

    def _read(self) -> list[Any]:
        _read(self._stage, self._path)
        return self._tree()


def _refused(*_: Any, **__: Any) -> NoReturn:
    raise TypeError("the object is what was read, and read-only; stage changes on the status")


def _seen(found: Any) -> Any:
    if isinstance(found, MapView):
        return SeenMap(found._stage, found._path)
    return SeenList(found._stage, found._path) if isinstance(found, ListView) else found


class SeenMap(MapView):
    """A map that can be looked at, which counts, and not changed."""

    __slots__ = ()

    def __getitem__(self, name: str) -> Any:
        return _seen(super().__getitem__(name))

    __setitem__ = __delitem__ = pop = popitem = clear = setdefault = update = _refused


class SeenObject(SeenMap):
    """The whole object. Writers and clients take it for the object: naming it is no look at it."""

    __slots__ = ()

    def __fiferail_object__(self) -> Json:
        """The object as it is known, without what is staged."""
        return self._stage.base


class SeenList(ListView):
    """A list that can be looked at, which counts, and not changed."""

    __slots__ = ()

    def __getitem__(self, index: Any) -> Any:
        return _seen(super().__getitem__(index))

    __setitem__ = __delitem__ = __iadd__ = insert = append = extend = sort = pop = remove = reverse = clear = _edit = _refused


class Conditions:
    """The conditions of the object, by type."""

    __slots__ = ("_path", "_stage")

    def __init__(self, stage: Staging, path: Path) -> None:
        self._stage = stage
        self._path = path

    def set(
        self, type: str, status: bool | None, *, reason: str, message: str = "", observed_generation: int | None = None,
        since: str | None = None,
    ) -> None:  # fmt: skip
        """Say True, False, or None for Unknown. The transition time moves only when that changes, or to `since` where given."""
        fields = conditions.said(type, status, reason=reason, message=message)
        if since is not None:
            fields["lastTransitionTime"] = since
        generation = self._stage.generation if observed_generation is None else observed_generation
        if generation is not None:
            fields["observedGeneration"] = generation
        self._stage.set_condition(self._path, type, fields)

    def remove(self, type: str) -> None:
        """Remove a condition; nothing happens when it is not there."""
        self._stage.drop(self._entry(type))

    def get(self, type: str) -> dict[str, Any] | None:
        """The condition as a dict of its own, or None. Only this condition counts as read."""
        found = self._stage.read(self._entry(type))
        copied: dict[str, Any] | None = None if found is ABSENT else thaw(found)
        return copied

    def is_true(self, type: str) -> bool:
        """Whether the condition stands at True."""
        found = self._stage.read((*self._entry(type), "status"))
        return bool(found == "True")

    def types(self) -> list[str]:
        """The types that are there; reads the whole list."""
        return [entry["type"] for entry in self._all() if isinstance(entry, dict) and "type" in entry]

    def __iter__(self) -> Iterator[dict[str, Any]]:
        return iter(thaw(self._all()))

    def __len__(self) -> int:
        return len(self._all())

    def __contains__(self, type: str) -> bool:
        return self._stage.read(self._entry(type)) is not ABSENT

    def __repr__(self) -> str:
        return repr(self._stage.get(self._path) or [])

    def _entry(self, type: str) -> Path:
        return (*self._path, Key((("type", type),)))

    def _all(self) -> list[Any]:
        found = self._stage.read(self._path)
        return found if isinstance(found, list) else []


class Status(MapView):
    """The status of one object, staged. The root of the views."""

    __slots__ = ("_conditions", "_loaded")

    def __init__(self, stage: Staging, path: Path) -> None:
        super().__init__(stage, path)
        self._conditions = Conditions(stage, (*path, "conditions"))
        self._loaded: models.Loaded = {}

    @property
    def conditions(self) -> Conditions:
        """Conditions by type."""
        return self._conditions

    @property
    def object(self) -> SeenObject:
        """The whole object, read-only. What is read of it, the spec too, is guarded: when it has changed, the write is a Conflict,
        and a function given to `mutate` runs again and sees the live object here."""
        return SeenObject(self._stage, ())

    def entry(self, place: str, **key: Any) -> MapView:
        """The entry of a keyed list, there or not: `status.entry("workloads", kind="Job", name="a")["ready"] = True`."""
        path = (*self._path, *parse_path(place))
        self._stage.shapes = self._stage.shapes.with_entry(path, tuple(key))
        return MapView(self._stage, (*path, Key(tuple(sorted(key.items())))))

    def put_whole(self, place: str, value: Any) -> None:
        """Put it there as one value, a keyed list too: for the owner of all of it. An entry that somebody else has put into it goes."""
        path = (*self._path, *parse_path(place))
        self._stage.shapes = self._stage.shapes.whole(path)
        self._stage.owned.add(path)
        self._stage.put(path, plain(value, path))

    def raise_to(self, path: str, floor: int) -> None:
        """At least this: never lowers what another writer, or a newer reconcile, has put there."""
        if not isinstance(floor, int) or isinstance(floor, bool):
            raise TypeError(f"expected a whole number, got {type(floor).__name__} at {render((*self._path, *parse_path(path)))}")
        self._stage.raise_to((*self._path, *parse_path(path)), floor)

    def peek(self, path: str = "") -> Any:
        """The value at the path without counting as a read, for logs; None when nothing is there."""
        found = self._stage.get((*self._path, *parse_path(path)))
        return None if found is ABSENT else thaw(found)

    def load(self, model: type[Model]) -> Model:
        """Build a dataclass, msgspec Struct or pydantic model of the status.

        Only the members that the model declares count as read, at every level; aliases are honoured. What does not fit is
        raised by the model's own validation.
        """
        from . import models

        return models.load(self._stage, self._path, model, self._loaded)

    def store(self, instance: Any) -> None:
        """Stage what the instance changes of the members that its model declares, at every level.

        A member that is None, or left out, is removed; members that the model does not declare stay. Entries of a list are paired
        by its key; a changed list without one whose entries have members that the model does not declare is refused.
        """
        from . import models

        models.store(self._stage, self._path, instance, self._loaded)


def _read(stage: Staging, path: Path) -> Json:
    """Record a read at the path, or at the first list on the way that is not entered by key."""
    stage.read(_whole(path))
    return stage.get(path)


def _looked(stage: Staging, path: Path, closely: Look = Look.THERE) -> Json:
    """Record a look: of a map or a list that it is there, of anything else its value."""
    found = stage.get(path)
    whole = _whole(path)
    stage.read(whole, closely if whole == path and isinstance(found, (dict, list)) else Look.VALUE)
    return found


def _whole(path: Path) -> Path:
    for length, step in enumerate(path):
        if isinstance(step, (int, Value)):
            return path[:length]
    return path


def plain(value: Any, at: Path) -> Json:
    """A private JSON tree of what the caller gave, as the server would read it; what is no JSON is refused with its path."""
    kind = type(value)
    if kind is str:
        return value if value.isascii() else _text(value, at)
    if value is None or kind is bool:
        return value
    if isinstance(value, (int, float)):
        return _number(value, at)
    if isinstance(value, str):  # a str of another class, an enum's member
        return _text(str.__str__(value), at)
    if len(at) > DEEPEST:
        raise ValueError(f"expected a value of at most {DEEPEST} levels, got a deeper one at {render(at[:4])}...")
    if isinstance(value, Mapping):
        return {_name(name, at): plain(member, (*at, name)) for name, member in value.items()}
    if isinstance(value, (list, tuple, ListView)):
        return [plain(member, (*at, index)) for index, member in enumerate(value)]
    raise TypeError(f"expected a JSON value, got {type(value).__name__} at {render(at)}")


def _number(value: float, at: Path) -> Json:
    """The server keeps whole numbers of 64 bits, and any other number as a float."""
    if isinstance(value, int):
        return int(value) if -(2**63) <= value < 2**63 else _wide(value, at)
    if not math.isfinite(value):
        raise ValueError(f"expected a finite number, got {value} at {render(at)}")
    return int(value) if value.is_integer() and abs(value) < 2**63 else float(value)


def _wide(value: int, at: Path) -> float:
    try:
        return float(value)
    except OverflowError:
        raise ValueError(f"expected a number that fits into 64 bits, got one of {len(str(abs(value)))} digits at {render(at)}") from None


def _name(name: Any, at: Path) -> str:
    if not isinstance(name, str):
        raise TypeError(f"expected member names of type str, got {type(name).__name__} at {render(at)}")
    return _text(str.__str__(name), at)


def _text(value: str, at: Path) -> str:
    try:
        value.encode()
    except UnicodeEncodeError:
        raise ValueError(f"expected text, got half a surrogate pair at {render(at)}: JSON cannot carry it") from None
    return value
