"""The judge: from the full history of versions and what every caller saw, wanted and was answered, what went wrong.

Written from the specification alone; it knows nothing of how the writer or the checker work. One function per rule. A violation is certain:
tokens are unique, so who wrote a value and what it was computed from can be read off the values.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import NamedTuple

from .history import Authors, History, pretty
from .kind import MISSING, Json, Path, covers, find, meets, text, uid, version
from .records import GONE, STORED, Deed, Record, Saw, Want
from .verbs import stripped

#: Strategies that promise to lose nothing.
SAFE = ("compare", "locked")
_NOTHING_WRITTEN = re.compile(r"did not write anything|nothing was written", re.IGNORECASE)
_LISTS = ("refs", "tags", "rows", "parts", "conditions")


class Violation(NamedTuple):
    """One thing that must not be."""

    rule: str
    deed: str
    what: str

    def __str__(self) -> str:
        return f"[{self.rule}] {self.deed}: {self.what}"


class Case:
    """One run, ready to be judged."""

    def __init__(self, record: Record) -> None:
        self.record = record
        self.histories = {uid: History(versions) for uid, versions in record.history.items() if versions[0] is not None}
        self.authors = Authors(record)
        #: (uid, index) -> deeds whose tokens came with that version.
        self.landed: dict[tuple[str, int], list[Deed]] = {}
        self.landings: dict[int, list[int]] = {}
        for deed in record.deeds:
            traced = [want for want in deed.wants if want.unique and not want.whenever]
            found = sorted({at for want in traced for at in self.history(deed).landings(want.path, want.value)})
            found = [at for at in found if not self._carried_back(deed, at)]
            self.landings[id(deed)] = found
            for at in found:
                self.landed.setdefault((deed.uid, at), []).append(deed)

    def history(self, deed: Deed) -> History:
        """The versions of the object that the caller held."""
        return self.histories[deed.uid]

    def _carried_back(self, deed: Deed, at: int) -> bool:
        """Whether another step brought the value back with a whole list: as MERGE and APPLY do, or over its caller's own write."""
        senders = self.authors.by_version.get(version(self.history(deed).versions[at]), [])
        step = deed.id.split("~")[0]
        others = [one for sent in senders for one in self.authors.of_step(sent.action)]
        carrying = any(one.strategy not in SAFE or one.assigned for one in others)
        return carrying and all(sent.action != step for sent in senders)

    def writers_of(self, deed: Deed, at: int) -> list[Deed]:
        """The deeds that made a version of the object: by their tokens, or by the request where they have none."""
        found = self.landed.get((deed.uid, at), [])
        if found:
            return found
        senders = self.authors.by_version.get(version(self.history(deed).versions[at]), ())
        return [one for sent in senders for one in self.authors.of_step(sent.action)]

    def returned(self, deed: Deed) -> History:
        """The versions of the object that the caller was given. MERGE and APPLY write to whatever has the name."""
        found = self.histories.get(uid(deed.object), None) if deed.strategy not in SAFE and deed.object is not None else None
        return found or self.history(deed)


def judge(record: Record) -> list[Violation]:
    """Everything that went wrong."""
    case = Case(record)
    found = [Violation(what.split(":")[0], "run", what) for what in record.wrong]
    for deed in record.deeds:
        found += [Violation(what.split(":")[0], deed.id, what) for what in deed.wrong]
        for rule in RULES:
            found += [Violation(rule.__name__, deed.id, what) for what in rule(case, deed)]
    for whole in (double_creation, collateral, moved_fields):
        found += [Violation(whole.__name__, who, what) for who, what in whole(case)]
    return found


# -- what the caller was answered


def acknowledged_is_there(case: Case, deed: Deed) -> Iterator[str]:
    """Applied, rebased and converged: the version that was returned is one of the history, and holds every assertion."""
    if deed.result not in STORED or (deed.verb.startswith("create") and deed.created is False):
        return
    history = case.returned(deed)
    if deed.object is None or version(deed.object) not in history.index:
        yield f"{deed.result}, but the version that was returned is not in the history"
        return
    for want in deed.wants:
        landed = want.whenever and history.landings(want.path, want.value)
        if not landed and not _idle(deed, want) and not holds(deed, want, deed.object) and not _reported(deed, want):
            stands = find(deed.object, want.path)
            yield f"{deed.result}, but {text(want.path)} is {pretty(stands)}, not {pretty(want.value)}, in version {version(deed.object)}"


