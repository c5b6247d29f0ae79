"""Faults on request: which answers go wrong, and how.

A test calls `faults.next(verb="patch", kind="Gadget", answer=409)`; the machine, or the proxy of a real server, asks `strike` before
each request. A fault either answers instead of the server, or lets the server work and spoils the answer. Faults are used up in the
order in which they were given. Latency and lost answers are values that the shell acts upon: nothing here waits. A fault that could
never strike as it was meant is refused when it is given.
"""

from __future__ import annotations

import math
import sys
from contextlib import AbstractContextManager, nullcontext
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, get_args

import msgspec

from ..errors import Unsupported
from ..wire import Answer, Request
from . import statuses
from .aims import Aim, Asked, Served, aimed, asked, did_you_mean, nearest
from .recording import unseen

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from .aims import Verb
    from .machine import Machine
    from .verbs.watch import Stream

    Work: TypeAlias = "Callable[[Request], Answer | Stream]"

__tracebackhide__ = True  # pytest shows the caller's line instead of this module

#: What `answer=` may say besides a status code.
Spoilt: TypeAlias = Literal["lost", "dropped", "stale", "lagging"]
LOST, DROPPED, STALE, LAGGING = get_args(Spoilt)
#: Answers that only one verb can have, and why.
_ONLY_OF = {DROPPED: "watch", STALE: "list", LAGGING: "watch"}
_MEANING = {DROPPED: "ends a watch", STALE: "is a list of the past", LAGGING: "delays the events of a watch"}
_ANSWERS = "a status code from 400 to 599, 200 together with latency=, or one of 'lost', 'dropped', 'stale', 'lagging'"
_UNLOCKED = nullcontext()
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


class Unobtainable(Unsupported):
    """A fault that cannot be had in front of a real server."""

    def __init__(self, fault: str) -> None:
        Exception.__init__(self, f"a real server cannot be made to give a {fault} answer: use the embedded one for this test")
        self.feature = fault


class Fault(msgspec.Struct, eq=False):
    """One fault, as `Faults.next` made it."""

    aim: Aim
    #: A status code, or one of `Spoilt`.
    answer: int | str = 500
    retry_after: int | None = None
    latency: float = 0.0
    times: int = 1
    after: int = 0
    behind: int = 1
    optional: bool = False
    #: The line that gave it, and how many requests had been answered by then.
    where: str = ""
    since: int = 0
    #: How many requests it has hit, and how many matching ones it has let pass before the first.
    struck: int = 0
    passed: int = 0

    @property
    def spent(self) -> bool:
        """Whether it has hit as many requests as it was to hit."""
        return self.struck >= self.times

    def __str__(self) -> str:
        """The fault in words, with the line that gave it."""
        where = f" (given at {self.where})" if self.where else ""
        return f"{self.aim}, answer={self.answer!r}{where}"


