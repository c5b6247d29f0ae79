"""One pass over one Python function, in source order: what its names hold, what it changes, and each call that writes.

Called by `frontend` through `follow`. It keeps the flow (blocks, tries, loops, conditions) and leaves to others what a value is
(`values`), which call writes what (`sending`, `kopf`) and what becomes of an error (`errors`).
"""

from __future__ import annotations

import ast
import re
from bisect import bisect_left, insort
from typing import TYPE_CHECKING

from fiferail.audit.model import Event, Function, Site
from fiferail.audit.python import kopf, sending
from fiferail.audit.python.content import Staged, fields_of
from fiferail.audit.python.errors import outcome, takes_422_for_conflict
from fiferail.audit.python.expressions import NOW, AnyFunction, inner_first, is_list, literal, own_expressions, path_of, resolve, text
from fiferail.audit.python.writes import Write, difference, replaces_status

if TYPE_CHECKING:
    from fiferail.audit.python.module import Class, Module
    from fiferail.audit.python.values import Values

_COPY = re.compile(r"(?:^|\.)(?:deepcopy|copy|to_dict)$")
_READS = re.compile(r"^(?:async_)?(?:read_|get_|list_|fetch|refresh|reload|load_)")
_CLIENT_ROLES = ("client", "class", "resource", "query", "api", "dynamic", "module")
_COMPREHENSIONS = (ast.ListComp, ast.GeneratorExp, ast.SetComp, ast.DictComp)
_ATTEMPTS = re.compile(r"(?i)\brange\(|\bcount\(|attempt|retr|backoff")
_RETRY = re.compile(r"(?i)\bretry|backoff|tenacity")

#: Pairs grow with the square of the writes; no function that anybody wrote by hand has this many.
_MOST = 300
#: How far back a write looks for what was changed before it, in events: further than the start of any real function.
_RECENT = 2000


