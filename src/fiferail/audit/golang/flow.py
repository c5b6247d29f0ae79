"""Two status writes on one path: walks a function's statements with the set of writes done so far.

Called by `frontend`. Branches join, returns end a path, closures of a retry run where they stand, deferred ones at the ends that come
after them. The branch that handles the failure of a write does not count that write: nothing was stored on that path. Nor does a branch
where the write's own answer says that it did not write (`done, err := write(); if done { return }`), and two writes under conditions
that exclude each other are on no path. A failure that is reported after an earlier step was stored is no finding by itself.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from fiferail.audit.golang.conditions import NOTHING, implied, is_failure, may_fail
from fiferail.audit.golang.trees import ends_process, flat, render

if TYPE_CHECKING:
    from fiferail.audit.golang.conditions import Literal
    from fiferail.audit.model import Site

State = frozenset[int]
#: Pairs grow with the square of the writes; no function that anybody wrote by hand has this many.
_MOST = 300


class _Paths:
    def __init__(self, found: dict[int, Site]) -> None:
        self.found = {key: site for key, site in found.items() if str(site.target) == "status"}
        self.pairs: dict[tuple[int, int], tuple[Site, Site]] = {}
        self.deferred: list[tuple[list[Any], int]] = []
        self.exits: list[State] = []
        self.handling: dict[str, State] = {}
        self.telling: dict[str, State] = {}
        self.holds: list[Literal] = []
        # Where in `holds` the facts about a name stand or stood.
        self.held: dict[str, list[int]] = {}
        self.under: dict[int, frozenset[Literal]] = {}
        self.texts: dict[int, str] = {}
        self.placed: dict[int, int] = {}
        self.rounds = 0

    def run(self, body: list[Any], state: State | None) -> State | None:
        depth = len(self.holds)
        for one in body:
            if state is None:
                break
            state = self.statement(one, state)
        del self.holds[depth:]
        return state

    def statement(self, one: list[Any], state: State) -> State | None:
        match one[0]:
            case "=" | "v":
                return self._assign(one, state)
            case "e":
                state = self.expression(one[1], state)
                return None if ends_process(one[1]) else state
            case "g":
                # It runs beside: no part of this path.
                self.expression(one[1], frozenset())
                return state
            case "d":
                self.deferred.append((one[1], len(self.exits)))
                return state
            case "r":
                for value in one[1]:
                    state = self.expression(value, state)
                self.exits.append(state)
                return None
            case "if":
                return self._if(one, state)
            case "for":
                self.rounds += 1
                inside = self.run(one[4], state)
                self.rounds -= 1
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

    def _hold(self, facts: list[Literal]) -> None:
        for fact in facts:
            self.held.setdefault(fact.name, []).append(len(self.holds))
            self.holds.append(fact)

    def _assign(self, one: list[Any], state: State) -> State:
        values = one[2] if one[0] == "=" else one[3]
        before = state
        for value in values:
            state = self.expression(value, state)
        if one[0] != "=" or not one[1]:
            return state
        names = [render(left) for left in one[1]]
        self.handling[names[-1]] = state - before
        for name in names:
            self.telling[name] = state - before if name != "_" else frozenset()
        # Another object in the same variable: what was written was not this one. And what was known of it is no longer.
        fresh = set(names)
        for name in fresh:
            for position in self.held.pop(name, ()):
                if position < len(self.holds) and self.holds[position].name == name:
                    self.holds[position] = NOTHING
        return frozenset(key for key in state if key not in before or self.found[key].subject not in fresh)

    def _if(self, one: list[Any], state: State) -> State | None:
        if one[1]:
            after = self.statement(one[1], state)
            state = state if after is None else after
        state = self.expression(one[2], state)
        depth = len(self.holds)
        failed = state
        for name, sites in self.handling.items():
            if sites and may_fail(one[2], name):
                failed = failed - sites
        self._hold(implied(one[2], True))
        then = self.run(one[3], self._untold(self.holds[depth:], failed))
        del self.holds[depth:]
        self._hold(implied(one[2], False))
        state = self._untold(self.holds[depth:], state)
        otherwise = state if one[4] is None else self.run(one[4], state)
        if then is not None:
            del self.holds[depth:]
            if otherwise is None:
                self._hold(implied(one[2], True))
        return otherwise if then is None else then if otherwise is None else then | otherwise

    def _untold(self, facts: list[Literal], state: State) -> State:
        """Without the writes whose own answer says, where these facts hold, that they did not write."""
        for fact in facts:
            if not fact.true and fact.plain:
                told = self.telling.get(fact.name, frozenset())
                if fact.text.endswith(" != nil"):
                    # What comes last and is compared with nil is an error: none of it means that the write was made.
                    told = told - self.handling.get(fact.name, frozenset())
                state = state - told - {fact.call}
        return state

    def _switch(self, one: list[Any], state: State) -> State | None:
        if one[1]:
            after = self.statement(one[1], state)
            state = state if after is None else after
        ends: list[State] = []
        default = False
        for values, body, _, is_default in one[3]:
            default = default or is_default
            depth = len(self.holds)
            if not one[2] and len(values) == 1:
                self._hold(implied(values[0], True))
            end = self.run(body, state)
            del self.holds[depth:]
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
                    self.texts[id(expr)], self.placed[id(expr)] = render(expr), self.rounds
                    state = self._written(id(expr), state)
                    for name in _set_inside(expr):
                        self.telling[name] = frozenset({id(expr)})
                return state
            case "." | "&" | "*" | "s" | "a" | "...":
                return self.expression(expr[1], state)
            case "u":
                return self.expression(expr[2], state)
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
        self.under[key] = facts = frozenset(self.holds)
        for earlier in state:
            other = self.found[earlier]
            if earlier == key or other.subject != site.subject or other.kind != site.kind:
                continue
            if self.rounds > self.placed[earlier] and self.texts[earlier] == self.texts[key]:
                # The very same call in a loop after it: what failed is tried again.
                continue
            if not any(fact.opposite in facts for fact in self.under.get(earlier, ()) if fact.lasts):
                self.pairs.setdefault((earlier, key), (other, site))
        return state | {key}

    def found_pairs(self) -> list[tuple[Site, Site]]:
        """The pairs, those first that are on a path where nothing failed; none where every second write reports a failure."""
        strong = {keys: pair for keys, pair in self.pairs.items() if not self._reports_failure(*keys)}
        return [*strong.values(), *(pair for keys, pair in self.pairs.items() if keys not in strong)] if strong else []

    def _reports_failure(self, earlier: int, key: int) -> bool:
        return self.found[key].failing or any(is_failure(fact) for fact in self.under[key] - self.under.get(earlier, frozenset()))


def _set_inside(call: list[Any]) -> list[str]:
    """Flags of the function that a closure handed to the call raises or answers with: they say whether it wrote."""
    out: list[str] = []
    for argument in call[2]:
        if argument[0] != "F":
            continue
        body = list(flat(argument[1][6]))
        answered = {render(value) for one in body if one[0] == "r" for value in one[1]}
        out += [
            render(one[1][0])
            for one in body
            if one[0] == "="
            and one[3] == "="
            and len(one[1]) == 1
            and one[2]
            and (render(one[2][0]) == "true" or render(one[1][0]) in answered)
        ]
    return out


def double_writes(body: list[Any], found: dict[int, Site]) -> list[tuple[Site, Site]]:
    """Pairs of status writes of one object, the second reachable after the first succeeded."""
    if not 2 <= sum(1 for site in found.values() if str(site.target) == "status") <= _MOST:
        return []
    paths = _Paths(found)
    try:
        end = paths.run(body, frozenset())
        ends = paths.exits + ([end] if end is not None else [])
        for call, since in paths.deferred:
            for state in ends[since:]:
                if call[0] == "c" and call[1][0] == "F":
                    paths._closure(call[1][1], state)
                else:
                    paths.expression(call, state)
    except RecursionError:
        return []
    return paths.found_pairs()
