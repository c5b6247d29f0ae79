"""How expensive a rule may become, in the units of cel-go's estimator: the server refuses CRDs whose rules could cost too much.

Called by `cel` when a CRD is judged. Worked out for the operators, the comprehensions and the plain text functions; a rule with
any other function is not estimated (None) and never refused for its cost. Only upper bounds are kept, as only those decide.
Mirrors the coster of cel-go's checker.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Final, NamedTuple

if TYPE_CHECKING:
    from .celsyntax import Expr
    from .celtypes import Type

MOST: Final = 2**64 - 1
RULE_LIMIT: Final = 10_000_000
CRD_LIMIT: Final = 100_000_000
REQUEST_BYTES: Final = 3 * 1024 * 1024
_SCALARS: Final = frozenset({"bool", "double", "duration", "int", "timestamp"})
_PLAIN: Final = frozenset({"_-_", "_*_", "_/_", "_%_", "!_", "-_", "size", "string", "int", "double", "duration", "timestamp"})
_COMPARED: Final = frozenset({"_<_", "_<=_", "_>_", "_>=_"})


class Unestimated(Exception):
    """The rule holds something whose cost is not known here."""


class _Known(NamedTuple):
    """What is known of an expression: its cost, its size, the size of its entries, its way into the object.

    The estimator takes every way to begin at `self`, whatever its first step: that of an entry of a literal list too. So does this.
    """

    cost: int
    size: int | None = None
    entry: int | None = None
    way: tuple[str, ...] = ()
    fallback: int | None = None  # a variable's size, for when nothing else bounds it


def estimate(expr: Expr, types: dict[int, Type], variables: dict[str, Type]) -> int | None:
    """The upper bound of a rule's cost; None when it cannot be told."""
    coster = _Coster(types, variables["self"])
    try:
        return coster.cost(expr, {name: _Known(1, way=(name,)) for name in variables}).cost
    except Unestimated:
        return None


def exceeds(what: str, cost: int, limit: int) -> str:
    """The server's words for a cost beyond a limit."""
    factor = cost / limit
    shown = "more than 100x" if factor > 100 else f"{factor:f}x" if factor < 1.5 else f"{factor:.1f}x"
    hint = "try simplifying the rule, or adding maxItems, maxProperties, and maxLength where arrays, maps, and strings are declared"
    return f"{what} exceeds budget by factor of {shown} ({hint})"


def times(left: int, right: int) -> int:
    """A product that stops at the largest number."""
    return min(left * right, MOST)


def _share(size: int, factor: float) -> int:
    return min(math.ceil(size * factor), MOST) if size < 2**63 else MOST