def unchanged_is_true(case: Case, deed: Deed) -> Iterator[str]:
    """Unchanged: every assertion holds in some version that is not older than the caller's. So it is when a session has ended well."""
    if deed.result not in ("unchanged", "flushed") or deed.verb.startswith("create"):
        return
    if deed.result == "flushed" and deed.strategy not in SAFE:
        return  # it may have gone to another object of the name
    wants = [want for want in deed.wants if not _reported(deed, want) and not _unknown(want) and not _idle(deed, want)]
    if not any(all(holds(deed, want, obj) for want in wants) for obj in case.history(deed).at_or_after(deed.base)):
        missing = ", ".join(f"{text(want.path)}={pretty(want.value)}" for want in wants)
        yield f"{deed.result}, but no version from {deed.base} on has {missing}"


def gone_is_true(case: Case, deed: Deed) -> Iterator[str]:
    """Gone: that uid was deleted."""
    if deed.result == "gone" and not case.history(deed).deleted:
        yield "gone, but the object was never deleted"


def refusals_are_true(case: Case, deed: Deed) -> Iterator[str]:
    """An error that says that nothing was written is right."""
    landed = case.landings[id(deed)]
    if landed and _NOTHING_WRITTEN.search(deed.said) and deed.result not in ("raised",):
        yield f"{deed.result} says that nothing was written, but version {_number(case, deed, landed[0])} has it"


def conflicts_are_true(case: Case, deed: Deed) -> Iterator[str]:
    """A Conflict names something that has changed: a path that was read, or one to be written, and not by the caller's own known writes."""
    if deed.result != "Conflict" or deed.strategy != "compare" or deed.lossy or deed.verb == "create_inside":
        return  # a plan inside a session is written together with what is staged there
    history = case.history(deed)
    end = len(history.versions)
    read = any(history.changed_between(_above(path), deed.base, end) for path in deed.looked)
    strange = [want.path for want in deed.wants if not _own(case, deed, want.path, end, strict=True)]
    written = any(history.changed_between(_above(path), deed.base, end) for path in strange)
    if not read and not written:
        yield f"Conflict, but nothing that it read or wrote has changed since version {deed.base}: {deed.said}"


# -- what was overwritten


def decided_on_what_stands(case: Case, deed: Deed) -> Iterator[str]:
    """Everything that the caller looked at is as it saw it when its write lands."""
    for at in case.landings[id(deed)] if deed.strategy in SAFE else ():
        yield from _of_some_run(case, deed, lambda run, at=at: list(_moved_reads(case, run, at)))  # type: ignore[misc]


def _moved_reads(case: Case, deed: Deed, at: int) -> Iterator[str]:
    history = case.history(deed)
    before, after = history.versions[at - 1], history.versions[at]
    for saw in deed.saw:
        stands = _seen(saw, after if saw.how == "after" else before)
        if stands != saw.value and not (deed.lossy and stripped(stands) == stripped(saw.value)):
            yield (
                f"{deed.strategy} {deed.verb} saw {text(saw.path)} as {pretty(saw.value)} ({saw.how}) and landed in version"
                f" {version(after)} where it is {pretty(stands)}"
            )


def overwrote_what_it_knew(case: Case, deed: Deed) -> Iterator[str]:
    """What a write replaces is what its caller held, or the caller's own acknowledged write, or a repair that is reported."""
    if deed.strategy in SAFE and not deed.verb.startswith("create"):
        for at in case.landings[id(deed)]:
            yield from _of_some_run(case, deed, lambda run, at=at: list(_unknown_victims(case, run, at)))  # type: ignore[misc]


def _unknown_victims(case: Case, deed: Deed, at: int) -> Iterator[str]:
    before, after = case.history(deed).versions[at - 1], case.history(deed).versions[at]
    for want in deed.wants:
        expected = _expected(deed, want.path)
        stands = find(before, want.path)
        if stands == find(after, want.path) or want.raised or want.whenever or _read(deed, want.path):
            continue
        if _same(deed, stands, expected) or holds(deed, want, before):
            continue
        if _repaired(deed, want.path) or _own(case, deed, want.path, at) or _unknown(want):
            continue
        yield (
            f"{deed.strategy} {deed.verb} put {pretty(want.value)} at {text(want.path)} in version {_number(case, deed, at)} over"
            f" {pretty(stands)}, but its caller knew {pretty(expected)} (version {deed.base})"
        )


