"""Following one Python module: functions, what their names hold, and each call that writes.

Called by `frontend`. Names are followed within a function and from the module's top; attributes of self by their last assignment in the
module. It never imports the
audited code.
"""

from __future__ import annotations

import ast
import re

from fairlead.audit.model import Event, Function, Site
from fairlead.audit.python import calls
from fairlead.audit.python.calls import Write, literal, resolve, text

_HANDLER = re.compile(r"\bon\.(create|update|resume|delete|field|timer|daemon|event|startup)$|\b(timer|daemon|index)$")
_LIBRARIES = ("kubernetes_asyncio", "kubernetes", "lightkube", "kr8s", "pykube", "kopf", "fairlead")
_NOW = re.compile(r"\b(?:utcnow|now|time\.time)\(")
AnyFunction = ast.FunctionDef | ast.AsyncFunctionDef


class Module:
    """One parsed file."""

    def __init__(self, path: str, tree: ast.Module) -> None:
        self.path = path
        self.tree = tree
        self.libraries: set[str] = set()
        self.imported: dict[str, str] = {}
        self.names: dict[str, ast.expr] = {}
        self.kinds: dict[str, str] = {}
        self.handlers: dict[str, tuple[str, int]] = {}
        self.functions: list[Function] = []
        self._walks: list[_FunctionWalk] = []

    def run(self) -> None:
        self._imports()
        self._top()
        body = [node for node in self.tree.body if not isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef))]
        self._follow("<module>", body, 1, len(self.tree.body), None, "")
        self._definitions(self.tree.body, "")

    def _imports(self) -> None:
        for node in ast.walk(self.tree):
            if isinstance(node, ast.Import):
                for alias in node.names:
                    self._library(alias.name, alias.asname or alias.name.split(".")[0])
            elif isinstance(node, ast.ImportFrom) and node.module:
                for alias in node.names:
                    self._library(node.module, alias.asname or alias.name, alias.name)

    def _library(self, module: str, name: str, member: str = "") -> None:
        root = module.split(".")[0]
        if root in _LIBRARIES:
            self.libraries.add(root)
            if module.startswith("kubernetes.aio"):
                self.libraries.add("kubernetes_asyncio")
                self.libraries.discard("kubernetes")
            self.imported[name] = f"{module}.{member}" if member else module

    def _top(self) -> None:
        """Names of the module and attributes of its objects, by their last assignment."""
        for node in ast.walk(self.tree):
            if isinstance(node, ast.Assign) and len(node.targets) == 1:
                target = node.targets[0]
                if isinstance(target, ast.Attribute):
                    self.names[text(target)] = node.value
                self._generic_kind(target, node.value)
        for node in self.tree.body:
            if isinstance(node, ast.Assign) and len(node.targets) == 1 and isinstance(node.targets[0], ast.Name):
                self.names[node.targets[0].id] = node.value
            elif isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name) and node.value is not None:
                self.names[node.target.id] = node.value

    def _generic_kind(self, target: ast.expr, value: ast.expr) -> None:
        """Gadget = create_namespaced_resource(group, version, "Gadget", "gadgets"), new_class(kind="Gadget"): classes made at run time."""
        if isinstance(target, ast.Name) and isinstance(value, ast.Call):
            maker = text(value.func).rsplit(".", 1)[-1]
            if maker in ("create_namespaced_resource", "create_global_resource"):
                self.kinds[target.id] = literal(calls.argument(value, 2, "kind"), self.names)
            elif maker == "new_class":
                self.kinds[target.id] = literal(calls.argument(value, 0, "kind"), self.names)
            elif maker == "object_factory":
                self.kinds[target.id] = literal(calls.argument(value, 2, "kind"), self.names)

    def _definitions(self, body: list[ast.stmt], owner: str) -> None:
        for node in body:
            if isinstance(node, ast.ClassDef):
                self._definitions(node.body, f"{owner}{node.name}.")
            elif isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
                self._function(node, owner)
            elif isinstance(node, (ast.If, ast.Try, ast.With)):
                self._definitions([*node.body], owner)

    def _function(self, node: AnyFunction, owner: str) -> None:
        name = f"{owner}{node.name}"
        kind = self._handler_kind(node)
        if kind is not None:
            self.handlers[name] = (kind, node.lineno)
        self._follow(name, node.body, node.lineno, node.end_lineno or node.lineno, node, owner.rstrip("."))
        self._definitions(node.body, f"{name}.")

    def _handler_kind(self, node: AnyFunction) -> str | None:
        """The kind that a kopf decorator names; None for a function that is no handler."""
        found: str | None = None
        for decorator in node.decorator_list:
            if not isinstance(decorator, ast.Call) or "kopf" not in self.libraries or not _HANDLER.search(text(decorator.func)):
                continue
            if text(decorator.func).endswith("startup"):
                continue
            strings = [literal(one, self.names) for one in decorator.args]
            plural = literal(calls.argument(decorator, -1, "plural", "kind"), self.names)
            named = plural or (strings[-1] if strings else "")
            found = calls.kind_of(named) or found or ""
        return found

    def _follow(self, name: str, body: list[ast.stmt], line: int, end: int, node: AnyFunction | None, owner: str) -> None:
        walk = _FunctionWalk(self, name, node, owner)
        walk.statements(body)
        function = Function(self.path, name, line, end, "python", walk.events, walk.sites, walk.pairs(), walk.controller)
        self.functions.append(function)
        self._walks.append(walk)

    def list_calls(self, wrappers: dict[str, tuple[Function, Site]]) -> None:
        """Adds helper sites for calls of functions that write."""
        for walk, function in zip(self._walks, self.functions, strict=True):
            for call, context in walk.calls:
                name = text(call.func).rsplit(".", 1)[-1]
                entry = wrappers.get(name)
                if entry is None or entry[0] is function:
                    continue
                inner = entry[1]
                site = walk.site(call, Write("helper", str(inner.target), inner.kind, inner.api, subject=inner.subject))
                site.effective, site.helper, site.helper_place, site.error = str(inner.way), entry[0].name, inner.place, context
                site.fields, site.lists = inner.fields, inner.lists
                inner.inner = True


