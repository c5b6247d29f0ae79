"""The Python front end: from files to sites, functions with events, and handlers.

Called by `run`. It reads every file that imports a Kubernetes client, follows names within a module, and lists each write. A kopf
handler is a controller whose
own kind its decorator names. A file that does not parse is skipped with a line that says so.
"""

from __future__ import annotations

import ast
import re
import warnings

from fairlead.audit.model import Controller, Facts, Function, Ownership, Site, Skipped
from fairlead.audit.python.walk import Module

_CLIENTS = re.compile(rb"\b(?:kubernetes|kubernetes_asyncio|lightkube|kr8s|pykube|kopf|fairlead)\b")
_WRITER_NAME = re.compile(r"(?i)^_*(?:update|patch|write|flush|persist|save|apply|set|sync|commit|report|publish|store|mark|replace)\w*")


def audit_python(files: dict[str, bytes]) -> Facts:
    facts = Facts()
    modules: list[Module] = []
    for path in sorted(files):
        if not _CLIENTS.search(files[path]):
            continue
        tree = _parse(path, files[path], facts)
        if tree is not None:
            modules.append(Module(path, tree))
    for module in modules:
        module.run()
    _controllers(modules, facts)
    _helpers(modules)
    for module in modules:
        for function in module.functions:
            if function.sites:
                facts.functions.append(function)
                facts.sites.extend(function.sites)
    _ownership(facts)
    return facts


def _parse(path: str, data: bytes, facts: Facts) -> ast.Module | None:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return ast.parse(data, filename=path)
    except (SyntaxError, ValueError, RecursionError, MemoryError) as problem:
        where = f" (line {problem.lineno})" if isinstance(problem, SyntaxError) and problem.lineno else ""
        facts.skipped.append(Skipped(path, f"does not parse: {str(problem).splitlines()[0]}{where}"))
        return None


def _controllers(modules: list[Module], facts: Facts) -> None:
    for module in modules:
        for name, (kind, line) in module.handlers.items():
            controller = facts.controllers.setdefault(name, Controller(name, module.path, line))
            if kind:
                controller.own.add(kind)


def _helpers(modules: list[Module]) -> None:
    """Functions that write the status of what they are given: their callers are listed, with what they do."""
    wrappers: dict[str, tuple[Function, Site]] = {}
    doubled: set[str] = set()
    for module in modules:
        for function in module.functions:
            short = function.name.rsplit(".", 1)[-1]
            status = [site for site in function.sites if site.target == "status" and not site.helper]
            if status and _WRITER_NAME.match(short) and short not in module.handlers:
                if short in wrappers:
                    doubled.add(short)
                wrappers[short] = (function, status[0])
    for module in modules:
        module.list_calls({name: entry for name, entry in wrappers.items() if name not in doubled})


def _ownership(facts: Facts) -> None:
    for site in facts.sites:
        if not site.kind:
            continue
        controller = facts.controllers.get(site.controller)
        if controller is not None and site.kind in controller.own:
            site.ownership = Ownership.OWN
        elif any(site.kind in other.own for other in facts.controllers.values()) and site.controller in facts.controllers:
            shared = controller is not None and any(
                site.kind in other.own and other.own == controller.own for other in facts.controllers.values()
            )
            site.ownership = Ownership.OWN if shared else Ownership.FOREIGN
        elif site.target == "create" and site.controller in facts.controllers:
            site.ownership = Ownership.CHILD
