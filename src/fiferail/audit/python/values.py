"""Following values: what an expression of the audited source holds, through names, attributes, calls, loops and other files.

Called by `walk` for receivers and arguments. Flow within a function is the walk's (it tells a scope what each name holds as it goes);
everything else is found here by annotation, by constructor and by what a function returns. What cannot be told is None: a write is
claimed only where the receiver is known.
"""

from __future__ import annotations

import ast
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from fiferail.audit.python.expressions import AnyFunction, Names, argument, dotted, literal, parameters, resolve, statements_of, text
from fiferail.audit.python.held import LIBRARIES, Held, after_attribute, after_method, constructed, made_class, of_origin
from fiferail.audit.python.module import Class, Module, kind_of

if TYPE_CHECKING:
    from fiferail.audit.python.project import Project

_DEPTH = 9
_ANSWERED = {"get", "list", "create", "replace", "patch", "apply"}
_SAME = {"list", "tuple", "set", "sorted", "reversed", "iter", "filter", "deepcopy", "copy", "cast", "wait_for"}
_FIRST = {"next", "max", "min", "anext", "choice"}
_WRAPPERS = {"Optional", "Annotated", "Final", "ClassVar", "Awaitable", "Type", "type"}
_MANY = {
    "list", "List", "set", "Set", "tuple", "Iterable", "Iterator", "Sequence", "Collection", "Generator", "AsyncIterator", "AsyncGenerator",
}  # fmt: skip


@dataclass(slots=True)
class Scope:
    """Where an expression stands: its module, class and function, and what the names there hold by now."""

    module: Module
    owner: Class | None = None
    node: AnyFunction | None = None
    held: dict[str, Held] = field(default_factory=dict)
    names: Names = field(default_factory=dict)


