"""Compiles CEL rules: checks types as the server does and makes a function that evaluates the rule.

Called by `cel` when a CRD is judged and when its rules first run. A rule that the server would not compile is refused with the
server's words where they are about types and names. A rule that uses what this implementation lacks raises Unsupported, so
that a CRD is never taken with a rule that would be judged wrongly.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from ...errors import Unsupported
from . import celcost, patterns
from . import celruntime as runtime
from .celmeter import SIZED, charge, step, weight
from .celruntime import CelError, Optional
from .celsyntax import Expr, SyntaxRefused, parse
from .celtypes import BOOL, DOUBLE, DURATION, DYN, ERROR, INT, NULL, STRING, TIMESTAMP, Type, fits, list_of, optional, settled

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

#: Evaluates an expression, given the values of variables.
Run: TypeAlias = "Callable[[dict[str, Any]], Any]"


class CompileRefused(Exception):
    """The server would not compile the rule; the text is what it says after `compilation failed: `."""


@dataclass(frozen=True)
class Compiled:
    """A compiled expression."""

    type: Type
    run: Run
    uses_old_self: bool
    cost: int | None = None  # an upper bound, where it can be told
    folded: str = ""  # why no program can be made of it: a literal that cannot be converted


_SCALARS: Final = frozenset({"bool", "int", "double", "null_type", "timestamp", "duration", "type"})
_A, _B = Type("A"), Type("B")
_LIST, _MAP, _BYTES = list_of(_A), Type("map", (_A, _B)), Type("bytes")
_ORDERED: Final = (BOOL, INT, DOUBLE, STRING, _BYTES, TIMESTAMP, DURATION)


def _same(types: tuple[Type, ...], result: Type | None = None) -> list[tuple[tuple[Type, ...], Type]]:
    return [((kind, kind), result or kind) for kind in types]


_COMPARED: Final = [*_same(_ORDERED, BOOL), ((INT, DOUBLE), BOOL), ((DOUBLE, INT), BOOL)]
#: Overloads: argument types and result. A method's target is its first argument.
_OPERATORS: Final[dict[str, list[tuple[tuple[Type, ...], Type]]]] = {
    "_+_": [
        *_same((INT, DOUBLE, STRING, _BYTES, DURATION)), ((_LIST, _LIST), _LIST), ((TIMESTAMP, DURATION), TIMESTAMP),
        ((DURATION, TIMESTAMP), TIMESTAMP),
    ],
    "_-_": [*_same((INT, DOUBLE, DURATION)), ((TIMESTAMP, TIMESTAMP), DURATION), ((TIMESTAMP, DURATION), TIMESTAMP)],
    "_*_": _same((INT, DOUBLE)),
    "_/_": _same((INT, DOUBLE)),
    "_%_": _same((INT,)),
    "_<_": _COMPARED,
    "_<=_": _COMPARED,
    "_>_": _COMPARED,
    "_>=_": _COMPARED,
    "_==_": [((_A, _A), BOOL)],
    "_!=_": [((_A, _A), BOOL)],
    "@in": [((_A, _LIST), BOOL), ((_A, _MAP), BOOL)],
    "!_": [((BOOL,), BOOL)],
    "-_": [((INT,), INT), ((DOUBLE,), DOUBLE)],
    "_?_:_": [((BOOL, _A, _A), _A)],
    "_[_]": [((_LIST, INT), _A), ((_MAP, _A), _B)],
}  # fmt: skip
_FUNCTIONS: Final[dict[str, list[tuple[tuple[Type, ...], Type]]]] = {
    "size": [((kind,), INT) for kind in (STRING, _BYTES, _LIST, _MAP)],
    "string": [((kind,), STRING) for kind in (INT, DOUBLE, STRING, BOOL, _BYTES, TIMESTAMP, DURATION)],
    "int": [((kind,), INT) for kind in (INT, DOUBLE, STRING, TIMESTAMP)],
    "double": [((kind,), DOUBLE) for kind in (DOUBLE, INT, STRING)],
    "dyn": [((_A,), DYN)],
    "duration": [((STRING,), DURATION), ((DURATION,), DURATION)],
    "timestamp": [((STRING,), TIMESTAMP), ((TIMESTAMP,), TIMESTAMP)],
    "matches": [((STRING, STRING), BOOL)],
    "sets.contains": [((_LIST, _LIST), BOOL)],
    "sets.equivalent": [((_LIST, _LIST), BOOL)],
    "sets.intersects": [((_LIST, _LIST), BOOL)],
    "optional.of": [((_A,), optional(_A))],
    "optional.none": [((), optional(_A))],
}
_COMPARABLE: Final = (INT, DOUBLE, BOOL, STRING, _BYTES, TIMESTAMP, DURATION)
_METHODS: Final[dict[str, list[tuple[tuple[Type, ...], Type]]]] = {
    "size": _FUNCTIONS["size"],
    "contains": [((STRING, STRING), BOOL)],
    "startsWith": [((STRING, STRING), BOOL)],
    "endsWith": [((STRING, STRING), BOOL)],
    "matches": [((STRING, STRING), BOOL)],
    "charAt": [((STRING, INT), STRING)],
    "indexOf": [((STRING, STRING), INT), ((STRING, STRING, INT), INT), ((_LIST, _A), INT)],
    "lastIndexOf": [((STRING, STRING), INT), ((_LIST, _A), INT)],
    "join": [((list_of(STRING),), STRING), ((list_of(STRING), STRING), STRING)],
    "lowerAscii": [((STRING,), STRING)],
    "upperAscii": [((STRING,), STRING)],
    "replace": [((STRING, STRING, STRING), STRING), ((STRING, STRING, STRING, INT), STRING)],
    "split": [((STRING, STRING), list_of(STRING)), ((STRING, STRING, INT), list_of(STRING))],
    "substring": [((STRING, INT), STRING), ((STRING, INT, INT), STRING)],
    "trim": [((STRING,), STRING)],
    "format": [((STRING, list_of(DYN)), STRING)],
    "find": [((STRING, STRING), STRING)],
    "findAll": [((STRING, STRING), list_of(STRING)), ((STRING, STRING, INT), list_of(STRING))],
    "isSorted": [((list_of(kind),), BOOL) for kind in _COMPARABLE],
    "sum": [((list_of(kind),), kind) for kind in (INT, DOUBLE, DURATION)],
    "min": [((list_of(kind),), kind) for kind in _COMPARABLE],
    "max": [((list_of(kind),), kind) for kind in _COMPARABLE],
    "hasValue": [((optional(_A),), BOOL)],
    "value": [((optional(_A),), _A)],
    "orValue": [((optional(_A), _A), _A)],
    **{name: [((TIMESTAMP,), INT)] for name in runtime.PARTS},
}
for _name in ("getHours", "getMinutes", "getSeconds", "getMilliseconds"):
    _METHODS[_name] = [*_METHODS[_name], ((DURATION,), INT)]

#: What the server knows and this implementation does not: a rule that calls one is refused by name.
_UNSUPPORTED: Final = frozenset(
    # ruff: noqa: SIM905
    """type uint bytes bool url isURL getScheme getHost getHostname getPort getEscapedPath getQuery quantity isQuantity isInteger
    asInteger asApproximateFloat sign isGreaterThan isLessThan compareTo add sub ip isIP cidr isCIDR containsIP containsCIDR masked
    prefixLength family
    isUnspecified isLoopback isLinkLocalMulticast isLinkLocalUnicast isGlobalUnicast isCanonical validate semver isSemver major minor patch
    authorizer transformList transformMap transformMapEntry existsOne slice flatten distinct reverse sort sortBy first last optFlatMap or
    ofNonZeroValue unwrap unwrapOpt quote range strings lists format named dns1123Label dns1123Subdomain""".split()
)
_NAMESPACES: Final = frozenset({"sets", "optional", "strings", "lists", "math", "base64", "format"})
_MACROS: Final = frozenset({"all", "exists", "exists_one", "map", "filter"})


def compile_rule(text: str, variables: dict[str, Type]) -> Compiled:
    """A rule, with the types of its variables."""
    checker = _Checker(text, variables)
    try:
        expr = parse(text)
    except SyntaxRefused as refusal:
        checker.report(refusal.at, str(refusal))
        raise CompileRefused(checker.said()) from None
    kind, run = checker.check(expr, variables)
    checker.errors = checker.errors or checker.late
    if checker.errors:
        raise CompileRefused(checker.said())
    cost = celcost.estimate(expr, checker.types, variables)
    return Compiled(kind, run, "oldSelf" in checker.used, cost, checker.folded)


class _Checker:
    """One compilation: collects what is wrong, and which variables are used."""

    def __init__(self, text: str, variables: dict[str, Type]) -> None:
        self.text = text
        self.variables = variables
        self.errors: list[tuple[int, str]] = []
        self.types: dict[int, Type] = {}
        self.late: list[tuple[int, str]] = []  # literals that mean nothing: said only when the types are right
        self.folded = ""  # what went wrong when a conversion of a literal was worked out beforehand
        self.used: set[str] = set()

    def report(self, at: int, text: str) -> tuple[Type, Run]:
        self.errors.append((at, text))
        return ERROR, lambda variables: None

    def said(self) -> str:
        """Each error with its line and a mark under its column."""
        texts = []
        for at, text in sorted(self.errors, key=lambda error: error[0]):
            before = self.text[:at]
            line, column = before.count("\n") + 1, at - (before.rfind("\n") + 1)
            source = self.text.split("\n")[line - 1].replace("\t", " ")
            # Under characters of more than one byte stand the wide forms of the marks.
            dots = "".join("." if char.isascii() else "．" for char in source[:column])
            mark = "^" if source[column : column + 1].isascii() else "＾"
            texts.append(f"ERROR: <input>:{line}:{column + 1}: {text}\n | {source}\n | {dots}{mark}")
        return "\n".join(texts)

    def check(self, expr: Expr, scope: dict[str, Type]) -> tuple[Type, Run]:
        """The type of an expression and how to evaluate it."""
        kind, run = self.checked(expr, scope)
        self.types[id(expr)] = kind
        return kind, run

    def checked(self, expr: Expr, scope: dict[str, Type]) -> tuple[Type, Run]:
        """The same, not yet noted down."""
        if expr.kind == "literal":
            value = expr.value
            kinds = {bool: BOOL, int: INT, float: DOUBLE, str: STRING, type(None): NULL}
            return kinds[type(value)], lambda variables: value
        if expr.kind == "name":
            return self.name(expr, scope)
        if expr.kind in ("select", "optselect"):
            return self.select(expr, scope, presence=False)
        if expr.kind in ("index", "optindex"):
            return self.index(expr, scope)
        if expr.kind == "list":
            return self.list(expr, scope)
        if expr.kind == "map":
            return self.map(expr, scope)
        return self.call(expr, scope)

    def name(self, expr: Expr, scope: dict[str, Type]) -> tuple[Type, Run]:
        name: str = expr.value
        kind = scope.get(name)
        if kind is None:
            if name in ("int", "string", "bool", "double", "list", "map", "null_type", "bytes", "uint", "type", "dyn"):
                raise Unsupported("types as values in a CEL rule", name)
            return self.report(expr.at, f"undeclared reference to '{name}' (in container '')")
        if kind is self.variables.get(name):
            self.used.add(name)
        if kind.name == "dyn":
            return kind, lambda variables: variables[name]
        return kind, lambda variables: runtime.cook(variables[name], kind)

    def select(self, expr: Expr, scope: dict[str, Type], *, presence: bool) -> tuple[Type, Run]:
        assert expr.target is not None
        owner, run = self.check(expr.target, scope)
        name: str = expr.value
        maybe = expr.kind == "optselect" or owner.name == "optional_type"
        inner = owner.args[0] if owner.name == "optional_type" else owner
        member = name
        if inner.name == "object":
            found = (inner.fields or {}).get(name)
            if found is None:
                return self.report(expr.at, f"undefined field '{name}'")
            member, kind = found
        elif inner.name == "map":
            kind = inner.args[1]
        elif inner.name in ("dyn", "!error!"):
            kind = inner
        else:
            return self.report(expr.at, f"type '{inner}' does not support field selection")
        field = inner.name == "object"
        if presence:
            return BOOL, _presence(run, member, field)
        if maybe:
            return optional(kind), _optional_member(run, member, kind, field)
        return kind, lambda variables: runtime.cook(runtime.select(run(variables), member, field=field), kind)

    def index(self, expr: Expr, scope: dict[str, Type]) -> tuple[Type, Run]:
        assert expr.target is not None
        owner, run = self.check(expr.target, scope)
        key_type, key = self.check(expr.args[0], scope)
        maybe = expr.kind == "optindex" or owner.name == "optional_type"
        inner = owner.args[0] if owner.name == "optional_type" else owner
        kind = self.resolve("_[_]", expr.at, (inner, key_type))
        if kind is None:
            return ERROR, run
        if maybe:
            return optional(kind), _optional_entry(run, key, kind)
        return kind, lambda variables: runtime.cook(runtime.index(run(variables), key(variables)), kind)

    def list(self, expr: Expr, scope: dict[str, Type], *, mixed: bool = False) -> tuple[Type, Run]:
        item: Type | None = None
        runs = []
        for arg in expr.args:
            kind, run = self.check(arg, scope)
            runs.append(run)
            if mixed:
                item = DYN
            elif item is None or item.name == "dyn":
                item = kind
            elif not fits(kind, item, {}):
                self.report(arg.at, f"expected type '{item}' but found '{kind}'")
                item = ERROR
        return list_of(item or _A), lambda variables: [run(variables) for run in runs]

    def map(self, expr: Expr, scope: dict[str, Type]) -> tuple[Type, Run]:
        first: list[Type] = []
        runs = []
        for position, arg in enumerate(expr.args):
            kind, run = self.check(arg, scope)
            runs.append(run)
            if position < 2:
                first.append(kind)
            elif not fits(kind, first[position % 2], {}):
                self.report(arg.at, f"expected type '{first[position % 2]}' but found '{kind}'")
        pairs = list(zip(runs[::2], runs[1::2], strict=True))
        return Type("map", tuple(first) or (_A, _B)), lambda variables: {key(variables): value(variables) for key, value in pairs}

    def call(self, expr: Expr, scope: dict[str, Type]) -> tuple[Type, Run]:
        name: str = expr.value
        if name in ("_&&_", "_||_") and expr.target is None:
            return self.logic(expr, scope)
        if name == "has" and expr.target is None and len(expr.args) == 1:
            arg = expr.args[0]
            if arg.kind != "select":
                return self.report(arg.at, "invalid argument to has() macro")
            return self.select(Expr("select", expr.at, arg.value, (), arg.target), scope, presence=True)
        if expr.target is not None and name in _MACROS and len(expr.args) in (2, 3) and expr.args[0].kind == "name":
            return self.comprehension(expr, scope)
        if expr.target is not None and name == "optMap" and len(expr.args) == 2 and expr.args[0].kind == "name":
            return self.opt_map(expr, scope)
        return self.function(expr, scope)

    def logic(self, expr: Expr, scope: dict[str, Type]) -> tuple[Type, Run]:
        runs = []
        for arg in expr.args:
            kind, run = self.check(arg, scope)
            runs.append(run)
            if not fits(kind, BOOL, {}):
                self.report(arg.at, f"expected type 'bool' but found '{kind}'")
        return BOOL, _absorbing(runs[0], runs[1], expr.value == "_||_")

    def comprehension(self, expr: Expr, scope: dict[str, Type]) -> tuple[Type, Run]:
        assert expr.target is not None
        name: str = expr.value
        if len(expr.args) == 3 and name != "map":
            raise Unsupported("two-variable comprehensions in a CEL rule", name)
        owner, source = self.check(expr.target, scope)
        if owner.name not in ("list", "map", "dyn", "!error!"):
            text = f"expression of type '{owner}' cannot be range of a comprehension (must be list, map, or dynamic)"
            return self.report(expr.target.at, text)
        variable: str = expr.args[0].value
        item = owner.args[0] if owner.args else DYN
        inside = {**scope, variable: item}
        checked = [(arg, *self.check(arg, inside)) for arg in expr.args[1:]]
        for arg, kind, _ in checked[: 1 if name != "map" else len(checked) - 1]:
            if not fits(kind, BOOL, {}):
                self.report(arg.at, f"expected type 'bool' but found '{kind}'")
        runs = [run for _, _, run in checked]
        if name == "map":
            keep = runs[0] if len(runs) == 2 else None
            return list_of(checked[-1][1]), _mapped(source, variable, keep, runs[-1])
        if name == "filter":
            return list_of(item), _filtered(source, variable, runs[0])
        quantifiers = {"all": _every, "exists": _some, "exists_one": _one}
        return BOOL, quantifiers[name](source, variable, runs[0])

    def opt_map(self, expr: Expr, scope: dict[str, Type]) -> tuple[Type, Run]:
        assert expr.target is not None
        owner, source = self.check(expr.target, scope)
        if not fits(owner, optional(_A), {}):
            text = f"found no matching overload for 'hasValue' applied to '{owner}.()'"
            self.report(expr.at, text)
            return self.report(expr.at, text.replace("hasValue", "value"))
        variable: str = expr.args[0].value
        kind, run = self.check(expr.args[1], {**scope, variable: owner.args[0] if owner.args else DYN})

        def evaluate(variables: dict[str, Any]) -> Any:
            found = source(variables)
            return Optional(True, run({**variables, variable: found.value})) if found.present else found

        return optional(kind), evaluate

    def function(self, expr: Expr, scope: dict[str, Type]) -> tuple[Type, Run]:
        name: str = expr.value
        target = expr.target
        if target is not None and target.kind == "name" and target.value in _NAMESPACES and target.value not in scope:
            name, target = f"{target.value}.{name}", None
        args = expr.args if target is None else (target, *expr.args)
        table = _METHODS if target is not None else {**_FUNCTIONS, **_OPERATORS}
        mixed = name == "format" and target is not None
        checked = [self.list(arg, scope, mixed=True) if mixed and arg.kind == "list" else self.check(arg, scope) for arg in args]
        self.literals(name, expr, target)
        known = table.get(name)
        if known is None:
            if name.rpartition(".")[2] in _UNSUPPORTED or name.partition(".")[0] in _NAMESPACES:
                raise Unsupported(f"the CEL function {name}")
            if name in _FUNCTIONS or name in _METHODS:
                return self.mismatch(name, expr.at, tuple(kind for kind, _ in checked), method=target is not None)
            return self.report(expr.at, f"undeclared reference to '{name}' (in container '')")
        types = tuple(kind for kind, _ in checked)
        result = self.resolve(name, expr.at, types, method=target is not None)
        if result is None:
            return ERROR, lambda variables: None
        return result, _called(name, [run for _, run in checked], types)

    def literals(self, name: str, expr: Expr, target: Expr | None) -> None:
        """Durations, times and patterns that are written out are checked at once."""
        literal = expr.args[0] if expr.args and (len(expr.args) == 1 or target is None) else None
        if name == "matches" and target is None and len(expr.args) == 2:
            literal = expr.args[1]
        if literal is None or literal.kind != "literal" or not isinstance(literal.value, str):
            return
        try:
            if name == "duration":
                runtime.duration(literal.value)
            elif name == "timestamp":
                runtime.timestamp(literal.value)
            elif name == "matches":
                patterns.matcher(literal.value)
            elif name in ("int", "double") and target is None:
                self.fold(name, literal.value)
        except (CelError, patterns.PatternError):
            self.late.append((literal.at, f"invalid {name} argument"))

    def fold(self, name: str, text: str) -> None:
        """Conversions of literals are done once, when the program is made."""
        try:
            runtime.FUNCTIONS[name](text)
        except CelError as error:
            self.folded = self.folded or str(error)

    def resolve(self, name: str, at: int, given: tuple[Type, ...], *, method: bool = False) -> Type | None:
        """The result type of a call, or None after a report."""
        table = _OPERATORS.get(name) or (_METHODS if method else _FUNCTIONS)[name]
        results: list[Type] = []
        for wanted, result in table:
            bound: dict[str, Type] = {}
            if len(wanted) == len(given) and all(fits(mine, other, bound) for mine, other in zip(given, wanted, strict=True)):
                results.append(settled(result, bound))
        if not results:
            if name in _OPERATORS or name in runtime.FUNCTIONS:
                self.unsupported_overload(name, given, method=method)
            self.mismatch(name, at, given, method=method)
            return None
        return results[0] if all(result == results[0] for result in results) else DYN

    def unsupported_overload(self, name: str, given: tuple[Type, ...], *, method: bool) -> None:
        """Overloads that only the server has."""
        if method and name in runtime.PARTS and len(given) == 2:
            raise Unsupported("time zones in a CEL rule", name)
        if name == "matches" and given and given[0].name == "list":
            return

    def mismatch(self, name: str, at: int, given: tuple[Type, ...], *, method: bool) -> tuple[Type, Run]:
        shown = f"{given[0]}.({', '.join(map(str, given[1:]))})" if method else f"({', '.join(map(str, given))})"
        return self.report(at, f"found no matching overload for '{name}' applied to '{shown}'")


def _called(name: str, runs: list[Run], types: tuple[Type, ...]) -> Run:
    if name == "_?_:_":
        condition, yes, no = runs
        return lambda variables: yes(variables) if condition(variables) else no(variables)
    if name in ("_==_", "_!=_"):
        left, right = runs
        unordered = next((kind for kind in types if kind.name == "list" and kind.unordered), None)
        wanted = name == "_==_"
        if unordered is not None:
            listed = unordered
            return _weighed(name, lambda one, other: runtime.equal_unordered(one, other, listed) is wanted, runs)
        if all(kind.name in _SCALARS for kind in types):
            return lambda variables: runtime.equal(left(variables), right(variables)) is wanted
        return _weighed(name, lambda one, other: runtime.equal(one, other) is wanted, runs)
    if name == "_+_" and any(kind.unordered for kind in types):
        raise Unsupported("adding lists of type set or map in a CEL rule")
    if name == "dyn":
        return runs[0]
    if name == "orValue":
        maybe, other = runs
        return lambda variables: found.value if (found := maybe(variables)).present else other(variables)
    apply = runtime.FUNCTIONS[name]
    if any(kind.name == "dyn" for kind in types):
        return _weighed(name, lambda *values: _dynamic(apply, [*values]), runs)
    if any(kind.name not in _SCALARS for kind in types):
        return _weighed(name, apply, runs)
    if len(runs) == 1:
        only = runs[0]
        return lambda variables: apply(only(variables))
    if len(runs) == 2:
        first, second = runs
        return lambda variables: apply(first(variables), second(variables))
    return lambda variables: apply(*[run(variables) for run in runs])


def _weighed(name: str, apply: Callable[..., Any], runs: list[Run]) -> Run:
    """A call whose work grows with its arguments."""

    def evaluate(variables: dict[str, Any]) -> Any:
        values = [run(variables) for run in runs]
        for value in values:
            if type(value) in SIZED:
                charge(variables, weight(name, values))
                break
        return apply(*values)

    return evaluate


def _dynamic(apply: Callable[..., Any], values: list[Any]) -> Any:
    """A call whose overload only the values decide."""
    try:
        return apply(*values)
    except (TypeError, AttributeError, ValueError):
        raise CelError("no such overload") from None


def _presence(run: Run, member: str, field: bool) -> Run:
    def evaluate(variables: dict[str, Any]) -> bool:
        owner = run(variables)
        if isinstance(owner, Optional):
            owner = owner.value if owner.present else {}
        return runtime.present(owner, member, field=field)

    return evaluate


def _optional_member(run: Run, member: str, kind: Type, field: bool) -> Run:
    def evaluate(variables: dict[str, Any]) -> Optional:
        owner = run(variables)
        if isinstance(owner, Optional):
            if not owner.present:
                return owner
            owner = owner.value
        if not runtime.present(owner, member, field=field):
            return runtime.NONE
        return Optional(True, runtime.cook(owner[member], kind))

    return evaluate


def _optional_entry(run: Run, key: Run, kind: Type) -> Run:
    def evaluate(variables: dict[str, Any]) -> Optional:
        owner = run(variables)
        if isinstance(owner, Optional):
            if not owner.present:
                return owner
            owner = owner.value
        try:
            return Optional(True, runtime.cook(runtime.index(owner, key(variables)), kind))
        except CelError:
            return runtime.NONE

    return evaluate


def _absorbing(left: Run, right: Run, decisive: bool) -> Run:
    """`||` (true decides) and `&&` (false decides): an error on one side gives way to a decisive other side."""

    def evaluate(variables: dict[str, Any]) -> bool:
        try:
            if bool(left(variables)) is decisive:
                return decisive
        except CelError as failure:
            try:
                if bool(right(variables)) is decisive:
                    return decisive
            except CelError:
                raise failure from None
            raise
        return bool(right(variables))

    return evaluate


def _items(source: Run, variables: dict[str, Any], cost: int) -> Iterator[Any]:
    """The entries, each charged with what the loop around it costs."""
    owner = source(variables)
    if not isinstance(owner, (list, dict)):
        raise CelError("no such overload")
    for item in owner:
        step(variables, cost)
        yield item


def _quantified(source: Run, variable: str, test: Run, decisive: bool) -> Run:
    def evaluate(variables: dict[str, Any]) -> bool:
        failure: CelError | None = None
        for item in _items(source, variables, 4 if decisive else 3):
            try:
                if bool(test({**variables, variable: item})) is decisive:
                    return decisive
            except CelError as error:
                failure = failure or error
        if failure is not None:
            raise failure
        return not decisive

    return evaluate


def _every(source: Run, variable: str, test: Run) -> Run:
    return _quantified(source, variable, test, False)


def _some(source: Run, variable: str, test: Run) -> Run:
    return _quantified(source, variable, test, True)


def _one(source: Run, variable: str, test: Run) -> Run:
    return lambda variables: sum(1 for item in _items(source, variables, 0) if test({**variables, variable: item})) == 1


def _mapped(source: Run, variable: str, keep: Run | None, make: Run) -> Run:
    def evaluate(variables: dict[str, Any]) -> list[Any]:
        scopes = ({**variables, variable: item} for item in _items(source, variables, 1 if keep else 12))
        return [make(scope) for scope in scopes if keep is None or keep(scope)]

    return evaluate


def _filtered(source: Run, variable: str, test: Run) -> Run:
    return lambda variables: [item for item in _items(source, variables, 1) if test({**variables, variable: item})]
