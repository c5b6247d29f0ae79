"""Which functions are writers: their calls are writes too.

Asked by `frontend` for every write of something that a function was given, or that its receiver holds. Names count where they speak of a
status; everything else is up to `purpose`.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from fiferail.audit.golang import known, purpose
from fiferail.audit.golang.effects import acts, does
from fiferail.audit.golang.must_write import Paths
from fiferail.audit.golang.purpose import has_few_statements, is_step
from fiferail.audit.golang.trees import type_name
from fiferail.audit.golang.wrapper import WRITER_NAME

if TYPE_CHECKING:
    from fiferail.audit.golang.project import Func
    from fiferail.audit.golang.raw import Raw
    from fiferail.audit.golang.types import Type
    from fiferail.audit.golang.walk import Walk
    from fiferail.audit.golang.writes import Writes
    from fiferail.audit.model import Site

_RUNS = re.compile(r"(?:Reconcile|reconcile|SetupWithManager|main|Run|ServeHTTP)$")
_STATUS_PACKAGE = re.compile(r"(?:^|/)(?:status(?:es)?|conditions?)$")
_SENDS_ALL = re.compile(r"(?i)status|condition|^(?:must)?(?:patch|apply|persist|flush|save|update|commit)(?!\w*create)")
_BUILDER = re.compile(r"(?i)^(?!reconcile)\w*(?:status|condition)(?!\w*(?:reconciler|controller|manager))")
# How far a function is looked into for whether it does anything.
_DEEP = 3


class Writers:
    """Judges the functions of one project, by the walks that `frontend` made of them so far."""

    def __init__(self, writes: Writes, walks: dict[int, tuple[Func, Walk]]) -> None:
        self.writes = writes
        self.values = writes.values
        self.types = writes.types
        self.project = writes.values.project
        self.walks = walks
        self._purposes: dict[int, tuple[Walk, bool]] = {}

    def held_by(self, func: Func, site: Site) -> bool:
        """Whether a method writes its receiver, or what that holds."""
        return bool(func.ir[1]) and (site.subject == func.ir[1] or site.subject.startswith(func.ir[1] + "."))

    def told_apart(self, func: Func, sites: list[Site]) -> list[Site]:
        """A create-or-update of the project's own that writes a status too, for kinds that have one, is not called for that. What is named
        after a patch or an apply sends whatever was changed, as the patch helpers of others do."""
        status = {id_: site for id_, site in self.walks[id(func)][1].found.items() if site.target == "status"}
        others = [site for site in sites if site.target != "status"]
        if not others or len(others) == len(sites) or _SENDS_ALL.search(func.name) or Paths(func, status).always(func.body):
            return sites
        return others

    def given(self, func: Func, raw: Raw) -> int:
        """The position of what a function that is named after a status was told to write, though that cannot be followed."""
        return self._given_kind(func, raw) if raw.kind else self._given_any(func)

    def _given_kind(self, func: Func, raw: Raw) -> int:
        """The parameter of the kind that the function writes: `syncStatus(ctx, gadget)` may write what it builds from constants."""
        for position, (name, kind, _) in enumerate(func.ir[4]):
            made = self.types.of_syntax(kind, func.file) if name else None
            if made is not None and made[0] == "n" and made[2] == raw.kind and self.writes.kinds.is_kind(made):
                return position
        return -1

    def _given_any(self, func: Func) -> int:
        """The parameter that stands for an object, where what is written says nothing: it is made from that, however."""
        for position, (name, kind, _) in enumerate(func.ir[4]):
            made = self.types.of_syntax(kind, func.file) if name else None
            if made is not None and made[0] == "n" and (self.writes.kinds.is_object(made) or self._is_object_interface(made)):
                return position
        return -1

    def _is_object_interface(self, kind: Type) -> bool:
        """An interface of the project that an object of the API implements."""
        return self.types.member(kind, "GetResourceVersion") is not None and not known.role(kind)

    def wraps(self, func: Func, raw: Raw, site: Site) -> bool:
        """Whether a function's calls are writes because of this write in it."""
        if raw.parameter < 0 and site.target == "status" and _BUILDER.search(func.receiver) and self.held_by(func, site):
            # A builder: `UpdateStatus(gadget).With(...).Run(ctx)`.
            return True
        if _RUNS.match(func.name):
            return False
        if raw.polymorphic and raw.parameter >= 0 and (int(func.ir[8]) - func.line <= 80 or re.search(r"Patch|Update|Status", func.name)):
            return True
        if raw.subresource >= 0:
            return True
        if site.target != "status":
            return False
        short = has_few_statements(func) and site.error == "returned" and not is_step(func.name)
        if short or WRITER_NAME.search(func.name) or _in_status_package(func):
            return True
        return self.is_for_writing(func)

    def is_for_writing(self, func: Func) -> bool:
        """Asked for every write of a function in every round, answered once for each walk."""
        walk = self.walks[id(func)][1]
        known_one = self._purposes.get(id(func))
        if known_one is None or known_one[0] is not walk:
            known_one = self._purposes[id(func)] = (walk, purpose.is_for_writing(func, walk.found, self.answers))
        return known_one[1]

    def answers(self, func: Func, call: list[Any], depth: int = 0) -> bool:
        """Whether a function of the project is called for its answer, or for what it changes in memory: it writes nothing, and does
        nothing else."""
        callee = self._called_by(func, call)
        if callee is None:
            return False
        walked = self.walks.get(id(callee))
        if walked is not None and walked[1].found:
            return False
        if [type_name(result[1]) for result in callee.ir[5]] not in ([], ["error"]) and not does(callee.name):
            return True
        return depth < _DEEP and not acts(self.values.with_body(callee), lambda inner, one: self.answers(inner, one, depth + 1))

    def _called_by(self, func: Func, call: list[Any]) -> Func | None:
        """A function of the project, or a method of the same receiver."""
        called = call[1]
        if called[0] == "i":
            return self.project.function(func.file.package, called[1])
        if called[0] != "." or called[1][0] != "i":
            return None
        if called[1][1] == func.ir[1] and func.receiver:
            return self.project.method(func.file.package, func.receiver, called[2])
        path = self.project.imports(func.file).get(called[1][1], "")
        return self.project.function(path, called[2]) if path else None


def _in_status_package(func: Func) -> bool:
    """`status.SyncGadget(ctx, client, gadget)`: the package says what the function is about."""
    return not func.receiver and func.name[:1].isupper() and _STATUS_PACKAGE.search(func.file.package) is not None