class _FunctionWalk:
    """One pass over one function, in source order."""

    def __init__(self, module: Module, name: str, node: AnyFunction | None, owner: str) -> None:
        self.module = module
        self.name = name
        self.node = node
        self.names = dict(module.names)
        self.sites: list[Site] = []
        self.events: list[Event] = []
        self.calls: list[tuple[ast.Call, str]] = []
        self.block: tuple[int, ...] = ()
        self.tries: list[ast.Try] = []
        self.loops: list[ast.stmt] = []
        self.conditions: list[str] = []
        self.clients: dict[str, str] = {}
        self._blocks = 0
        self._order: list[tuple[Site, tuple[int, ...], bool]] = []
        kind = module.handlers.get(name, ("", 0))[0]
        self.own = kind
        self.controller = name if name in module.handlers else owner or name
        if node is not None:
            self._parameters(node)

    def _parameters(self, node: AnyFunction) -> None:
        for parameter in [*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs]:
            annotation = text(parameter.annotation).strip("'\"")
            root = annotation.split(".")[0].split("[")[0]
            imported = self.module.imported.get(root, "")
            if imported:
                self.clients[parameter.arg] = imported.split(".")[0] if annotation else ""
            if parameter.arg == "patch" and "kopf" in self.module.libraries and self.name in self.module.handlers:
                self.clients["patch"] = "kopf"

    # -- statements ----------------------------------------------------------------------------------------------

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
        for expression in _own_expressions(one):
            self.expression(expression)
        if isinstance(one, (ast.Assign, ast.AugAssign, ast.AnnAssign)):
            self._assign(one)
        elif isinstance(one, ast.If):
            self.inner(one.body, text(one.test))
            if one.orelse:
                self.inner(one.orelse, f"not {text(one.test)}")
            if re.search(r"==|!=", text(one.test)):
                self.events.append(Event("compare", one.lineno, block=self.block, detail=text(one.test)))
        elif isinstance(one, (ast.For, ast.AsyncFor, ast.While)):
            self.loops.append(one)
            self.inner(one.body)
            self.loops.pop()
            self.inner(one.orelse)
        elif isinstance(one, (ast.With, ast.AsyncWith)):
            self._bind_with(one)
            self.inner(one.body, "suppress" if any("suppress" in text(item.context_expr) for item in one.items) else "")
        elif isinstance(one, ast.Try):
            self.tries.append(one)
            self.inner(one.body)
            self.tries.pop()
            for handler in one.handlers:
                self.inner(handler.body)
            self.statements(one.orelse)
            self.statements(one.finalbody)
        elif isinstance(one, ast.Match):
            for case in one.cases:
                self.inner(case.body)
        elif isinstance(one, (ast.Return, ast.Raise)):
            self._leave(one)

    def _bind_with(self, one: ast.With | ast.AsyncWith) -> None:
        for item in one.items:
            if isinstance(item.optional_vars, ast.Name):
                self.names[item.optional_vars.id] = item.context_expr

    def _leave(self, one: ast.Return | ast.Raise) -> None:
        value = one.value if isinstance(one, ast.Return) else one.exc
        self.events.append(
            Event("return", one.lineno, block=self.block, detail=("raise err " if isinstance(one, ast.Raise) else "") + text(value))
        )
        if isinstance(one, ast.Return) and value is not None and self.name in self.module.handlers and text(value) != "None":
            if not isinstance(resolve(value, self.names), (ast.Dict, ast.Constant, ast.Name, ast.List)):
                return
            site = self.site(value, Write("merge-patch", "status", self.own))
            site.fields = (self.name,)
            site.helper = "kopf result"
            site.error = "returned"

    def _assign(self, one: ast.Assign | ast.AugAssign | ast.AnnAssign) -> None:
        targets = one.targets if isinstance(one, ast.Assign) else [one.target]
        value = one.value
        if value is None:
            return
        for target in targets:
            if isinstance(target, ast.Name):
                if not isinstance(one, ast.AugAssign):
                    self.names[target.id] = value
            elif isinstance(target, (ast.Subscript, ast.Attribute)):
                self._stored(target, value, one)

    def _stored(self, target: ast.expr, value: ast.expr, one: ast.stmt) -> None:
        path = _path(target)
        if path[:1] == ["patch"] and self._is_kopf_patch() and len(path) >= 2:
            self._kopf(path, value, one)
            return
        if "status" in path[1:] or (path[:1] == ["status"] and len(path) > 1):
            at = path.index("status")
            subject = ".".join(path[:at]) or "status"
            detail = "now" if _NOW.search(text(value)) else "list" if isinstance(value, (ast.List, ast.ListComp)) else ""
            field_name = path[at + 1] if len(path) > at + 1 else ""
            self.events.append(
                Event(
                    "mutate", one.lineno, subject, f"Status.{field_name}" if field_name else "Status", self.block, f"{detail}|{text(value)}"
                )
            )

    def _is_kopf_patch(self) -> bool:
        return self.clients.get("patch") == "kopf" or (
            "kopf" in self.module.libraries
            and self.node is not None
            and any(a.arg == "patch" for a in [*self.node.args.args, *self.node.args.kwonlyargs])
        )

    def _kopf(self, path: list[str], value: ast.expr | None, one: ast.AST) -> None:
        part = {
            "status": "status",
            "spec": "spec",
            "metadata": "metadata",
            "meta": "metadata",
            "labels": "metadata",
            "annotations": "metadata",
        }.get(path[1], "spec")
        write = Write("merge-patch", part, self.own)
        held = resolve(value, self.names)
        name = path[2] if len(path) > 2 else ""
        listed = (
            isinstance(held, (ast.List, ast.ListComp))
            or name == "conditions"
            or (isinstance(held, ast.BinOp) and isinstance(held.right, ast.List))
        )
        if part == "status" and listed:
            write.notes.append("kopf-list")
        site = self.site(one, write)
        site.fields = (name,) if name else ()
        site.lists = (name,) if listed else ()
        site.helper = "kopf patch"
        site.error = "returned"

    # -- expressions ---------------------------------------------------------------------------------------------

    def expression(self, expression: ast.expr) -> None:
        for node in _calls_in(expression):
            self._call(node)

    def _call(self, call: ast.Call) -> None:
        name = call.func.attr if isinstance(call.func, ast.Attribute) else call.func.id if isinstance(call.func, ast.Name) else ""
        receiver = call.func.value if isinstance(call.func, ast.Attribute) else None
        self.calls.append((call, self._error()))
        if name.startswith(("read_", "get_", "get", "list_", "refresh", "reload")):
            self.events.append(Event("get", call.lineno, block=self.block, detail=text(call.func)))
        if name == "append" and receiver is not None:
            self._append(call, receiver)
        write = self._write(call, name, receiver)
        if write is None:
            return
        site = self.site(call, write)
        self._content(site, write)

    def _append(self, call: ast.Call, receiver: ast.expr) -> None:
        path = _path(receiver)
        if path[:1] == ["patch"] and path[1:2] == ["fns"] and self._is_kopf_patch():
            site = self.site(call, Write("json-patch", "status", self.own))
            site.helper, site.error = "kopf patch.fns", "returned"
        elif path[:2] == ["patch", "status"] and self._is_kopf_patch():
            self._kopf([*path[:3], "append"][:3], call.args[0] if call.args else None, call)
        elif "status" in path:
            at = path.index("status")
            name = path[at + 1] if len(path) > at + 1 else ""
            if name:
                self.events.append(
                    Event("mutate", call.lineno, ".".join(path[:at]) or "status", f"Status.{name}", self.block, f"append|{text(call)}")
                )

    def _write(self, call: ast.Call, name: str, receiver: ast.expr | None) -> Write | None:
        libraries = self.module.libraries
        if libraries & {"kubernetes", "kubernetes_asyncio"} and receiver is not None:
            found = calls.official(call, name, self.names, "kubernetes_asyncio" in libraries)
            if found is not None:
                return found
        if receiver is None:
            return None
        library = self._library_of(receiver)
        if library == "fairlead" or (
            name in ("session", "mutate", "create_once", "edit") and "fairlead" in libraries and "writer" in text(receiver).lower()
        ):
            return calls.fairlead(name, call)
        if library == "lightkube":
            return calls.lightkube(call, name, self.names, self.module.kinds)
        if library == "dynamic":
            return self._dynamic(call, name, receiver)
        if name in ("update", "setdefault") and _path(receiver)[:2] == ["patch", "status"] and self._is_kopf_patch():
            self._kopf(
                [*_path(receiver), literal(call.args[0], self.names) if call.args else ""], call.args[-1] if call.args else None, call
            )
            return None
        if library in ("kr8s", "pykube"):
            write = calls.bound(call, name, self.names, library)
            if write is not None:
                write.kind = self._object_kind(receiver)
                write.subject = text(receiver)
            return write
        return None

    def _library_of(self, receiver: ast.expr, depth: int = 0) -> str:
        """Which client an object comes from: annotations, constructors, and the calls that returned it."""
        name = text(receiver)
        if name in self.clients:
            return self.clients[name]
        held = self.names.get(name)
        if held is None or depth > 5:
            return self._by_import(receiver)
        held = resolve(held, {}) or held
        if isinstance(held, ast.Call):
            made = text(held.func)
            root = made.split(".")[0]
            imported = self.module.imported.get(root, "")
            if imported.startswith("fairlead") or "StatusWriter" in made:
                return "fairlead"
            if ".resources.get" in made:
                return "dynamic"
            if imported:
                return imported.split(".")[0] if not made.endswith("DynamicClient") else "dynamic-client"
            if isinstance(held.func, ast.Attribute):
                if root in self.module.kinds:
                    return self._bound_library()
                return self._library_of(held.func.value, depth + 1)
            if root in self.module.kinds:
                return self._bound_library()
        if isinstance(held, ast.Attribute) and text(held.value) in self.names:
            return self._library_of(held.value, depth + 1)
        if isinstance(held, ast.Subscript):
            return self._library_of(held.value, depth + 1)
        return ""

    def _bound_library(self) -> str:
        return next((library for library in ("kr8s", "pykube", "lightkube") if library in self.module.libraries), "")

    def _by_import(self, receiver: ast.expr) -> str:
        if isinstance(receiver, ast.Call):
            made = text(receiver.func)
            imported = self.module.imported.get(made.split(".")[0], "")
            if imported:
                return imported.split(".")[0]
            if isinstance(receiver.func, ast.Attribute):
                return self._library_of(receiver.func.value, 4)
        if isinstance(receiver, ast.Attribute) and receiver.attr == "status":
            return self._library_of(receiver.value, 4)
        if isinstance(receiver, ast.Name) and isinstance(self._looped(receiver.id), ast.expr):
            return self._by_import(self._looped(receiver.id))  # type: ignore[arg-type]
        if (
            text(receiver).split(".")[-1] in ("client", "lk", "lightkube_client", "lightkube")
            and "lightkube" in self.module.libraries
            and "kubernetes" not in self.module.libraries
        ):
            return "lightkube"
        return ""

    def _looped(self, name: str) -> ast.expr | None:
        for loop in reversed(self.loops):
            if isinstance(loop, (ast.For, ast.AsyncFor)) and text(loop.target) == name:
                return resolve(loop.iter, self.names)
        return None

    def _dynamic(self, call: ast.Call, name: str, receiver: ast.expr) -> Write | None:
        verbs = {"patch": "merge-patch", "replace": "update", "create": "create", "delete": "delete", "server_side_apply": "ssa"}
        if name not in verbs:
            return None
        verb = verbs[name]
        status = isinstance(receiver, ast.Attribute) and receiver.attr == "status"
        write = Write(verb, "status" if status else verb if verb in ("create", "delete") else "spec", body=calls.argument(call, 0, "body"))
        root = receiver.value if isinstance(receiver, ast.Attribute) and receiver.attr == "status" else receiver
        held = self.names.get(text(root))
        if isinstance(held, ast.Call):
            write.kind = literal(calls.argument(held, -1, "kind"), self.names)
            write.api = literal(calls.argument(held, -1, "api_version"), self.names)
        declared = literal(calls.argument(call, -1, "content_type"), self.names)
        if verb == "merge-patch":
            if "json-patch" in declared:
                write.verb = "json-patch"
            elif not declared and "." in write.api.split("/")[0] and not write.api.split("/")[0].endswith("k8s.io"):
                write.notes.append("strategic-default")
            if write.verb == "merge-patch" and calls.versioned(resolve(write.body, self.names), self.names):
                write.verb = "merge-patch-locked"
        write.force = any(keyword.arg in ("force_conflicts", "force") and text(keyword.value) == "True" for keyword in call.keywords)
        return write

    def _object_kind(self, receiver: ast.expr) -> str:
        held = resolve(receiver, self.names)
        if isinstance(held, ast.Name):
            held = self._looped(held.id) or held
        for node in ast.walk(held) if held is not None else ():
            name = node.id if isinstance(node, ast.Name) else node.attr if isinstance(node, ast.Attribute) else ""
            if name in self.module.kinds:
                return self.module.kinds[name]
            if name[:1].isupper() and self.module.imported.get(name, "").split(".")[0] in ("kr8s", "pykube"):
                return name
            if isinstance(node, ast.Call) and text(node.func) in ("kr8s.get", "kr8s.asyncio.get") and node.args:
                return calls.kind_of(literal(node.args[0], self.names))
        if isinstance(receiver, ast.Name) and self.node is not None:
            for parameter in [*self.node.args.args, *self.node.args.kwonlyargs]:
                if parameter.arg == receiver.id and parameter.annotation is not None:
                    return text(parameter.annotation).strip("'\"").rsplit(".", 1)[-1]
        return ""

    # -- sites ---------------------------------------------------------------------------------------------------

    def site(self, node: ast.AST, write: Write) -> Site:
        line = getattr(node, "lineno", 1)
        site = Site(
            self.module.path,
            line,
            self.name,
            self.controller,
            write.kind,
            target=write.target,
            verb=write.verb,
            column=getattr(node, "col_offset", 0) + 1,
            end_line=getattr(node, "end_lineno", line) or line,
            language="python",
            api=write.api,
            subject=write.subject,
            force=write.force,
            helper=write.helper,
            notes=tuple(write.notes),
            error=self._error(),
            guarded=any("==" in one or "!=" in one for one in self.conditions),
            loop=bool(self.loops),
        )
        if self.loops and self.tries:
            loop = self.loops[-1]
            if any(handler.lineno >= loop.lineno for one in self.tries for handler in one.handlers):
                site.in_retry = f"{loop.lineno}-{loop.end_lineno}"
        if not site.kind and self.own and write.target == "status" and "body" in site.subject:
            site.kind = self.own
        if any("422" in text(handler_test) for one in self.tries for handler_test in _conflict_tests(one)):
            site.notes = (*site.notes, "422-as-conflict")
        self.sites.append(site)
        self.events.append(Event("write", line, site.subject, str(site.target), self.block, str(site.way), site))
        self._order.append((site, self.block, bool(self.tries)))
        return site

    def _content(self, site: Site, write: Write) -> None:
        body = resolve(write.body, self.names)
        if not isinstance(body, ast.Dict):
            mutated = [event for event in self.events if event.what == "mutate" and event.subject == site.subject]
            site.fields = tuple(dict.fromkeys(event.path.split(".")[1] for event in mutated if "." in event.path))
            site.lists = tuple(
                dict.fromkeys(
                    event.path.split(".")[1]
                    for event in mutated
                    if "." in event.path and ("list" in event.detail or "append" in event.detail or event.path.endswith("conditions"))
                )
            )
            return
        status = next(
            (value for key, value in zip(body.keys, body.values, strict=True) if isinstance(key, ast.Constant) and key.value == "status"),
            None,
        )
        status = resolve(status, self.names)
        if not isinstance(status, ast.Dict):
            return
        names, lists = [], []
        for key, value in zip(status.keys, status.values, strict=True):
            if isinstance(key, ast.Constant) and isinstance(key.value, str):
                names.append(key.value)
                held = resolve(value, self.names)
                if key.value == "conditions" or isinstance(held, (ast.List, ast.ListComp)):
                    lists.append(key.value)
                if _NOW.search(text(held)):
                    self.events.insert(0, Event("mutate", site.line, site.subject, f"Status.{key.value}", self.block, "now|"))
        site.fields, site.lists = tuple(names), tuple(lists)

    def _error(self) -> str:
        """What becomes of an exception: the innermost handler that would catch a conflict decides."""
        if "suppress" in self.conditions:
            return "ignored"
        for one in reversed(self.tries):
            for handler in one.handlers:
                caught = text(handler.type)
                if handler.type is None or re.search(
                    r"ApiException|ApiError|Exception\b|ServerError|HTTPStatusError|ConflictError|ResponseError|APIError", caught
                ):
                    return _handled(handler)
        return "returned"

    def pairs(self) -> list[tuple[Site, Site]]:
        """Two status writes one after the other in one block, neither of them kopf's, which writes once."""
        out = []
        status = [
            (site, block)
            for site, block, _ in self._order
            if site.target == "status" and not site.helper.startswith("kopf") and site.helper != "fairlead"
        ]
        for position, (first, block) in enumerate(status):
            for second, later in status[position + 1 :]:
                if later[: len(block)] == block and (first.kind == second.kind) and not self._returns(first, second, block):
                    out.append((first, second))
        return out

    def _returns(self, first: Site, second: Site, block: tuple[int, ...]) -> bool:
        return any(event.what == "return" and event.block == block and first.line <= event.line < second.line for event in self.events)


