"""Themes: what a program is about. Each class of silent loss has one, so that every class is met within a few seeds; a swarm theme takes a
random choice of everything."""

from __future__ import annotations

import random
from dataclasses import dataclass

from .edits import EDITS
from .foreign import FOREIGN
from .lines import USUAL, Rates

ALL = tuple(sorted(EDITS))
VERBS = ("session", "session", "session", "mutate", "mutate", "create_once", "create_inside", "edit")
BASES = ("get", "get", "get", "get", "held", "held", "held", "old", "outcome", "outcome")


@dataclass(frozen=True)
class Theme:
    """Which verbs, edits and foreign writes there are, and how often which option is taken."""

    name: str
    edits: tuple[str, ...] = ALL
    verbs: tuple[str, ...] = VERBS
    foreign: tuple[str, ...] = ("merge", "put", "spec")
    bases: tuple[str, ...] = BASES
    strategies: tuple[str, ...] = ("",)
    writers: tuple[int, ...] = (1, 1, 2)
    flows: tuple[int, ...] = (2, 3, 4, 5)
    targets: tuple[str, ...] = ("g", "g", "g", "h")
    #: The chances of options.
    guard: float = 0.0
    flush: float = 0.0
    meanwhile: float = 0.0
    raises: float = 0.0
    lossy: float = 0.0
    fence: float = 0.6
    same: float = 0.5
    unheard: float = 0.0
    troubled: float = 0.3
    cancelled: float = 0.0
    rates: Rates = USUAL


_WRITES = ("put", "put_from_dict", "put_member", "set_condition", "put_entry", "append", "delete")
THEMES: tuple[Theme, ...] = (
    Theme("memory", _WRITES, ("session", "create_once", "edit"), bases=("get", "held", "old"), writers=(1,), troubled=0.0),
    Theme("memory-locked", _WRITES, ("session",), bases=("get", "held", "old"), strategies=("locked",), writers=(1,), troubled=0.0),
    Theme("memory-guard", _WRITES, ("session",), ("spec", "merge"), ("get", "held", "old"), writers=(1,), guard=1.0, troubled=0.0),
    Theme("memory-flush", (*_WRITES, "put_from_view"), ("session",), flush=0.9, writers=(1, 2), troubled=0.0),
    Theme("closure", ("put_from_dict", "put"), ("mutate",), bases=("get", "held"), troubled=0.2),
    Theme("closure-guard", ("put", "bump"), ("mutate",), ("spec", "merge"), guard=1.0, troubled=0.2),
    Theme("plans", ("put",), ("create_once", "create_inside"), ("spec", "clear", "merge"), targets=("g",), flows=(3, 4, 5), troubled=1.0,
          rates=Rates(busy=0.15, refused=0.15)),
    Theme("busy-plans", ("put",), ("create_once",), ("plan", "plan", "plan", "spec"), targets=("g",), flows=(2, 3), fence=0.2, same=0.0,
          troubled=1.0, rates=Rates(busy=0.4)),
    Theme("equal-plans", ("put",), ("create_once",), ("clear", "merge"), targets=("g",), flows=(4, 5), same=1.0, troubled=1.0,
          writers=(2, 3), rates=Rates(dropped=0.3, lost=0.1)),
    Theme("unheard-plans", ("put",), ("create_once",), unheard=1.0, troubled=0.0),
    Theme("staging", _WRITES, ("session", "create_inside"), flush=0.8, meanwhile=0.9, troubled=0.1),
    Theme("defaults", ("setdefault", "put_member"), ("session", "mutate"), troubled=0.1),
    Theme("endings", _WRITES, ("session",), raises=0.5, troubled=0.1),
    Theme("presence", ("look_whether",), ("session", "mutate"), ("merge", "plan", "clear"), troubled=0.0),
    Theme("raised", ("raise_and_read", "raise_to"), ("session", "mutate"), troubled=0.0),
    Theme("copies", ("deep_copy", "iterate", "put_member"), ("session", "mutate"), troubled=0.0),
    Theme("read-back", ("assign_and_read_back", "assign_map", "put_member"), ("session", "mutate"), troubled=0.0),
    Theme("models", ("store_model",), ("session", "mutate"), troubled=0.1),
    Theme("lossy", ("drop_row", "assign_entries", "put", "put_entry"), ("session",), lossy=0.8, troubled=0.1),
    Theme("sharing", ("bump", "put", "put_member", "set_condition"), ("mutate", "session"), ("merge",), ("get",), writers=(1,),
          troubled=0.6, flows=(5, 6, 7), targets=("g",), rates=Rates(lost=0.0, failed_late=0.0, cancelled_after=0.3)),
    Theme("five-in-a-row", ("put", "set_condition", "put_entry"), ("session",), ("merge",), ("held", "held", "held", "get"),
          writers=(1,), troubled=0.0),
    Theme("recreated", _WRITES, ("session", "mutate", "create_once"), ("delete", "delete", "merge"), troubled=0.3),
    Theme("faults", ALL, ("session", "mutate"), troubled=1.0, cancelled=0.1),
    Theme("values", ("odd_value", "unknown_field", "choose_mode", "put"), ("session", "mutate"), ("merge", "crd"), troubled=0.3),
    Theme("strategies", ALL, ("session", "mutate"), FOREIGN, strategies=("", "compare", "locked", "merge", "apply"), writers=(1, 2, 3)),
)  # fmt: skip
BY_NAME = {theme.name: theme for theme in THEMES}


def swarm(dice: random.Random) -> Theme:
    """A random choice of everything."""
    return Theme(
        "swarm",
        tuple(dice.sample(ALL, dice.choice((2, 3, 4, 6, len(ALL))))),
        (*dice.sample(VERBS, dice.choice((1, 2, 4))), "session"),
        (*dice.sample(FOREIGN, dice.choice((2, 3, 5))), "merge"),
        strategies=("", "", "", "", "", "compare", "locked", "merge", "apply"),
        writers=(1, 1, 2, 3),
        guard=0.15, flush=0.35, meanwhile=0.4, raises=0.1, lossy=0.08, unheard=0.08, troubled=0.7, cancelled=0.08,
    )  # fmt: skip
