"""One parsed Python file: its imports, classes, functions, top-level names and kopf handlers. It says what stands there, not what it means.

Called by `project`, which joins files, and by `walk`. It never imports the audited code.
"""

from __future__ import annotations

import ast
import re
from dataclasses import dataclass, field

from fiferail.audit.golang.known import singular
from fiferail.audit.python.expressions import AnyFunction, Names, argument, literal, statements_of, text
from fiferail.audit.python.held import library_of

_HANDLER = re.compile(r"\bon\.(create|update|resume|delete|field|event)$|\b(timer|daemon)$")


@dataclass(slots=True)
class Class:
    """A class of the project: its bases as written, its methods, and what its attributes are assigned."""

    name: str
    node: ast.ClassDef
    module: Module
    methods: dict[str, AnyFunction] = field(default_factory=dict)
    attributes: dict[str, list[tuple[ast.expr, AnyFunction | None]]] = field(default_factory=dict)
    annotations: dict[str, ast.expr] = field(default_factory=dict)

    def text_of(self, name: str) -> str:
        """A class attribute that is a text, such as pykube's `kind`."""
        return next((literal(value, self.module.names) for value, where in self.attributes.get(name, []) if where is None), "")


class Module:
    """One file. `dotted` is its name as others import it."""

    def __init__(self, path: str, tree: ast.Module) -> None:
        self.path = path
        self.tree = tree
        self.dotted = dotted_name(path)
        self.package = self.dotted if path.endswith("__init__.py") else self.dotted.rpartition(".")[0]
        self.libraries: set[str] = set()
        self.imported: dict[str, str] = {}
        self.names: Names = {}
        self.classes: dict[str, Class] = {}
        self.functions: dict[str, AnyFunction] = {}
        self.handlers: dict[str, tuple[str, int]] = {}
        self.official = False
        self.kinds: list[ast.expr] = []
        self._imports()
        self._top()
        self._define(tree.body, "", None)
        self._registered()

    def _imports(self) -> None:
        for node in ast.walk(self.tree):
            if isinstance(node, ast.Attribute):
                self.official = self.official or "_namespaced_" in node.attr
            elif isinstance(node, ast.Dict):
                self.kinds += [value for key, value in zip(node.keys, node.values, strict=True) if _is_kind(key)]
            elif isinstance(node, ast.keyword):
                if node.arg == "kind":
                    self.kinds.append(node.value)
            elif isinstance(node, ast.Import):
                for alias in node.names:
                    self._import(alias.name if alias.asname else alias.name.split(".")[0], alias.asname or alias.name.split(".")[0])
                    self._uses(alias.name)
            elif isinstance(node, ast.ImportFrom):
                base = self._absolute(node)
                for alias in node.names:
                    self._import(f"{base}.{alias.name}" if base else alias.name, alias.asname or alias.name)
                self._uses(base)

    def _absolute(self, node: ast.ImportFrom) -> str:
        if not node.level:
            return node.module or ""
        parts = self.package.split(".") if self.package else []
        kept = parts[: len(parts) - node.level + 1]
        return ".".join([*kept, *([node.module] if node.module else [])])

    def _import(self, dotted: str, name: str) -> None:
        self.imported[name] = dotted

    def _uses(self, dotted: str) -> None:
        library = library_of(dotted)
        if library:
            self.libraries.add(library)
            self.official = self.official or library in ("kubernetes", "kubernetes_asyncio", "openshift")

    def _top(self) -> None:
        for node in self.tree.body:
            if isinstance(node, ast.Assign) and len(node.targets) == 1 and isinstance(node.targets[0], ast.Name):
                self.names[node.targets[0].id] = node.value
            elif isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name) and node.value is not None:
                self.names[node.target.id] = node.value

    def _define(self, body: list[ast.stmt], owner: str, inside: Class | None) -> None:
        for node in body:
            if isinstance(node, ast.ClassDef):
                made = Class(node.name, node, self)
                self.classes.setdefault(node.name, made)
                _attributes(made)
                self._define(node.body, f"{owner}{node.name}.", made)
            elif isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
                name = f"{owner}{node.name}"
                if inside is not None:
                    inside.methods[node.name] = node
                self.functions[name] = node
                kind = self._handler_kind(node)
                if kind is not None:
                    self.handlers[name] = (kind, node.lineno)
                self._define(node.body, f"{name}.", None)
            elif isinstance(node, (ast.If, ast.Try, ast.With, ast.AsyncWith, ast.For)):
                self._define(node.body, owner, inside)
                for more in [*getattr(node, "handlers", []), node]:
                    self._define(getattr(more, "orelse", []) if more is node else more.body, owner, inside)

    def _registered(self) -> None:
        """kopf.on.event(...)(function): the decorator called by hand."""
        for node in ast.walk(self.tree) if "kopf" in self.libraries else ():
            if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Call):
                continue
            for one in node.args[:1]:
                function = self.functions.get(text(one))
                kind = self._kind_of_handler([node.func]) if function is not None else None
                if function is not None and kind is not None:
                    self.handlers.setdefault(text(one), (kind, function.lineno))

    def _handler_kind(self, node: AnyFunction) -> str | None:
        return self._kind_of_handler(node.decorator_list)

    def _kind_of_handler(self, decorators: list[ast.expr]) -> str | None:
        """The kind that a kopf decorator names; None for a function that is no handler."""
        found: str | None = None
        for decorator in decorators:
            if not isinstance(decorator, ast.Call) or "kopf" not in self.libraries or not _HANDLER.search(text(decorator.func)):
                continue
            named = [literal(one, self.names) for one in decorator.args]
            plural = literal(argument(decorator, -1, "plural", "kind", "singular"), self.names)
            found = kind_of(plural or (named[-1] if named else "")) or found or ""
        return found


