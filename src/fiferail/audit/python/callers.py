"""Functions that write the status of what they are given: their calls are listed as `helper`, with what the function does.

Called by `frontend` after every function was walked. A call is matched with the function it reaches; a call whose receiver cannot be
followed, by a name that only one function has and that speaks of status.
"""

from __future__ import annotations

import ast
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from fiferail.audit.python.content import fields_of
from fiferail.audit.python.expressions import AnyFunction, argument, literal, parameters, resolve, text
from fiferail.audit.python.module import kind_of
from fiferail.audit.python.writes import Write, is_list_of_operations, versioned

if TYPE_CHECKING:
    from fiferail.audit.model import Site
    from fiferail.audit.python.walk import Walk

_WRITER = re.compile(r"(?i)^_*(?:update|patch|write|flush|persist|save|apply|set|sync|commit|report|publish|store|mark|replace|put)\w*")


@dataclass(slots=True)
class Helper:
    """A function that writes, with its first status write."""

    walk: Walk
    node: AnyFunction
    site: Site
    write: Write


def list_calls(walks: list[Walk]) -> None:
    by_node: dict[int, Helper] = {}
    by_name: dict[str, list[Helper]] = {}
    defined: dict[str, int] = {}
    for walk in walks:
        if walk.node is None:
            continue
        defined[walk.node.name] = defined.get(walk.node.name, 0) + 1
        found = _helper(walk)
        if found is not None:
            by_node[id(walk.node)] = found
            by_name.setdefault(walk.node.name, []).append(found)
    if not by_node:
        return
    for walk in walks:
        for call, error in walk.calls:
            name = call.func.attr if isinstance(call.func, ast.Attribute) else call.func.id if isinstance(call.func, ast.Name) else ""
            if name not in by_name:
                continue
            reached = walk.values.callee(call.func, walk.scope)
            helper = by_node.get(id(reached[1])) if reached is not None else None
            if reached is None and len(by_name[name]) == 1 and defined[name] == 1 and "status" in name.lower():
                helper = by_name[name][0]
            if helper is not None and helper.walk is not walk and not any(site.line == call.lineno for site in walk.sites):
                _list(walk, call, error, helper)


def _helper(walk: Walk) -> Helper | None:
    node = walk.node
    if node is None or walk.name in walk.module.handlers:
        return None
    # Who is given kopf's patch is meant to fill it, whatever the name says.
    if not _WRITER.match(node.name) and not walk.patches & {one.arg for one in parameters(node)}:
        return None
    for site in walk.sites:
        if site.target == "status" and site.verb != "helper" and site.helper != "kopf result":
            return Helper(walk, node, site, walk.writes[id(site)])
    return None


def _list(walk: Walk, call: ast.Call, error: str, helper: Helper) -> None:
    inner = helper.site
    write = Write("helper", str(inner.target), inner.kind, inner.api, subject=inner.subject)
    _given(walk, call, helper, write)
    site = walk.site(call, write)
    site.effective, site.helper, site.helper_place, site.error = str(inner.way), helper.walk.name, inner.place, error
    site.fields, site.lists = inner.fields, inner.lists
    body = _passed(call, helper, text(helper.write.body))
    if body is not None:
        found = fields_of(body, walk.names, walk.events, text(body), walk.stored)
        site.fields, site.lists = found.fields or site.fields, found.lists or site.lists
        if inner.way == "merge-patch" and versioned(body, walk.names):
            site.effective = "merge-patch-locked"
        elif inner.way == "merge-patch" and is_list_of_operations(resolve(body, walk.names)):
            site.effective = "json-patch"
    inner.inner = True


def _given(walk: Walk, call: ast.Call, helper: Helper, write: Write) -> None:
    """The kind, where the helper gets the plural as an argument."""
    plural = _passed(call, helper, helper.write.given.get("plural", ""))
    if plural is not None and not write.kind:
        write.kind = kind_of(literal(plural, walk.names))
    if not write.kind and helper.site.helper.startswith("kopf"):
        # What it stages goes to the object of the handler that calls it.
        write.kind = walk.own


def _passed(call: ast.Call, helper: Helper, name: str) -> ast.expr | None:
    """The argument that a call gives for a parameter of the helper."""
    known = [one.arg for one in parameters(helper.node)]
    if name not in known:
        return None
    shift = 1 if known[:1] in (["self"], ["cls"]) and isinstance(call.func, ast.Attribute) else 0
    return argument(call, known.index(name) - shift, name)
