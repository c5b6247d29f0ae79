"""Functions as values: which writer a parameter, a field or the result of a function holds.

Called by `frontend` for new wrappers. `r.workWith(ctx, gadget, r.enter)` makes `then(ctx, gadget, "Done")` in `workWith` a write, and so
do `hooks{onEnd: r.enter}` and `return r.enter` for who calls what they keep. Closures that write, and are kept, are writers too.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator

    from fiferail.audit.golang.project import Func
    from fiferail.audit.golang.scopes import Scope
    from fiferail.audit.golang.values import Values
    from fiferail.audit.golang.wrapper import Wrapper

_STEPS = 4


class FunctionValues:
    """What holds a writer: parameters by function and name, results by function; fields by their names."""

    def __init__(self, values: Values, wrappers: dict[str, Wrapper]) -> None:
        self.values = values
        self.wrappers = wrappers
        self.fields: dict[str, list[tuple[str, Wrapper]]] = {}
        self._parameters: dict[tuple[str, str], list[Wrapper]] = {}
        self._results: dict[str, list[Wrapper]] = {}
        self._makers: set[str] = set()
        self._new_makers: list[Func] = []

    def held(self, call: list[Any], scope: Scope) -> list[Wrapper]:
        """The writers that a call of a function value may run: `then(ctx)`, `r.writer()(ctx)`, `write := r.writer(); write(ctx)`."""
        return self._value(call[1], scope)

    def _value(self, value: list[Any], scope: Scope, depth: int = 0) -> list[Wrapper]:
        """The writers that a value may be."""
        if value[0] == "c":
            return self._made(value, scope)
        var = scope.find(value[1]) if value[0] == "i" else None
        if var is None:
            # What a variable was made from: `f := fail`, `f := r.fail`.
            named = self.values.callee(["c", value, [], 0, [], 0, 0], scope) if depth else None
            return [self.wrappers[named.key]] if named is not None and named.key in self.wrappers else []
        if var.parameter >= 0:
            return self._parameters.get((scope.func.key, value[1]), [])
        made, position = var.values[-1] if var.values else ([], 1)
        return self._value(made, var.home(scope), depth + 1) if position == 0 and made and made != value and depth < _STEPS else []

    def _made(self, call: list[Any], scope: Scope) -> list[Wrapper]:
        if not self._makers or _name(call[1]) not in self._makers:
            return []
        callee = self.values.callee(call, scope)
        return self._results.get(callee.key, []) if callee is not None else []

    def makes(self, func: Func, wrapper: Wrapper) -> bool:
        """Notes that a function answers with a writer; whether that is news."""
        known = self._results.setdefault(func.key, [])
        if wrapper in known:
            return False
        known.append(wrapper)
        self._makers.add(func.name)
        self._new_makers.append(func)
        return True

    def keeps(self, field: str, package: str, wrapper: Wrapper) -> bool:
        """Notes that a field of this name, of a struct that this package fills, holds a writer; whether that is news."""
        known = self.fields.setdefault(field, [])
        here = (package, wrapper)
        if here in known:
            return False
        known.append(here)
        return True

    def kept(self, field: str, package: str) -> list[Wrapper]:
        """The writers that a package put into a field of this name."""
        return [wrapper for path, wrapper in self.fields.get(field, ()) if path == package]

    def take(self, fresh: list[Wrapper], audited: Collection[str]) -> tuple[list[Func], set[str]]:
        """Notes where these writers are kept: the functions that were not known to run one, and the names by which others may call one. Who
        keeps a function is nearly always in its package; looking everywhere would cost more than all the rest."""
        by_package: dict[str, dict[str, list[Wrapper]]] = {}
        for wrapper in fresh:
            by_package.setdefault(wrapper.func.file.package, {}).setdefault(wrapper.func.name, []).append(wrapper)
        takers: list[Func] = []
        names: set[str] = set()
        for path, by_name in by_package.items():
            # As a value: a name that is no call.
            words = b"|".join(re.escape(name.encode()) for name in sorted(by_name))
            pattern = re.compile(rb"(?:[(,:={]|return)\s*(?:\w+\.)*(?:" + words + rb")\s*[,)}\n]")
            package = self.values.project.package_of(path)
            for file in package.files if package is not None else ():
                found = [match.end() for match in pattern.finditer(file.source)] if file.path in audited else []
                if found:
                    self.values.project.facts(file, True)
                    lines = [file.source.count(b"\n", 0, at - 1) + 1 for at in found]
                    for func in list(file.funcs):
                        if any(func.line <= line <= int(func.ir[8]) for line in lines):
                            self._scan(func, by_name, takers, names)
        for _ in range(_STEPS):
            before = len(takers), len(names)
            for func in [*takers, *self._callers_of_makers(audited)]:
                self._scan(func, {}, takers, names)
            if before == (len(takers), len(names)):
                break
        return takers, names

    def _callers_of_makers(self, audited: Collection[str]) -> list[Func]:
        """Functions that call what answers with a writer, in its package or importing it."""
        makers, self._new_makers = self._new_makers, []
        found: list[Func] = []
        for maker in makers:
            called = (maker.name.encode() + b"(", maker.name.encode() + b"[")
            path = self.values.project.imported_as(maker.file.package)
            for file in self.values.project.files.values():
                named = file.path in audited and any(one in file.source for one in called)
                if named and (file.package == maker.file.package or path in file.source):
                    self.values.project.facts(file, True)
                    found.extend(func for func in file.funcs if maker.name in func.ir[9] and func.key != maker.key)
        return found

    def _scan(self, func: Func, by_name: dict[str, list[Wrapper]], takers: list[Func], names: set[str]) -> None:
        """Every place of a function where a function value goes: an argument, a field, a variable, an answer."""
        scope: Scope | None = None
        makes = not self._makers.isdisjoint(func.ir[9])
        for place, value in _kept(func.body) if func.body else ():
            name = _name(value)
            if (
                name not in by_name
                and not (value[0] == "i" and (func.key, name) in self._parameters)
                and not (makes and value[0] in ("i", "c"))
            ):
                continue
            scope = scope or self.values.quick_scope(func)
            for wrapper in self._meant(value, scope, by_name.get(name, [])):
                if place[0] == "variable" or (place[0] == "field" and self.keeps(place[1], func.file.package, wrapper)):
                    names.add(place[1])
                elif place[0] == "answer" and self.makes(func, wrapper):
                    names.add(func.name)
                elif place[0] == "argument":
                    taker = self._taker(place[1], place[2], scope, wrapper)
                    if taker is not None:
                        takers.append(taker)

    def _meant(self, value: list[Any], scope: Scope, wrappers: list[Wrapper]) -> list[Wrapper]:
        held = self._value(value, scope)
        given = self.values.callee(["c", value, [], 0, [], 0, 0], scope) if wrappers and not held else None
        return held or [one for one in wrappers if given is not None and one.func.key == given.key]

    def _taker(self, call: list[Any], position: int, scope: Scope, wrapper: Wrapper) -> Func | None:
        """The function that a writer is handed to, if that is news."""
        taker = self.values.callee(call, scope)
        if taker is None or position >= len(taker.ir[4]):
            return None
        name, kind, _ = taker.ir[4][position]
        taken = self.values.types.underlying(self.values.types.of_syntax(kind, taker.file))
        known = self._parameters.setdefault((taker.key, name), [])
        if taken is None or taken[0] != "f" or not name or wrapper in known:
            return None
        known.append(wrapper)
        return self.values.with_body(taker)


def kept_closures(body: list[Any]) -> Iterator[tuple[str, list[Any]]]:
    """Closures that outlive the function: the field they are put into, or nothing where they are its answer."""
    for place, value in _kept(body) if body else ():
        if value[0] == "F" and place[0] in ("field", "answer"):
            yield (place[1] if place[0] == "field" else ""), value[1]


def _kept(body: list[Any]) -> Iterator[tuple[tuple[Any, ...], list[Any]]]:
    """Places where a function may be kept, with what is put there. An answer of a closure is not its function's. Without recursion: source
    may be nested as deep as it likes."""
    stack: list[tuple[list[Any], bool]] = [(body, False)]
    while stack:
        tree, inside = stack.pop()
        match tree[0]:
            case "c" if len(tree) == 7:
                yield from ((("argument", tree, position), value) for position, value in enumerate(tree[2]) if value)
            case "=" if len(tree) > 3 and isinstance(tree[1], list) and isinstance(tree[2], list):
                for left, value in zip(tree[1], tree[2], strict=False):
                    if left and left[0] == "." and value:
                        yield ("field", left[2]), value
                    elif left and left[0] == "i" and value:
                        yield ("variable", left[1]), value
            case "L" if len(tree) > 2:
                yield from ((("field", key), value) for key, value in tree[2] if key and value)
            case "r" if len(tree) > 1 and isinstance(tree[1], list) and not inside:
                yield from ((("answer",), value) for value in tree[1] if value)
        deeper = inside or tree[0] == "F"
        stack.extend((one, deeper) for one in reversed(tree) if isinstance(one, list) and one)


def _name(value: list[Any]) -> str:
    name = value[1] if value[0] == "i" else value[2] if value[0] == "." else ""
    return name if isinstance(name, str) else ""