def _of_some_run(case: Case, deed: Deed, complaints: Callable[[Deed], list[str]]) -> list[str]:
    """The complaints about the last run of the caller's function; after an unknown outcome an earlier run may be the one that landed."""
    found = complaints(deed)
    if found and case.authors.fates(deed) & {"lost", "cancelled"}:
        for saw, wants in deed.past:
            if wants and not complaints(replace(deed, saw=saw, wants=wants)):
                return []
    return found


def locked_is_locked(case: Case, deed: Deed) -> Iterator[str]:
    """LOCKED: between the caller's version and the write there are only the caller's own acknowledged writes."""
    if deed.strategy != "locked" or deed.own:
        return
    history = case.history(deed)
    for at in case.landings[id(deed)]:
        first = history.index.get(deed.base, 0) + 1
        base = version(history.versions[first - 1])
        strangers = [one for one in range(first, at) if not any(_known(deed, other) for other in case.writers_of(deed, one))]
        if strangers and deed.runs <= 1:
            yield f"locked {deed.verb} landed in version {_number(case, deed, at)} over a foreign version after {base}"


def written_once(case: Case, deed: Deed) -> Iterator[str]:
    """A write that never lost an answer lands once."""
    if "lost" in case.authors.fates(deed) or deed.result in ("cancelled", "crash"):
        return
    history = case.history(deed)
    for want in deed.wants:
        if want.unique and want.path[1] not in _LISTS and len(found := history.landings(want.path, want.value)) > 1:
            numbers = [version(history.versions[at]) for at in found]
            yield f"{text(want.path)} was given {pretty(want.value)} in versions {numbers}"
    if len(found := case.landings[id(deed)]) > 1 and deed.strategy in SAFE and not any(want.path[1] in _LISTS for want in deed.wants):
        yield f"landed {len(found)} times, in versions {[version(history.versions[at]) for at in found]}"


# -- create once


def plan_is_of_its_time(case: Case, deed: Deed) -> Iterator[str]:
    """A plan lands in an empty slot; without a fence, in one that was empty ever since its builder looked."""
    if not deed.verb.startswith("create"):
        return
    history = case.history(deed)
    slots = {want.path[:2] for want in deed.wants if want.path[:1] == ("status",) and want.path[-1] == "id"}
    for slot in slots:
        for at in case.landings[id(deed)]:
            if find(history.versions[at - 1], slot) is not MISSING:
                yield f"the plan landed in version {_number(case, deed, at)} over {pretty(find(history.versions[at - 1], slot))}"
            filled = [one for one in range(history.index.get(deed.built_on, at), at) if find(history.versions[one], slot) is not MISSING]
            if filled and not deed.fenced:
                yield f"a plan stood in version {version(history.versions[filled[0]])}, after this one was built and before it landed"


def made_is_true(case: Case, deed: Deed) -> Iterator[str]:
    """The value that create_once returns stood in the slot; created is False only for those whose plan never landed."""
    if not deed.verb.startswith("create") or deed.result not in (*STORED, "unchanged"):
        return
    landed = case.landings[id(deed)]
    if deed.created is False and landed and find(deed.made, ("id",)) in {want.value for want in deed.wants}:
        yield f"created is False, but the plan of this call landed in version {_number(case, deed, landed[0])}"
    if deed.created and not landed and any(want.unique for want in deed.wants):
        yield "created is True, but the plan of this call never landed"
    if deed.made is not None and deed.object is not None and not any(
        find(deed.object, ("status", slot)) == deed.made for slot in ("plan", "unheardPlan")
    ):  # fmt: skip
        yield f"returned {pretty(deed.made)}, which is not in the version that was returned"


def double_creation(case: Case) -> Iterator[tuple[str, str]]:
    """As many creations are acknowledged as slots were filled."""
    claimed: Counter[tuple[str, str]] = Counter()
    filled: Counter[tuple[str, str]] = Counter()
    for deed in case.record.deeds:
        if deed.created:
            claimed[deed.uid, str(deed.made.get("id") if isinstance(deed.made, dict) else deed.made)] += 1
    for key, history in case.histories.items():
        for change in history.changes.get(("status", "plan", "id"), ()):
            filled[key, str(change.after)] += 1
    for (key, plan), times in claimed.items():
        if times > filled[key, plan]:
            yield "run", f"{times} callers were answered that they created {plan}, which was stored {filled[key, plan]} times"


