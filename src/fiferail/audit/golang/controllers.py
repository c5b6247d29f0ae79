"""Who runs a function, and whose kind a write touches.

Called by `frontend`. A controller is a type whose setup says For(&Kind{}); where nothing says so (client-go style), a type named after
what it does, and its own kind is
read from its name or its package. A function belongs to its receiver's controller, else to the only controller that reaches it by calls.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from fiferail.audit.golang import known
from fiferail.audit.golang.queues import Queues
from fiferail.audit.golang.trees import flat, parts, render, type_name
from fiferail.audit.model import Controller, Ownership, Site

if TYPE_CHECKING:
    from collections.abc import Callable

    from fiferail.audit.golang.project import Func
    from fiferail.audit.golang.scopes import Scope
    from fiferail.audit.golang.values import Values
    from fiferail.audit.golang.walk import Walk
    from fiferail.audit.golang.writes import Writes

_NAMED = re.compile(r"(?i)(?:reconciler|controller)$|^reconcile")
# APIs without a controller of their own: whoever implements them writes their status.
_IMPLEMENTED = (
    "sigs.k8s.io/gateway-api",
    "sigs.k8s.io/mcs-api",
    "sigs.k8s.io/network-policy-api",
    "k8s.io/api/networking/",
    "k8s.io/api/certificates/",
    "k8s.io/api/storage/",
    "k8s.io/api/resource/",
)
_CORE = re.compile(r"(?:^|(?:^|/)api/)(?:core|apps|batch|autoscaling|policy)/v\d\w*$")
_REQUESTS = {"Request", "NamespacedName", "ObjectKey", "string"}
_DEFINITION = "CustomResourceDefinition"
_REFERENCE = {"SetControllerReference", "SetOwnerReference", "NewControllerRef", "SetOwnerReferences"}
_SUFFIX = re.compile(r"(?i)(?:base|generic)?(?:status)?(?:reconciler|controller|manager|handler|updater|syncer|scope|worker)(?:impl)?$")


class Controllers:
    """Controllers of one project, filled while functions are walked."""

    def __init__(self, values: Values, writes: Writes) -> None:
        self.values = values
        self.writes = writes
        self.project = values.project
        self.by_key: dict[str, Controller] = {}
        self.named: dict[str, Controller] = {}
        self._function: dict[str, str] = {}
        self._created: dict[str, set[str]] = {}
        self._refers: set[str] = set()
        self._within: dict[int, Func] = {}
        self._counts: dict[str, int] = {}
        self._callers: Callable[[str], list[Func]] = lambda _: []
        self.queues = Queues(values, writes)

    # -- setup calls ---------------------------------------------------------------------------------------------

    def note(self, func: Func, name: str, call: list[Any], scope: Scope) -> None:
        if name not in ("For", "Owns", "Complete", "Build") or call[1][0] != "." or not call[2]:
            return
        if name in ("For", "Owns"):
            kind = self._literal_kind(call[2][0], scope)
            if not kind:
                return
            for key in self._subjects(func, call, scope):
                controller = self.by_key.setdefault(key, Controller(key, func.file.path, call[3]))
                (controller.own if name == "For" else controller.children).add(kind)

    def _literal_kind(self, expr: list[Any], scope: Scope) -> str:
        while expr and expr[0] in ("&", "*"):
            expr = expr[1]
        if not expr or expr[0] not in ("L", "i", "c", "."):
            return ""
        kind = self.values.typeof(expr, scope)
        if kind is None or kind[0] != "n":
            return ""
        return str(kind[2]) if self.writes.kinds.is_kind(kind) else ""

    def _subjects(self, func: Func, call: list[Any], scope: Scope) -> list[str]:
        """The reconciler types that a builder chain is for: the receiver of the setup method, and what Complete is given."""
        out: list[str] = []
        if func.receiver:
            out.append(f"{func.file.package}.{func.receiver}")
        for statement in flat(func.body):
            for expression in _expressions(statement):
                for part in parts(expression):
                    if part[0] == "c" and part[1][0] == "." and part[1][2] in ("Complete", "Build") and part[2]:
                        out.extend(self._reconciler(part[2][0], scope))
        return list(dict.fromkeys(out)) or [f"{func.file.package}.{func.name}"]

    def _reconciler(self, expr: list[Any], scope: Scope, depth: int = 0) -> list[str]:
        kind = self.values.typeof(expr, scope)
        if kind is not None and kind[0] == "n" and self.project.package_of(kind[1]) is not None:
            # Beside the reconciler a function around it is given what it needs: a manager, a kind, a configuration.
            return [f"{kind[1]}.{kind[2]}"] if depth == 0 or self.project.method(kind[1], kind[2], "Reconcile") is not None else []
        if expr[0] == "c" and depth < 3:
            return [name for argument in expr[2] for name in self._reconciler(argument, scope, depth + 1)]
        return []

    # -- settling ------------------------------------------------------------------------------------------------

    def settle(self, walked: list[tuple[Func, Walk]], callers: Callable[[str], list[Func]]) -> None:
        self._callers = callers
        for func, _ in walked:
            self._function[func.key] = self._controller_key(func)
        counts: dict[str, int] = {}
        for key in {*self._function.values(), *self.by_key}:
            path, _, short = key.rpartition(".")
            pieces = path.split("/")
            for taken in range(len(pieces) + 1):
                name = ".".join(["/".join(pieces[len(pieces) - taken :]), short]) if taken else short
                counts[name] = counts.get(name, 0) + 1
        self._counts = counts
        for key, controller in self.by_key.items():
            controller.name = self.display(key)
            self.named[controller.name] = controller
        for func, walk in walked:
            owner = self._function[func.key]
            for event in walk.events:
                if event.what == "write" and event.site is not None and str(event.site.target) == "create" and event.site.kind:
                    self._created.setdefault(owner, set()).add(event.site.kind)
                    if any(_REFERENCE & set(near.ir[9]) for near in func.file.funcs):
                        self._refers.add(owner)

    def display(self, key: str) -> str:
        if not key:
            return ""
        path, _, short = key.rpartition(".")
        pieces = path.split("/")
        for taken in range(len(pieces) + 1):
            name = ".".join(["/".join(pieces[len(pieces) - taken :]), short]) if taken else short
            if self._counts.get(name, 0) <= 1:
                return name
        return key

    def _controller_key(self, func: Func) -> str:
        own = self._own_controller(func)
        if own:
            return own
        found = self._reaching(func)
        if len(found) == 1:
            return next(iter(found))
        return f"{func.file.package}.{func.receiver}" if func.receiver else ""

    def _own_controller(self, func: Func) -> str:
        key = f"{func.file.package}.{func.receiver}" if func.receiver else ""
        if key in self.by_key or not func.receiver:
            return key
        # A struct around a reconciler, made for one pass, works for that.
        made_of = self.values.types.underlying(("n", func.file.package, func.receiver, ()))
        for embedded in made_of[2].ir[2] if made_of is not None and made_of[0] == "S" else ():
            kind = self.values.types.of_syntax(embedded, func.file)
            if kind is not None and kind[0] == "n" and f"{kind[1]}.{kind[2]}" in self.by_key:
                return f"{kind[1]}.{kind[2]}"
        return key if _NAMED.search(func.receiver) else ""

    def _reaching(self, func: Func) -> set[str]:
        """The controllers whose functions lead to this one by calls, as far as names and imports tell. Stops at the second."""
        out: set[str] = set()
        seen = {func.key}
        level = [func]
        for _ in range(5):
            above: list[Func] = []
            for one in level:
                for caller in self._calling(one):
                    if caller.key in seen:
                        continue
                    seen.add(caller.key)
                    key = self._own_controller(caller)
                    if key:
                        out.add(key)
                    else:
                        above.append(caller)
            if len(out) > 1 or not above or len(seen) > 300:
                break
            level = above
        return out

    def _calling(self, func: Func) -> list[Func]:
        callers = self._callers(func.name)
        if len(callers) > 40:
            return [caller for caller in callers if caller.file.package == func.file.package]
        return [caller for caller in callers if caller.file.package == func.file.package or self._imports(caller, func)]

    def _imports(self, caller: Func, func: Func) -> bool:
        return func.file.package in self.project.imports(caller.file).values()

    def of_function(self, func: Func) -> str:
        return self.display(self._function.get(func.key, ""))

    # -- ownership -----------------------------------------------------------------------------------------------

    def place(self, site: Site, func: Func, walk: Walk) -> None:
        key = self._function.get(func.key, "")
        self._within[id(site)] = func
        site.controller = self.display(key) or func.name
        site.ownership = self._ownership(site, key, func, walk)

    def _ownership(self, site: Site, key: str, func: Func, walk: Walk) -> Ownership:
        if not site.kind:
            return Ownership.UNKNOWN
        controller = self.by_key.get(key)
        if controller is not None and controller.own:
            if site.kind in controller.own:
                return Ownership.OWN
        elif self._queues_it(site.kind, key) or (self._could_own(site.api) and self._named_after(site.kind, key, func)):
            return Ownership.OWN
        if site.kind == _DEFINITION and str(site.target) == "status":
            # Whoever creates a definition: the server reports what became of it.
            return Ownership.FOREIGN
        if (controller is not None and site.kind in controller.children) or self._made_child(site, walk):
            return Ownership.CHILD
        others = self._owners(site.kind, key)
        if site.kind in self._created.get(key, set()) and (not others or key in self._refers):
            # A function that is no method may be called by others than who was seen to.
            return Ownership.CHILD if func.receiver or not others else Ownership.UNKNOWN
        if controller is not None and controller.own and not others and self._named_after(site.kind, key, func, strict=True):
            return Ownership.OWN
        built_in = str(site.target) == "status" and site.api.startswith(known.API_GROUPS_BUILT_IN)
        if key and (others or built_in) and self._runs(key):
            return Ownership.FOREIGN
        return Ownership.UNKNOWN

    def _owners(self, kind: str, but: str) -> list[Controller]:
        """Other controllers that are set up for a kind."""
        return [other for key, other in self.by_key.items() if key != but and kind in other.own]

    def _queues_it(self, kind: str, key: str) -> bool:
        """Whether the queue of a type that no setup names is about a kind."""
        return kind in self._queued(key) and not (self.queues.handed_over(key) and self._owners(kind, key))

    def _queued(self, key: str) -> set[str]:
        path, _, short = key.rpartition(".")
        return self.queues.kinds(path, short) if short else set()

    def _runs_alone(self, site: Site) -> bool:
        """Whether a write belongs to what runs by itself, a scheduler or a server: it, or what calls it, has a method to start it."""
        func = self._within.get(id(site))
        level, seen = [func] if func is not None else [], set[str]()
        for _ in range(4):
            if any(one.receiver and self._starts(one.file.package, one.receiver) for one in level):
                return True
            seen |= {one.key for one in level}
            level = [caller for one in level for caller in self._calling(one) if caller.key not in seen and caller.receiver]
        return False

    def _starts(self, path: str, receiver: str) -> bool:
        """It is started; or run until told to stop, by a number of workers. `Run(ctx)` may be how a builder ends."""
        run = self.project.method(path, receiver, "Run")
        return self.project.method(path, receiver, "Start") is not None or (run is not None and len(run.ir[4]) > 1)

    def claim(self, sites: list[tuple[Site, str]]) -> None:
        """Whose a kind is where no setup of the writer says it.

        A kind of the project that no setup claims belongs to the code that writes its status, and so does a kind of an API that is
        published for others to implement. Any other kind from elsewhere has its owner there. Code that is no controller and writes a
        kind of the project's controllers writes for them.
        """
        claims = {kind for controller in self.by_key.values() for kind in controller.own}
        queued = {key: self._queued(key) for key in {key for _, key in sites if key}}
        for site, key in sites:
            if site.ownership != Ownership.UNKNOWN or str(site.target) != "status" or not site.kind:
                continue
            set_up = self.by_key.get(key)
            if _CORE.search(site.api) and not _is_command(site.package):
                # Pods, nodes, services: the cluster's own controllers report their status.
                site.ownership = Ownership.FOREIGN
                continue
            if site.kind in claims and not (key and self._runs(key)):
                if _is_command(site.package):
                    site.ownership = Ownership.UNKNOWN if self._near(site.api) else Ownership.FOREIGN
                elif not self._runs_alone(site):
                    site.ownership = Ownership.OWN
                continue
            about = set_up.own if set_up and set_up.own else queued.get(key, set())
            if about and any(site.kind in kinds for other, kinds in queued.items() if other != key):
                # This one's queue is about other kinds, and another one's about this.
                site.ownership = Ownership.FOREIGN
                continue
            if site.kind in claims or _is_command(site.package) or (set_up and set_up.own and self._near(site.api)):
                continue
            if about and site.kind not in about and self._near(site.api):
                # A kind that nobody is set up for, written by who is about another.
                site.ownership = Ownership.FOREIGN
            elif self._could_own(site.api):
                site.ownership = Ownership.OWN
            elif site.api:
                site.ownership = Ownership.FOREIGN

    def _could_own(self, api: str) -> bool:
        return self._near(api) or api.startswith(_IMPLEMENTED)

    def _near(self, api: str) -> bool:
        """Whether a kind's package is of the project, or of the same organisation: APIs often are a module of their own."""
        if self.project.package_of(api) is not None or api.count("/") == 1:
            # A group and a version, no import path: it was read off a generated client, which projects have for their own kinds.
            return True
        return any(_organisation(module) == _organisation(api) for _, module in self.project.modules)

    def key_of(self, func: Func) -> str:
        return self._function.get(func.key, "")

    def _runs(self, key: str) -> bool:
        """Whether the type reconciles something: set up as a controller, named as one, or with a Reconcile method."""
        if key in self.by_key:
            return True
        path, _, short = key.rpartition(".")
        reconcile = self.project.method(path, short, "Reconcile")
        if reconcile is not None and len(reconcile.ir[4]) > 1:
            # Who is given something, but no request, is a part of the one that was: `galera.Reconcile(ctx, mariadb)`.
            return any(type_name(parameter[1]) in _REQUESTS for parameter in reconcile.ir[4])
        # A service that reconciles what it was made with is given nothing but a context; a controller of its own is named so.
        return _NAMED.search(short) is not None

    def _made_child(self, site: Site, walk: Walk) -> bool:
        return any(event.what == "owner" and event.subject == site.subject for event in walk.events)

    def _named_after(self, kind: str, key: str, func: Func, strict: bool = False) -> bool:
        """Whether the controller's type, or its package, is named after the kind."""
        low, many = kind.lower(), known.plural(kind)
        path, _, short = key.rpartition(".") if key else (func.file.package, "", func.receiver)
        stem = _SUFFIX.sub("", short).lower()
        if stem in (low, many) or _akin(stem, low):
            return True
        if strict:
            return False
        segments = path.lower().split("/")[-3:]
        if "".join(segments[-2:]) == low or (segments[-2:-1] == ["cmd"]):
            return segments[-2:-1] != ["cmd"]
        if any(_akin(segment, low) for segment in segments[-1:]):
            return True
        return low in segments or many in segments or (len(low) > 4 and any(segment.endswith((low, many)) for segment in segments[-1:]))


def _is_command(package: str) -> bool:
    """Tools that people run are nobody's controller."""
    return any(piece in ("cmd", "cli") for piece in package.split("/"))


def _organisation(path: str) -> str:
    """The part of an import path that names who publishes it."""
    pieces = path.split("/")
    return "/".join(pieces[:2]) if pieces[0] in ("github.com", "gitlab.com", "sigs.k8s.io", "bitbucket.org") else pieces[0]


def _akin(name: str, kind: str) -> bool:
    """Names that share most of the kind's: storageversionmigrator and StorageVersionMigration, disruption and PodDisruptionBudget."""
    if len(name) < 6 or len(kind) < 6:
        return False
    shared = 0
    for left, right in zip(name, kind, strict=False):
        if left != right:
            break
        shared += 1
    return shared >= 0.7 * len(kind) or (len(name) >= 9 and name in kind)


def _expressions(statement: list[Any]) -> list[list[Any]]:
    match statement[0]:
        case "=":
            return list(statement[2])
        case "v":
            return list(statement[3])
        case "r":
            return list(statement[1])
        case "e" | "d" | "g":
            return [statement[1]]
        case "if":
            return [statement[2]]
    return []


__all__ = ["Controllers", "render"]
