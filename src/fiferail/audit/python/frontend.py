"""The Python front end: from files to sites, functions with events, and handlers.

Called by `run`. It reads every file that has to do with a Kubernetes client, follows values through the project, and lists each write.
A kopf handler is a controller whose own kind its decorator names.
"""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from fiferail.audit.model import Controller, Facts, Ownership, Skipped, too_large
from fiferail.audit.python import callers, reading
from fiferail.audit.python.module import Class, Module
from fiferail.audit.python.project import Project, endings
from fiferail.audit.python.values import Values
from fiferail.audit.python.walk import Walk

if TYPE_CHECKING:
    from fiferail.audit.python.expressions import AnyFunction

# A class of a class of a client's objects is three files away from the client.
_ROUNDS = 3
_SMALL = 200_000
_CLIENT_ROLES = ("api", "client", "dynamic", "resource", "object", "many", "query", "writer")


def audit_python(files: dict[str, bytes], *, generated: bool = False) -> Facts:
    facts = Facts()
    chosen = {path: data for path, data in files.items() if generated or not reading.GENERATED.search(data, 0, 2000)}
    project = Project()
    project.add(_parsed({path: data for path, data in chosen.items() if reading.CLIENTS.search(data)}, facts))
    for _ in range(_ROUNDS):
        if not _users(chosen, project, facts):
            break
    # Only these can write: the files that they import are read for what they name.
    writing = list(project.modules)
    _imported(chosen, project, facts)
    values = Values(project)
    walks = [walk for module in writing for walk in _follow(values, module, facts)]
    _controllers(project, facts)
    callers.list_calls(walks)
    for walk in walks:
        if walk.sites:
            large = too_large(walk.events, len(walk.sites))
            if large:
                walk.events = []
                facts.skipped.append(Skipped(f"{walk.module.path}:{walk.sites[0].line}", f"{walk.name} {large}"))
            facts.functions.append(walk.function())
            facts.sites.extend(walk.sites)
    _ownership(facts)
    return facts


def _parsed(files: dict[str, bytes], facts: Facts) -> list[Module]:
    out = []
    for path in sorted(files):
        tree = reading.parse(path, files[path], facts.skipped)
        if tree is None:
            continue
        try:
            out.append(Module(path, tree))
        except Exception as problem:
            facts.skipped.append(_not_followed(path, problem))
    return out


def _not_followed(path: str, problem: Exception) -> Skipped:
    """A file that breaks the auditor is named and left out: the others are worth more than the traceback."""
    if isinstance(problem, RecursionError):
        return Skipped(path, "is nested too deeply to follow")
    return Skipped(path, f"could not be followed ({type(problem).__name__}); please report it")


def _users(files: dict[str, bytes], project: Project, facts: Facts) -> bool:
    """Files that name no client and use what others made of one: a class of objects, a function that returns a client."""
    values = Values(project)
    known = {module.path for module in project.modules} | {one.file for one in facts.skipped}
    names: set[str] = set()
    for module in project.modules:
        names |= {name for name, made in module.classes.items() if _stands_for_client(made, values)}
        for name, node in module.functions.items():
            if "." not in name and node.returns is not None:
                held = values.of_annotation(node.returns, values.scope(module, None, None))
                if held is not None and held.role in _CLIENT_ROLES:
                    names.add(name)
    used = reading.mention(names)
    found = {path: data for path, data in files.items() if path not in known and used.search(data)} if used is not None else {}
    project.add(_parsed(found, facts))
    return bool(found)


def _imported(files: dict[str, bytes], project: Project, facts: Facts) -> None:
    """Files that are imported by those that were read: they may hold a plural, a version, a function that builds a body."""
    known = {module.path for module in project.modules} | {one.file for one in facts.skipped}
    wanted = {dotted for module in project.modules for dotted in module.imported.values()}
    wanted |= {dotted.rpartition(".")[0] for dotted in wanted}
    found = {path: data for path, data in files.items() if path not in known and len(data) < _SMALL and endings(path) & wanted}
    project.add(_parsed(found, facts))


def _stands_for_client(made: Class, values: Values) -> bool:
    held = values.of_class(made)
    return held is not None and held.role == "class"


def _follow(values: Values, module: Module, facts: Facts) -> list[Walk]:
    walks: list[Walk] = []
    try:
        top = Walk(values, module, "<module>", None, None)
        top.statements([one for one in module.tree.body if not isinstance(one, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef))])
        walks.append(top)
        _definitions(values, module, module.tree.body, "", None, None, walks)
    except Exception as problem:
        facts.skipped.append(_not_followed(module.path, problem))
        return []
    return walks


def _definitions(
    values: Values, module: Module, body: list[ast.stmt], prefix: str, owner: Class | None, outer: Walk | None, walks: list[Walk]
) -> None:
    for node in body:
        if isinstance(node, ast.ClassDef):
            made = module.classes.get(node.name)
            _definitions(values, module, node.body, f"{prefix}{node.name}.", made, outer, walks)
        elif isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            walk = _walk(values, module, f"{prefix}{node.name}", node, owner, outer)
            walks.append(walk)
            _definitions(values, module, node.body, f"{prefix}{node.name}.", owner, walk, walks)
        else:
            for inner in ("body", "orelse", "finalbody"):
                _definitions(values, module, getattr(node, inner, []), prefix, owner, outer, walks)
            for handler in getattr(node, "handlers", []):
                _definitions(values, module, handler.body, prefix, owner, outer, walks)


def _walk(values: Values, module: Module, name: str, node: AnyFunction, owner: Class | None, outer: Walk | None) -> Walk:
    """A function inside another sees what the outer one's names hold at its end."""
    walk = Walk(values, module, name, node, owner)
    if outer is not None:
        parameters = {one.arg for one in [*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs]}
        for known, held in outer.scope.held.items():
            if known not in parameters:
                walk.scope.held.setdefault(known, held)
        for known, value in outer.names.items():
            if known not in parameters:
                walk.names.setdefault(known, value)
        walk.patches |= outer.patches - parameters
    walk.statements(node.body)
    return walk


def _controllers(project: Project, facts: Facts) -> None:
    for module in project.modules:
        for name, (kind, line) in module.handlers.items():
            controller = facts.controllers.setdefault(name, Controller(name, module.path, line))
            if kind:
                controller.own.add(project.spelled(kind))


def _ownership(facts: Facts) -> None:
    """Own is the kind of the handler; a child is what handlers of the same kind create; foreign is what handlers of another kind have."""
    created: dict[str, set[str]] = {}
    for site in facts.sites:
        if site.target == "create" and site.controller in facts.controllers:
            for kind in facts.controllers[site.controller].own:
                created.setdefault(kind, set()).add(site.kind)
    for site in facts.sites:
        if not site.kind or site.controller not in facts.controllers:
            continue
        controller = facts.controllers[site.controller]
        controller.children |= {child for kind in controller.own for child in created.get(kind, set())} - controller.own - {""}
        if site.kind in controller.own:
            site.ownership = Ownership.OWN
        elif site.kind in controller.children or site.target == "create":
            site.ownership = Ownership.CHILD
        elif any(site.kind in other.own for other in facts.controllers.values()):
            site.ownership = Ownership.FOREIGN
