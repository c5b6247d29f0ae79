"""Data cells: what one resource yields and a later one needs, by name and type.

    db_host = Data("db-host", str)
    ConfigMap(config, extract={db_host: lambda live: live["data"]["host"]})
    Secret(credentials, guard=db_host, mutations=[Mutation("host", lambda secret: secret["stringData"].update(host=db_host.value))])

A cell is only a name: its value belongs to the reconcile that set it, so cells may be shared by modules and by objects that are
reconciled at the same time. Cleared when the component that fills them is reconciled again.
"""

from __future__ import annotations

import inspect
import weakref
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from ..errors import FiferailError

if TYPE_CHECKING:
    import builtins
    from collections.abc import Iterable, Iterator, Mapping

Value = TypeVar("Value")


class DataMissing(FiferailError):
    """A cell was read that nothing has filled in this reconcile."""

    def __init__(self, cell: Data[Any]) -> None:
        super().__init__(f'data "{cell.name}" is not there yet: guard what reads it with guard=, or ask is_set first')
        self.cell = cell


class Data(Generic[Value]):
    """A named cell for values of one type."""

    def __init__(self, name: str, type: builtins.type[Value]) -> None:
        if not name:
            raise FiferailError("expected a name for a data cell, got none")
        if not inspect.isclass(type):
            raise FiferailError(f'expected data "{name}" to be of a plain class such as str or dict, got {type!r}')
        self.name = name
        self.type = type

    @property
    def value(self) -> Value:
        """What was extracted in this reconcile."""
        found: Value | None = _values().get(self)
        if found is None:
            raise DataMissing(self)
        return found

    @property
    def is_set(self) -> bool:
        """Whether something was extracted in this reconcile."""
        return self in _values()

    def set(self, value: Value | None) -> None:
        """Fill the cell, or with None leave it empty. A value of another type is refused."""
        if value is None:
            return
        if not isinstance(value, self.type) or (isinstance(value, bool) and self.type is int):
            raise FiferailError(f'expected data "{self.name}" to be of type {self.type.__name__}, got {type(value).__name__}: {value!r}')
        mine = _values()
        mine[self] = value
        _VALUES.set(mine)

    def __repr__(self) -> str:
        return f"Data({self.name!r}, {self.type.__name__})"


#: Weak: a cell that is made anew in every reconcile takes its value with it.
_VALUES: ContextVar[weakref.WeakKeyDictionary[Data[Any], Any] | None] = ContextVar("fiferail.components.data", default=None)


def _values() -> weakref.WeakKeyDictionary[Data[Any], Any]:
    """A copy: what another task has set is never changed under it."""
    found = _VALUES.get()
    return weakref.WeakKeyDictionary() if found is None else weakref.WeakKeyDictionary(found)


def clear(cells: Iterable[Data[Any]]) -> None:
    """Begin anew with these cells empty, in this task only: others that run at the same time keep their own."""
    mine = _values()
    for cell in cells:
        mine.pop(cell, None)
    _VALUES.set(mine)


@contextmanager
def filled(values: Mapping[Data[Any], Any]) -> Iterator[None]:
    """With these values for the time being: for previews."""
    mine = _values()
    token = _VALUES.set(mine)
    try:
        for cell, value in values.items():
            cell.set(value)
        yield
    finally:
        _VALUES.reset(token)


def waiting(cells: Iterable[Data[Any]]) -> str:
    """What a resource says that needs cells which are empty; nothing when they are all filled."""
    missing = [f'"{cell.name}"' for cell in cells if not cell.is_set]
    return f"waiting for data {', '.join(missing)}" if missing else ""
