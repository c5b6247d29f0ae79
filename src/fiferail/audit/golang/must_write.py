"""Does every call of a function that succeeds pass a write?

Called by `purpose`. The paths that have not written yet are followed through the statements: a path that ends with an error is no success;
a branch that leaves at once, or asks whether anything changed, had nothing to do; a closure runs where it is handed on. What a loop over
something that the function found itself writes was not given to it, and does not count.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from fiferail.audit.golang.trees import ends_process, flat, parts, render, type_name

if TYPE_CHECKING:
    from collections.abc import Collection

    from fiferail.audit.golang.project import Func

ERROR = re.compile(r"\berr(?:s|ors?)?\d?\b|\w*E?[eE]rr\b|\bIs(?:NotFound|Conflict|AlreadyExists|Gone)\(")
_ASIDE = re.compile(r"\bnil\b|Enabled\(|(?i:equal|change|update|modified|differ|needs|\bdirty|patch)|(?i:\bstatus\b).* != ")


class Paths:
    """The paths through a function that have not written yet. `always` says whether none of them ends in success."""

    def __init__(self, func: Func, writes: Collection[int], closure: list[Any] | None = None, *, alone: bool = False) -> None:
        self.func = func
        # Whether the function writes nothing else.
        self.alone = alone
        self.results = closure[5] if closure else func.ir[5]
        self.given = {func.ir[1], *(parameter[0] for parameter in func.ir[4])}
        self.writes = writes
        self.closures: set[str] = set()
        self.wrote = False

    def always(self, body: list[Any]) -> bool:
        falls, leaves = self.run(body)
        return not falls and not leaves

    def run(self, body: list[Any]) -> tuple[bool, bool]:
        """Whether a path reaches the end without having written, and whether one leaves in success without."""
        leaves = False
        for position, one in enumerate(body):
            falls, left = self.statement(one, body[position + 1 :])
            leaves = leaves or left
            if not falls:
                return False, leaves
        return True, leaves

    def statement(self, one: list[Any], rest: list[Any]) -> tuple[bool, bool]:
        """The same for one statement, before the rest of its block."""
        if not one:
            return True, False
        match one[0]:
            case "=":
                return self._assigned([render(name) for name in one[1]], one[2]), False
            case "v":
                return self._assigned(one[1], one[3]), False
            case "e" | "d":
                return not self.writing(one[1]) and not ends_process(one[1]), False
            case "r":
                return False, not any(self.writing(value) for value in one[1]) and self._succeeds(one[1])
            case "if":
                return self._if(one, rest)
            case "for" | "rng":
                return self._loop(one)
            case "sw":
                return self._switch(one, rest)
            case "{":
                return self.run(one[1])
            case "br":
                return False, False
        return True, False

    def _assigned(self, names: list[str], values: list[Any]) -> bool:
        """A closure that is kept does not run yet; whoever names it later runs it."""
        for name, value in zip(names, values, strict=False):
            if value[0] == "F" and self._closure(value[1]):
                self.closures.add(name)
            if len(names) == 1 and self._is_given(value):
                # `items := given.Items()`
                self.given.add(name)
        return not any(value[0] != "F" and self.writing(value) for value in values)

    def _if(self, one: list[Any], rest: list[Any]) -> tuple[bool, bool]:
        if (one[1] and not self.statement(one[1], [])[0]) or self.writing(one[2]):
            return False, False
        condition = render(one[2])
        then, then_wrote = self._branch(one[3])
        other, other_wrote = self._branch(one[4] or [])
        wrote = (then_wrote and not then[0]) or (other_wrote and not other[0])
        asked = self.alone and not one[4] and condition.lstrip("!") not in self.given and not self._refuses(one[3])
        if wrote and _is_quiet(rest) and (asked or _aside(condition)):
            # Whether there was an error, or something to write to, or a change, does not alter what the function is for; where nothing
            # is done otherwise, no other question does, unless the caller answers it.
            return False, False
        leaves = ERROR.search(condition) is None and (
            (then[1] and not _leaves_at_once(one[3])) or (other[1] and not _leaves_at_once(one[4] or []))
        )
        return then[0] or other[0], leaves

    def _refuses(self, body: list[Any]) -> bool:
        """Whether a branch ends with an error that is not the write's: it tells of a failure, on the way to something else."""
        last: list[Any] = body[-1] if body else ["?"]
        if last[0] != "r" or not last[1] or type_name(self.results[-1][1] if self.results else []) != "error":
            return False
        return render(last[1][-1]) not in ("nil", "err") and not self.writing(last[1][-1])

    def _branch(self, body: list[Any]) -> tuple[tuple[bool, bool], bool]:
        before, self.wrote = self.wrote, False
        ended = self.run(body)
        wrote, self.wrote = self.wrote, before or self.wrote
        return ended, wrote

    def _loop(self, one: list[Any]) -> tuple[bool, bool]:
        body, endless = (one[4], one[2] is None) if one[0] == "for" else (one[3], False)
        if one[0] == "rng" and self._is_given(one[2]):
            # What is chosen of what is given was given: `changed = append(changed, gadget)`.
            self.given |= {render(left) for each in flat(body) if each[0] == "=" for left in each[1] if _appends(each[2])}
        (falls, leaves), wrote = self._branch(body)
        if endless:
            return False, leaves
        if one[0] == "rng" and (not self._is_given(one[2]) or _fetches(body)):
            # What it found itself was not given to it.
            return True, leaves
        return falls or not wrote, leaves

    def _is_given(self, expr: list[Any]) -> bool:
        text = render(expr).replace("()", "")
        return "(" not in text and text.split(".")[0].split("[")[0] in self.given and (expr[0] != "c" or expr[1][0] == ".")

    def _switch(self, one: list[Any], rest: list[Any]) -> tuple[bool, bool]:
        if (one[1] and not self.statement(one[1], [])[0]) or (one[2] and self.writing(one[2])):
            return False, False
        falls, leaves, default = False, False, False
        for _, body, _, is_default in one[3]:
            ended = self.run(body)
            # What is none of the kinds that it writes is told so, at most.
            silent = is_default and all(statement[0] == "e" for statement in body)
            falls, leaves = falls or (ended[0] and not silent), leaves or (ended[1] and not _leaves_at_once(body))
            default = default or is_default
        # Where no case fits, and nothing more happens, there was nothing to do.
        return falls or not (default or _is_quiet(rest)), leaves

    def writing(self, expr: list[Any]) -> bool:
        """A write in the expression itself, in a closure that it hands on or runs, or in one kept before."""
        for part in parts(expr):
            if (
                id(part) in self.writes
                or (part[0] == "F" and self._closure(part[1]))
                or (part[0] == "i" and part[1] in self.closures)
                or calls_itself(self.func, part)
            ):
                self.wrote = True
                return True
        return False

    def _closure(self, func: list[Any]) -> bool:
        return Paths(self.func, self.writes, func, alone=self.alone).always(func[6])

    def _succeeds(self, values: list[Any]) -> bool:
        """Whether a return without a write says that all went well."""
        if not values or type_name(self.results[-1][1] if self.results else []) != "error":
            return True
        last = values[-1]
        return str(last[1]) == "nil" if last[0] == "i" else "err" not in render(last).lower()