class _Coster:
    def __init__(self, types: dict[int, Type], root: Type) -> None:
        self._types = types
        self._root = root

    def size(self, expr: Expr, known: _Known) -> int:
        """The size of an expression, the largest number when nothing bounds it."""
        if known.size is not None:
            return known.size
        if expr.kind == "literal":
            return len(expr.value) if isinstance(expr.value, str) else 1
        found = self._bound(known.way)
        if found is not None:
            return found
        kind = self._types.get(id(expr))
        if kind is not None and kind.name in _SCALARS:
            return 1
        return MOST if known.fallback is None else known.fallback

    def _bound(self, way: tuple[str, ...]) -> int | None:
        if not way:
            return None
        node = self._root
        for step in way[1:]:
            if step in ("@items", "@values"):
                if node.name not in ("list", "map"):
                    return None
                node = node.args[-1]
            elif step == "@keys":
                return 0 if node.name == "map" else None
            elif step == "namespace" or step not in (node.fields or {}):
                # Fields are known by their escaped names only, so that `namespace` unescaped has no bound.
                return None
            else:
                node = (node.fields or {})[step][1]
        return node.most

    def cost(self, expr: Expr, scope: dict[str, _Known]) -> _Known:
        if expr.kind == "literal":
            return _Known(0)
        if expr.kind == "name":
            if expr.value not in scope:
                raise Unestimated
            return scope[expr.value]._replace(cost=1)
        if expr.kind == "select":
            return self._select(expr, scope)
        if expr.kind == "index":
            return self._index(expr, scope)
        if expr.kind == "list":
            parts = [(arg, self.cost(arg, scope)) for arg in expr.args]
            entry = max((self.size(arg, known) for arg, known in parts), default=0)
            return _Known(_total(10, *(known.cost for _, known in parts)), len(parts), entry)
        if expr.kind == "call":
            return self._call(expr, scope)
        raise Unestimated

    def _select(self, expr: Expr, scope: dict[str, _Known]) -> _Known:
        assert expr.target is not None
        owner = self.cost(expr.target, scope)
        kind = self._types[id(expr.target)]
        if kind.name not in ("object", "map"):
            raise Unestimated
        return _Known(_total(owner.cost, 1), way=(*owner.way, expr.value))

    def _index(self, expr: Expr, scope: dict[str, _Known]) -> _Known:
        assert expr.target is not None
        owner, key = self.cost(expr.target, scope), self.cost(expr.args[0], scope)
        kind = self._types[id(expr.target)]
        step = "@items" if kind.name == "list" else "@values"
        return _Known(_total(1, owner.cost, key.cost), owner.entry, way=(*owner.way, step))

    def _call(self, expr: Expr, scope: dict[str, _Known]) -> _Known:
        name = expr.value
        if name == "has" and expr.target is None:
            owner = expr.args[0].target
            assert owner is not None
            return _Known(self.cost(owner, scope).cost)
        if expr.target is not None and name in ("all", "exists", "exists_one", "map", "filter"):
            return self._comprehension(expr, scope)
        args = (*((expr.target,) if expr.target is not None else ()), *expr.args)
        parts = [self.cost(arg, scope) for arg in args]
        if any(id(arg) not in self._types or self._types[id(arg)].name in ("dyn", "optional_type") for arg in args):
            raise Unestimated
        sizes = [self.size(arg, known) for arg, known in zip(args, parts, strict=True)]
        return self._function(name, args, parts, sizes)

    def _function(self, name: str, args: tuple[Expr, ...], parts: list[_Known], sizes: list[int]) -> _Known:
        spent = _total(*(known.cost for known in parts))
        texts = args and self._types[id(args[0])].name in ("string", "bytes")
        if name in ("_&&_", "_||_"):
            return _Known(spent)
        if name == "_?_:_":
            return _Known(_total(parts[0].cost, max(parts[1].cost, parts[2].cost)), max(sizes[1:]))
        if name in ("_==_", "_!=_") or (name in _COMPARED and texts):
            return _Known(_total(spent, _share(min(sizes), 0.1)))
        if name == "_+_" and texts:
            whole = min(sum(sizes), MOST)
            return _Known(_total(spent, _share(whole, 0.1)), whole)
        if name == "_+_" and self._types[id(args[0])].name == "list":
            entries = [known.entry for known in parts if known.entry is not None]
            return _Known(_total(spent, 1), min(sum(sizes), MOST), max(entries, default=None))
        if name in ("startsWith", "endsWith"):
            return _Known(_total(spent, _share(sizes[1], 0.1)))
        if name == "contains":
            return _Known(_total(spent, times(_share(sizes[0], 0.1), _share(sizes[1], 0.1))))
        if name == "matches":
            return _Known(_total(spent, times(_share(min(sizes[0] + 1, MOST), 0.1), _share(sizes[1], 0.25))))
        if name == "@in":
            return _Known(_total(spent, sizes[1] if self._types[id(args[1])].name == "list" else 1))
        if name in _PLAIN or name in _COMPARED or name == "_+_":
            return _Known(_total(spent, 1))
        raise Unestimated

    def _comprehension(self, expr: Expr, scope: dict[str, _Known]) -> _Known:
        assert expr.target is not None
        source = self.cost(expr.target, scope)
        kind = self._types[id(expr.target)]
        if kind.name not in ("list", "map"):
            raise Unestimated
        count = self.size(expr.target, source)
        if kind.name == "list":
            item = _Known(1, way=(*source.way, "@items"), fallback=source.entry)
        else:
            item = _Known(1, way=(*source.way, "@keys"))
        inside = {**scope, expr.args[0].value: item}
        tests = [self.cost(arg, inside) for arg in expr.args[1:]]
        name, test = expr.value, tests[0].cost
        if name in ("map", "filter"):
            made, keep = (tests[-1], tests[0] if len(tests) == 2 else None) if name == "map" else (item, tests[0])
            added = _total(made.cost, 12)
            step = added if keep is None else _total(keep.cost, max(added, 1))
            entry = self.size(expr.args[-1] if name == "map" else expr.args[0], made)
            return _Known(_total(source.cost, 10, times(count, step), 1), count, entry)
        step, start, end = {"all": (_total(test, 3), 0, 1), "exists": (_total(test, 4), 0, 1), "exists_one": (_total(test, 2), 0, 2)}[name]
        return _Known(_total(source.cost, start, times(count, step), end))


def _total(*costs: int) -> int:
    return min(sum(costs), MOST)
