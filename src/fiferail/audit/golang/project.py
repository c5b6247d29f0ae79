"""The project index: which file declares what, parsed only as far as somebody asks.

Called by `types` (to follow a name to its declaration) and by `frontend`. A package's declarations are found with one regular
expression over its bytes; a file is parsed when one of its names is needed, and its bodies are lowered when a caller is followed into it.
It never decides what a write is.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from posixpath import dirname, join, normpath
from typing import TYPE_CHECKING, Any

from fiferail.audit.golang.lower import lower

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

_DECLARATION = re.compile(
    rb"^(?:func (?:\((?:\w+ )?\*?(\w+)(?:\[[^\]]*\])?\) )?(\w+)|type (\w+)|(?:var|const) (\w+)"
    rb"|\t(\w+)(?:\[[^\n]*?\])? (?:=? ?(?:struct|interface|func|\*?[\w.\[\]]+))[^\n]*$)",
    re.M,
)
_GROUP = re.compile(rb"^(?:type|var|const) \($", re.M)
_PACKAGE = re.compile(rb"^package (\w+)", re.M)
GENERATED = re.compile(rb"^// Code generated .* DO NOT EDIT\.\r?$", re.M)


@dataclass(slots=True)
class GoFile:
    """One source file: its bytes, and what was lowered of it so far."""

    path: str
    source: bytes
    generated: bool = False
    facts: dict[str, Any] | None = None
    funcs: list[Func] = field(default_factory=list)
    imports: dict[str, str] | None = None
    package: str = ""
    status_named: bool | None = None

    @property
    def names_status(self) -> bool:
        """Whether some call in it ends with the text "status": asked often, looked up once."""
        if self.status_named is None:
            self.status_named = b', "status")' in self.source
        return self.status_named

    @property
    def directory(self) -> str:
        return dirname(self.path)


@dataclass(slots=True, eq=False)
class Func:
    """A function or method with its file. `ir` is the list that `lower` made."""

    file: GoFile
    ir: list[Any]
    owner: Func | None = None

    @property
    def name(self) -> str:
        return str(self.ir[0])

    @property
    def receiver(self) -> str:
        kind = self.ir[2]
        while kind and kind[0] == "p":
            kind = kind[1]
        return str(kind[2]) if kind and kind[0] == "n" else ""

    @property
    def qualified(self) -> str:
        return f"{self.receiver}.{self.name}" if self.receiver else self.name

    @property
    def key(self) -> str:
        return f"{self.file.package}.{self.qualified}"

    @property
    def body(self) -> list[Any]:
        return self.ir[6] or []

    @property
    def line(self) -> int:
        return int(self.ir[7])


@dataclass(slots=True)
class Package:
    path: str
    files: list[GoFile] = field(default_factory=list)
    scanned: bool = False
    types: dict[str, list[GoFile]] = field(default_factory=dict)
    funcs: dict[str, list[GoFile]] = field(default_factory=dict)
    values: dict[str, list[GoFile]] = field(default_factory=dict)
    methods: dict[str, dict[str, GoFile]] = field(default_factory=dict)


class Project:
    """All Go files under the audited paths, by package."""

    def __init__(self, files: dict[str, GoFile], modules: dict[str, str], lowerer: Callable[[bytes, bool], dict[str, Any]] = lower) -> None:
        self.lowerer = lowerer
        self.files = files
        self.modules = sorted(modules.items(), key=lambda item: -len(item[1]))
        self.by_module = sorted(((path, directory) for directory, path in modules.items()), key=lambda item: -len(item[0]))
        self.packages: dict[str, Package] = {}
        self.by_directory: dict[str, Package] = {}
        self._suffixes: dict[str, str | None] = {}
        self._members: dict[tuple[str, str], Any] = {}
        for file in files.values():
            directory = file.directory
            package = self.by_directory.get(directory)
            if package is None:
                package = Package(self._import_path(directory))
                self.by_directory[directory] = package
                self.packages[package.path] = package
            package.files.append(file)
            file.package = package.path

    def _import_path(self, directory: str) -> str:
        for root, module in ((directory_, module_) for directory_, module_ in self.modules):
            if root in ("", ".") or directory == root or directory.startswith(root + "/"):
                inside = directory[len(root) :].strip("/") if root not in ("", ".") else directory
                return join(module, inside) if inside else module
        return directory or "."

    def package_of(self, import_path: str) -> Package | None:
        """The local package of an import path; without a module file, the only directory that the path ends with."""
        found = self.packages.get(import_path)
        if found is not None or self.modules:
            return found
        if import_path not in self._suffixes:
            fits = [path for path in self.packages if path != "." and import_path.endswith("/" + normpath(path))]
            self._suffixes[import_path] = max(fits, key=len) if fits else None
        local = self._suffixes[import_path]
        return self.packages.get(local) if local else None

    def imported_as(self, package: str) -> bytes:
        """How the import of a package ends, in source text."""
        return f'"{package}"'.encode() if self.modules else f'/{package}"'.encode()

    # -- declarations --------------------------------------------------------------------------------------------

    def _scan(self, package: Package) -> None:
        package.scanned = True
        for file in package.files:
            if file.path.endswith("_test.go"):
                continue
            grouped = _GROUP.search(file.source) is not None
            for receiver, function, named, value, inner in _DECLARATION.findall(file.source):
                if receiver:
                    package.methods.setdefault(receiver.decode(), {})[function.decode()] = file
                elif function:
                    package.funcs.setdefault(function.decode(), []).append(file)
                elif named:
                    package.types.setdefault(named.decode(), []).append(file)
                elif value:
                    package.values.setdefault(value.decode(), []).append(file)
                elif grouped:
                    package.types.setdefault(inner.decode(), []).append(file)
                    package.values.setdefault(inner.decode(), []).append(file)

    def scanned(self, import_path: str) -> Package | None:
        package = self.package_of(import_path)
        if package is not None and not package.scanned:
            self._scan(package)
        return package

    def facts(self, file: GoFile, bodies: bool = False) -> dict[str, Any]:
        if file.facts is None or (bodies and not file.facts["bodies"]):
            self.attach(file, self.lowerer(file.source, bodies))
        assert file.facts is not None
        return file.facts

    def attach(self, file: GoFile, facts: dict[str, Any]) -> None:
        """Takes lowered facts, from here, a worker or the cache."""
        file.facts = facts
        file.funcs = [Func(file, ir) for ir in facts["funcs"]]
        file.imports = None

    def imports(self, file: GoFile) -> dict[str, str]:
        """Name in this file to import path. The name of an unnamed import is the package's own, or guessed from the path."""
        if file.imports is None:
            file.imports = {}
            for alias, path in self.facts(file)["imports"]:
                file.imports[alias or self._package_name(path)] = path
        return file.imports

    def _package_name(self, path: str) -> str:
        local = self.package_of(path)
        if local is not None and local.files:
            match = _PACKAGE.search(local.files[0].source)
            if match:
                return match.group(1).decode().removesuffix("_test")
        last = path.rsplit("/", 1)[-1]
        if re.fullmatch(r"v\d+", last) and "/" in path:
            parts = path.split("/")
            # A major version suffix names no package, but an API version such as core/v1 does.
            last = last if any(part in path for part in ("/api", "/apis", "k8s.io")) or len(parts) < 3 else parts[-2]
        return last.removeprefix("go-").split(".")[0].replace("-", "") if not re.fullmatch(r"\w+", last) else last

    def type_declaration(self, import_path: str, name: str) -> tuple[GoFile, list[Any]] | None:
        package = self.scanned(import_path)
        if package is None:
            return None
        for file in package.types.get(name, ()):
            declared = self.facts(file)["types"].get(name)
            if declared is not None:
                return file, declared
        return None

    def function(self, import_path: str, name: str, bodies: bool = False) -> Func | None:
        package = self.scanned(import_path)
        if package is None:
            return None
        # A variable that holds a closure is a function by that name.
        for file in package.funcs.get(name, []) or package.values.get(name, []):
            self.facts(file, bodies)
            for func in file.funcs:
                if func.name == name and not func.receiver:
                    return func
        return None

    def method(self, import_path: str, receiver: str, name: str, bodies: bool = False) -> Func | None:
        package = self.scanned(import_path)
        if package is None:
            return None
        file = package.methods.get(receiver, {}).get(name)
        if file is None:
            return None
        self.facts(file, bodies)
        for func in file.funcs:
            if func.name == name and func.receiver == receiver:
                return func
        return None

    def value(self, import_path: str, name: str) -> tuple[GoFile, list[Any], int] | None:
        """The declaration of a package variable or constant, and the position of the name in it."""
        package = self.scanned(import_path)
        if package is None:
            return None
        for file in package.values.get(name, ()):
            for declaration in self.facts(file)["vars"]:
                if name in declaration[1]:
                    return file, declaration, declaration[1].index(name)
        return None

    def lowered(self) -> Iterator[GoFile]:
        """Files whose bodies are there."""
        for file in self.files.values():
            if file.facts is not None and file.facts["bodies"]:
                yield file