class Walk:
    """The state of the pass. `calls` keeps every call with what becomes of its error: which of them write is known only later."""

    def __init__(self, values: Values, module: Module, name: str, node: AnyFunction | None, owner: Class | None) -> None:
        self.values = values
        self.module = module
        self.name = name
        self.node = node
        self.scope = values.scope(module, owner, node)
        self.names = self.scope.names
        self.sites: list[Site] = []
        self.events: list[Event] = []
        self.calls: list[tuple[ast.Call, str]] = []
        self.writes: dict[int, Write] = {}
        self.block: tuple[int, ...] = ()
        self.tries: list[ast.Try] = []
        self.loops: list[ast.stmt] = []
        self.conditions: list[str] = []
        self.patches = kopf.patch_names(module, node) | kopf.patch_attributes(owner)
        self.stored: dict[str, dict[str, ast.expr]] = {}
        self.awaited: set[int] = set()
        self.called: set[int] = set()
        self.content_type = ""
        self._blocks = 0
        self._order: list[tuple[Site, tuple[int, ...]]] = []
        self.own, self.controller = _whose(module, name)

    # -- statements --------------------------------------------------------------------------------------------------

    def statements(self, body: list[ast.stmt]) -> None:
        for one in body:
            self.statement(one)

    def inner(self, body: list[ast.stmt], condition: str = "") -> None:
        before = self.block
        self._blocks += 1
        self.block = (*before, self._blocks)
        self.conditions.append(condition)
        self.statements(body)
        self.conditions.pop()
        self.block = before

    def statement(self, one: ast.stmt) -> None:
        if isinstance(one, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            return
        if isinstance(one, (ast.For, ast.AsyncFor)):
            self.values.bind_loop(one.target, one.iter, self.scope)
        for expression in own_expressions(one):
            self.expression(expression)
        if isinstance(one, (ast.Assign, ast.AugAssign, ast.AnnAssign)):
            self._assign(one)
        elif isinstance(one, ast.If):
            self._if(one)
        elif isinstance(one, (ast.For, ast.AsyncFor, ast.While)):
            self.loops.append(one)
            self.inner(one.body)
            self.loops.pop()
            self.inner(one.orelse)
        elif isinstance(one, (ast.With, ast.AsyncWith)):
            self.values.bind_with(one, self.scope)
            self.inner(one.body, "suppress" if any("suppress" in text(item.context_expr) for item in one.items) else "")
        elif isinstance(one, (ast.Try, ast.TryStar)):
            self._try(one)
        elif isinstance(one, ast.Match):
            for case in one.cases:
                self.inner(case.body)
        elif isinstance(one, (ast.Return, ast.Raise)):
            self._leave(one)
        elif isinstance(one, ast.Delete):
            for target in one.targets:
                self._stored(target, ast.Constant(None), one)

    def _if(self, one: ast.If) -> None:
        test = text(one.test)
        self.inner(one.body, test)
        if one.orelse:
            self.inner(one.orelse, f"not {test}")
        if re.search(r"==|!=|\bin\b|\bis\b", test):
            # The rules look for `.Status` in what is compared, whatever the language.
            about = " .Status" if re.search(r"\bstatus\b", test) else ""
            self.events.append(Event("compare", one.lineno, block=self.block, detail=test + about))

    def _try(self, one: ast.Try | ast.TryStar) -> None:
        self.tries.append(one)  # type: ignore[arg-type]
        self.inner(one.body)
        self.tries.pop()
        for handler in one.handlers:
            self.inner(handler.body)
        self.statements(one.orelse)
        self.statements(one.finalbody)

    def _leave(self, one: ast.Return | ast.Raise) -> None:
        value = one.value if isinstance(one, ast.Return) else one.exc
        raised = "raise err " if isinstance(one, ast.Raise) else ""
        self.events.append(Event("return", one.lineno, block=self.block, detail=raised + text(value)))
        if isinstance(one, ast.Return) and self.name in self.module.handlers and kopf.stores_result(self.node):
            if value is None or not kopf.is_result(value, self.names):
                return
            site = self.site(value, Write("merge-patch", "status", self.own, helper="kopf result"))
            site.fields, site.error = (self.name,), "returned"

    # -- assignments -------------------------------------------------------------------------------------------------

    def _assign(self, one: ast.Assign | ast.AugAssign | ast.AnnAssign) -> None:
        value = one.value
        for target in one.targets if isinstance(one, ast.Assign) else [one.target]:
            if value is None:
                held = self.values.of_annotation(one.annotation, self.scope) if isinstance(one, ast.AnnAssign) else None
                if held is not None:
                    self.scope.held[text(target)] = held
            elif isinstance(target, ast.Name):
                if not isinstance(one, ast.AugAssign):
                    self._name(target.id, value, one)
            elif isinstance(target, (ast.Subscript, ast.Attribute)):
                self._stored(target, value, one)
            elif isinstance(target, ast.Tuple):
                self._unpacked(target)

    def _answer(self, value: ast.expr) -> ast.expr:
        """What a request that was sent with `async_req=True` is asked for later: `thread.get(timeout)` gives what the request gives."""
        plain = resolve(value, {})
        if isinstance(plain, ast.Call) and isinstance(plain.func, ast.Attribute) and plain.func.attr in ("get", "result"):
            sent = resolve(plain.func.value, self.names)
            if isinstance(sent, ast.Call) and any(keyword.arg == "async_req" for keyword in sent.keywords):
                return sent
        return value

    def _name(self, name: str, value: ast.expr, one: ast.stmt) -> None:
        value = self._answer(value)
        held = self.values.of(value, self.scope)
        if held is None and isinstance(one, ast.AnnAssign):
            held = self.values.of_annotation(one.annotation, self.scope)
        self.scope.held.pop(name, None)
        if held is not None:
            self.scope.held[name] = held
        self.names[name] = value
        plain = resolve(value, {})
        if isinstance(plain, ast.Call):
            called = text(plain.func)
            if _COPY.search(called):
                subject = text(plain.args[0]) if plain.args else called.rpartition(".")[0]
                self.events.append(Event("copy", one.lineno, subject, block=self.block, detail=name))
            if self._is_read(plain):
                self.events.append(Event("get", one.lineno, name, block=self.block, detail=called))

    def _unpacked(self, target: ast.Tuple) -> None:
        for one in target.elts:
            if isinstance(one, ast.Name):
                self.scope.held.pop(one.id, None)
                self.names.pop(one.id, None)

    def _stored(self, target: ast.expr, value: ast.expr, one: ast.stmt) -> None:
        below = kopf.path_in(target, self.patches, self.names) if self.patches else None
        if below is not None:
            self._kopf(below, value, one)
            return
        if isinstance(target, ast.Attribute):
            held = self.values.of(value, self.scope)
            if held is not None:
                self.scope.held[text(target)] = held
            self.names[text(target)] = value
        if isinstance(target, ast.Subscript):
            self.stored.setdefault(text(target.value), {})[literal(target.slice, self.names)] = value
        path = self._path(target)
        if path[-1] in ("resourceVersion", "resource_version") and len(path) > 1:
            self.events.append(Event("mutate", one.lineno, path[0], "Metadata.ResourceVersion", self.block, f"|{text(value)}"))
        elif "status" in path[1:] or (path[:1] == ["status"] and len(path) > 1):
            at = path.index("status", 0 if path[0] == "status" else 1)
            detail = "now" if NOW.search(text(value)) else "list" if is_list(resolve(value, self.names)) else ""
            self._changed(one.lineno, path, at, f"{detail}|{text(value)}")
        elif len(path) > 1:
            part = next((step for step in path[1:] if step in ("metadata", "spec", "annotations", "labels", "data")), "")
            if part or path[1] in ("obj", "raw"):
                name = "Metadata" if part in ("metadata", "annotations", "labels") else "Spec"
                self.events.append(Event("mutate", one.lineno, path[0], name, self.block, f"|{text(value)}"))

    def _path(self, target: ast.expr) -> list[str]:
        """The path of a target, names that stand for a part of an object put back: s = gadget["status"]; s["phase"] = ..."""
        path = path_of(target)
        held = self.names.get(path[0])
        if len(path) > 1 and isinstance(held, (ast.Subscript, ast.Attribute, ast.Call)):
            whole = path_of(held)
            if "status" in whole[1:] and "?" not in whole:
                return [*whole, *path[1:]]
        return path

    def _changed(self, line: int, path: list[str], at: int, detail: str) -> None:
        name = path[at + 1] if len(path) > at + 1 else ""
        where = f"Status.{name[:1].upper()}{name[1:]}" if name else "Status"
        subject = ".".join(step for step in path[:at] if step != "obj") or "status"
        self.events.append(Event("mutate", line, subject, where, self.block, detail))

    def _kopf(self, path: list[str], value: ast.expr | None, one: ast.AST) -> None:
        """One site for what one statement stages, with all the fields it names."""
        write = kopf.staged(path, value, self.names, self.own)
        if write is None:
            return
        last = self.sites[-1] if self.sites else None
        site = (
            last
            if last is not None and (last.line, last.target, last.helper) == (getattr(one, "lineno", 0), write.target, write.helper)
            else None
        )
        if site is None:
            site = self.site(one, write)
            site.error = "returned"
        listed = "kopf-list" in write.notes
        site.fields = tuple(dict.fromkeys([*site.fields, *path[1:2]]))
        site.lists = tuple(dict.fromkeys([*site.lists, *(path[1:2] if listed else [])]))
        site.notes = tuple(dict.fromkeys([*site.notes, *write.notes]))

    # -- calls -------------------------------------------------------------------------------------------------------

    def expression(self, expression: ast.expr) -> None:
        if isinstance(expression, (ast.Name, ast.Constant)):
            return
        found: list[ast.Call] = []
        for node in ast.walk(expression):
            if isinstance(node, ast.Call):
                found.append(node)
                self.called.add(id(node.func))
            elif isinstance(node, _COMPREHENSIONS):
                self.values.bind_comprehension(node, self.scope)
            elif isinstance(node, ast.NamedExpr) and isinstance(node.target, ast.Name):
                self._name(node.target.id, node.value, ast.Expr(node.value, lineno=node.lineno, col_offset=0))
            elif isinstance(node, ast.Await):
                self.awaited.add(id(node.value))
        for node in inner_first(found):
            self._call(node)

    def _call(self, call: ast.Call) -> None:
        name = call.func.attr if isinstance(call.func, ast.Attribute) else call.func.id if isinstance(call.func, ast.Name) else ""
        self.calls.append((call, self.error()))
        if self._is_read(call):
            self.events.append(Event("get", call.lineno, block=self.block, detail=text(call.func)))
        if name == "set_default_header" and len(call.args) == 2 and literal(call.args[0], self.names).lower() == "content-type":
            self.content_type = literal(call.args[1], self.names)
        if isinstance(call.func, ast.Attribute) and self._changes(call, name, call.func.value):
            return
        for node, write in sending.writes_in(call, name, self):
            site = self.site(node, write)
            self._staged(site, write)

    def _is_read(self, call: ast.Call) -> bool:
        name = call.func.attr if isinstance(call.func, ast.Attribute) else call.func.id if isinstance(call.func, ast.Name) else ""
        if _READS.match(name):
            return True
        if name in ("get", "list", "get_by_name", "objects") and isinstance(call.func, ast.Attribute):
            held = self.values.of(call.func.value, self.scope)
            return held is not None and held.role in _CLIENT_ROLES
        return False

    def _changes(self, call: ast.Call, name: str, receiver: ast.expr) -> bool:
        """A call that changes a dict or a list: of kopf's patch, which is a write, or of a status, which is noted."""
        if name not in ("append", "extend", "update", "setdefault", "insert", "pop", "remove"):
            return False
        below = kopf.path_in(receiver, self.patches, self.names) if self.patches else None
        if below is not None:
            self._patched(call, name, below)
            return True
        path = self._path(receiver)
        if "status" in path[1:] or (path[0] == "status" and len(path) > 1):
            at = path.index("status", 0 if path[0] == "status" else 1)
            how = "append" if name in ("append", "extend", "insert") else ""
            if len(path) > at + 1:
                self._changed(call.lineno, path, at, f"{how}|{text(call)}")
            elif name == "update":
                self._changed(call.lineno, path, at, f"{'now' if NOW.search(text(call)) else ''}|{text(call)}")
        return False

    def _patched(self, call: ast.Call, name: str, below: list[str]) -> None:
        if below[:1] == ["fns"]:
            if name in ("append", "extend"):
                site = self.site(call, Write("json-patch", kopf.part_of_function(call), self.own, helper="kopf patch.fns"))
                site.error = "returned"
        elif name == "update":
            for steps, value in kopf.updated(call, below, self.names):
                self._kopf(steps, value, call)
        elif name == "setdefault" and call.args:
            self._kopf([*below, literal(call.args[0], self.names)], call.args[-1], call)
        elif below:
            self._kopf(below, ast.List([], ast.Load()), call)

    # -- sites -------------------------------------------------------------------------------------------------------

    def site(self, node: ast.AST, write: Write) -> Site:
        line = getattr(node, "lineno", 0)
        site = Site(
            file=self.module.path,
            line=line,
            function=self.name,
            controller=self.controller,
            kind=self.values.project.spelled(write.kind),
            target=write.target,
            verb=write.verb,
            column=getattr(node, "col_offset", 0) + 1,
            end_line=getattr(node, "end_lineno", line) or line,
            language="python",
            api=write.api,
            subject=write.subject,
            helper=write.helper,
            force=write.force,
            no_version="versioned" in write.notes,
            notes=tuple(write.notes),
            error=self.error(),
            guarded=any("==" in one or "!=" in one for one in self.conditions) or kopf.starts_on_change(self.node),
            loop=bool(self.loops),
            in_retry=self._retry(),
        )
        if not site.kind and self.own and write.target == "status" and "body" in site.subject:
            site.kind = self.own
        if write.verb == "json-patch" and write.target == "status" and replaces_status(write.body, self.names):
            site.notes = (*site.notes, "whole status")
        if write.verb not in ("create", "delete") and takes_422_for_conflict(self.tries):
            site.notes = (*site.notes, "422-as-conflict")
        self._base(site, write)
        self.writes[id(site)] = write
        self.sites.append(site)
        self.events.append(Event("write", line, site.subject, str(site.target), self.block, str(site.way), site))
        self._order.append((site, self.block))
        return site

    def _retry(self) -> str:
        """The lines that are run again after a refusal: a loop around a try, or a function under a retry decorator."""
        loop = self.loops[-1] if self.loops else None
        caught = loop is not None and any(handler.lineno >= loop.lineno for one in self.tries for handler in one.handlers)
        if loop is not None and caught and _tries_again(loop):
            return f"{loop.lineno}-{loop.end_lineno}"
        if self.node is not None and any(_RETRY.search(text(one)) for one in self.node.decorator_list):
            return f"{self.node.lineno}-{self.node.end_lineno}"
        return ""

    def _base(self, site: Site, write: Write) -> None:
        """Where the older copy of a difference was taken, and what it is a copy of."""
        pair = difference(write.body, self.names)
        if pair is None:
            return
        old, new = pair
        site.subject = write.subject = text(new)
        held = self.names.get(text(old), old)
        site.base = f"{self.module.path}:{held.lineno}"
        site.base_of = _copied(held) or text(old)
        if text(old) == text(new) or text(held) == text(new):
            site.notes = (*site.notes, "base is the object itself")

    def _staged(self, site: Site, write: Write) -> None:
        """What the write changes: the body's own fields, or what was changed in it before."""
        events = self.events[-_RECENT:]
        found = fields_of(write.body, self.names, events, site.subject, self.stored)
        if site.verb == "merge-patch" and any(_version_of(event, site.subject) for event in events):
            site.verb = "merge-patch-locked"
        site.fields, site.lists = found.fields, found.lists
        for name in found.now:
            self.events.insert(0, Event("mutate", site.line, site.subject, f"Status.{name[:1].upper()}{name[1:]}", self.block, "now|"))
        self._part(site, write, found)

    def _part(self, site: Site, write: Write, found: Staged) -> None:
        """A whole object that is sent back: the part that was changed in it is what is written."""
        read = any(event.what == "get" and event.subject == site.subject for event in self.events[-_RECENT:])
        whole = "whole object" in write.notes or (site.verb == "update" and read)
        if whole and site.target == "spec" and found.parts:
            site.target = "status" if found.parts == {"Status"} else "metadata" if found.parts == {"Metadata"} else "spec"

    def error(self) -> str:
        if "suppress" in self.conditions:
            return "ignored"
        found = outcome(self.tries)
        # Falling out of the handler begins the next turn of the loop.
        return "used" if found == "conflict-swallowed" and self._retry() else found

    def pairs(self) -> list[tuple[Site, Site]]:
        """Two status writes one after the other in one block, neither of them kopf's, which writes once."""
        out = []
        status = [
            (site, block)
            for site, block in self._order
            if site.target == "status" and not site.helper.startswith("kopf") and site.helper != "fiferail"
        ]
        if len(status) > _MOST:
            return []
        returns: dict[tuple[int, ...], list[int]] = {}
        for event in self.events:
            if event.what == "return":
                insort(returns.setdefault(event.block, []), event.line)
        for position, (first, block) in enumerate(status):
            lines = returns.get(block, [])
            for second, later in status[position + 1 :]:
                returned = bisect_left(lines, first.line) < bisect_left(lines, second.line)
                if later[: len(block)] == block and first.kind == second.kind and not returned:
                    out.append((first, second))
        return out

    def function(self) -> Function:
        node = self.node
        line, end = (node.lineno, node.end_lineno or node.lineno) if node is not None else (1, len(self.module.tree.body))
        return Function(self.module.path, self.name, line, end, "python", self.events, self.sites, self.pairs(), self.controller)


def _version_of(event: Event, subject: str) -> bool:
    return event.what == "mutate" and event.path == "Metadata.ResourceVersion" and event.subject == subject and bool(subject)


def _tries_again(loop: ast.stmt) -> bool:
    """A loop over attempts, not over objects."""
    return isinstance(loop, ast.While) or (isinstance(loop, (ast.For, ast.AsyncFor)) and bool(_ATTEMPTS.search(text(loop.iter))))


def _copied(node: ast.expr) -> str:
    """What `copy.deepcopy(x)` is a copy of."""
    plain = resolve(node, {})
    if isinstance(plain, ast.Call) and _COPY.search(text(plain.func)):
        return text(plain.args[0]) if plain.args else text(plain.func).rpartition(".")[0]
    return ""


def _whose(module: Module, name: str) -> tuple[str, str]:
    """The kind that the function's handler has for its own, and the controller it belongs to: handler, class, or outermost function."""
    parts = name.split(".")
    for end in range(len(parts), 0, -1):
        outer = ".".join(parts[:end])
        if outer in module.handlers:
            return module.handlers[outer][0], outer
    return "", parts[0]
