"""Explain a fault that never struck, or a hold at which nothing arrived, by the requests that came closest.

Called by the plugin at the end of a test and by `held`. It reads the requests of the test and changes nothing.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from fiferail.apiserver.aims import asked

if TYPE_CHECKING:
    from collections.abc import Sequence

    from fiferail.apiserver.aims import Aim, Asked, Served
    from fiferail.apiserver.faults import Fault, Faults
    from fiferail.apiserver.real.proxy import Seen

#: How many kinds of close requests are listed.
_SHOWN = 3
_OWN = "apiserver.apply, get, list and wait_for are never hit or held: send the request with apiserver.client or a client of its own."
_ADVICE = "Give a fault that need not strike with optional=True, or withdraw it with apiserver.faults.clear()."


def never_struck(faults: Faults, requests: Sequence[Seen]) -> str:
    """The faults that were to strike and never did, with the closest requests; "" when there are none."""
    idle = [fault for fault in faults.given if not fault.struck and fault.times and not fault.optional]
    if not idle:
        return ""
    try:
        served = faults.kinds()
    except Exception:  # a server that has died: the report of a failure must not fail too
        served = ()
    head = f"{len(idle)} fault{'s' if len(idle) > 1 else ''} never struck"
    return "\n".join([head, *(f"- {fault}: {_why(fault, requests, served)}" for fault in idle), _ADVICE])


def _why(fault: Fault, requests: Sequence[Seen], served: Sequence[Served]) -> str:
    if fault.passed:
        came = "1 such request came" if fault.passed == 1 else f"{fault.passed} such requests came"
        return f"{came}, and after={fault.after} let {'it' if fault.passed == 1 else 'them'} pass."
    return closest(fault.aim, requests, fault.since, served)


def closest(aim: Aim, requests: Sequence[Seen], since: int, served: Sequence[Served]) -> str:
    """Which requests fit the aim and came too early or from the fixture itself, or came closest to it after the first `since`."""
    known = [(seen, what) for seen in requests[since:] if (what := asked(seen.request)) is not None]
    fitting = [seen for seen, what in known if not aim.misses(what)]
    others = [what for seen, what in known if not seen.harness]
    early = sum(_fits(aim, seen) for seen in requests[:since] if not seen.harness)
    if any(not seen.harness for seen in fitting):
        text = "such requests came, and another fault or hold took them."
    elif fitting:
        text = f"{_many(len(fitting), 'such request')} came from the fixture itself. {_OWN}"
    elif others:
        text = f"no such request came. {_nearest(aim, others, served)}"
    else:
        text = "no request came but the fixture's own."
    return f"{text} {_many(early, 'such request')} came before." if early else text


def _fits(aim: Aim, seen: Seen) -> bool:
    what = asked(seen.request)
    return what is not None and not aim.misses(what)


def _nearest(aim: Aim, others: Sequence[Asked], served: Sequence[Served]) -> str:
    least = min(len(aim.misses(what)) for what in others)
    near = Counter((what.words(served), aim.misses(what)) for what in others if len(aim.misses(what)) == least)
    shown = [f"{count} x {words} (other {' and '.join(misses)})" for (words, misses), count in near.most_common(_SHOWN)]
    return f"The closest: {'; '.join(shown)}."


def _many(count: int, noun: str) -> str:
    return f"{count} {noun}{'s' if count != 1 else ''}"
