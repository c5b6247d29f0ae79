"""Where a written object comes from: which parameter it is, is made from or is found by; or what the receiver holds.

Called by `writes` for the object of a write: a function whose callers know the object is one whose calls are writes too. Values are
followed back through variables, copies and calls, a few steps far.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from fiferail.audit.golang import known
from fiferail.audit.golang.raw import CONTEXT
from fiferail.audit.golang.trees import parts, render

if TYPE_CHECKING:
    from collections.abc import Callable

    from fiferail.audit.golang.scopes import Scope
    from fiferail.audit.golang.types import Type
    from fiferail.audit.golang.values import Values

_FOUND_BY = {"NamespacedName", "ObjectKey", "Request", "ObjectName", "Key"}


class Origins:
    """Origins of objects over one project."""

    def __init__(self, values: Values, is_object: Callable[[Type], bool]) -> None:
        self.values = values
        self.is_object = is_object

    def derived(self, expr: list[Any], scope: Scope, depth: int = 0, names: bool = False) -> int:
        """The parameter that the written object is made from, however: a field of it, an element, the result of a call with it."""
        if depth > 4 or not expr:
            return -1
        for part in parts(expr):
            if part[0] != "i":
                continue
            var = scope.find(part[1])
            if var is None or (var.type is None and CONTEXT.search(part[1])):
                continue
            if var.parameter >= 0:
                if _could_be_object(var.type) or (names and _is_name(var.type)):
                    return var.parameter
                continue
            for value in [*(value for value, _ in var.values), *var.filled, *var.given]:
                found = self.derived(value, var.home(scope), depth + 1, names) if value is not expr else -1
                if found >= 0:
                    return found
        return -1

    def of_receiver(self, expr: list[Any], scope: Scope, depth: int = 0) -> bool:
        """Whether the written object is the receiver's: held by it, a copy of that, what a method finds that is told nothing but a context,
        or what is found or built by a name that the receiver holds: `engine.scope.Gadget()`, `find(client, engine.name)`. What a
        context carries counts too: whoever gives the context knows."""
        while expr and expr[0] in ("&", "*", "a"):
            expr = expr[1]
        receiver = scope.func.ir[1]
        if depth > 4 or not expr or not receiver:
            return False
        if expr[0] == "i":
            var = scope.find(expr[1])
            if var is None or var.parameter >= 0:
                return False
            made = [value for value, position in var.values if position == 0 or var.ranged]
            if var.ranged:
                # `for _, gadget := range engine.gadgets`
                return any(_rooted(value, receiver) for value in made)
            if made and all(self.of_receiver(value, var.home(scope), depth + 1) for value in made):
                return True
            return any(self._told_by_receiver(value, receiver, scope) for value in var.filled)
        if expr[0] == "." and depth:
            # `gadget := scope.Gadget`
            return _rooted(expr, receiver)
        if expr[0] == "[":
            # `gadget := engine.gadgets[name]`
            return _rooted(expr[1], receiver)
        if expr[0] == "L":
            return any(self._told_by_receiver(value, receiver, scope) for _, value in expr[2])
        if expr[0] != "c" or expr[1][0] not in (".", "i"):
            return False
        if expr[1][0] == "." and expr[1][2] in ("DeepCopy", "DeepCopyObject"):
            copied = expr[1][1]
            return _rooted(copied, receiver) if copied[0] == "." else self.of_receiver(copied, scope, depth + 1)
        told = [one for one in expr[2] if not CONTEXT.search(render(one))]
        if not told and self.values.callee(expr, scope) is not None:
            return bool(expr[2]) or (expr[1][0] == "." and _rooted(expr[1][1], receiver))
        return any(self._told_by_receiver(one, receiver, scope) for one in told)

    def is_single(self, expr: list[Any], scope: Scope, depth: int = 0) -> bool:
        """Whether the written object is read by a name that the source says: there is one, and who calls need not say which."""
        while expr and (expr[0] in ("&", "*") or _copies(expr)):
            expr = expr[1] if expr[0] != "c" else expr[1][1]
        var = scope.find(expr[1]) if expr and expr[0] == "i" else None
        if var is None or var.parameter >= 0 or var.ranged:
            return False
        made = [value for value, position in var.values if position == 0]
        if depth < 3 and any(_copies(value) and self.is_single(value, var.home(scope), depth + 1) for value in made):
            return True
        reads = [value for value in made if _reads(value)]
        told = [*var.filled, *(given for read in reads for given in read[2] if not CONTEXT.search(render(given)))]
        return bool(told) and not any(part[0] == "i" and scope.find(part[1]) is not None for one in told for part in parts(one))

    def _told_by_receiver(self, expr: list[Any], receiver: str, scope: Scope, depth: int = 0) -> bool:
        """A name that the receiver holds, a namespace and a name, or the object that has them."""
        for part in parts(expr):
            if part[0] == "." and _rooted(part, receiver):
                kind = self.values.typeof(part, scope)
                if _is_name(kind) or (kind is not None and kind[0] == "n" and self.is_object(kind)):
                    return True
            var = scope.find(part[1]) if part[0] == "i" and depth < 3 and part[1] != receiver else None
            held = [value for value, _ in var.values if value is not expr] if var is not None and var.parameter < 0 else []
            if any(self._told_by_receiver(value, receiver, scope, depth + 1) for value in held):
                return True
        return False

    def parameter(self, expr: list[Any], scope: Scope, depth: int = 0) -> int:
        """The parameter that the written object is, or is a copy of."""
        while expr and expr[0] in ("&", "*", "a"):
            expr = expr[1]
        if depth > 4 or not expr:
            return -1
        if expr[0] == "i":
            var = scope.find(expr[1])
            if var is None:
                return -1
            if var.parameter >= 0:
                return var.parameter
            for beside in var.given if not var.values else ():
                # A closure's own parameter of the very type of what stands beside the closure is most likely that.
                other = scope.find(beside[1]) if beside[0] == "i" else None
                if other is not None and other.parameter >= 0 and var.type is not None and other.type == var.type:
                    return other.parameter
            for value, position in var.values:
                found = self.parameter(value, var.home(scope), depth + 1) if position == 0 or (value and value[0] == "a") else -1
                if found >= 0:
                    return found
        if expr[0] == "c" and expr[1][0] == "." and expr[1][2] in ("DeepCopy", "DeepCopyObject"):
            return self.parameter(expr[1][1], scope, depth + 1)
        if expr[0] == "c" and expr[1][0] == "T" and expr[2]:
            return self.parameter(expr[2][0], scope, depth + 1)
        return -1


def _copies(value: list[Any]) -> bool:
    return value[0] == "c" and value[1][0] == "." and value[1][2] in ("DeepCopy", "DeepCopyObject")


def _reads(value: list[Any]) -> bool:
    """`client.Gadgets().Get(ctx, "cluster", options)`"""
    return bool(value) and value[0] == "c" and value[1][0] == "." and value[1][2] == "Get" and len(value[2]) >= 2


def _rooted(expr: list[Any], name: str) -> bool:
    """A member of a variable, however deep."""
    while expr and expr[0] == ".":
        expr = expr[1]
    return bool(expr) and expr[0] == "i" and expr[1] == name


def _could_be_object(kind: Type) -> bool:
    """Not a context, a client, a name or a flag."""
    if kind is None:
        return True
    if kind[0] == "f":
        # What a function that is handed in makes.
        return any(made is not None and made[0] in ("n", "tp") and _could_be_object(made) for made in kind[2])
    return kind[0] in ("s", "m", "tp", "I", "S") or (
        kind[0] == "n" and not known.role(kind) and kind[2] not in ("Context", "NamespacedName", "ObjectKey", "Logger", "Request")
    )


def _is_name(kind: Type) -> bool:
    """What an object is found by: a text, or a namespace and a name."""
    return kind == ("b", "string") or (kind is not None and kind[0] == "n" and kind[2] in _FOUND_BY)