class Values:
    def __init__(self, project: Project) -> None:
        self.project = project
        self._asking = 0
        self._found: dict[tuple[int, int], Held | None] = {}
        self._scopes: list[Scope] = []
        self._returns: dict[int, Held | None] = {}
        self._attributes: dict[tuple[int, str], Held | None] = {}
        self._classes: dict[int, Held | None] = {}

    def scope(self, module: Module, owner: Class | None, node: AnyFunction | None) -> Scope:
        """A fresh scope with what the parameters' annotations say."""
        scope = Scope(module, owner, node, {}, {**self.project.constants(module), **module.names})
        if node is None:
            return scope
        for position, parameter in enumerate(parameters(node)):
            if position == 0 and owner is not None and parameter.arg in ("self", "cls"):
                mine = self.of_class(owner)
                if mine is not None and mine.role == "class":
                    scope.held[parameter.arg] = mine if parameter.arg == "cls" else mine.called("object")
            elif parameter.annotation is not None:
                held = self.of_annotation(parameter.annotation, scope)
                if held is not None:
                    scope.held[parameter.arg] = held
        scope.names |= {name: value for name, value in _defaults(node).items() if name not in scope.names}
        for made in [*(self.bases(owner) if owner is not None else []), owner]:
            for name, values in made.attributes.items() if made is not None else ():
                if len(values) == 1:
                    scope.names[f"self.{name}"] = scope.names[f"cls.{name}"] = values[0][0]
        return scope

    # -- expressions -------------------------------------------------------------------------------------------------

    def of(self, node: ast.expr | None, scope: Scope, depth: int = 0) -> Held | None:
        """What an expression holds. A chain of calls asks for its beginning many times: one question keeps what it found."""
        if node is None or depth > _DEPTH:
            return None
        if self._asking == 0:
            self._found.clear()
            self._scopes.clear()
        key = (id(scope), id(node))
        if key not in self._found:
            # A scope that is kept cannot give its identity to another.
            self._scopes.append(scope)
            self._asking += 1
            try:
                self._found[key] = self._of(node, scope, depth)
            finally:
                self._asking -= 1
        return self._found[key]

    def _of(self, node: ast.expr, scope: Scope, depth: int) -> Held | None:
        if isinstance(node, ast.Name):
            return self._name(node.id, scope, depth)
        if isinstance(node, ast.Attribute):
            return self._attribute(node, scope, depth)
        if isinstance(node, ast.Call):
            return self._call(node, scope, depth)
        if isinstance(node, (ast.Await, ast.NamedExpr, ast.Starred)):
            return self.of(node.value, scope, depth + 1)
        if isinstance(node, ast.Subscript):
            held = self.of(node.value, scope, depth + 1)
            return held.called("object") if held is not None and held.role in ("many", "query") else None
        if isinstance(node, ast.IfExp):
            return self.of(node.body, scope, depth + 1) or self.of(node.orelse, scope, depth + 1)
        if isinstance(node, ast.BoolOp):
            return next((found for found in (self.of(one, scope, depth + 1) for one in node.values) if found is not None), None)
        return self._collection(node, scope, depth)

    def _collection(self, node: ast.expr, scope: Scope, depth: int) -> Held | None:
        if isinstance(node, (ast.ListComp, ast.GeneratorExp, ast.SetComp)):
            self.bind_comprehension(node, scope, depth)
            one = self.of(node.elt, scope, depth + 1)
            return one.called("many") if one is not None and one.role == "object" else None
        if isinstance(node, (ast.List, ast.Tuple)):
            found = [self.of(one, scope, depth + 1) for one in node.elts[:3]]
            return next((one.called("many") for one in found if one is not None and one.role == "object"), None)
        return None

    def bind_comprehension(self, node: ast.ListComp | ast.GeneratorExp | ast.SetComp | ast.DictComp, scope: Scope, depth: int = 0) -> None:
        for one in node.generators:
            self.bind_loop(one.target, one.iter, scope, depth)

    def bind_loop(self, target: ast.expr, iterated: ast.expr, scope: Scope, depth: int = 0) -> None:
        """Tells the scope what the target of a loop holds."""
        if isinstance(iterated, ast.Call) and text(iterated.func) == "enumerate" and iterated.args and isinstance(target, ast.Tuple):
            target, iterated = target.elts[-1], iterated.args[0]
        if isinstance(target, ast.Name):
            held = self.of(iterated, scope, depth + 1)
            scope.names.pop(target.id, None)
            if held is not None and held.role in ("many", "query"):
                scope.held[target.id] = held.called("object")
            elif held is not None and held.role in ("object", "model"):
                scope.held[target.id] = held
            else:
                scope.held.pop(target.id, None)
                self._listed_classes(target.id, resolve(iterated, scope.names), scope, depth)

    def _listed_classes(self, name: str, iterated: ast.expr | None, scope: Scope, depth: int) -> None:
        """for cls in (A, B): one of several classes, so the kind is open."""
        if isinstance(iterated, (ast.List, ast.Tuple, ast.Set)) and iterated.elts:
            held = self.of(iterated.elts[0], scope, depth + 1)
            if held is not None:
                scope.held[name] = replace(held, kind=held.kind if len(iterated.elts) == 1 else "")

    # -- names and attributes ----------------------------------------------------------------------------------------

    def _name(self, name: str, scope: Scope, depth: int) -> Held | None:
        if name in scope.held:
            return scope.held[name]
        if name in scope.names and name not in scope.module.names:
            return None
        if name in ("self", "cls") and scope.owner is not None:
            return self.of_class(scope.owner)
        return self._global(name, scope.module, depth)

    def _global(self, name: str, module: Module, depth: int) -> Held | None:
        if name in module.classes:
            return self.of_class(module.classes[name])
        if name in module.names:
            return self.of(module.names[name], Scope(module, None, None, {}, dict(module.names)), depth + 1)
        dotted = module.imported.get(name, "")
        return self._dotted(dotted, depth) if dotted else None

    def _dotted(self, dotted: str, depth: int) -> Held | None:
        known = of_origin(dotted)
        if known is not None:
            return known
        found = self.project.find(dotted)
        if isinstance(found, Class):
            return self.of_class(found)
        if isinstance(found, Module):
            return Held("", "file", name=found.dotted)
        if found is not None and isinstance(found[1], ast.expr):
            return self.of(found[1], Scope(found[0], None, None, {}, dict(found[0].names)), depth + 1)
        return None

    def _attribute(self, node: ast.Attribute, scope: Scope, depth: int) -> Held | None:
        whole = dotted(node)
        if whole in scope.held:
            return scope.held[whole]
        if isinstance(node.value, ast.Name) and node.value.id in ("self", "cls") and scope.owner is not None:
            return self._member(scope.owner, node.attr, depth)
        held = self.of(node.value, scope, depth + 1)
        if held is None:
            return None
        if held.role == "file":
            module = self.project.module(held.name)
            return self._global(node.attr, module, depth + 1) if module is not None else None
        owner = self._class_of(held)
        if owner is not None:
            found = self._member(owner, node.attr, depth)
            if found is not None or held.role == "instance":
                return found
        return after_attribute(held, node.attr)

    def _member(self, owner: Class, name: str, depth: int, seen: int = 0) -> Held | None:
        """An attribute of an instance: annotation, assignments in its methods, a property, or the same in a base class."""
        key = (id(owner), name)
        if key in self._attributes:
            return self._attributes[key]
        self._attributes[key] = None
        found: Held | None = None
        scope = self.scope(owner.module, owner, None)
        if name in owner.annotations:
            found = self.of_annotation(owner.annotations[name], scope)
        for value, method in owner.attributes.get(name, []) if found is None else []:
            found = self.of(value, self.scope(owner.module, owner, method), depth + 1)
            if found is not None:
                break
        if found is None and name in owner.methods and any("property" in text(one) for one in owner.methods[name].decorator_list):
            found = self.of_function(owner.module, owner.methods[name], owner, depth)
        if found is None and seen < 4:
            for base in self.bases(owner):
                found = self._member(base, name, depth, seen + 1)
                if found is not None:
                    break
        self._attributes[key] = found
        return found

    # -- calls -------------------------------------------------------------------------------------------------------

    def _call(self, node: ast.Call, scope: Scope, depth: int) -> Held | None:
        func = node.func
        last = func.attr if isinstance(func, ast.Attribute) else func.id if isinstance(func, ast.Name) else ""
        if last in _SAME | _FIRST and node.args and (isinstance(func, ast.Name) or self._plain(func, scope, depth)):
            held = self.of(node.args[-1] if last == "cast" else node.args[0], scope, depth + 1)
            return held.called("object") if held is not None and last in _FIRST and held.role in ("many", "query") else held
        if last == "type" and node.args and isinstance(func, ast.Name):
            held = self.of(node.args[0], scope, depth + 1)
            return held.called("class") if held is not None and held.role == "object" else None
        target = self.of(func, scope, depth + 1)
        if target is not None and target.role == "class":
            return constructed(target)
        if target is not None and made_class(target):
            return self._made(node, scope, target)
        if target is not None and target.role == "module":
            return self._library_function(node, scope, target)
        if target is not None and target.role == "instance-class":
            return target.called("instance")
        if isinstance(func, ast.Attribute):
            found = self._method(node, func, scope, depth)
            if found is not None:
                return found
        return self._project_function(func, scope, depth)

    def _plain(self, func: ast.expr, scope: Scope, depth: int) -> bool:
        """copy.deepcopy and its like, not a method of something that is held."""
        return isinstance(func, ast.Attribute) and self.of(func.value, scope, depth + 1) is None

    def _made(self, node: ast.Call, scope: Scope, target: Held) -> Held:
        """A class made at run time: create_namespaced_resource(...), new_class(...), object_factory(...)."""
        if target.library == "kr8s":
            kind = literal(argument(node, 0, "kind", "_class"), scope.names)
            return Held("kr8s", "class", kind.split(".")[0], literal(argument(node, 1, "version"), scope.names))
        if target.library == "pykube":
            api = literal(argument(node, 1, "api_version"), scope.names)
            return Held("pykube", "class", literal(argument(node, 2, "kind"), scope.names), api)
        group, version = literal(argument(node, 0, "group"), scope.names), literal(argument(node, 1, "version"), scope.names)
        kind = literal(argument(node, 2, "kind"), scope.names)
        return Held("lightkube", "class", kind, f"{group}/{version}" if version and group else version, name="generic")

    def _library_function(self, node: ast.Call, scope: Scope, target: Held) -> Held | None:
        last = target.name.rsplit(".", 1)[-1]
        if target.library == "kr8s" and last in ("get", "async_get"):
            return Held("kr8s", "many", self.project.spelled(kind_of(literal(argument(node, 0, "kind"), scope.names))))
        if target.library == "kr8s" and last in ("objects_from_files", "object_from_spec", "object_from_name_type"):
            return Held("kr8s", "object" if last.startswith("object_") else "many")
        if target.library == "lightkube" and last in ("from_dict", "load_all_yaml"):
            return Held("lightkube", "object" if last == "from_dict" else "many")
        return None

    def _method(self, node: ast.Call, func: ast.Attribute, scope: Scope, depth: int) -> Held | None:
        resources = func.value if isinstance(func.value, ast.Attribute) and func.value.attr == "resources" else None
        if func.attr in ("get", "search") and resources is not None:
            client = self.of(resources.value, scope, depth + 1)
            if (client is not None and client.role == "dynamic") or argument(node, -1, "api_version", "kind") is not None:
                return Held(client.library if client else "kubernetes", "resource", *self._named(node, scope))
        held = self.of(func.value, scope, depth + 1)
        if held is None:
            return None
        if held.role == "client" and held.library == "lightkube" and func.attr in _ANSWERED:
            named = self.of(argument(node, 0, "res", "obj"), scope, depth + 1)
            if named is None:
                return Held("lightkube", "many" if func.attr == "list" else "object")
            return replace(named, role="many" if func.attr == "list" else "object", part="")
        if held.role == "client" and held.library == "kr8s" and func.attr in ("get", "async_get"):
            return Held("kr8s", "many", self.project.spelled(kind_of(literal(argument(node, 0, "kind"), scope.names))))
        owner = self._class_of(held)
        if owner is not None and (held.role == "instance" or self._method_of(owner, func.attr) is not None):
            return self._of_method(owner, func.attr, depth)
        if held.role == "class" and held.library == "pykube" and func.attr == "objects":
            return held.called("query")
        return after_method(held, func.attr)

    def _named(self, node: ast.Call, scope: Scope) -> tuple[str, str]:
        kind = literal(argument(node, -1, "kind"), scope.names) or kind_of(literal(argument(node, -1, "name"), scope.names))
        return self.project.spelled(kind), literal(argument(node, -1, "api_version"), scope.names)

    def _project_function(self, func: ast.expr, scope: Scope, depth: int) -> Held | None:
        found = self.callee(func, scope)
        return self.of_function(found[0], found[1], found[2], depth) if found is not None else None

    def callee(self, func: ast.expr, scope: Scope) -> tuple[Module, AnyFunction, Class | None] | None:
        """The function of the project that a call reaches."""
        if isinstance(func, ast.Name):
            local = scope.module.functions.get(func.id)
            if local is not None:
                return scope.module, local, None
            found = self.project.find(scope.module.imported.get(func.id, ""))
        elif isinstance(func, ast.Attribute):
            if isinstance(func.value, ast.Name) and func.value.id in ("self", "cls") and scope.owner is not None:
                return self._method_of(scope.owner, func.attr)
            held = self.of(func.value, scope, 3)
            owner = self._class_of(held) if held is not None else None
            if owner is not None:
                return self._method_of(owner, func.attr)
            module = self.project.module(held.name) if held is not None and held.role == "file" else None
            found = self.project.inside(module, func.attr) if module is not None else None
        else:
            return None
        if isinstance(found, tuple) and isinstance(found[1], (ast.FunctionDef, ast.AsyncFunctionDef)):
            return found[0], found[1], None
        return None

    def _method_of(self, owner: Class, name: str, seen: int = 0) -> tuple[Module, AnyFunction, Class | None] | None:
        if name in owner.methods:
            return owner.module, owner.methods[name], owner
        for base in self.bases(owner) if seen < 4 else []:
            found = self._method_of(base, name, seen + 1)
            if found is not None:
                return found
        return None

    def _of_method(self, owner: Class, name: str, depth: int) -> Held | None:
        found = self._method_of(owner, name)
        return self.of_function(found[0], found[1], found[2], depth) if found is not None else None

    def of_function(self, module: Module, node: AnyFunction, owner: Class | None, depth: int = 0) -> Held | None:
        """What a function of the project returns or yields: its annotation, else its return statements."""
        if id(node) in self._returns:
            return self._returns[id(node)]
        self._returns[id(node)] = None
        scope = self.scope(module, owner, node)
        found = self.of_annotation(node.returns, scope) if node.returns is not None else None
        if found is None and depth <= _DEPTH:
            found = self._returned(node, scope, depth)
        self._returns[id(node)] = found
        return found

    def _returned(self, node: AnyFunction, scope: Scope, depth: int) -> Held | None:
        for one in statements_of(node):
            if isinstance(one, ast.Assign) and len(one.targets) == 1 and isinstance(one.targets[0], ast.Name):
                held = self.of(one.value, scope, depth + 1)
                if held is not None:
                    scope.held[one.targets[0].id] = held
            elif isinstance(one, (ast.For, ast.AsyncFor)):
                self.bind_loop(one.target, one.iter, scope, depth)
            elif isinstance(one, (ast.With, ast.AsyncWith)):
                self.bind_with(one, scope, depth)
            elif isinstance(one, ast.Return) and one.value is not None:
                held = self.of(one.value, scope, depth + 1)
                if held is not None:
                    return held
            elif isinstance(one, ast.Expr) and isinstance(one.value, ast.Yield):
                held = self.of(one.value.value, scope, depth + 1)
                if held is not None:
                    manager = any("contextmanager" in text(mark) or "fixture" in text(mark) for mark in node.decorator_list)
                    return held if manager or held.role != "object" else held.called("many")
        return None

    def bind_with(self, one: ast.With | ast.AsyncWith, scope: Scope, depth: int = 0) -> None:
        for item in one.items:
            if isinstance(item.optional_vars, (ast.Name, ast.Attribute)):
                name = text(item.optional_vars)
                scope.names[name] = item.context_expr
                held = self.of(item.context_expr, scope, depth + 1)
                if held is not None:
                    scope.held[name] = held
                else:
                    scope.held.pop(name, None)

    # -- classes and annotations -------------------------------------------------------------------------------------

    def of_class(self, made: Class) -> Held | None:
        """A class of the project: one of a client's objects, or one whose instances are followed by their attributes."""
        if id(made) in self._classes:
            return self._classes[id(made)]
        self._classes[id(made)] = Held("", "instance-class", name=f"{made.module.dotted}:{made.name}")
        scope = Scope(made.module, None, None, {}, dict(made.module.names))
        for base in made.node.bases:
            held = self.of(base, scope, 2)
            if held is not None and held.role == "class" and held.library in LIBRARIES:
                kind = made.text_of("kind") or held.kind or ("" if held.name or _abstract(made) else made.name)
                api = made.text_of("version") or made.text_of("api_version") or held.api
                self._classes[id(made)] = replace(held, kind=kind, api=api, made=f"{made.module.dotted}:{made.name}")
                break
        return self._classes[id(made)]

    def bases(self, made: Class) -> list[Class]:
        out = []
        for base in made.node.bases:
            name = text(base).split("[")[0]
            root, _, rest = name.partition(".")
            found = self.project.inside(made.module, root)
            if isinstance(found, Module) and rest:
                found = self.project.inside(found, rest)
            if isinstance(found, Class) and found is not made:
                out.append(found)
        return out

    def _class_of(self, held: Held) -> Class | None:
        """The class of the project that a held thing is an instance or a subclass of."""
        if held.role in ("instance", "instance-class"):
            return self._class_named(held.name)
        return self._class_named(held.made) if held.made and held.role in ("object", "class") else None

    def _class_named(self, name: str) -> Class | None:
        dotted, _, last = name.partition(":")
        module = self.project.module(dotted)
        return module.classes.get(last) if module is not None else None

    def of_annotation(self, node: ast.expr | None, scope: Scope, depth: int = 0) -> Held | None:
        if node is None or depth > 4:
            return None
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            try:
                node = ast.parse(node.value, mode="eval").body
            except (SyntaxError, ValueError):
                return None
        if isinstance(node, ast.BinOp):
            return self.of_annotation(node.left, scope, depth + 1) or self.of_annotation(node.right, scope, depth + 1)
        if isinstance(node, ast.Subscript):
            return self._generic(node, scope, depth)
        held = self.of(node, scope, 3) if isinstance(node, (ast.Name, ast.Attribute)) else None
        if held is None:
            return None
        if held.role == "instance-class":
            return held.called("instance")
        return constructed(held) if held.role == "class" else None

    def _generic(self, node: ast.Subscript, scope: Scope, depth: int) -> Held | None:
        outer = text(node.value).rsplit(".", 1)[-1]
        inner = node.slice.elts[0] if isinstance(node.slice, ast.Tuple) and node.slice.elts else node.slice
        held = self.of_annotation(inner, scope, depth + 1)
        if outer == "Union" and held is None and isinstance(node.slice, ast.Tuple):
            return next((found for found in (self.of_annotation(one, scope, depth + 1) for one in node.slice.elts) if found), None)
        if outer in ("Type", "type") and held is not None:
            return held.called("class")
        if outer in _MANY:
            return held.called("many") if held is not None and held.role == "object" else None
        return held if outer in _WRAPPERS or outer == "Union" else None


def _defaults(node: AnyFunction) -> dict[str, ast.expr]:
    """Parameters whose default is a named constant (PatchType.APPLY): what they are unless a caller says otherwise."""
    positional = [*node.args.posonlyargs, *node.args.args]
    pairs = [
        *zip(reversed(positional), reversed(node.args.defaults), strict=False),
        *zip(node.args.kwonlyargs, node.args.kw_defaults, strict=True),
    ]
    return {one.arg: value for one, value in pairs if isinstance(value, ast.Attribute)}


def _abstract(made: Class) -> bool:
    """A base class of the project's own, such as `NamespacedAPIObject`: it names no kind."""
    return made.name.endswith(("Object", "Base", "Mixin", "Resource")) or made.name.startswith(("Base", "_", "Abstract"))
