"""Random programs from seeds: writers, flows of control and their steps. Swarm testing: each seed takes a few verbs and edits only, so that
what it takes meets often."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from .doors import Settings
from .lines import USUAL, Rates
from .themes import BY_NAME, THEMES, Theme, swarm
from .verbs import Action


@dataclass
class Program:
    """Data only: the same program always does the same."""

    seed: int
    theme: str
    writers: list[Settings]
    flows: list[list[Action]]
    foreign: list[list[Action]]
    numbers: dict[str, int] = field(default_factory=dict)
    rates: Rates = USUAL

    def steps(self) -> int:
        """How many steps there are."""
        return sum(map(len, (*self.flows, *self.foreign)))

    def __str__(self) -> str:
        lines = [f"seed {self.seed}, theme {self.theme}; objects {self.numbers}"]
        lines += [f"writer {number}: {writer}" for number, writer in enumerate(self.writers)]
        for name, flows in (("flow", self.flows), ("foreign", self.foreign)):
            for number, flow in enumerate(flows):
                lines += [f"{name} {number}:", *(f"  {shown(action)}" for action in flow)]
        return "\n".join(lines)


def shown(action: Action) -> str:
    """A step without what it does not say."""
    plain = Action(action.id, action.verb)
    said = [f"{name}={value!r}" for name, value in vars(action).items() if name not in ("id", "verb") and value != getattr(plain, name)]
    return f"{action.id} {action.verb}({', '.join(said)})"


def generate(seed: int, theme: str = "", *, threads: bool = False, suffix: str = "") -> Program:
    """The program of a seed: of the theme, or of one that the seed chooses."""
    dice = random.Random(f"program/{theme}/{seed}")
    about = BY_NAME[theme] if theme else dice.choice(THEMES) if dice.random() < 0.4 else swarm(dice)
    targets = tuple(f"{target}{suffix}" for target in about.targets)
    if threads:
        about = replace(about, verbs=(*about.verbs, "crowd"), cancelled=0.0)
    writers = [_writer(dice, number) for number in range(dice.choice(about.writers))]
    flows = [
        [_own(dice, f"{number}-{step}", about, len(writers), targets) for step in range(dice.randrange(2, 7))]
        for number in range(dice.choice(about.flows))
    ]
    foreign = [
        [_foreign(dice, f"f{number}-{step}", about, targets) for step in range(dice.randrange(2, 9))]
        for number in range(dice.randrange(1, 3))
    ]
    return Program(seed, about.name, writers, flows, foreign, {target: dice.randrange(100) for target in sorted(set(targets))}, about.rates)


def _writer(dice: random.Random, number: int) -> Settings:
    return Settings(f"writer-{number}", claims=("owner",) if dice.random() < 0.3 else ())


def _own(dice: random.Random, id: str, theme: Theme, writers: int, targets: Sequence[str]) -> Action:
    verb = dice.choice(theme.verbs)
    edits = [(dice.choice(theme.edits), dice.randrange(120)) for _ in range(dice.choice((1, 1, 2, 3)))]
    action = Action(id, verb, dice.choice(targets), dice.randrange(writers), dice.choice(theme.bases), edits, number=dice.randrange(1, 100))

    def taken(chance: float) -> bool:
        return dice.random() < chance

    action.troubled, action.guard, action.lossy = taken(theme.troubled), taken(theme.guard), taken(theme.lossy)
    action.fence, action.same = taken(theme.fence), taken(theme.same)
    action.strategy = dice.choice(theme.strategies)
    action.cancel_after = dice.randrange(1, 30) if taken(theme.cancelled) else 0
    if verb == "create_once":
        action.slot = "unheardPlan" if taken(theme.unheard) else "plan"
    if verb in ("session", "create_inside"):
        action.stage_meanwhile = taken(theme.meanwhile)
    if verb == "session":
        action.flush_at = dice.randrange(len(edits)) if taken(theme.flush) else -1
        action.raises, action.discard = taken(theme.raises), taken(0.3)
    return action


def _foreign(dice: random.Random, id: str, theme: Theme, targets: Sequence[str]) -> Action:
    return Action(id, dice.choice(theme.foreign), dice.choice(targets), number=dice.randrange(1000))


def smaller(program: Program) -> list[Program]:
    """Programs with less in them, the largest cuts first."""
    found = [_with(program, kind, cut) for kind in ("foreign", "flows") for cut in _without_one(getattr(program, kind))]
    for kind in ("foreign", "flows"):
        flows: list[list[Action]] = getattr(program, kind)
        for number, flow in enumerate(flows):
            changed = [*_without_one(flow), *_with_one_simpler(flow)]
            found += [_with(program, kind, [*flows[:number], one, *flows[number + 1 :]]) for one in changed]
    return found


def _with(program: Program, kind: str, flows: list[list[Action]]) -> Program:
    return replace(program, foreign=flows) if kind == "foreign" else replace(program, flows=flows)


def _without_one(items: list[Any]) -> list[list[Any]]:
    return [[*items[:at], *items[at + 1 :]] for at in range(len(items))]


def _with_one_simpler(flow: list[Action]) -> list[list[Action]]:
    return [[*flow[:at], simpler, *flow[at + 1 :]] for at, action in enumerate(flow) for simpler in _simpler(action)]


#: Options of a step, and what they are when nothing is special.
_PLAIN: dict[str, Any] = {
    "troubled": False, "guard": False, "lossy": False, "cancel_after": 0, "flush_at": -1, "stage_meanwhile": False, "raises": False,
    "discard": False, "strategy": "", "base": "get",
}  # fmt: skip


def _simpler(action: Action) -> list[Action]:
    fewer = [replace(action, edits=edits) for edits in _without_one(action.edits) if edits]
    return fewer + [replace(action, **{name: value}) for name, value in _PLAIN.items() if getattr(action, name) != value]
