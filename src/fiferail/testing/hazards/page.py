"""docs/hazards.md, made by running every cell on the embedded server: `python -m fiferail.testing.hazards.page docs/hazards.md`."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from fiferail.history.findings import STALE_DECISION
from fiferail.history.words import explain
from fiferail.testing.checking import Watchman

from .matrix import KEPT, LOOPS, LOST, TOLD, run
from .place import embedded
from .scenarios import HAZARDS
from .ways import NAMES, WAYS

if TYPE_CHECKING:
    from fiferail.history.findings import Finding

    from .scenarios import Hazard

_HEAD = """\
# Hazards: who loses what, by which way of writing

<!-- Written by `python -m fiferail.testing.hazards.page docs/hazards.md`. Do not edit: the tests run every cell and compare. -->

Each row is a small story of two actors, a controller and a reporter, told once with every way of writing a status. The test suite runs
all cells on the embedded server and on a real kube-apiserver, and both must give these verdicts.

- **kept**: everything that was decided is there.
- *told*: a caller got an error, and what is missing is that caller's. Whether it comes back is up to that caller.
- **LOST**: something is missing and nobody knows.
- **loops**: nothing is missing, but a write that changes nothing is sent again on every pass.
"""

_WAYS = """\
## The ways

| way | what is sent |
| --- | --- |
| PUT | the whole status with the resourceVersion that was read; a conflict goes to the caller |
| PUT, naive retry | on a conflict the resourceVersion is fetched again, and the same status is sent with it |
| PUT, conditions retried | on a conflict the object is fetched again, and only the conditions are set on it again |
| MERGE | fiferail's `MERGE`: a merge patch of what changed, without a lock |
| LOCKED | fiferail's `LOCKED`: the same with the resourceVersion; `mutate` decides again on the live object |
| blind apply | server-side apply of the whole computed status, forced, all controllers under one field manager |
| APPLY | fiferail's `APPLY`: each writer under its own field manager, never forced |
| COMPARE | fiferail's default: a JSON patch that tests what was read and what is overwritten; plans with `create_once` |
"""

_HONEST = """\
## What is prevented, and what is only detected

- **increment**: `COMPARE` and `LOCKED` make both increments count, because the number is read, and a number that has changed since
  makes the function run again. One thing no client can prevent: when the answer to an increment never comes, the live object does not say
  whether the number there includes it. fiferail looks first and never adds twice to a number that only it has written, but with
  several counters an increment after a lost answer is not exactly-once. Count things that have names instead.
- **cleared plan**: an absent plan looks the same before it was made and after it was cleared. `create_once` is safe because every
  attempt tests the fence that a cleared plan leaves behind (without a fence: the resourceVersion), the generation, and what `build` read.
  A plain `COMPARE` write that tests only the plan itself would make it again: use `create_once(..., fence=...)`.
- **older version**: not prevented by any way of writing. Whoever writes through a version of the CRD that lacks a field erases it,
  without a warning, because the server converts the stored object before the patch meets it. It is detected: the checker names
  the field and the writer, and the auditor finds clients of older versions in source. Serve one version to writers, or keep unknown fields.
- **stale no-op**: a write that is never sent leaves no trace on a server, so the checker cannot see the three losses of that row, nor the
  increment that a PUT client gives up after fetching again. fiferail compares with its own last answer, not with the cache alone.
- **swallowed conflict**: an error can be ignored in any language. What helps is that it does not come: `COMPARE` writes past
  the changes of others in fields that the decision does not depend on.
"""


def render() -> str:
    """The page."""
    rows, stories = [], []
    for hazard in HAZARDS:
        words, said = _told(hazard)
        rows.append(f"| {hazard.name} | " + " | ".join(_shown(word) for word in words) + " |")
        stories.append(_story(hazard, said))
    table = ["| hazard | " + " | ".join(NAMES) + " |", "| --- |" + " --- |" * len(NAMES), *rows]
    return "\n".join([_HEAD, *table, "", _WAYS, _HONEST, "## The stories, and what the checker says", "", *stories])


def _told(hazard: Hazard) -> tuple[list[str], dict[str, str]]:
    words: list[str] = []
    said: dict[str, str] = {}
    for make in WAYS:
        way, watchman = make(), Watchman()
        verdict = run(hazard, way, embedded(watchman))
        words.append(verdict.word)
        found = sorted(watchman.findings(), key=lambda finding: finding.name == STALE_DECISION)
        if found and verdict.word in (LOST, LOOPS):
            said[way.name] = explain(_counted_from(found[0], verdict.origin - 1))
    return words, said


def _counted_from(finding: Finding, start: int) -> Finding:
    """Versions as if the object were the first on its server, so that the page does not change with what a server starts with."""
    versions = {name: max(0, getattr(finding, name) - start) for name in ("base", "written", "overwritten")}
    return msgspec.structs.replace(finding, **versions)


def _shown(word: str) -> str:
    return {KEPT: "kept", TOLD: "*told*", LOST: "**LOST**", LOOPS: "**loops**"}[word]


def _story(hazard: Hazard, said: dict[str, str]) -> str:
    lines = [f"### {hazard.name}\n\n{hazard.what[0].upper()}{hazard.what[1:]}."]
    for name in ("MERGE", "PUT, naive retry", "PUT"):
        if name in said:
            lines.append(f"\nWith {name}:\n\n> {said[name]}")
            break
    return "\n".join(lines) + "\n"


def main(arguments: list[str]) -> None:
    """Write the page where it is wanted."""
    Path(arguments[0]).write_text(render(), encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1:])
