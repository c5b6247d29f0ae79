"""What becomes of the error of each call in one function, noted as its statements are met.

Held by `walk`, which tells it where the walk is: what still follows in the enclosing blocks, what the function answers, and whether a loop
without an end runs it. `handling` reads the statements; this knows which of them belong to a call.
"""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from fiferail.audit.golang.handling import error_use, is_error, leaves, marks_done
from fiferail.audit.golang.trees import flat, mentions, parts, render, type_name

if TYPE_CHECKING:
    from collections.abc import Iterator


class Uses:
    """Calls to what their error comes to, by the identity of the call."""

    def __init__(self, results: list[Any]) -> None:
        self.results = results
        self.endless = False
        self.counted = False
        self._of: dict[int, str] = {}
        self._marked: set[int] = set()
        self._rest: list[list[Any]] = []

    def of(self, call: list[Any]) -> str:
        use = self._of.get(id(call), "used")
        return "used" if use == "logged" and id(call) in self._marked else use

    def enter(self, one: list[Any], following: list[Any]) -> None:
        """A statement is walked, with what comes after it in its block. Plain calls, no context: there are many statements."""
        self.note(one, following)
        self._rest.append(following)
        begun, check = (one[1], one) if one[0] == "if" else (one, following[0] if following else [])
        checked = begun and begun[0] == "=" and check and check[0] == "if"
        if checked and marks_done(check[3], self._rest):
            self._marked.update(id(value) for value in begun[2])

    def leave(self) -> None:
        self._rest.pop()

    @contextmanager
    def round(self, endless: bool = False, counted: bool = False) -> Iterator[None]:
        """While the body of a loop is walked: what follows the loop does not follow a round."""
        kept = self._rest, self.endless, self.counted
        self._rest, self.endless, self.counted = [], self.endless or endless, counted
        yield
        self._rest, self.endless, self.counted = kept

    @contextmanager
    def closure(self, results: list[Any]) -> Iterator[None]:
        """While a closure is walked, which answers for itself."""
        kept = self.results, self.endless
        self.results, self.endless = results, False
        yield
        self.results, self.endless = kept

    def note(self, one: list[Any], rest: list[Any]) -> None:
        match one[0]:
            case "e" | "d" | "g":
                if one[1][0] == "c":
                    self._of[id(one[1])] = "ignored"
            case "r":
                for value in one[1]:
                    for part in parts(value):
                        if part[0] == "c":
                            self._of[id(part)] = "returned"
            case "=":
                for value in one[2]:
                    if value[0] == "c":
                        self._of[id(value)] = self._assigned(one, rest)

    def _assigned(self, one: list[Any], rest: list[Any]) -> str:
        name = render(one[1][-1]) if one[1] else ""
        following: list[Any] | None = rest[0] if rest else None
        if name == "_":
            return "ignored"
        if following is None and one[3] == "=":
            # The branch ends here: what follows it looks at the error.
            following = next((rest[0] for rest in reversed(self._rest) if rest), None)
            if following is not None and not (following[0] == "if" and mentions(following[2], name)):
                following = None
        if following is None or following[0] == "r":
            return "returned"
        if following[0] != "if" or not mentions(following[2], name) or not is_error(following[2], name):
            # Looked at later; or a value that says what became of it, or whether to go on.
            return "used"
        use = error_use(following, name)
        if use == "again":
            # The next round of a loop that counts its tries; one over objects leaves this one behind.
            return "used" if self.counted else "conflict-swallowed"
        if use in ("swallowed", "conflict-swallowed") and self._answers_whether(following, rest):
            return "used"
        if use == "logged" and len(rest) > 1 and _looks(rest[1], name):
            # A word about one sort of error, then the error itself.
            following = rest[1]
            use = error_use(following, name)
        if use == "swallowed" and self._told_otherwise(following[3], name):
            return "used"
        if use == "logged" and one[3] == "=" and any(result[0] == name for result in self.results):
            # The named result still holds it when the function ends.
            return "used"
        # A loop without an end that only success leaves tries again.
        return "used" if use == "logged" and self.endless and leaves(following[4] or []) else use

    def _answers_whether(self, check: list[Any], rest: list[Any]) -> bool:
        """A function that answers whether it wrote: false where it did not, true at its end."""
        if not self.results or type_name(self.results[0][1]) != "bool":
            return False
        refused = any(one[0] == "r" and len(one[1]) > 1 and render(one[1][0]) == "false" for one in flat(check[3]))
        following = [*rest[1:], *(self._rest[-1] if self._rest else [])]
        return refused and any(one and one[0] == "r" and one[1] and render(one[1][0]) == "true" for one in following)

    def _told_otherwise(self, body: list[Any], name: str) -> bool:
        """A bare return hands on a named error; where no error is among the results, the caller is told by the value that is."""
        errors = [result for result in self.results if type_name(result[1]) == "error"]
        for one in body:
            if one[0] == "r" and not one[1] and any(result[0] == name for result in errors):
                return True
            if one[0] == "r" and one[1] and not errors:
                return True
        return False


def _looks(one: list[Any], name: str) -> bool:
    """An `if` that looks at an error that it does not make."""
    return bool(one) and one[0] == "if" and not one[1] and mentions(one[2], name) and is_error(one[2], name)
