"""The Go front end's conductor: from files to sites, functions with events, and controllers.

Called by `audit.run`. The order: lower the files that can matter; walk the functions that call something with the name of a write; take
functions that
write what they are given as wrappers and walk their callers, until no new wrapper appears; ask callers for patches that came in as
parameters;
give every function its controller and every site its ownership. It never judges.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from fiferail.audit.golang import known, outside, rest
from fiferail.audit.golang.bases import Bases
from fiferail.audit.golang.controllers import Controllers
from fiferail.audit.golang.dispatch import Dispatch
from fiferail.audit.golang.flow import double_writes
from fiferail.audit.golang.functions import FunctionValues, kept_closures
from fiferail.audit.golang.must_write import Paths
from fiferail.audit.golang.project import Func
from fiferail.audit.golang.purpose import is_for_writing, makes_function
from fiferail.audit.golang.raw import Raw
from fiferail.audit.golang.touched import fill, sets_status
from fiferail.audit.golang.trees import render
from fiferail.audit.golang.types import Types
from fiferail.audit.golang.values import Values
from fiferail.audit.golang.walk import Walk, follow
from fiferail.audit.golang.wrapper import WRITER_NAME, Wrapper
from fiferail.audit.golang.writers import Writers
from fiferail.audit.golang.writes import Writes
from fiferail.audit.model import Facts, Function, Site, Skipped, too_large

if TYPE_CHECKING:
    from collections.abc import Iterable

    from fiferail.audit.golang.project import GoFile, Project
    from fiferail.audit.golang.scopes import Scope

_INTERESTING = known.WRITES | set(known.CREATE_OR) | rest.SENDS | {name for _, name in known.PATCHES_BOTH}
# Named after the writing of statuses: its calls are writes, also where it finds the objects itself.
_FINDS = re.compile(
    r"(?i)^(?:bulk|batch)?(?:(?:update|patch|write|persist|report|publish|refresh)\w*status|"
    r"(?:set|mark|save|store|update|patch|clean|clear|reset|init\w*)\w*(?:status|condition|phase)(?:es|s)?$|"
    r"(?:sync|ensure|record|propagate|aggregate|reconcile|add|remove)\w*(?:status|condition)(?:es|s)?$)"
)
_ABOUT_STATUS = re.compile(r"(?i)status|condition")
_STAND_IN = re.compile(r"(?:^|/)(?:fakes?|mocks?)(?:/|$)")
_GENERATED_WORDS = (b"\nfunc update", b"\nfunc Update", b"\nfunc patch", b"\nfunc Patch", b"\nfunc apply", b"\nfunc Apply")
_GENERATED_WRITER = re.compile(rb"^func ((?:[uU]pdate|[pP]atch|[aA]pply)\w*Status\w*)\(", re.M)
# Imports stand at the beginning of a file.
_IMPORTS_END = 16_000
# Helpers that call helpers: more than anybody reads through.
_LEVELS = 15
_SETUP = {"For", "Owns", "Complete", "Build", "ControllerManagedBy", "NewControllerManagedBy"}


class GoFrontend:
    """One audit of one project's Go files."""

    def __init__(self, project: Project, audited: set[str]) -> None:
        self.project = project
        self.audited = audited
        self.types = Types(project)
        self.values = Values(self.types)
        self.writes = Writes(self.values)
        self.controllers = Controllers(self.values, self.writes)
        self.dispatch = Dispatch(self.types)
        self._closures: set[int] = set()
        self._called_later: set[str] = set()
        self.walks: dict[int, tuple[Func, Walk]] = {}
        self.raws: dict[int, Raw] = {}
        self.wrappers: dict[str, Wrapper] = {}
        self.functions = FunctionValues(self.values, self.wrappers)
        self.by_method: dict[str, list[Wrapper]] = {}
        self._callers: dict[str, list[Func]] | None = None
        self.writers = Writers(self.writes, self.walks)

    def run(self) -> Facts:
        self._generated_writers()
        functions = [func for file in self._audited_files() for func in file.funcs]
        for func in functions:
            called = set(func.ir[9])
            if called & _INTERESTING or called & _SETUP or any(outside.may_write(name, func.file) for name in called):
                self._walk(func)
        self._wrap()
        bases = Bases(self.writes, self._functions_by_call)
        for func, walk in list(self.walks.values()):
            for site in walk.found.values():
                bases.settle(func, site, self.raws[id(site)])
        for _, walk in self.walks.values():
            for site in walk.found.values():
                fill(site, walk)
        self._refresh_helpers()
        facts = Facts()
        self.controllers.settle([walked for walked in self.walks.values() if walked[1].found], self._functions_by_call)
        for func, walk in self.walks.values():
            self._report(func, walk, facts)
        self.controllers.claim(
            [(site, self.controllers.key_of(func)) for func, walk in self.walks.values() for site in walk.found.values()]
        )
        facts.sites.sort(key=lambda site: (site.file, site.line, site.column))
        facts.controllers = self.controllers.named
        facts.skipped.extend(Skipped(place, reason) for place, reason in sorted(self.values.broken.items()))
        return facts

    def _generated_writers(self) -> None:
        """Generated code is not audited, but what it writes for its callers is theirs: its functions that write a status are followed."""
        for path, file in self.project.files.items():
            if not file.generated or path in self.audited or not any(word in file.source for word in _GENERATED_WORDS):
                continue
            names = {name.decode() for name in _GENERATED_WRITER.findall(file.source)}
            if names:
                self.project.facts(file, True)
                for func in file.funcs:
                    if func.name in names and not func.receiver:
                        self._walk(func)

    def _audited_files(self) -> Iterable[GoFile]:
        return [file for file in self.project.lowered() if file.path in self.audited]

    # -- walking -------------------------------------------------------------------------------------------------

    def _walk(self, func: Func) -> None:
        walk = follow(self.values, func, self._on_call)
        if walk is not None:
            large = too_large(walk.events, len(walk.found))
            if large:
                walk.events = []
                self.values.broken[f"{func.file.path}:{func.line}"] = f"{func.qualified} {large}"
            self.walks[id(func)] = (func, walk)

    def _on_call(self, walk: Walk, call: list[Any], scope: Scope) -> Site | None:
        function = call[1]
        name = (
            function[2]
            if function[0] == "."
            else function[1]
            if function[0] == "i"
            else function[1][-1]
            if function[0] == "[" and function[1][0] == "i"
            else ""
        )
        if function[0] == "[" and function[1][0] == ".":
            name = function[1][2]
        self.controllers.note(walk.func, name, call, scope)
        raw = None
        if name in _INTERESTING or function[0] == "i" or outside.may_write(name, walk.func.file):
            raw = self.writes.classify(call, scope)
        helper: Wrapper | None = None
        if raw is None:
            fitting = self._wrappers_of(call, name, scope) if name in self.by_method else self.functions.held(call, scope)
            helper = fitting[0] if fitting else None
            if helper is not None and makes_function(helper.func) and id(call) not in walk.handed:
                # What it makes is kept, and runs when somebody calls it.
                return None
            if helper is not None:
                raw = self._helper_raw(helper, call, scope)
                if raw is not None and len({one.chief.kind for one in fitting}) > 1 and not self.writes.kinds.is_kind(raw.object_type):
                    raw.kind, raw.polymorphic = "", True
        if raw is None or (helper is None and _decorates(walk.func, name, call) and not self._updates_one_kind(raw, call)):
            return None
        site = self._site(walk.func, call, raw)
        if helper is not None:
            chief = helper.chief
            site.effective = str(chief.way)
            site.target = raw.target if raw.settled else chief.target
            site.helper = helper.func.qualified
            site.helper_place = chief.place
            site.callee_key = helper.func.key
            site.base = site.base or chief.base
            site.force = chief.force
            site.asks = helper.asks
            site.through = chief.through or chief.helper
            if not helper.func.ir[5]:
                # It returns nothing: what became of the error is said where it was met.
                site.error = "used"
        if raw.lent:
            # The patcher is its caller's, which writes with it once more at the end.
            site.error = "used"
        self.raws[id(site)] = raw
        return site

    def _updates_one_kind(self, raw: Raw, call: list[Any]) -> bool:
        """An updater of one kind, `return u.Status().Update(ctx, gadget)`, is no client around a client."""
        return raw.target == "status" and self.writes.is_status_writer(call[1][1]) and self.writes.kinds.is_kind(raw.object_type)

    def _site(self, func: Func, call: list[Any], raw: Raw) -> Site:
        return Site(
            file=func.file.path,
            line=raw.line or call[3],
            function=func.qualified,
            kind=raw.kind,
            target=raw.target,
            verb=raw.verb,
            column=call[5],
            end_line=call[6],
            api=raw.api,
            subject=raw.subject,
            manager=raw.manager,
            force=raw.force,
            polymorphic=raw.polymorphic and not raw.kind,
            helper=raw.helper,
            effective=raw.way
            if raw.way
            else "merge-patch"
            if raw.helper == "patch helper"
            else known.CREATE_OR.get(raw.helper.split(".")[-1], "")
            if raw.helper
            else "",
            package=func.file.package,
            through=raw.through or raw.helper,
        )

    def _wrappers_of(self, call: list[Any], name: str, scope: Scope) -> list[Wrapper]:
        """The wrappers that a call may run: one for a function, every implementation for a method of an interface."""
        callee = self.values.callee(call, scope)
        if callee is not None:
            known_one = self.wrappers.get(callee.key)
            return [known_one] if known_one is not None else []
        function = call[1]
        if function[0] != "." or self.values.imported(function[1], scope):
            return self.functions.held(call, scope)
        owner = self.values.typeof(function[1], scope)
        member = self.types.member(owner, name)
        if member is not None and member[0] == "field":
            # A function value: whichever functions are put into a field of that name, in the project where the name says what for.
            about = _ABOUT_STATUS.search(name) is not None
            held = [wrapper for wrapper in self.by_method[name] if wrapper.func.name != name]
            kept = self.functions.kept(name, scope.file.package)
            return [wrapper for wrapper in held if about or wrapper in kept or wrapper.func.file.package == scope.file.package]
        if member is None or member[0] != "abstract":
            return []
        return self.dispatch.writing(self.by_method[name], name, owner, member[1][0])

    def _helper_raw(self, wrapper: Wrapper, call: list[Any], scope: Scope) -> Raw | None:
        if wrapper.position >= len(call[2]):
            return None
        raw = Raw(str(wrapper.chief.target), "helper")
        if wrapper.position < 0:
            return self._held_raw(wrapper, call, raw, scope)
        self.writes.describe(call[2][wrapper.position], scope, raw)
        if wrapper.apart and any(argument[0] == "F" and sets_status(argument[1][6]) for argument in call[2]):
            # What it is to change is the status.
            raw.target, raw.settled = "status", True
        inner = wrapper.chief
        chief = self.raws.get(id(inner))
        if chief is not None and 0 <= chief.subresource < len(call[2]):
            # The caller says which subresource.
            said = [text for argument in call[2][chief.subresource :] for text in self.values.strings(argument, scope)]
            raw.target, raw.settled = ("status" if "status" in said else str(inner.target)), True
        if chief is not None and chief.parameter < 0:
            # What is written is found by what is given, and is not it. But a function that takes any object writes that, by whatever ways.
            takes = self.types.of_syntax(wrapper.func.ir[4][wrapper.position][1], wrapper.func.file)
            if inner.kind or not self.writes.kinds.kind_of(takes)[2] or not self.writes.kinds.is_kind(raw.object_type):
                raw.kind, raw.polymorphic, raw.api = inner.kind, not inner.kind, inner.api
            raw.parameter, raw.derived = -1, raw.parameter if raw.parameter >= 0 else raw.derived
            if len({site.kind for site in wrapper.sites}) > 1:
                raw.kind, raw.polymorphic = "", True
        elif not raw.kind and len({site.kind for site in wrapper.sites}) > 1:
            raw.polymorphic = True
        elif (
            not raw.kind
            or (inner.kind and not raw.polymorphic and not self.writes.kinds.is_kind(raw.object_type))
            or raw.object_type == ("b", "string")
        ):
            raw.kind, raw.polymorphic, raw.api = inner.kind, inner.polymorphic, inner.api
        if not raw.kind and call[1][0] == ".":
            self.writes.kinds.kind_of_client(self.values.typeof(call[1][1], scope), raw)
        if not raw.kind and raw.object_type is not None and raw.object_type[0] == "s":
            raw.kind, raw.api, raw.polymorphic = self.writes.kinds.kind_of(raw.object_type[1])
        return raw

    def _held_raw(self, wrapper: Wrapper, call: list[Any], raw: Raw, scope: Scope) -> Raw:
        """A method that writes what its receiver holds: the object is named through the receiver of this call."""
        inner = wrapper.chief
        receiver = call[1][1] if call[1][0] == "." else ["i", ""]
        raw.subject = render(receiver) + inner.subject[len(wrapper.func.ir[1]) :]
        if not self.writers.held_by(wrapper.func, inner):
            raw.subject = render(call[1]) + "()"
        raw.kind, raw.api, raw.polymorphic = inner.kind, inner.api, inner.polymorphic
        raw.derived = self.writes.origins.derived(receiver, scope)
        return raw

    # -- wrappers ------------------------------------------------------------------------------------------------

    def _wrap(self) -> None:
        fresh = self._new_wrappers()
        for _ in range(_LEVELS):
            if not fresh:
                return
            takers, kept = self.functions.take(fresh, self.audited)
            for field in kept & set(self.functions.fields):
                self._held_in(field, [wrapper for _, wrapper in self.functions.fields[field]])
            held = kept | self._called_later
            self._called_later = set()
            names = {wrapper.func.name for wrapper in fresh} | held
            self._lower_callers(fresh, held)
            for file in self._audited_files():
                for func in file.funcs:
                    if names & set(func.ir[9]):
                        self._walk(func)
            for func in takers:
                if func.file.path in self.audited:
                    self._walk(func)
            fresh = self._new_wrappers()

    def _held_in(self, field: str, wrappers: list[Wrapper]) -> None:
        known = self.by_method.setdefault(field, [])
        known.extend(wrapper for wrapper in wrappers if wrapper not in known)

    def _new_wrappers(self) -> list[Wrapper]:
        made: list[Wrapper] = []
        for func, walk in self.walks.values():
            given: dict[int, list[Site]] = {}
            for site in walk.found.values():
                raw = self.raws.get(id(site))
                position = -1 if raw is None else raw.parameter if raw.parameter >= 0 else raw.derived
                if raw is not None and position < 0 and _ABOUT_STATUS.search(func.name):
                    position = raw.derived = self.writers.given(func, raw)
                # What a function finds by itself counts where the receiver tells which, or its own name what for.
                found = position < 0 and site.target == "status" and raw is not None and (raw.held or _FINDS.match(func.name) is not None)
                held = self.writers.held_by(func, site) or found
                if raw is not None and (position >= 0 or held) and self.writers.wraps(func, raw, site):
                    given.setdefault(-1 if held else position, []).append(site)
            for position, sites in given.items():
                main = self.writers.told_apart(func, sites)
                apart, sites = len(main) < len(sites), main
                if func.key not in self.wrappers:
                    asks = not WRITER_NAME.search(func.name) and not Paths(func, walk.found).always(func.body)
                    wrapper = Wrapper(func, position, sites, apart, asks)
                    self.wrappers[func.key] = wrapper
                    self.by_method.setdefault(func.name, []).append(wrapper)
                    made.append(wrapper)
                elif self.wrappers[func.key].position == position:
                    self.wrappers[func.key].sites = sites
            if walk.closures - self._closures:
                made.extend(self._kept_by(func, walk))
        return made

    def _kept_by(self, func: Func, walk: Walk) -> Iterable[Wrapper]:
        """Closures of a function that write and outlive it, as writers of their own: `k.finish = func(ctx, gadget) error {...}`."""
        fresh = walk.closures - self._closures
        self._closures |= fresh
        for field, closure in kept_closures(func.body):
            if id(closure) not in fresh:
                continue
            own = Func(func.file, [f"{func.name}:{closure[7]}", *closure[1:], []])
            around = self.values.quick_scope(func)
            for var in around.variables.values():
                # Who calls the closure gives it its own parameters, not those of the function around it.
                var.parameter = -1
            inner = follow(self.values, own, self._on_call, around)
            sites = [site for site in inner.found.values() if site.target == "status"] if inner is not None else []
            if inner is None or not sites or not is_for_writing(own, inner.found, self.writers.answers):
                continue
            raw = self.raws[id(sites[0])]
            wrapper = Wrapper(own, max(raw.parameter, raw.derived), sites)
            wrapper.around = (func, set(inner.found))
            self.wrappers[own.key] = wrapper
            if field:
                self.functions.keeps(field, func.file.package, wrapper)
                self._held_in(field, [wrapper])
            else:
                self.functions.makes(func, wrapper)
            self._called_later.add(field or func.name)
            yield wrapper

    def _lower_callers(self, fresh: list[Wrapper], held: set[str]) -> None:
        """Files that were not lowered so far but name a wrapper, in its package or importing it, or a field that holds one."""
        # A method with the name of a client's is in files that were lowered for that name; `status.Update(client, key, ...)` need not be.
        wanted = [wrapper for wrapper in fresh if not wrapper.func.receiver or wrapper.func.name not in known.WRITES]
        if not wanted and not held:
            return
        methods = _calls(rb"\.", {wrapper.func.name for wrapper in wanted if wrapper.func.receiver} | held)
        functions: dict[str, set[str]] = {}
        for wrapper in wanted:
            if not wrapper.func.receiver:
                functions.setdefault(wrapper.func.file.package, set()).add(wrapper.func.name)
        patterns = [(package, self.project.imported_as(package), _calls(rb"\b", names)) for package, names in functions.items()]
        for path in self.audited:
            file = self.project.files[path]
            if file.facts is not None and file.facts["bodies"]:
                continue
            named = methods is not None and methods.search(file.source) is not None
            for package, imported, pattern in patterns if not named else ():
                if pattern is not None and (file.package == package or file.source.find(imported, 0, _IMPORTS_END) >= 0):
                    named = named or pattern.search(file.source) is not None
            if named:
                self.project.facts(file, True)

    # -- what is known at the end ----------------------------------------------------------------------------------

    def _refresh_helpers(self) -> None:
        """Calls of a wrapper say what the wrapper does, now that its patches are known; writes inside a wrapper that has callers are
        judged through them."""
        called: set[str] = set()
        for _ in range(3):
            for _, walk in self.walks.values():
                for site in walk.found.values():
                    wrapper = self.wrappers.get(site.callee_key)
                    if wrapper is not None:
                        chief = wrapper.chief
                        site.effective, site.base = str(chief.way), chief.base
                        site.through = chief.through or chief.helper
                        site.failing = site.failing or chief.failing
                        if not self.raws[id(site)].settled:
                            site.target = chief.target
                        site.fields, site.lists = site.fields or chief.fields, site.lists or chief.lists
                        called.add(site.callee_key)
        for key in called:
            func, around = self.wrappers[key].func, self.wrappers[key].around
            if around is not None and id(around[0]) in self.walks:
                for id_, site in self.walks[id(around[0])][1].found.items():
                    site.inner = site.inner or id_ in around[1]
            walked = self.walks.get(id(func))
            current = walked[1].found.values() if walked else self.wrappers[key].sites
            for site in current:
                raw = self.raws.get(id(site))
                position = self.wrappers[key].position
                site.inner = raw is not None and (
                    position in (raw.parameter, raw.derived) if position >= 0 else raw.held or self.writers.held_by(func, site)
                )

    def _functions_by_call(self, name: str) -> list[Func]:
        if self._callers is None:
            self._callers = {}
            for file in self._audited_files():
                for func in file.funcs:
                    for called in func.ir[9]:
                        self._callers.setdefault(called, []).append(func)
        return self._callers.get(name, [])

    # -- results -------------------------------------------------------------------------------------------------

    def _report(self, func: Func, walk: Walk, facts: Facts) -> None:
        if not walk.found or func.file.path not in self.audited:
            return
        sites = list(walk.found.values())
        for site in sites:
            self.controllers.place(site, func, walk)
        facts.sites.extend(sites)
        pairs = double_writes(func.body, {id_: site for id_, site in walk.found.items() if not site.asks})
        name = self.controllers.of_function(func)
        facts.functions.append(Function(func.file.path, func.qualified, func.line, int(func.ir[8]), "go", walk.events, sites, pairs, name))


def _calls(before: bytes, names: set[str]) -> re.Pattern[bytes] | None:
    return re.compile(before + rb"(?:" + b"|".join(re.escape(name.encode()) for name in sorted(names)) + rb")[\[(]") if names else None


def _decorates(func: Func, name: str, call: list[Any]) -> bool:
    """A client around a client: a method that hands all its arguments on to the method of the same name is the API, not a use of it. In a
    stand-in for tests what it is given may be cleaned on the way."""
    if func.name != name or not func.receiver or len(func.ir[4]) < 2:
        return False
    given = [render(argument) for argument in call[2]]
    if _STAND_IN.search(func.file.directory) and len(given) == len(func.ir[4]) and render(call[1]).startswith(func.ir[1] + "."):
        return True
    return given == [parameter[0] for parameter in func.ir[4]] and "V1" not in render(call[1])


__all__ = ["GoFrontend", "render"]
