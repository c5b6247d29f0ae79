"""Trouble on request: which answers go wrong, and how.

A test says `faults.next(verb="patch", kind="Gadget", answer=409)`; the machine asks `first` before each request. A rule either
answers instead of the machine, or lets it work and spoils what comes out. Rules are used up in the order in which they were
given. Latency and lost answers are values that the shell acts upon: the machine itself never waits.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias

import msgspec

from ..wire import Answer
from . import routes, statuses

if TYPE_CHECKING:
    from collections.abc import Callable

    from ..wire import Request
    from .machine import Machine
    from .verbs.watch import Stream

    Work: TypeAlias = "Callable[[], Answer | Stream]"

#: What `answer=` may say besides a status code.
LOST, DROPPED, STALE, LAGGING = "lost", "dropped", "stale", "lagging"
_TEXTS = {
    429: ("TooManyRequests", "Too many requests, please try again later."),
    500: ("InternalError", "Internal error occurred: injected by a fault"),
    502: ("", "bad gateway"),
    503: ("ServiceUnavailable", "apiserver is shutting down"),
    504: ("Timeout", "Timeout: request did not complete within requested timeout - context deadline exceeded"),
    410: ("Expired", "The resourceVersion for the provided watch is too old."),
}


class Delayed(msgspec.Struct):
    """An answer that the shell holds back for some seconds."""

    answer: Answer | Stream | Lost
    seconds: float


class Lost(msgspec.Struct):
    """No answer: the shell closes the connection. Whether the write landed is what the client cannot know."""


class Fault(msgspec.Struct):
    """One rule. Empty members match anything."""

    verb: str = ""
    kind: str = ""
    name: str = ""
    namespace: str = ""
    subresource: str | None = None
    #: A status code, "lost" (done, not answered), "dropped" (a watch that ends), "lagging" (one that is behind), "stale" (a list).
    answer: int | str = 500
    retry_after: int | None = None
    #: Seconds that the answer takes. With `answer=200` that is all that happens.
    latency: float = 0.0
    #: How many requests it hits, and how many matching ones it lets pass before.
    times: int = 1
    after: int = 0
    #: For "stale" and "lagging": how many commits behind.
    behind: int = 1

    def matches(self, route: routes.Route, kind: str, *, watch: bool) -> bool:
        """Whether the rule means this request."""
        verb = "watch" if watch else route.verb
        return (
            self.verb in ("", verb)
            and self.kind in ("", kind, route.resource)
            and self.name in ("", route.name)
            and self.namespace in ("", route.namespace)
            and self.subresource in (None, route.subresource)
        )


def taken(rules: list[Fault], route: routes.Route, kind: str, *, watch: bool) -> Fault | None:
    """The rule that strikes this request, used up by one; rules that are to strike later come nearer."""
    for rule in rules:
        if not rule.matches(route, kind, watch=watch):
            continue
        if rule.after > 0:
            rule.after -= 1
            continue
        rule.times -= 1
        if rule.times <= 0:
            rules.remove(rule)
        return rule
    return None


class Faults:
    """The rules that are still to strike."""

    __slots__ = ("_rules", "struck")

    def __init__(self, rules: list[Fault] | None = None) -> None:
        self._rules = rules or []
        #: What has struck so far, for tests that want to know.
        self.struck: list[Fault] = []

    def __bool__(self) -> bool:
        return bool(self._rules)

    def next(self, *, verb: str = "", kind: str = "", name: str = "", answer: int | str = 500, times: int = 1, after: int = 0,
             retry_after: int | None = None, latency: float = 0.0, subresource: str | None = None, namespace: str = "",
             behind: int = 1) -> Fault:  # fmt: skip
        """The next matching requests go wrong: `times` of them, after letting `after` pass."""
        fault = Fault(verb, kind, name, namespace, subresource, answer, retry_after, latency, times, after, behind)
        self._rules.append(fault)
        return fault

    def clear(self) -> None:
        """No more trouble."""
        self._rules.clear()

    def fork(self) -> Faults:
        """The same rules for a second world."""
        twin = Faults([msgspec.structs.replace(rule) for rule in self._rules])
        twin.struck = list(self.struck)
        return twin

    def first(self, machine: Machine, request: Request) -> Strike | None:
        """The rule that strikes this request, used up by one."""
        route = routes.parse(request.method, request.path)
        if route is None:
            return None
        known = machine.kinds.get((route.group, route.resource))
        kind = known.kind if known else ""
        watch = route.verb == "watch" or (route.verb == "list" and any(name == "watch" for name, _ in request.query))
        rule = taken(self._rules, route, kind, watch=watch)
        if rule is None:
            return None
        self.struck.append(rule)
        return Strike(rule, route, machine)


class Strike(msgspec.Struct):
    """A rule that meets a request."""

    fault: Fault
    route: routes.Route
    machine: Machine

    def around(self, work: Work) -> Answer | Stream | Delayed | Lost:
        """What the client gets; `work` is done or not, as the rule says."""
        outcome = self._outcome(work)
        return Delayed(outcome, self.fault.latency) if self.fault.latency else outcome

    def _outcome(self, work: Work) -> Answer | Stream | Lost:
        answer = self.fault.answer
        if answer == 200:
            return work()
        if answer == LOST:
            work()
            return Lost()
        if answer == STALE:
            return self._stale(work)
        if isinstance(answer, str):
            return self._troubled(work())
        return refusal_of(self.fault, self.route)

    def _stale(self, work: Work) -> Answer | Stream:
        """A list as it was some commits ago."""
        from ..wire import Request

        del work
        store = self.machine.store
        revision = max(store.compacted + 1, store.revision - self.fault.behind)
        query = (("resourceVersion", str(revision)), ("resourceVersionMatch", "Exact"))
        route = self.route
        base = f"/apis/{route.group}/{route.version}" if route.group else f"/api/{route.version}"
        place = f"/namespaces/{route.namespace}" if route.namespace else ""
        return self.machine.internal(Request(method="GET", path=f"{base}{place}/{route.resource}", query=query))

    def _troubled(self, stream: Answer | Stream) -> Answer | Stream:
        if isinstance(stream, Answer):
            return stream
        if self.fault.answer == DROPPED:
            stream.close()
        elif self.fault.answer == LAGGING:
            stream.lag = self.fault.behind
        return stream


def refusal_of(fault: Fault, route: routes.Route) -> Answer:
    """The answer of a rule that answers instead of the server, with a status code."""
    code = fault.answer
    assert isinstance(code, int)
    if code == 409:
        return statuses.conflict(route.group, route.resource, route.name, statuses.MODIFIED).answer()
    reason, text = _TEXTS.get(code, ("", f"injected by a fault: {code}"))
    seconds = fault.retry_after if fault.retry_after is not None else (1 if code == 429 else None)
    refusal = statuses.status(code, reason, text, {"retryAfterSeconds": seconds} if seconds else None)
    return refusal.answer()