class Faults:
    """The faults of one server.

    `kinds` lists what the server serves; `lock` guards against threads where the server has some; `unobtainable` are answers that
    this server cannot be made to give; `requests` is the list of answered requests, where there is one.
    """

    __slots__ = ("_lock", "_requests", "_waiting", "given", "kinds", "struck", "unobtainable")

    def __init__(
        self,
        kinds: Callable[[], Sequence[Served]],
        *,
        lock: AbstractContextManager[Any] | None = None,
        unobtainable: frozenset[str] = frozenset(),
        requests: Sequence[object] = (),
    ) -> None:
        self._requests = requests
        self.kinds, self._lock, self.unobtainable = kinds, lock or _UNLOCKED, unobtainable
        self._waiting: list[Fault] = []
        #: Every fault since the last `clear`.
        self.given: list[Fault] = []
        #: The faults that have struck, once for each request that they hit.
        self.struck: list[Fault] = []

    def __bool__(self) -> bool:
        return bool(self._waiting)

    def next(
        self,
        *,
        verb: Verb | None = None,
        kind: str | None = None,
        name: str | None = None,
        namespace: str | None = None,
        subresource: str | None = None,
        client: str | None = None,
        answer: int | Spoilt = 500,
        retry_after: int | None = None,
        latency: float = 0.0,
        times: int = 1,
        after: int = 0,
        behind: int | None = None,
        optional: bool = False,
    ) -> Fault:
        """Make the next matching requests go wrong.

        A request matches when it fits every parameter of the first group that is given:

        - `verb`: get, list, watch, create, update (or replace), patch, delete, deletecollection.
        - `kind`: the kind or the plural of its resource, also with the group (`Gadget.example.io`).
        - `name`, `namespace`: of the object. The name of a list or watch is the one that its field selector admits.
        - `subresource`: `"status"`, `"scale"`...; `""` for the object itself.
        - `client`: the user agent, whole or up to its first slash.

        What happens to it:

        - `answer`: a status code from 400 to 599, and the request does nothing; `"lost"`: the request is done and the connection
          closed without an answer; `"dropped"`: the watch ends at once; `"stale"`: the list is `behind` changes of the kind
          old; `"lagging"`: the watch always holds back the newest `behind` changes; 200 with `latency`: it is only slow.
        - `retry_after`: seconds in the Retry-After header of a status code. 0 leaves the header out; 429 has 1 by default.
        - `latency`: seconds until the answer is sent.
        - `times`: how many requests are hit; 0 means none. `after`: how many matching requests pass before the first.
        - `optional`: a fault that never strikes fails the test, except with `optional=True`.

        Returns the fault; its `struck` counts the requests that it has hit. Raises ValueError for what can never match or happen.
        """
        aim = aimed(self.kinds(), verb=verb, kind=kind, name=name, namespace=namespace, subresource=subresource, client=client)
        _check_answer(answer, aim.verb)
        _check_details(answer, retry_after, latency, behind)
        check_count("times", times)
        check_count("after", after)
        if not isinstance(optional, bool):
            raise ValueError(f"optional={optional!r} is not a bool")
        if answer in self.unobtainable:
            self.refuse(str(answer))
        fault = Fault(aim, answer, retry_after, latency, times, after, behind or 1, optional, _line(sys._getframe(1)))
        fault.since = len(self._requests)
        with self._lock:
            self.given.append(fault)
            if not fault.spent:
                self._waiting.append(fault)
        return fault

    def clear(self) -> None:
        """Withdraw every fault. One that never struck is forgiven."""
        with self._lock:
            self._waiting.clear()
            self.given.clear()

    def refuse(self, answer: str) -> None:
        """Raise the error for an answer that this server cannot be made to give."""
        raise Unobtainable(answer)

    def fork(self, kinds: Callable[[], Sequence[Served]]) -> Faults:
        """The same faults for a second server."""
        twin = Faults(kinds, unobtainable=self.unobtainable)
        copies = {id(fault): msgspec.structs.replace(fault) for fault in self.given}
        twin.given = list(copies.values())
        twin._waiting = [copies[id(fault)] for fault in self._waiting]
        twin.struck = list(self.struck)
        return twin

    def strike(self, request: Request) -> Fault | None:
        """The fault that hits this request, used up by one; faults that are to strike later come nearer."""
        what = asked(request)
        if what is None:
            return None
        with self._lock:
            for fault in self._waiting:
                if self._hits(fault, what):
                    return fault
        return None

    def _hits(self, fault: Fault, what: Asked) -> bool:
        if fault.aim.misses(what):
            return False
        if fault.passed < fault.after:
            fault.passed += 1
            return False
        fault.struck += 1
        if fault.spent:
            self._waiting.remove(fault)
        self.struck.append(fault)
        return True


def around(fault: Fault, request: Request, machine: Machine, work: Work) -> Answer | Stream | Delayed | Lost:
    """What the client of the embedded server gets; `work` is done or not, as the fault says."""
    outcome = _outcome(fault, request, machine, work)
    return Delayed(outcome, fault.latency) if fault.latency else outcome


def _outcome(fault: Fault, request: Request, machine: Machine, work: Work) -> Answer | Stream | Lost:
    answer = fault.answer
    if isinstance(answer, int) and answer != 200:
        return refusal_of(fault, request)
    if answer in (DROPPED, LOST):
        return _undelivered(str(answer), request, machine, work)
    done = work(_in_the_past(request, machine, fault.behind) if answer == STALE else request)
    if answer == LAGGING and not isinstance(done, Answer):
        done.lag = fault.behind
    return done