def calls_itself(func: Func, part: list[Any]) -> bool:
    """Trying again by a call of itself."""
    if part[0] != "c":
        return False
    called = [".", ["i", func.ir[1]], func.name] if func.receiver else ["i", func.name]
    return bool(part[1][: len(called)] == called)


def _aside(condition: str) -> bool:
    return bool(ERROR.search(condition) or _ASIDE.search(condition))


def _is_quiet(rest: list[Any]) -> bool:
    """Nothing more happens: words about it, and the answer."""
    return all(one[0] in ("e", "=", "v", "r", "br") or (one[0] == "if" and ERROR.search(render(one[2]))) for one in rest if one)


def _appends(values: list[Any]) -> bool:
    return len(values) == 1 and values[0][0] == "c" and values[0][1][:2] == ["i", "append"]


def _fetches(body: list[Any]) -> bool:
    """Whether it reads an object from the API: `if err := c.Get(ctx, key, gadget); err != nil`."""
    assigned = [value for one in flat(body) if one[0] == "=" for value in one[2]]
    return any(value[0] == "c" and value[1][0] == "." and value[1][2] == "Get" and len(value[2]) >= 3 for value in assigned)


def _leaves_at_once(body: list[Any]) -> bool:
    """Nothing but a return, and perhaps a word about it: there was nothing to do."""
    return bool(body) and body[-1][0] in ("r", "br") and all(one[0] in ("e", "=", "r", "br") for one in body)
