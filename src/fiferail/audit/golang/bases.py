"""What a patch is made from, where the function that sends it was handed it: callers and fields are asked.

Called by `frontend` once all functions are walked. A site whose patch is seen gets its verb (locked or not), the place of the base, and
what is worth a note: bases of several sorts, a base that is the object itself, a strategic patch.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from fiferail.audit.golang.walk import follow

if TYPE_CHECKING:
    from collections.abc import Callable

    from fiferail.audit.golang.patches import Patch
    from fiferail.audit.golang.project import Func
    from fiferail.audit.golang.raw import Raw
    from fiferail.audit.golang.scopes import Scope
    from fiferail.audit.golang.walk import Walk
    from fiferail.audit.golang.writes import Writes
    from fiferail.audit.model import Site


class Bases:
    """Bases of patches over one project. `callers` gives the functions that call something of a name."""

    def __init__(self, writes: Writes, callers: Callable[[str], list[Func]]) -> None:
        self.writes = writes
        self.values = writes.values
        self.callers = callers
        self._asked: dict[tuple[str, int], list[Patch]] = {}

    def settle(self, func: Func, site: Site, raw: Raw) -> None:
        if raw.verb == "merge-patch" and str(site.verb) == "merge-patch":
            self._apply(site, self._settled(func, raw.patches))

    def _settled(self, func: Func, patches: list[Patch], depth: int = 0) -> list[Patch]:
        out: list[Patch] = []
        for patch in patches:
            if patch.parameter >= 0:
                out.extend(self._from_callers(func, patch.parameter, depth))
            elif patch.field:
                out.extend(self._settled(func, self.writes.patches.field_patches(patch.field), depth + 1) if depth < 4 else [])
            else:
                out.append(patch)
        return out

    def _from_callers(self, func: Func, position: int, depth: int) -> list[Patch]:
        key = (func.key, position)
        if key in self._asked or depth > 3:
            return self._asked.get(key, [])
        self._asked[key] = []
        out: list[Patch] = []
        for caller in self.callers(func.name):
            held: list[Patch] = []

            def look(walk: Walk, call: list[Any], scope: Scope, held: list[Patch] = held) -> None:
                name = call[1][2] if call[1][0] == "." else call[1][1] if call[1][0] == "i" else ""
                if name == func.name and position < len(call[2]):
                    callee = self.values.callee(call, scope)
                    if callee is None or callee.key == func.key:
                        held.extend(self.writes.patches.patches(call[2][position], scope))

            if follow(self.values, caller, look) is None:
                continue
            out.extend(self._settled(caller, held, depth + 1))
        self._asked[key] = out
        return out

    def _apply(self, site: Site, patches: list[Patch]) -> None:
        if not patches:
            site.notes = (*site.notes, "base not seen")
            return
        verbs = {patch.verb for patch in patches if patch.verb}
        order = ["merge-patch", "merge-patch-locked", "json-patch", "ssa"]
        chosen = next((verb for verb in order if verb in verbs), "merge-patch")
        site.verb = chosen
        if len(verbs) > 1:
            site.notes = (*site.notes, "mixed bases: " + ", ".join(sorted(verbs)))
        based = next((patch for patch in patches if patch.verb == chosen and patch.base), None)
        if based is not None:
            site.base = based.base
            site.base_of = based.subject
            if based.same and based.source.startswith("client.M") and based.subject == site.subject:
                site.notes = (*site.notes, "base is the object itself")
        if any(patch.source.endswith("StrategicMergeFrom") for patch in patches):
            site.notes = (*site.notes, "strategic")