def _undelivered(answer: str, request: Request, machine: Machine, work: Work) -> Answer | Stream | Lost:
    """The work is done, and the caller gets nothing of the answer, so it has seen nothing either."""
    with unseen(machine):
        done = work(request)
        if not isinstance(done, Answer):
            done.take()
            done.close()
    return Lost() if answer == LOST else done


def _in_the_past(request: Request, machine: Machine, behind: int) -> Request:
    """The same list before the last changes of its kind. A further page stays at the revision of the first."""
    what = asked(request)
    known = machine.kinds.get((what.group, what.resource)) if what else None
    log = machine.store.table(known.key).log if known else []
    if not log or any(name == "continue" for name, _ in request.query):
        return request
    revision = max(machine.store.compacted + 1, log[-min(behind, len(log))].revision - 1)
    kept = tuple((name, value) for name, value in request.query if name not in ("resourceVersion", "resourceVersionMatch"))
    exact = (("resourceVersion", str(revision)), ("resourceVersionMatch", "Exact"))
    return msgspec.structs.replace(request, query=(*kept, *exact))


def refusal_of(fault: Fault, request: Request) -> Answer:
    """The answer of a fault that answers instead of the server, with a status code."""
    code, what = fault.answer, asked(request)
    assert isinstance(code, int)
    if code == 409 and what is not None:
        return statuses.conflict(what.group, what.resource, what.name, statuses.MODIFIED).answer()
    reason, text = _TEXTS.get(code, ("", f"injected by a fault: {code}"))
    seconds = fault.retry_after if fault.retry_after is not None else (1 if code == 429 else None)
    refusal = statuses.status(code, reason, text, {"retryAfterSeconds": seconds} if seconds else None)
    return refusal.answer()


def _line(frame: Any) -> str:
    """Where the caller stands: `test_gadget.py:12`."""
    return f"{frame.f_code.co_filename.replace(chr(92), '/').rpartition('/')[2]}:{frame.f_lineno}"


def _check_answer(answer: Any, verb: str | None) -> None:
    if isinstance(answer, str):
        if answer not in (LOST, DROPPED, STALE, LAGGING):
            meant = nearest(answer, (LOST, DROPPED, STALE, LAGGING))
            raise ValueError(f"answer={answer!r} is no answer{did_you_mean(meant)} Give {_ANSWERS}.")
        only = _ONLY_OF.get(answer)
        if only is not None and verb != only:
            got = f"verb={verb!r}" if verb else "no verb"
            raise ValueError(f"answer={answer!r} {_MEANING[answer]}: it needs verb={only!r}, got {got}")
    elif isinstance(answer, bool) or not isinstance(answer, int) or (answer != 200 and not 400 <= answer <= 599):
        raise ValueError(f"answer={answer!r} is no answer. Give {_ANSWERS}.")


def _check_details(answer: int | str, retry_after: Any, latency: Any, behind: Any) -> None:
    """What belongs to some answers only."""
    if isinstance(latency, bool) or not isinstance(latency, (int, float)) or not 0 <= latency < math.inf:
        raise ValueError(f"latency={latency!r} is no number of seconds, 0 or more")
    if answer == 200 and not latency:
        raise ValueError("answer=200 changes nothing by itself: give latency= too, or another answer")
    if retry_after is not None:
        check_count("retry_after", retry_after)
        if isinstance(answer, str) or answer == 200:
            raise ValueError(f"retry_after={retry_after} needs a status code from 400 to 599 as answer, got answer={answer!r}")
    if behind is not None:
        check_count("behind", behind)
        if answer not in (STALE, LAGGING) or not behind:
            wrong = "must be 1 or more" if not behind else f"needs answer='stale' or answer='lagging', got answer={answer!r}"
            raise ValueError(f"behind={behind} {wrong}")


def check_count(parameter: str, value: Any) -> None:
    """Refuse what is not an int of 0 or more."""
    if isinstance(value, bool) or not isinstance(value, int):
        raise ValueError(f"{parameter}={value!r} is not an int")
    if value < 0:
        raise ValueError(f"{parameter}={value} is negative")
