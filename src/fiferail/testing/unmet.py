"""What to tell about a fault that never struck and a hold at which nothing arrived: the requests that came closest.

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
    served = faults.kinds()
    head = f"{len(idle)} fault{'s' if len(idle) > 1 else ''} never struck"
    return "\n".join([head, *(f"- {fault}: {_why(fault, requests, served)}" for fault in idle), _ADVICE])


def _why(fault: Fault, requests: Sequence[Seen], served: Sequence[Served]) -> str:
    if fault.passed:
        came = "1 such request came" if fault.passed == 1 else f"{fault.passed} such requests came"
        return f"{came}, and after={fault.after} let {'it' if fault.passed == 1 else 'them'} pass."
    return closest(fault.aim, requests, served)


def closest(aim: Aim, requests: Sequence[Seen], served: Sequence[Served]) -> str:
    """Which of the requests fit the aim, or came closest to it."""
    known = [(seen, what) for seen in requests if (what := asked(seen.request)) is not None]
    fitting = [seen for seen, what in known if not aim.misses(what)]
    if fitting:
        return _too_early(fitting)
    others = [what for seen, what in known if not seen.harness]
    if not others:
        return "no request came but the fixture's own."
    return f"no such request came. {_nearest(aim, others, served)}"


def _too_early(fitting: Sequence[Seen]) -> str:
    """Requests fit and still nothing happened to them."""
    foreign = [seen for seen in fitting if not seen.harness]
    if not foreign:
        return f"{_many(len(fitting), 'such request')} came from the fixture itself. {_OWN}"
    return f"{_many(len(foreign), 'such request')} came, but before it was set up, or another fault or hold took them."


def _nearest(aim: Aim, others: Sequence[Asked], served: Sequence[Served]) -> str:
    least = min(len(aim.misses(what)) for what in others)
    near = Counter((what.words(served), aim.misses(what)) for what in others if len(aim.misses(what)) == least)
    shown = [f"{count} x {words} (other {' and '.join(misses)})" for (words, misses), count in near.most_common(_SHOWN)]
    return f"The closest: {'; '.join(shown)}."


def _many(count: int, noun: str) -> str:
    return f"{count} {noun}{'s' if count != 1 else ''}"
