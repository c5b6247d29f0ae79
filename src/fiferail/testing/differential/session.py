"""The fuzzer's main loop: batches of kinds, conversations about them, differences grouped by what they look like.

Called by the tests with a fixed list of seeds and by the command line with a number of seconds.
"""

from __future__ import annotations

import json
import random
import re
import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from fiferail.testing.differential import builtins, canonical, known
from fiferail.testing.differential.compare import Difference, compact, differing, first_difference
from fiferail.testing.differential.conversations import Conversation, conversation
from fiferail.testing.differential.runner import CRDS, Run, Server
from fiferail.testing.differential.schemas import Definition, broken, definition
from fiferail.testing.differential.shrinking import shrunk
from fiferail.testing.differential.transcript import transcript

if TYPE_CHECKING:
    from collections.abc import Callable

KINDS = 10
CONVERSATIONS = 5
LENGTH = 40
BROKEN = 4


#: A difference counts when it comes again in one of so many replays.
REPLAYS = 3
ONCE = "seen once, not when the conversation was held again"


@dataclass
class Finding:
    """One kind of difference: how often it was seen, and its smallest conversation."""

    signature: str
    conversation: Conversation | None
    text: str
    count: int = 1


@dataclass
class Tally:
    """How much was compared, and what was found."""

    schemas: int = 0
    conversations: int = 0
    operations: int = 0
    definitions: int = 0
    explained: dict[str, int] = field(default_factory=dict)
    findings: dict[str, Finding] = field(default_factory=dict)

    def summary(self) -> str:
        explained = "".join(f"; {count} x {name}" for name, count in sorted(self.explained.items()))
        return (
            f"{self.operations} operations in {self.conversations} conversations over {self.schemas} schemas, "
            f"{self.definitions} definitions: {len(self.findings)} kinds of difference{explained}"
        )


class Session:
    """Two servers and a tally."""

    def __init__(self, left: Server, right: Server, *, shrink: bool = True, say: Callable[[str], None] = print) -> None:
        self.left, self.right = left, right
        self.tally = Tally()
        self._shrink, self._say = shrink, say
        self._namespaces = 0
        self._stamp = f"{time.time_ns() // 1_000_000 % 10**8:x}"

    def batch(
        self, seed: int, *, kinds: int = KINDS, conversations: int = CONVERSATIONS, length: int = LENGTH, until: float | None = None
    ) -> None:
        """All that one seed gives. The prefix of the kinds holds the seed, so that batches never meet."""
        rng = random.Random(seed)
        invented = [definition(rng, number, prefix=f"k{seed}x") for number in range(kinds)]
        definitions = [kind for kind in invented if self.judge_definition(kind.crd, f"seed {seed}")]
        self.define(definitions)
        for number, kind in enumerate(definitions):
            self.tally.schemas += len({json.dumps(schema, sort_keys=True) for schema in kind.schemas.values()})
            for _ in range(BROKEN):
                self.judge_definition(broken(rng, kind), f"seed {seed}, kind {number}")
            for turn in range(conversations):
                made = conversation(rng, kind, length, origin=f"seed {seed}, kind {number}, conversation {turn}")
                if until is None or time.monotonic() < until:
                    self.judge_and_keep(made)

    def built_in(self, seed: int, *, conversations: int = 2, length: int = LENGTH, until: float | None = None) -> None:
        """Conversations about built-in kinds, which need no definition."""
        rng = random.Random(seed)
        for kind in builtins.KINDS:
            for turn in range(conversations):
                made = builtins.conversation(rng, kind, length, origin=f"seed {seed}, {kind.kind}, conversation {turn}")
                if until is None or time.monotonic() < until:
                    self.judge_and_keep(made)

    def define(self, definitions: list[Definition]) -> None:
        """Creates the kinds on both servers."""
        crds = [kind.crd for kind in definitions]
        self.left.define(crds)
        self.right.define(crds)

    def judge(self, made: Conversation) -> tuple[Difference | None, tuple[Run, Run]]:
        """Holds the conversation on both servers, each time in new namespaces."""
        self._namespaces += 1
        namespaces = f"ns-{self._stamp}-{self._namespaces}-l", f"ns-{self._stamp}-{self._namespaces}-r"
        runs = self.left.hold(made, namespaces[0]), self.right.hold(made, namespaces[1])
        return first_difference(made, *runs, namespaces, self._excused), runs

    def _excused(self, difference: Difference) -> bool:
        """Whether docs/limits names the difference; counted when it does."""
        limit = known.limit(difference)
        if limit is not None:
            self.tally.explained[limit] = self.tally.explained.get(limit, 0) + 1
        return limit is not None

    def judge_and_keep(self, made: Conversation) -> None:
        """One conversation of the tally; a difference of a new kind is shrunk and reported at once."""
        difference, runs = self.judge(made)
        self.tally.conversations += 1
        self.tally.operations += len(made.steps)
        if difference is None:
            return
        if difference.signature in self.tally.findings:
            self.tally.findings[difference.signature].count += 1
            return
        if all(self.judge(made)[0] is None for _ in range(REPLAYS)):
            # One server's clock passed a second between two steps and the other's did not: managedFields have times.
            self.tally.explained[ONCE] = self.tally.explained.get(ONCE, 0) + 1
            return
        small = made
        if self._shrink:
            small, difference = shrunk(made, difference, lambda candidate: self.judge(candidate)[0])
            again, runs = self.judge(small)
            difference = again or difference
        text = transcript(small, difference, runs, (self.left.name, self.right.name))
        self.tally.findings[difference.signature] = Finding(difference.signature, small, text)
        self._say(text)

    def judge_definition(self, crd: dict[str, object], origin: str) -> bool:
        """What both say to a CRD that is not stored; whether both would take it."""
        query = (("dryRun", "All"),)
        answers = []
        for server in (self.left, self.right):
            heard = server.ask("POST", CRDS, crd, query)
            run = Run(heard=[heard])
            answers.append(canonical.Canon(run, "no-namespace").answer(0, heard))
        self.tally.definitions += 1
        found = differing(*answers)
        if found is not None and self._excused(Difference(None, found[0], found[1], found[2], answers[0], answers[1], "definition")):
            return False
        accepted = bool(answers[0]["code"] == answers[1]["code"] == 201)
        if found is None:
            return accepted
        signature = f"definition {answers[0]['code']} {answers[1]['code']} {_message(answers[0])} / {_message(answers[1])}"
        if signature in self.tally.findings:
            self.tally.findings[signature].count += 1
            return accepted
        lines = [f"# {origin}: a CRD, {found[0]}", compact(crd["spec"], 3000), "----"]
        lines += [f"{server.name:>8}: {compact(said, 1500)}" for server, said in zip((self.left, self.right), answers, strict=True)]
        self.tally.findings[signature] = Finding(signature, None, "\n".join(lines))
        self._say(self.tally.findings[signature].text)
        return accepted


def _message(answer: dict[str, object]) -> str:
    body = answer["body"]
    text = str(body.get("message", body.get("kind"))) if isinstance(body, dict) else str(body)
    text = re.sub(r'"[^"]*"', '""', text)
    return re.sub(r"spec\.[\w.\[\]]*|\d+|\bk\w+s\b", "_", text.split(" is invalid: ", 1)[-1])[:100]