def _own_expressions(one: ast.stmt) -> list[ast.expr]:
    """The expressions of a statement itself, not of the statements in it."""
    out: list[ast.expr] = []
    for name, value in ast.iter_fields(one):
        if name in ("body", "orelse", "finalbody", "handlers", "cases"):
            continue
        if isinstance(value, ast.expr):
            out.append(value)
        elif isinstance(value, list):
            out.extend(
                item.context_expr if isinstance(item, ast.withitem) else item
                for item in value
                if isinstance(item, (ast.expr, ast.withitem))
            )
    return out


def _calls_in(expression: ast.expr) -> list[ast.Call]:
    found = [node for node in ast.walk(expression) if isinstance(node, ast.Call)]
    return sorted(found, key=lambda node: (node.end_lineno or 0, node.end_col_offset or 0))


def _path(node: ast.expr) -> list[str]:
    """`patch.status["phase"]` -> ["patch", "status", "phase"]."""
    if isinstance(node, ast.Name):
        return [node.id]
    if isinstance(node, ast.Attribute):
        return [*_path(node.value), node.attr]
    if isinstance(node, ast.Subscript):
        key = node.slice.value if isinstance(node.slice, ast.Constant) else "*"
        return [*_path(node.value), str(key)]
    if (
        isinstance(node, ast.Call)
        and isinstance(node.func, ast.Attribute)
        and node.func.attr in ("setdefault", "get")
        and node.args
        and isinstance(node.args[0], ast.Constant)
    ):
        return [*_path(node.func.value), str(node.args[0].value)]
    return ["?"]


