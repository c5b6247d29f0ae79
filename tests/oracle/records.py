"""What is written down while a program runs: intents with their provenance, requests, versions. Plain data; nothing is judged here."""

from __future__ import annotations

from dataclasses import dataclass, field

from .kind import MISSING, Json, Path, covers, meets, uid, version

#: The outcomes that say that a write is stored.
STORED = ("applied", "rebased", "converged")
#: A value that is to be removed.
GONE = MISSING


@dataclass
class Saw:
    """One thing that the caller looked at.

    `how`: "value" is the value before the write; "present" only the type of what stands there; "names" the member names of a map; "after" a
    value read back over an own staged change, which must be what the write leaves there.
    """

    path: Path
    value: Json
    how: str = "value"


@dataclass
class Want:
    """One thing that the caller asserted. `unique` values are written by nobody else, ever."""

    path: Path
    value: Json
    unique: bool = False
    raised: bool = False
    #: Staged while another request of the same session was in flight: any version may have it.
    whenever: bool = False


@dataclass
class Deed:
    """One write of one caller through the writer: what it stood on, what it wanted, what it was answered."""

    id: str
    flow: int
    order: int
    writer: str
    verb: str
    strategy: str
    held: Json
    claims: tuple[Path, ...] = ()
    saw: list[Saw] = field(default_factory=list)
    wants: list[Want] = field(default_factory=list)
    #: Every path that was looked at, also where nothing of it is left to verify.
    looked: list[Path] = field(default_factory=list)
    #: What the same session has written before, by an earlier flush.
    own: dict[Path, Json] = field(default_factory=dict)
    #: What earlier runs of the caller's function saw and wanted: their answer may have been lost.
    past: list[tuple[list[Saw], list[Want]]] = field(default_factory=list)
    #: How often the caller's function ran.
    runs: int = 0
    result: str = ""
    said: str = ""
    object: Json = None
    repaired: tuple[str, ...] = ()
    altered: tuple[str, ...] = ()
    contradicted: tuple[str, ...] = ()
    created: bool | None = None
    made: Json = None
    #: The version that a build function was given, for create_once.
    built_on: int = 0
    fenced: bool = False
    #: The object was passed through a model that does not know everything.
    lossy: bool = False
    #: Flushed in a task of its own: its outcome came back by another flow of control.
    aside: bool = False
    #: Complaints about the interface itself: a view that lied, staging that was accepted too late.
    wrong: list[str] = field(default_factory=list)

    @property
    def uid(self) -> str:
        """Of the object that the caller held."""
        return uid(self.held)

    @property
    def base(self) -> int:
        """The version that the caller held."""
        return version(self.held)

    def want(self, path: Path, value: Json, *, unique: bool = False, raised: bool = False, whenever: bool = False) -> None:
        """Note an assertion; it replaces earlier ones at or below the path, and makes what was read back there outdated."""
        self.wants = [one for one in self.wants if not covers(path, one.path) and not (one.value is GONE and covers(one.path, path))]
        self.wants.append(Want(path, value, unique, raised, whenever))
        self.saw = [one for one in self.saw if not (one.how == "after" and meets(one.path, path))]

    def see(self, path: Path, value: Json, how: str = "value") -> None:
        """Note a read. What this caller has itself put there in full tells it nothing."""
        self.looked.append(path)
        staged = [one for one in self.wants if meets(one.path, path)]
        if not staged:
            self.saw.append(Saw(path, value, how))
        elif any(one.raised for one in staged) or not any(covers(one.path, path) for one in staged):
            self.saw.append(Saw(path, value, "after"))

    def again(self) -> None:
        """The caller's function runs, perhaps not for the first time: only what it does now counts."""
        self.runs += 1
        self.past.append((self.saw, self.wants))
        self.saw, self.wants = [], []

    def follow(self, id: str) -> Deed:
        """The next write of the same session: earlier reads stay, but for what was written since."""
        written = {one.path: one.value for one in self.wants if not one.raised}
        kept = [one for one in self.saw if one.how != "after" and not any(meets(one.path, path) for path in written)]
        own = {**{path: value for path, value in self.own.items() if not any(covers(new, path) for new in written)}, **written}
        who = (self.flow, self.order, self.writer, self.verb, self.strategy)
        return Deed(id, *who, self.held, self.claims, kept, looked=list(self.looked), own=own, lossy=self.lossy)


@dataclass
class Sent:
    """One request that reached the server. `fate`: answered, lost (the answer), or cancelled (its caller, meanwhile)."""

    flow: int
    action: str
    method: str
    body: bytes
    status: int
    #: The version in the answer; 0 where there is none.
    version: int = 0
    fate: str = "answered"
    foreign: bool = False


@dataclass
class Record:
    """Everything of one run."""

    deeds: list[Deed] = field(default_factory=list)
    sent: list[Sent] = field(default_factory=list)
    #: Versions in order, per uid; the last is None when the object was deleted.
    history: dict[str, list[Json]] = field(default_factory=dict)
    operations: int = 0
    troubles: dict[str, int] = field(default_factory=dict)
    wrong: list[str] = field(default_factory=list)

    def count(self, trouble: str) -> None:
        """One more fault or cancellation."""
        self.troubles[trouble] = self.troubles.get(trouble, 0) + 1

    def merge(self, other: Record) -> None:
        """Take what another process wrote down."""
        self.deeds += other.deeds
        self.sent += other.sent
        self.operations += other.operations
        self.wrong += other.wrong
        for trouble, times in other.troubles.items():
            self.troubles[trouble] = self.troubles.get(trouble, 0) + times
