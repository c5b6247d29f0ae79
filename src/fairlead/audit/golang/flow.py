"""Two status writes on one path: walks a function's statements with the set of writes done so far.

Called by `frontend`. Branches join, returns end a path, closures of a retry run where they stand, deferred ones at the end. The branch
that handles
the failure of a write does not count that write: nothing was stored on that path.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from fairlead.audit.golang.trees import render

if TYPE_CHECKING:
    from fairlead.audit.model import Site

State = frozenset[int]


class _Paths:
    def __init__(self, found: dict[int, Site]) -> None:
        self.found = {key: site for key, site in found.items() if str(site.target) == "status"}
        self.pairs: dict[tuple[int, int], tuple[Site, Site]] = {}
        self.deferred: list[list[Any]] = []
        self.exits: list[State] = []
        self.handling: dict[str, frozenset[int]] = {}

    def run(self, body: list[Any], state: State | None) -> State | None:
        for one in body:
            if state is None:
                return None
            state = self.statement(one, state)
        return state

    def statement(self, one: list[Any], state: State) -> State | None:
        match one[0]:
            case "=" | "v":
                values = one[2] if one[0] == "=" else one[3]
                before = state
                for value in values:
                    state = self.expression(value, state)
                if one[0] == "=" and one[1]:
                    self.handling[render(one[1][-1])] = state - before
                    # Another object in the same variable: what was written was not this one.
                    fresh = {render(left) for left in one[1]}
                    state = frozenset(key for key in state if key not in before or self.found[key].subject not in fresh)
                return state
            case "e" | "g":
                return self.expression(one[1], state)
            case "d":
                self.deferred.append(one[1])
                return state
            case "r":
                for value in one[1]:
                    state = self.expression(value, state)
                self.exits.append(state)
                return None
            case "if":
                return self._if(one, state)
            case "for":
                inside = self.run(one[4], state)
                return state if inside is None else state | inside
            case "rng":
                self.run(one[3], state)
                return state
            case "sw":
                return self._switch(one, state)
            case "{":
                return self.run(one[1], state)
            case "br":
                return None if one[1] != "fallthrough" else state
        return state

    def _if(self, one: list[Any], state: State) -> State | None:
        if one[1]:
            after = self.statement(one[1], state)
            state = state if after is None else after
        state = self.expression(one[2], state)
        condition = render(one[2])
        failed = state
        for name, sites in self.handling.items():
            if f"{name} != nil" in condition:
                failed = failed - sites
        then = self.run(one[3], failed)
        if then is None and self._told(one):
            state = state - self.handling.get(render(one[1][1][-1]), frozenset())
        otherwise = state if one[4] is None else self.run(one[4], state)
        if then is None:
            return otherwise
        return then if otherwise is None else then | otherwise

    def _told(self, one: list[Any]) -> bool:
        """`if written, err := write(); err != nil || written { return }`: the write says whether it wrote, and the path ends where it
        did."""
        begun = one[1]
        if not begun or begun[0] != "=" or len(begun[1]) < 2:
            return False
        condition = render(one[2])
        return any(render(name) != "_" and render(name) in condition for name in begun[1][:-1])

    def _switch(self, one: list[Any], state: State) -> State | None:
        if one[1]:
            after = self.statement(one[1], state)
            state = state if after is None else after
        ends: list[State] = []
        default = False
        for _, body, _, is_default in one[3]:
            default = default or is_default
            end = self.run(body, state)
            if end is not None:
                ends.append(end)
            elif body and body[-1][0] == "br":
                ends.append(state)
        if not default:
            ends.append(state)
        return frozenset().union(*ends) if ends else None

    def expression(self, expr: list[Any], state: State) -> State:
        match expr[0]:
            case "c":
                if expr[1][0] != "i":
                    state = self.expression(expr[1], state)
                for argument in expr[2]:
                    if argument[0] == "F":
                        inside = self._closure(argument[1], state)
                        state = state | inside
                    else:
                        state = self.expression(argument, state)
                if id(expr) in self.found:
                    state = self._written(id(expr), state)
                return state
            case "." | "&" | "*" | "s" | "a" | "...":
                return self.expression(expr[1], state)
            case "b":
                return self.expression(expr[3], self.expression(expr[2], state))
        return state

    def _closure(self, func: list[Any], state: State) -> State:
        kept = self.exits
        self.exits = []
        end = self.run(func[6], state)
        ends = self.exits + ([end] if end is not None else [])
        self.exits = kept
        return frozenset().union(*ends) if ends else state

    def _written(self, key: int, state: State) -> State:
        site = self.found[key]
        for earlier in state:
            other = self.found[earlier]
            if earlier != key and other.subject == site.subject and (other.kind == site.kind):
                self.pairs.setdefault((earlier, key), (other, site))
        return state | {key}


def double_writes(body: list[Any], found: dict[int, Site]) -> list[tuple[Site, Site]]:
    """Pairs of status writes of one object, the second reachable after the first succeeded."""
    if sum(1 for site in found.values() if str(site.target) == "status") < 2:
        return []
    paths = _Paths(found)
    try:
        end = paths.run(body, frozenset())
        ends = paths.exits + ([end] if end is not None else [])
        for call in paths.deferred:
            for state in ends:
                if call[0] == "c" and call[1][0] == "F":
                    paths._closure(call[1][1], state)
                else:
                    paths.expression(call, state)
    except RecursionError:
        return []
    return list(paths.pairs.values())
