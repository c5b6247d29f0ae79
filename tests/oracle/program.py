"""Random programs from seeds: writers, flows of control and their steps. Swarm testing: each seed takes a few verbs and edits only, so that
what it takes meets often."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from .doors import Settings
from .edits import EDITS
from .foreign import FOREIGN
from .verbs import Action

BASES = ("get", "get", "get", "get", "held", "held", "held", "old", "outcome", "outcome")
TARGETS = ("g", "g", "g", "h")
VERBS = ("session", "session", "session", "mutate", "mutate", "create_once", "create_inside", "edit")


@dataclass
class Program:
    """Data only: the same program always does the same."""

    seed: int
    writers: list[Settings]
    flows: list[list[Action]]
    foreign: list[list[Action]]
    numbers: dict[str, int] = field(default_factory=dict)

    def steps(self) -> int:
        """How many steps there are."""
        return sum(map(len, (*self.flows, *self.foreign)))

    def __str__(self) -> str:
        lines = [f"seed {self.seed}; objects {self.numbers}"]
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


def generate(seed: int, *, threads: bool = False, targets: Sequence[str] = TARGETS) -> Program:
    """The program of a seed."""
    dice = random.Random(f"program/{seed}")
    theme = dice.sample(sorted(EDITS), dice.choice((2, 3, 4, 6, len(EDITS))))
    verbs = [*dice.sample(VERBS, dice.choice((1, 2, 4))), "session", *(["crowd"] if threads else [])]
    hostile = dice.sample(FOREIGN, dice.choice((2, 3, 5))) + ["merge"]
    writers = [_writer(dice, number, seed) for number in range(dice.choice((1, 1, 2, 3)))]
    flows = [
        [_own(dice, f"{number}-{step}", verbs, theme, len(writers), targets) for step in range(dice.randrange(2, 7))]
        for number in range(dice.randrange(2, 6))
    ]
    foreign = [
        [_foreign(dice, f"f{number}-{step}", hostile, targets) for step in range(dice.randrange(2, 9))] for number in range(dice.randrange(1, 3))
    ]
    return Program(seed, writers, flows, foreign, {target: dice.randrange(100) for target in sorted(set(targets))})


def _writer(dice: random.Random, number: int, seed: int) -> Settings:
    strategy = dice.choice(("compare",) * 7 + ("locked", "merge", "apply"))
    claims = ("owner",) if dice.random() < 0.3 else ()
    return Settings(f"writer-{number}", strategy, claims)


def _own(dice: random.Random, id: str, verbs: list[str], theme: list[str], writers: int, targets: Sequence[str]) -> Action:
    verb = dice.choice(verbs)
    edits = [(dice.choice(theme), dice.randrange(120)) for _ in range(dice.choice((1, 1, 2, 3)))]
    action = Action(id, verb, dice.choice(list(targets)), dice.randrange(writers), dice.choice(BASES), edits, number=dice.randrange(1, 100))
    action.troubled = dice.random() < 0.7
    action.guard = dice.random() < 0.15
    action.fence, action.same = dice.random() < 0.6, dice.random() < 0.5
    action.strategy = dice.choice(("", "", "", "", "", "compare", "locked", "merge", "apply"))
    action.lossy = dice.random() < 0.08
    action.cancel_after = dice.randrange(1, 30) if dice.random() < 0.08 else 0
    if verb == "create_once":
        action.slot = "unheardPlan" if dice.random() < 0.08 else "plan"
    if verb == "session":
        action.flush_at = dice.randrange(len(edits)) if dice.random() < 0.35 else -1
        action.stage_meanwhile = dice.random() < 0.4
        action.raises, action.discard = dice.random() < 0.1, dice.random() < 0.3
    return action


def _foreign(dice: random.Random, id: str, hostile: list[str], targets: Sequence[str]) -> Action:
    return Action(id, dice.choice(hostile), dice.choice(list(targets)), number=dice.randrange(1000))


def smaller(program: Program) -> list[Program]:
    """Programs with less in them, the largest cuts first."""
    found: list[Program] = []
    for kind in ("foreign", "flows"):
        flows: list[list[Action]] = getattr(program, kind)
        for number in range(len(flows)):
            found.append(replace(program, **{kind: [*flows[:number], *flows[number + 1 :]]}))
    for kind in ("foreign", "flows"):
        flows = getattr(program, kind)
        for number, flow in enumerate(flows):
            for step, action in enumerate(flow):
                shorter = [*flow[:step], *flow[step + 1 :]]
                found.append(replace(program, **{kind: [*flows[:number], shorter, *flows[number + 1 :]]}))
                for simpler in _simpler(action):
                    changed = [*flow[:step], simpler, *flow[step + 1 :]]
                    found.append(replace(program, **{kind: [*flows[:number], changed, *flows[number + 1 :]]}))
    return found


def _simpler(action: Action) -> list[Action]:
    found = [replace(action, edits=[*action.edits[:at], *action.edits[at + 1 :]]) for at in range(len(action.edits)) if len(action.edits) > 1]
    plain = Action(action.id, action.verb)
    for name, value in (("troubled", False), ("guard", False), ("lossy", False), ("cancel_after", 0), ("flush_at", -1), ("stage_meanwhile", False),
                        ("raises", False), ("discard", False), ("strategy", ""), ("base", "get")):  # fmt: skip
        if getattr(action, name) != value:
            found.append(replace(action, **{name: value}))
    del plain
    return found
