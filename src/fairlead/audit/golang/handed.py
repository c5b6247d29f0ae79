"""Writers that are handed to another function as an argument, and run there under the name of a parameter.

Called by `frontend` for new wrappers: `r.workWith(ctx, gadget, r.enter)` makes `then(ctx, gadget, "Done")` in `workWith` a write.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator

    from fairlead.audit.golang.project import Func
    from fairlead.audit.golang.values import Values
    from fairlead.audit.golang.wrapper import Wrapper


class Handed:
    """Parameters that hold a writer, by the function that has them and their name."""

    def __init__(self, values: Values) -> None:
        self.values = values
        self._held: dict[tuple[str, str], list[Wrapper]] = {}

    def held(self, func: Func, name: str) -> list[Wrapper]:
        return self._held.get((func.key, name), [])

    def take(self, fresh: list[Wrapper], audited: Collection[str]) -> list[Func]:
        """Notes where these writers are handed in, and answers the functions that were not known to run one. Who hands on a function is
        nearly always in its package; looking everywhere would cost more than all the rest."""
        by_package: dict[str, dict[str, list[Wrapper]]] = {}
        for wrapper in fresh:
            by_package.setdefault(wrapper.func.file.package, {}).setdefault(wrapper.func.name, []).append(wrapper)
        found: list[Func] = []
        for path, by_name in by_package.items():
            # As an argument: a name that a comma or the end of the call follows.
            pattern = re.compile(rb"[(,]\s*(?:\w+\.)*(?:" + b"|".join(re.escape(name.encode()) for name in sorted(by_name)) + rb")\s*[,)]")
            package = self.values.project.package_of(path)
            for file in package.files if package is not None else ():
                if file.path in audited and pattern.search(file.source) is not None:
                    self.values.project.facts(file, True)
                    for func in list(file.funcs):
                        found.extend(self._in(func, by_name))
        return found

    def _in(self, func: Func, by_name: dict[str, list[Wrapper]]) -> Iterator[Func]:
        for call in _calls(func.body):
            for position, argument in enumerate(call[2]):
                name = argument[1] if argument[0] == "i" else argument[2] if argument[0] == "." else ""
                wrappers = by_name.get(name, []) if isinstance(name, str) else []
                taker = self._taker(func, call, argument, position, wrappers) if wrappers else None
                if taker is not None:
                    yield taker

    def _taker(self, func: Func, call: list[Any], argument: list[Any], position: int, wrappers: list[Wrapper]) -> Func | None:
        scope = self.values.quick_scope(func)
        given = self.values.callee(["c", argument, [], 0, [], 0, 0], scope)
        wrapper = next((one for one in wrappers if given is not None and one.func.key == given.key), None)
        taker = self.values.callee(call, scope) if wrapper is not None else None
        if wrapper is None or taker is None or position >= len(taker.ir[4]):
            return None
        name, kind, _ = taker.ir[4][position]
        taken = self.values.types.underlying(self.values.types.of_syntax(kind, taker.file))
        known = self._held.setdefault((taker.key, name), [])
        if taken is None or taken[0] != "f" or not name or wrapper in known:
            return None
        known.append(wrapper)
        return self.values.with_body(taker)


def _calls(tree: Any) -> Iterator[list[Any]]:
    """Every call of a body, in closures too."""
    if isinstance(tree, list):
        if tree and tree[0] == "c" and len(tree) == 7:
            yield tree
        for one in tree:
            yield from _calls(one)
