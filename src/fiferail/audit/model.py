"""What the auditor says: sites, findings, reports. Plain data, no I/O.

Front ends make `Site`s and `Event`s of functions; rules read them and make `Finding`s; renderers print a `Report`.
A site is never dropped because it is harmless: the list of writes must be complete, so that a reviewer can trust it.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any


class Verdict(StrEnum):
    OK = "ok"
    REVIEW = "review"
    FIX = "fix"
    OUT_OF_SCOPE = "out-of-scope"


class Target(StrEnum):
    STATUS = "status"
    SPEC = "spec"
    METADATA = "metadata"
    CREATE = "create"
    DELETE = "delete"


class Verb(StrEnum):
    UPDATE = "update"
    MERGE = "merge-patch"
    LOCKED = "merge-patch-locked"
    JSON = "json-patch"
    SSA = "ssa"
    HELPER = "helper"
    CREATE = "create"
    DELETE = "delete"


class Ownership(StrEnum):
    OWN = "own"
    FOREIGN = "foreign"
    CHILD = "child"
    UNKNOWN = "unknown"


@dataclass(slots=True)
class Event:
    """Something that one function does to one variable, in source order: mutate, copy, base, get, write, compare, now.

    `block` is the chain of enclosing blocks, outermost first: an event dominates another when its chain is a prefix of the other's.
    """

    what: str
    line: int
    subject: str = ""
    path: str = ""
    block: tuple[int, ...] = ()
    detail: str = ""
    site: Site | None = None


@dataclass(slots=True)
class Site:
    """One call that writes to the API."""

    file: str
    line: int
    function: str
    controller: str = ""
    kind: str = ""
    ownership: str = Ownership.UNKNOWN
    target: str = Target.SPEC
    verb: str = Verb.UPDATE
    base: str = ""
    verdict: str = Verdict.OK
    rules: list[str] = field(default_factory=list)
    reason: str = ""
    # Below: what the rules need and the JSON output leaves out, or gives after the named fields.
    column: int = 1
    end_line: int = 0
    language: str = "go"
    api: str = ""
    subject: str = ""
    manager: str = ""
    effective: str = ""
    helper: str = ""
    helper_place: str = ""
    fields: tuple[str, ...] = ()
    lists: tuple[str, ...] = ()
    error: str = ""
    guarded: bool = False
    in_retry: str = ""
    deferred: bool = False
    force: bool = False
    loop: bool = False
    no_version: bool = False
    polymorphic: bool = False
    group: str = ""
    package: str = ""
    notes: tuple[str, ...] = ()
    callee_key: str = ""
    base_of: str = ""
    through: str = ""
    inner: bool = False
    failing: bool = False
    # Calls a helper that asks first, and may well leave it.
    asks: bool = False

    @property
    def place(self) -> str:
        return f"{self.file}:{self.line}"

    @property
    def way(self) -> str:
        """How the write reaches the server: the verb, or what the called helper uses."""
        return self.effective or self.verb

    def to_json(self) -> dict[str, Any]:
        return {
            "file": self.file,
            "line": self.line,
            "function": self.function,
            "controller": self.controller,
            "kind": self.kind,
            "ownership": str(self.ownership),
            "target": str(self.target),
            "verb": str(self.verb),
            "base": self.base,
            "verdict": str(self.verdict),
            "rules": list(self.rules),
            "reason": self.reason,
            "via": str(self.way),
            "helper": self.helper,
            "fields": list(self.fields),
            "api": self.api,
            "language": self.language,
        }


@dataclass(slots=True)
class Place:
    file: str
    line: int
    note: str = ""
    column: int = 1

    def to_json(self) -> dict[str, Any]:
        return {"file": self.file, "line": self.line, "note": self.note}


@dataclass(slots=True)
class Finding:
    """One cause, with every place that shares it. The first place is where it is reported."""

    code: str
    slug: str
    message: str
    fix: str
    places: list[Place]
    sites: list[Site] = field(default_factory=list)
    severity: str = "error"
    kind: str = ""
    controller: str = ""
    writers: tuple[str, ...] = ()
    flow: list[Place] = field(default_factory=list)
    fixable: str = ""
    baselined: bool = False
    number: int = 0
    fingerprint: str = ""

    @property
    def page(self) -> str:
        return f"docs/rules/{self.code}.md"

    def to_json(self) -> dict[str, Any]:
        return {
            "number": self.number,
            "code": self.code,
            "rule": self.slug,
            "severity": self.severity,
            "message": self.message,
            "fix": self.fix,
            "page": self.page,
            "kind": self.kind,
            "controller": self.controller,
            "writers": list(self.writers),
            "fixable": self.fixable,
            "fingerprint": self.fingerprint,
            "places": [place.to_json() for place in self.places],
        }


@dataclass(slots=True)
class Skipped:
    file: str
    why: str


@dataclass(slots=True)
class Function:
    """What the rules see of one function: its events in order, and its sites."""

    file: str
    name: str
    line: int
    end_line: int
    language: str
    events: list[Event]
    sites: list[Site]
    paths: list[tuple[Site, Site]] = field(default_factory=list)
    controller: str = ""


#: Rules look at the events of a function once for each of its writes. Real functions stay far below this.
_LARGEST = 1_000_000


def too_large(events: list[Event], writes: int) -> str:
    """Why a function is not judged in full: the product of its events and its writes; empty for any real function."""
    if len(events) * writes <= _LARGEST:
        return ""
    return f"is too large to be judged in full ({writes} writes in one function): they are listed"


@dataclass(slots=True)
class Controller:
    """A reconciler: its own kinds, the kinds it owns as children, and where that is said."""

    name: str
    file: str
    line: int
    own: set[str] = field(default_factory=set)
    children: set[str] = field(default_factory=set)
    watched: set[str] = field(default_factory=set)


@dataclass(slots=True)
class Grant:
    """A verb on a resource that a marker or a role gives."""

    file: str
    line: int
    group: str
    resource: str
    verbs: tuple[str, ...]
    marker: bool = True
    text: str = ""
    span: tuple[int, int] = (0, 0)


@dataclass(slots=True)
class Suppression:
    file: str
    line: int
    codes: tuple[str, ...]
    reason: str
    covers: int = 0
    used: bool = False


@dataclass(slots=True)
class Facts:
    """Everything the front ends found: what rules judge."""

    sites: list[Site] = field(default_factory=list)
    functions: list[Function] = field(default_factory=list)
    controllers: dict[str, Controller] = field(default_factory=dict)
    grants: list[Grant] = field(default_factory=list)
    suppressions: list[Suppression] = field(default_factory=list)
    skipped: list[Skipped] = field(default_factory=list)
    files: int = 0
    lines: int = 0
    # Set once the sites are final: rules ask for the writers of a kind at each of its sites.
    known_writers: dict[str, dict[str, list[Site]]] | None = None

    def writers(self, kind: str) -> dict[str, list[Site]]:
        """Controllers that write the status of a kind, with their sites. Not to be changed."""
        if self.known_writers is None:
            return self._writers(kind)
        if kind not in self.known_writers:
            self.known_writers[kind] = self._writers(kind)
        return self.known_writers[kind]

    def _writers(self, kind: str) -> dict[str, list[Site]]:
        out: dict[str, list[Site]] = {}
        for site in self.sites:
            if site.kind == kind and site.target == Target.STATUS and site.kind and not site.inner:
                out.setdefault(site.controller or site.function, []).append(site)
        return out


@dataclass(slots=True)
class Report:
    facts: Facts
    findings: list[Finding]
    policy: str
    root: str = ""
    matrix: dict[str, dict[str, list[Site]]] = field(default_factory=dict)