# -- what nobody asserted


def collateral(case: Case) -> Iterator[tuple[str, str]]:
    """A version that a writer made changes nothing that the deeds in its request did not assert."""
    for history in case.histories.values():
        for at, diff in enumerate(history.diffs):
            senders = case.authors.by_version.get(version(history.versions[at]), [])
            if not diff or not senders or any(sent.foreign for sent in senders):
                continue
            deeds = [deed for sent in senders for deed in case.authors.deeds(sent)]
            deeds = [deed for deed in deeds if deed.uid == uid(history.versions[at]) or deed.strategy not in SAFE]
            writers = {deed.writer for deed in deeds}
            deeds += [deed for deed in case.record.deeds if deed.writer in writers and not any(want.unique for want in deed.wants)]
            lists = any(deed.strategy in ("merge", "apply") for deed in deeds)
            for path, (before, after) in diff.items():
                same = [deed for deed in deeds if deed.uid == uid(history.versions[at])]
                own = path[1] in _LISTS and any(_own(case, deed, path[:2], at) for deed in same)  # its own older list, knowingly
                own = own or (after is MISSING and any(_replaced(case, deed, path, at) for deed in same))
                if not _asserted(deeds, path) and not own and not (lists and path[1] in _LISTS):
                    who = ",".join(sorted({deed.id for deed in deeds}))
                    change = f"{text(path)} from {pretty(before)} to {pretty(after)}"
                    yield who, f"version {version(history.versions[at])} changed {change}; nobody asserted it"


def moved_fields(case: Case) -> Iterator[tuple[str, str]]:
    """A field that a model does not know stays with its row."""
    for history in case.histories.values():
        for obj in history.versions:
            for row in (*((obj.get("status") or {}).get("rows") or []), *((obj.get("status") or {}).get("parts") or [])):
                if row.get("extra") not in (None, f"x-{row.get('name')}"):
                    yield "run", f"version {version(obj)} has the unknown field of another row: {pretty(row)}"


# -- parts


def holds(deed: Deed, want: Want, obj: Json) -> bool:
    """Whether an object has what was asserted."""
    stands = find(obj, want.path)
    if want.raised:
        return isinstance(stands, int) and bool(stands >= want.value)
    if want.value is GONE:
        return stands is MISSING
    return _same(deed, stands, want.value)


def _same(deed: Deed, one: Json, other: Json) -> bool:
    if deed.lossy:
        one, other = stripped(one), stripped(other)
    return bool(_pruned(one) == _pruned(other))


def _pruned(value: Json) -> Json:
    """As the server keeps it: no nulls in objects."""
    if isinstance(value, dict):
        return {name: _pruned(member) for name, member in value.items() if member is not None}
    return [_pruned(member) for member in value] if isinstance(value, list) else value


def _reported(deed: Deed, want: Want) -> bool:
    """Whether the outcome names the path: altered by the server, or a value that the caller took for settled and that has changed."""
    if any(text(want.path).startswith(name) for name in deed.contradicted):
        return True
    return any(name in (text(want.path), want.path[1]) for name in deed.altered) or any(
        name.startswith(text(want.path)) or text(want.path).startswith(name) for name in deed.altered
    )


def _idle(deed: Deed, want: Want) -> bool:
    """Whether something is removed that the caller never had, or raised blindly to what it was: no assertion. What a second run of
    a blind strategy had, nobody noted."""
    if want.raised and deed.strategy not in SAFE:
        return holds(deed, want, deed.held)
    if want.value is GONE and deed.runs > 1 and deed.strategy not in SAFE:
        return True
    return want.value is GONE and _expected(deed, want.path) is MISSING


def _unknown(want: Want) -> bool:
    """A field that the schema lacks."""
    return want.path[1] == "unheardOf"


def _seen(saw: Saw, obj: Json) -> Json:
    stands = find(obj, saw.path)
    if saw.how == "present":
        return "absent" if stands is MISSING else "map" if isinstance(stands, dict) else "list" if isinstance(stands, list) else "value"
    if saw.how == "names":
        return sorted(stands) if isinstance(stands, dict) else MISSING
    return stands


