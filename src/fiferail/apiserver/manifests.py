"""CRDs from files: reads YAML or JSON, takes the CustomResourceDefinitions in it, and creates them on a machine.

Called when a server starts. Whatever is wrong, a missing file, text that is no YAML, a CRD that the server refuses, is told in one
`ManifestError` that names the file; the machine then has the CRDs before it and none after.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from ..errors import FiferailError, Unsupported
from ..objects import gojson
from ..wire import JSON, Answer, Request
from . import goyaml

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from ..objects.tree import Json
    from .machine import Machine

_SUFFIXES = (".yaml", ".yml", ".json")
_CRDS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"


class ManifestError(FiferailError):
    """A file of CRDs cannot be used; the message says which and why."""


def load_crds(machine: Machine, sources: Iterable[str | Path | Json]) -> list[str]:
    """Creates the CRDs of files, directories and ready-made objects; gives back their names."""
    names = []
    for source in sources:
        if isinstance(source, (str, Path)):
            names += _created(machine, Path(source))
        else:
            names.append(_create(machine, source, "the given object"))
    return names


def _created(machine: Machine, path: Path) -> list[str]:
    names = [_create(machine, crd, str(file)) for file in files(path) for crd in crds_in(file)]
    if not names:
        where = "directory" if path.is_dir() else "file"
        raise ManifestError(f"{path}: no CustomResourceDefinition in this {where}")
    return names


def files(path: Path) -> list[Path]:
    """The file itself, or the manifests below a directory, by name."""
    if path.is_dir():
        found = sorted(file for file in path.rglob("*") if file.suffix in _SUFFIXES and file.is_file())
        if not found:
            raise ManifestError(f"{path}: no .yaml, .yml or .json file in this directory")
        return found
    if not path.exists():
        raise ManifestError(f"{path}: no such file or directory")
    return [path]


def crds_in(file: Path) -> Iterator[Json]:
    """The CustomResourceDefinitions of a file; other kinds in it are passed over."""
    for document in documents(file):
        members = document.get("items") if isinstance(document, dict) and document.get("kind") == "List" else [document]
        for member in members if isinstance(members, list) else ():
            if isinstance(member, dict) and member.get("kind") == "CustomResourceDefinition":
                yield member


def documents(file: Path) -> list[Json]:
    """Every document of a YAML or JSON file."""
    try:
        text = file.read_bytes()
    except OSError as error:
        raise ManifestError(f"{file}: cannot be read: {error.strerror or error}") from None
    try:
        return [gojson.decode(text)] if file.suffix == ".json" else goyaml.read_all(text)
    except gojson.DecodeError as error:
        raise ManifestError(f"{file}: not valid JSON: {error.message}") from None
    except goyaml.YamlError as error:
        raise ManifestError(f"{file}: not valid YAML: {str(error).removeprefix('yaml: ')}") from None
    except Unsupported as error:
        raise ManifestError(f"{file}: {error}") from None


def _create(machine: Machine, crd: Json, origin: str) -> str:
    try:
        body = msgspec.json.encode(crd)
    except TypeError as error:  # YAML knows dates, JSON does not
        raise ManifestError(f"{origin}: not a JSON object: {error}") from None
    answer = machine.handle(Request(method="POST", path=_CRDS, body=body, content_type=JSON, headers={"user-agent": "fiferail"}))
    if not isinstance(answer, Answer) or answer.status != 201:
        told = answer.json().get("message", "") if isinstance(answer, Answer) else "the request was lost"
        raise ManifestError(f"{origin}: the server refuses this CRD: {told}")
    return str(crd.get("metadata", {}).get("name", ""))