def _is_kind(key: ast.expr | None) -> bool:
    return isinstance(key, ast.Constant) and key.value == "kind"


def dotted_name(path: str) -> str:
    """The name of a file as others import it, with the directories above its package."""
    return re.sub(r"(?:[/\\]__init__)?\.py$", "", path).replace("/", ".").replace("\\", ".")


def _attributes(made: Class) -> None:
    """What the class and its methods assign to attributes."""
    for one in made.node.body:
        if isinstance(one, ast.Assign) and len(one.targets) == 1 and isinstance(one.targets[0], ast.Name):
            made.attributes.setdefault(one.targets[0].id, []).append((one.value, None))
        elif isinstance(one, ast.AnnAssign) and isinstance(one.target, ast.Name):
            made.annotations[one.target.id] = one.annotation
            if one.value is not None:
                made.attributes.setdefault(one.target.id, []).append((one.value, None))
        elif isinstance(one, (ast.FunctionDef, ast.AsyncFunctionDef)):
            for inner in statements_of(one):
                _of_self(made, inner, one)


def _of_self(made: Class, one: ast.stmt, method: AnyFunction) -> None:
    targets = one.targets if isinstance(one, ast.Assign) else [one.target] if isinstance(one, ast.AnnAssign) else []
    if isinstance(one, (ast.With, ast.AsyncWith)):
        for item in one.items:
            if isinstance(item.optional_vars, ast.Attribute) and text(item.optional_vars.value) in ("self", "cls"):
                made.attributes.setdefault(item.optional_vars.attr, []).append((item.context_expr, method))
    for target in targets:
        if isinstance(target, ast.Attribute) and text(target.value) in ("self", "cls"):
            if isinstance(one, ast.AnnAssign):
                made.annotations[target.attr] = one.annotation
            value = one.value if isinstance(one, (ast.Assign, ast.AnnAssign)) else None
            if value is not None:
                made.attributes.setdefault(target.attr, []).append((value, method))


def kind_of(plural: str) -> str:
    """The kind behind a plural, as far as a plural tells. `project` mends the spelling where the sources know it."""
    if not plural or plural.startswith(("v1", "v2")):
        return ""
    word = plural.split(".")[0].split("/")[0]
    return word if word[:1].isupper() else singular(word[:1].upper() + word[1:])
