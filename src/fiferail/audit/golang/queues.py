"""Whose key a controller takes from its queue, where no setup call says it.

Called by `controllers` for the types that write status and were not seen in a setup. Three habits tell: a method that is handed the
object itself (`ReconcileKind(ctx, o *v1.Gadget)`, `Reconcile(ctx, o *v1.Gadget)`); a method that is handed a key and reads the object of
that key from a lister or a client (`SplitMetaNamespaceKey`, then `lister.Get(name)`); and `Get(ctx, req.NamespacedName, &gadget)`. What
is read by a name that was found in another object is not what the queue is about.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from fiferail.audit.golang import known
from fiferail.audit.golang.trees import parts
from fiferail.audit.golang.walk import follow

if TYPE_CHECKING:
    from fiferail.audit.golang.project import Func
    from fiferail.audit.golang.scopes import Scope
    from fiferail.audit.golang.types import Type
    from fiferail.audit.golang.values import Values
    from fiferail.audit.golang.walk import Walk
    from fiferail.audit.golang.writes import Writes

_HANDED = {"ReconcileKind", "FinalizeKind", "ObserveKind", "Reconcile"}
_HANDLES = re.compile(r"(?i)^\w*(?:reconcile|sync|process|handle|work|execute)\w*$")
_READS = re.compile(r"^(?:[gG]et|[fF]etch|[lL]oad|[lL]ookup|[fF]ind)")
_KEY_TYPES = {"NamespacedName", "Request", "ObjectName", "ObjectKey", "Key"}


class Queues:
    """Own kinds of controllers, by what their queue holds."""

    def __init__(self, values: Values, writes: Writes) -> None:
        self.values = values
        self.writes = writes
        self._kinds: dict[str, set[str]] = {}
        self._handed_over: set[str] = set()

    def kinds(self, path: str, receiver: str) -> set[str]:
        key = f"{path}.{receiver}"
        if key not in self._kinds:
            self._kinds[key] = set()
            self._kinds[key] = self._read(path, receiver)
        return self._kinds[key]

    def handed_over(self, key: str) -> bool:
        """Whether a type's Reconcile is given an object that others may have set it up with: no proof of whose kind it is."""
        return key in self._handed_over

    def _read(self, path: str, receiver: str) -> set[str]:
        package = self.values.project.scanned(path)
        if package is None:
            return set()
        out: set[str] = set()
        for name in sorted(package.methods.get(receiver, {}), key=lambda one: (one not in _HANDED, len(one), one)):
            if name not in _HANDED and not _HANDLES.match(name):
                continue
            declared = self.values.project.method(path, receiver, name)
            if declared is None:
                continue
            handed = self._handed(declared) if name in _HANDED else ""
            if handed:
                if name == "Reconcile":
                    self._handed_over.add(f"{path}.{receiver}")
                return {handed}
            keys = self._keys(declared)
            if keys:
                out |= self._read_by_key(self.values.with_body(declared), keys)
        return out

    def _handed(self, func: Func) -> str:
        for _, kind, _ in func.ir[4][1:2]:
            made = self.values.types.of_syntax(kind, func.file)
            return self.writes.kinds.kind_of(made)[0] if self.writes.kinds.is_kind(made) else ""
        return ""

    def _keys(self, func: Func) -> set[int]:
        """The parameters that are a key: a namespaced name, or texts (`key`, `namespace`, `name`)."""
        texts: set[int] = set()
        for position, (name, kind, _) in enumerate(func.ir[4]):
            made = self.values.types.of_syntax(kind, func.file)
            if made is not None and made[0] == "n" and made[2] in _KEY_TYPES:
                return {position}
            if made == ("b", "string") and name not in ("", "_"):
                texts.add(position)
        return texts

    def _read_by_key(self, func: Func, keys: set[int]) -> set[str]:
        seen: list[tuple[str, tuple[int, ...]]] = []

        def look(walk: Walk, call: list[Any], scope: Scope) -> None:
            function, arguments = call[1], call[2]
            name = function[2] if function[0] == "." else function[1] if function[0] == "i" else ""
            if not name or not _READS.match(name):
                return
            if not any(self._from_key(one, scope, keys) for one in arguments if one[0] != "F" and (one[0] != "L" or one[2])):
                return
            kind = self._object(name, call, scope)
            if kind:
                seen.append((kind, walk.block))

        if follow(self.values, func, look) is None or not seen:
            return set()
        first = seen[0][1]
        # One read is of the object; more are of it only where another branch reads another kind.
        return {kind for kind, block in seen if (block == first and kind == seen[0][0]) or block[: len(first)] != first}

    def _object(self, name: str, call: list[Any], scope: Scope) -> str:
        results = self.values.results(call, scope)
        made: Type = results[0] if results else None
        if made is not None and self.writes.kinds.is_kind(made) and not known.role(made):
            return self.writes.kinds.kind_of(made)[0]
        given = self.values.typeof(call[2][2], scope) if name == "Get" and len(call[2]) >= 3 else None
        if given is not None and self.writes.kinds.is_kind(given) and not str(given[2]).endswith("Options"):
            return self.writes.kinds.kind_of(given)[0]
        return ""

    def _from_key(self, expr: list[Any], scope: Scope, keys: set[int], depth: int = 0) -> bool:
        """Whether every variable in an expression leads to the key and nowhere else."""
        led = False
        for part in parts(expr):
            if part[0] != "i":
                continue
            var = scope.find(part[1])
            if var is None:
                continue
            if var.parameter in keys and not var.values:
                led = True
                continue
            if depth > 3 or not var.values or var.ranged:
                return False
            if not all(value is not expr and self._from_key(value, var.home(scope), keys, depth + 1) for value, _ in var.values):
                return False
            led = True
        return led