def _expected(deed: Deed, path: Path) -> Json:
    """What the caller knew at the path: its session's own earlier write, or the object that it passed."""
    for written, value in deed.own.items():
        if covers(written, path):
            return value if written == path else find({"x": value}, ("x", *path[len(written) :]))
    return find(deed.held, path)


def _above(path: Path) -> Path:
    """The container that a path leads into, and the whole of a list: a write also depends on what it is put into."""
    if len(path) > 1 and path[1] in _LISTS:
        return path[:2]
    return path[:-1] if len(path) > 2 else path


def _read(deed: Deed, path: Path) -> bool:
    """Whether the caller has looked at all of it: then `decided_on_what_stands` judges. A run on the live object has seen the members
    whose names it was shown."""
    if deed.runs > 1 and any(saw.how == "names" and saw.path == path[:-1] and path[-1] in saw.value for saw in deed.saw):
        return True
    return any((saw.how == "value" or saw.value == "absent") and covers(saw.path, path) for saw in deed.saw)


def _repaired(deed: Deed, path: Path) -> bool:
    return any(covers(claim, path) for claim in deed.claims) and any(text(path) == name for name in deed.repaired)


def _known(deed: Deed, other: Deed) -> bool:
    """Whether it is an own write whose outcome the caller had before, on the same version of the object.

    A function that ran again stood on a version that only the writer knows: that may be the one.
    """
    if not _same_caller(deed, other) or other.result not in (*STORED, "flushed", "tried again"):
        return False
    earlier = other.order < deed.order or (other.order == deed.order and other is not deed)
    return earlier and (other.base == deed.base or other.runs > 1 or other.lossy)


def _same_caller(deed: Deed, other: Deed) -> bool:
    return (other.flow, other.writer, other.uid) == (deed.flow, deed.writer, deed.uid)


def _remembered(case: Case, deed: Deed, other: Deed) -> bool:
    """Whether the writer must still know an own write: it came back in this flow of control, and tested what it found; so did all since,
    on the same version."""
    since = [one for one in case.record.deeds if _same_caller(deed, one) and other.order <= one.order < deed.order]
    return not other.aside and all(one.base == deed.base and one.runs <= 1 and one.strategy in SAFE for one in (other, *since))


def _replaced(case: Case, deed: Deed, path: Path, at: int) -> bool:
    """Whether the caller assigned the whole map in which its own earlier write had put this."""
    return any(covers(map_, path) for map_ in deed.assigned) and _own(case, deed, path, at)


def _own(case: Case, deed: Deed, path: Path, at: int, *, strict: bool = False) -> bool:
    """Whether only own writes whose outcome the caller had lead from what it held at the path to what stands there.

    Others may have changed the path before, and changed it back or had it repaired. `strict`: and the writer must know those writes too.
    """

    def mine(other: Deed) -> bool:
        known = _known(deed, other) and (not strict or _remembered(case, deed, other))
        return known and any(meets(want.path, path) for want in other.wants)

    history = case.history(deed)
    first = None
    for one in reversed(history.changed_between(path, deed.base, at)):
        if not any(map(mine, case.writers_of(deed, one))):
            break
        first = one
    if first is None:
        return False
    stood = _same(deed, find(history.versions[first - 1], path), find(deed.held, path))
    return stood or any(mine(other) and _repaired(other, path) for other in case.writers_of(deed, first))


def _asserted(deeds: list[Deed], path: Path) -> bool:
    for deed in deeds:
        for want in (*deed.wants, *(want for _, wants in deed.past for want in wants)):
            if covers(want.path, path):
                return True
            if want.path[:3] == path[:3] and len(path) > 3 and path[1] in ("conditions", "parts"):
                return True  # the key of an entry, and what a condition says beside its message
    return False


def _number(case: Case, deed: Deed, at: int) -> int:
    return version(case.history(deed).versions[at])


RULES: tuple[Callable[[Case, Deed], Iterator[str]], ...] = (
    acknowledged_is_there, unchanged_is_true, gone_is_true, refusals_are_true, conflicts_are_true, decided_on_what_stands,
    overwrote_what_it_knew, locked_is_locked, written_once, plan_is_of_its_time, made_is_true,
)  # fmt: skip