def _handled(handler: ast.ExceptHandler) -> str:
    raises = any(isinstance(node, ast.Raise) for node in ast.walk(handler))
    quiet = all(
        isinstance(one, (ast.Pass, ast.Return, ast.Continue)) and (not isinstance(one, ast.Return) or one.value is None)
        for one in handler.body
    )
    conflict = any(
        "409" in text(node.test) or "conflict" in text(node.test).lower() for node in ast.walk(handler) if isinstance(node, ast.If)
    )
    again = (
        any(isinstance(node, ast.Continue) for node in ast.walk(handler))
        or "retry" in ast.unparse(handler).lower()
        or "TemporaryError" in ast.unparse(handler)
    )
    if again:
        return "used"
    if conflict and any(_swallows(node) for node in ast.walk(handler) if isinstance(node, ast.If)):
        return "conflict-swallowed"
    if raises:
        return "returned"
    if quiet:
        return "ignored"
    return "logged"


def _swallows(node: ast.If) -> bool:
    test = text(node.test)
    if "409" not in test and "conflict" not in test.lower():
        return False
    body = node.orelse if "!=" in test and node.orelse else node.body
    if "!=" in test and not node.orelse:
        return any(isinstance(inner, ast.Raise) for one in node.body for inner in ast.walk(one))
    return not any(isinstance(inner, (ast.Raise, ast.Continue)) for one in body for inner in ast.walk(one))


def _conflict_tests(one: ast.Try) -> list[ast.expr]:
    """Conditions in handlers that take 422 together with 409, or 422 alone to try again."""
    out = []
    for handler in one.handlers:
        for node in ast.walk(handler):
            if isinstance(node, ast.If) and "422" in text(node.test):
                again = (
                    any(isinstance(inner, ast.Continue) for inner in ast.walk(node))
                    or "409" in text(node.test)
                    or "onflict" in ast.unparse(node)
                )
                if again and "causes" not in ast.unparse(handler):
                    out.append(node.test)
    return out
