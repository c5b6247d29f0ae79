"""Writes the generated pages, or says which of them are old: `python scripts/generate_docs.py [--check]`.

    docs/hazards.md     every hazard with every way of writing, run on the embedded server
    docs/protocol.md    the write protocol: its table, its diagram, its answers, and a patch that was really compiled
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fiferail.status import answers, strategies
from fiferail.status.conversation import TABLE
from fiferail.status.shapes import Shapes
from fiferail.status.stage import Stage
from fiferail.status.view import Status
from fiferail.testing.hazards import page as hazards

if TYPE_CHECKING:
    from collections.abc import Callable

DOCS = Path(__file__).parent.parent / "docs"
_PROTOCOL = """\
# The write protocol

<!-- Written by `python scripts/generate_docs.py` from `fiferail.status`. Do not edit: a test compares. -->

A status is edited in memory and written once. This page is the whole conversation between a writer and a server; it is the same for
every client, blocking or async, because it is code without I/O that asks for requests to be sent and receives answers
(`fiferail.status.conversation`).

## 1. Stage

The writer starts from the *base*: the object that the caller passed. Its own last answer for it, where that is newer, is judged like a live
object before anything is sent. While the caller
edits, two things are noted: what is wanted (set, remove, an entry of a keyed list, at least this number), and which fields
were looked at. Nothing is sent. When nothing has changed, nothing ever is.

## 2. Compile

What is wanted becomes one request. With the default strategy, `COMPARE`, that is a JSON patch in two parts: first a test of everything
that the decision depends on, then the changes. A patch is applied whole or not at all, so a test that fails leaves the object as it was.

Here a controller has looked at the phase, sets a message and flips its condition. Another writer's condition stands in the same
list, and does not appear in the patch:

```json
{patch}
```

The uid keeps the patch off a recreated object of the same name. Values are encoded as the server encodes them, because it compares bytes.

## 3. Send, read the answer, decide

```mermaid
{diagram}
```

{table}

What an answer means, first match from the top:

```
{answers}
```

In LOOK the live object is read, past any cache, and asked four questions in this order:

1. Is it another object, or none? `gone`.
2. Has something changed that was looked at? `conflict`: a session raises `Conflict` with the field, before, after and by whom; `mutate` and
   `create_once` run their function again on the live object.
3. Is everything there that was wanted? `converged`: an answer that was lost on the way had landed, or somebody else wrote the same.
4. Has something changed that would be overwritten, or that it would be put into? `conflict` again, unless this writer claims the
   field and another manager changed it: then it is repaired, and the outcome says so.

When none of these ends it, the live object becomes the snapshot of the next try, at once. A
writer that is refused again while nothing that it tests has changed compares the resourceVersion instead: the object is contended,
or holds a value that cannot be tested.
"""


def protocol() -> str:
    """docs/protocol.md."""
    meanings = "\n".join(line.removeprefix("    ") for line in (answers.__doc__ or "").splitlines()[2:] if line)
    rows = [f"| {state} | {event} | {then} | {why} |" for state, event, then, why in TABLE]
    table = "\n".join(["| state | what comes | next | |", "| --- | --- | --- | --- |", *rows])
    return _PROTOCOL.format(patch=_patch(), diagram=diagram(), table=table, answers=meanings)


def diagram() -> str:
    """The table as a Mermaid state diagram: one arrow for each pair of states."""
    arrows: dict[tuple[str, str], list[str]] = {}
    for state, event, then, _ in TABLE:
        arrows.setdefault((state, then), []).append(event)
    ends = dict.fromkeys(then for _, _, then, _ in TABLE if then not in {state for state, _, _, _ in TABLE})
    lines = ["stateDiagram-v2", f"    [*] --> {TABLE[0][0]}"]
    lines += [f"    {state} --> {then}: {', '.join(events)}" for (state, then), events in arrows.items()]
    return "\n".join([*lines, *(f"    {end} --> [*]" for end in ends)])


def _patch() -> str:
    conditions = [
        {"type": "Probed", "status": "True", "reason": "Ok", "message": "", "lastTransitionTime": "2026-01-01T00:00:00Z"},
        {"type": "Ready", "status": "False", "reason": "Starting", "message": "", "lastTransitionTime": "2026-01-01T00:00:00Z"},
    ]
    base: Any = {
        "apiVersion": "example.io/v1", "kind": "Gadget", "metadata": {"name": "g", "uid": "8f0c", "resourceVersion": "7"},
        "status": {"phase": "Running", "conditions": conditions},
    }  # fmt: skip
    stage = Stage(base, shapes=Shapes(), now=lambda: "2026-01-01T00:05:00Z")
    status = Status(stage, ("status",))
    status["message"] = f"{status['phase']}, 3 of 3"
    status.conditions.set("Ready", True, reason="AllUp")
    body = strategies.compare(base, stage.intents(), stage.reads, stage.shapes)
    assert body is not None, "something was changed"
    return "[\n" + ",\n".join("  " + json.dumps(operation) for operation in json.loads(body.content)) + "\n]"


PAGES: dict[str, Callable[[], str]] = {"hazards.md": hazards.render, "protocol.md": protocol}


def main(arguments: list[str]) -> int:
    """Write, or with --check compare; 1 when a page is old."""
    old = 0
    for name, render in PAGES.items():
        target, text = DOCS / name, render()
        if "--check" not in arguments:
            target.write_text(text, encoding="utf-8")
        elif not target.exists() or target.read_text(encoding="utf-8") != text:
            old = 1
            print(f"docs/{name} is old: python scripts/generate_docs.py")
    return old


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
