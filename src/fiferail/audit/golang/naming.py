"""The kind that names tell, where the type of an object comes from a module that cannot be seen.

Called by `writes` as the last resort. A name counts only when the same file speaks of an API type with that name: `machine`, and
`clusterv1.Machine` somewhere near; `GetOwnerMachine(...)`. It never overrules a type.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from fiferail.audit.golang import known

if TYPE_CHECKING:
    from fiferail.audit.golang.project import GoFile
    from fiferail.audit.golang.scopes import Scope
    from fiferail.audit.golang.values import Values

_TYPES = re.compile(rb"\b(\w+)\.([A-Z]\w+)")
_PARTS = (b"List", b"Status", b"Spec", b"Options")
_GETTER = re.compile(r"^(?:[gG]et|[fF]etch|[fF]ind|[lL]oad|[nN]ew|[lL]ookup)(?:Owner)?([A-Z]\w*?)(?:(?:From|By|For|If|With|Of)[A-Z]\w*)?$")


class KindsNamed:
    """API types that files speak of, by their lower-case name."""

    def __init__(self, values: Values) -> None:
        self.values = values
        self._spoken: dict[str, dict[str, tuple[str, str]]] = {}

    def package_of(self, kind: str, scope: Scope) -> str:
        """The package of a kind that the file speaks of."""
        return self._kinds(scope.file).get(kind.lower(), ("", ""))[1]

    def proper(self, kind: str, scope: Scope) -> str:
        """A kind that was made of a resource's name, as the file spells it."""
        return self._kinds(scope.file).get(kind.lower(), (kind, ""))[0]

    def of(self, expr: list[Any], scope: Scope) -> str:
        """The kind that an expression's name, or the function it came from, is named after."""
        while expr and expr[0] in ("&", "*"):
            expr = expr[1]
        if not expr or expr[0] not in ("i", ".", "c"):
            return ""
        spoken = self._kinds(scope.file)
        if expr[0] == "c":
            return self._by_getter(expr, spoken)
        name = str(expr[1] if expr[0] == "i" else expr[2]).lower()
        if name in spoken:
            return spoken[name][0]
        var = scope.find(expr[1]) if expr[0] == "i" else None
        for value, position in var.values if var is not None else ():
            if position == 0 and value and value[0] == "c" and value[1][0] == "." and value[1][2] == "DeepCopy" and value[1][1] != expr:
                return self.of(value[1][1], scope)
            if position == 0 and value and value[0] == "c":
                found = self._by_getter(value, spoken)
                if found:
                    return found
        return ""

    def _by_getter(self, call: list[Any], spoken: dict[str, tuple[str, str]]) -> str:
        function = call[1]
        name = function[2] if function[0] == "." else function[1] if function[0] == "i" else ""
        match = _GETTER.match(str(name))
        return spoken.get(match.group(1).lower(), ("", ""))[0] if match else ""

    def _kinds(self, file: GoFile) -> dict[str, tuple[str, str]]:
        if file.path not in self._spoken:
            imports = self.values.project.imports(file)
            self._spoken[file.path] = {
                name.decode().lower(): (name.decode(), imports[alias.decode()])
                for alias, name in _TYPES.findall(file.source)
                if known.API_PACKAGE.search(imports.get(alias.decode(), "")) and not name.endswith(_PARTS)
            }
        return self._spoken[file.path]
