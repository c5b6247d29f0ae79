"""Writes `src/fiferail/apiserver/builtin/data/`: what the real kube-apiserver says of its own kinds, and how Go declares them.

    python scripts/derive_builtin.py [--url https://127.0.0.1:6443 --token TOKEN] [--types types.json] [--out DIR]

Two sources, both facts of the release under test: discovery and OpenAPI v3 of a running server (names, scope, verbs, schemas with
list types, merge keys and defaults), and the Go types of its API modules, printed by `scripts/gotypes` (member order, omit rules,
number widths, type names: what decides the text of decoding errors and what a typed round trip keeps). Descriptions are left out.
The output is deterministic: the same release gives the same bytes.
"""

from __future__ import annotations

import argparse
import json
import pathlib
import shutil
import ssl
import subprocess
import sys
import tempfile
import urllib.request
from typing import Any

HERE = pathlib.Path(__file__).resolve().parent
DATA = HERE.parent / "src/fiferail/apiserver/builtin/data"
GROUPS = {
    "": "api/v1",
    "apps": "apis/apps/v1",
    "batch": "apis/batch/v1",
    "networking.k8s.io": "apis/networking.k8s.io/v1",
    "policy": "apis/policy/v1",
    "rbac.authorization.k8s.io": "apis/rbac.authorization.k8s.io/v1",
    "autoscaling": "apis/autoscaling/v2",
    "autoscaling/v1": "apis/autoscaling/v1",
    "coordination.k8s.io": "apis/coordination.k8s.io/v1",
    "events.k8s.io": "apis/events.k8s.io/v1",
    "storage.k8s.io": "apis/storage.k8s.io/v1",
    "apiextensions.k8s.io": "apis/apiextensions.k8s.io/v1",
    "discovery.k8s.io": "apis/discovery.k8s.io/v1",
    "scheduling.k8s.io": "apis/scheduling.k8s.io/v1",
    "node.k8s.io": "apis/node.k8s.io/v1",
    "admissionregistration.k8s.io": "apis/admissionregistration.k8s.io/v1",
    "authentication.k8s.io": "apis/authentication.k8s.io/v1",
    "authorization.k8s.io": "apis/authorization.k8s.io/v1",
}
MODULES = ("api", "apimachinery", "client-go", "apiextensions-apiserver")
REF = "#/components/schemas/"


class Server:
    """A running kube-apiserver, read with a bearer token."""

    def __init__(self, url: str, token: str) -> None:
        self.url, self.token = url.rstrip("/"), token
        self.context = ssl._create_unverified_context()

    def get(self, path: str) -> Any:
        request = urllib.request.Request(f"{self.url}/{path}", headers={"Authorization": f"Bearer {self.token}"})
        with urllib.request.urlopen(request, context=self.context, timeout=30) as answer:
            return json.load(answer)


def stripped(schema: Any, names: bool = False) -> Any:
    """Without descriptions; `names` is true where the members are field names, one of which may be "description"."""
    if isinstance(schema, dict):
        return {key: stripped(value, key == "properties" and not names) for key, value in schema.items() if names or key != "description"}
    return [stripped(value) for value in schema] if isinstance(schema, list) else schema


def flattened(schema: Any) -> Any:
    """`{"default": {}, "allOf": [{"$ref": r}]}` is the server's way to put a default beside a reference: one object here."""
    if isinstance(schema, dict):
        schema = {key: flattened(value) for key, value in schema.items()}
        if isinstance(schema.get("$ref"), str):
            return {**schema, "$ref": schema["$ref"].removeprefix(REF)}
        members = schema.get("allOf")
        if isinstance(members, list) and len(members) == 1 and set(members[0]) == {"$ref"}:
            schema = {key: value for key, value in schema.items() if key != "allOf"} | members[0]
        return schema
    return [flattened(value) for value in schema] if isinstance(schema, list) else schema


def resources(server: Server) -> list[Any]:
    """Discovery of every group, one entry per resource, subresources folded into their parent."""
    found = []
    for path in GROUPS.values():
        listing = server.get(path)
        parents: dict[str, Any] = {}
        for entry in listing["resources"]:
            entry.pop("storageVersionHash", None)
            parent, _, subresource = entry["name"].partition("/")
            if subresource and parent in parents:
                parents[parent].setdefault("subresources", {})[subresource] = entry
                entry.pop("name")
            else:
                parents[parent] = {"groupVersion": listing["groupVersion"], **entry}
        found += parents.values()
    return found


def definitions(server: Server) -> dict[str, Any]:
    """Every schema definition of every group document, without descriptions."""
    found: dict[str, Any] = {}
    for path in GROUPS.values():
        for name, schema in server.get(f"openapi/v3/{path}")["components"]["schemas"].items():
            plain = flattened(stripped(schema))
            known = found.setdefault(name, plain)
            if known != plain:  # metadata kinds list the groups they are served in; the union is what the whole server says
                union = {
                    json.dumps(one, sort_keys=True): one
                    for one in known.get("x-kubernetes-group-version-kind", []) + plain.get("x-kubernetes-group-version-kind", [])
                }
                assert {**known, "x-kubernetes-group-version-kind": 0} == {**plain, "x-kubernetes-group-version-kind": 0}, name
                known["x-kubernetes-group-version-kind"] = [union[key] for key in sorted(union)]
    return found


def go_types(version: str) -> Any:
    """Runs scripts/gotypes in a module of its own that pins the API modules of this release."""
    release = "v0." + version.removeprefix("v1.")
    with tempfile.TemporaryDirectory() as directory:
        shutil.copy(HERE / "gotypes/main.go", directory)
        pathlib.Path(directory, "go.mod").write_text("module gotypes\n\ngo 1.26.0\n")
        pins = [f"k8s.io/{module}@{release}" for module in MODULES]
        subprocess.run(["go", "get", *pins], cwd=directory, check=True)
        return json.loads(subprocess.run(["go", "run", "-mod=mod", "."], cwd=directory, check=True, capture_output=True).stdout)


def used_types(types: Any, kinds: set[str]) -> dict[str, Any]:
    """The structs that the given kinds reach, and the names that error texts show for types with decoders of their own."""
    structs, todo, used = types["structs"], [types["kinds"][kind] for kind in sorted(kinds) if kind in types["kinds"]], {}
    todo.append("apiextensions/v1.JSONSchemaProps")
    while todo:
        name = todo.pop()
        if name not in used:
            used[name] = structs[name]
            todo += [field[2].rpartition("#")[2].partition("=")[0] for field in structs[name] if "#" in field[2]]
    return used


def write(path: pathlib.Path, meta: dict[str, str], content: dict[str, Any]) -> None:
    """One JSON file, keys sorted, one line per entry so that a change of release reads as a diff."""
    lines = [f'"about":{json.dumps(meta, sort_keys=True)}']
    for section, entries in content.items():
        if isinstance(entries, dict):
            body = ",\n".join(
                f"{json.dumps(key)}:{json.dumps(entries[key], sort_keys=True, separators=(',', ':'))}" for key in sorted(entries)
            )
            lines.append(f'"{section}":{{\n{body}\n}}')
        else:
            body = ",\n".join(json.dumps(entry, sort_keys=True, separators=(",", ":")) for entry in entries)
            lines.append(f'"{section}":[\n{body}\n]')
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("{" + ",\n".join(lines) + "}\n")


def package(definition: str) -> str:
    """The file a definition goes to: its Go package."""
    return (
        definition.rpartition(".")[0]
        .removeprefix("io.k8s.")
        .replace("apimachinery.pkg.", "")
        .replace("apiextensions-apiserver.pkg.apis.", "")
    )


def derive_served(server: Server, out: pathlib.Path) -> tuple[list[Any], dict[str, Any]]:
    """Writes what the server says: discovery and definitions. Returns both."""
    meta = about(server)
    listed, by_name = resources(server), definitions(server)
    write(out / "resources.json", meta, {"resources": listed})
    by_package: dict[str, dict[str, Any]] = {}
    for name, schema in by_name.items():
        by_package.setdefault(package(name), {})[name] = schema
    for name, schemas in by_package.items():
        write(out / "openapi" / f"{name}.json", meta, {"definitions": schemas})
    return listed, by_name


def derive(server: Server, types: Any | None, out: pathlib.Path) -> None:
    """Reads the server and the Go types, and writes all data files."""
    listed, by_name = derive_served(server, out)
    meta = about(server)
    types = types or go_types(meta["server"])
    kinds = {_kind_key(entry) for entry in listed}
    split: dict[str, dict[str, Any]] = {}
    for name, fields in used_types(types, kinds).items():
        members = [types["names"][name], *(_member(name, field, by_name) for field in fields)]
        split.setdefault(name.rpartition(".")[0].replace("/", "."), {})[name] = members
    for name, entries in split.items():
        write(out / "gotypes" / f"{name}.json", meta, {"structs": entries})
    write(out / "gokinds.json", meta, {"kinds": {kind: types["kinds"][kind] for kind in sorted(kinds) if kind in types["kinds"]}})


def about(server: Server) -> dict[str, str]:
    """The header of every file: who wrote it, from which release."""
    return {"generator": "scripts/derive_builtin.py", "server": server.get("version")["gitVersion"]}


def _member(struct: str, field: list[str], schemas: dict[str, Any]) -> list[Any]:
    """[JSON name, omit rule, type, place in errors if it differs, declared default if there is one]."""
    name, omit, go_type, place = field
    member: list[Any] = [name, omit, go_type, place if place != name else ""]
    schema = schemas.get(definition(struct), {}).get("properties", {}).get(name, {})
    # A member that is no pointer gets its zero value as "default" from the OpenAPI generator: that is no declared default.
    if "default" in schema and (go_type.startswith("*") or schema["default"] not in ("", 0, False, {}, [])):
        member.append(schema["default"])
    return member


def definition(struct: str) -> str:
    """The OpenAPI name of a Go struct."""
    package, _, name = struct.rpartition(".")
    for prefix, home in (("meta/", "io.k8s.apimachinery.pkg.apis."), ("apiextensions/", "io.k8s.apiextensions-apiserver.pkg.apis.")):
        if package.startswith(prefix):
            return f"{home}{package.replace('/', '.')}.{name}"
    return f"io.k8s.api.{package.replace('/', '.')}.{name}"


def _kind_key(entry: Any) -> str:
    group_version = entry["groupVersion"] if "/" in entry["groupVersion"] else "/" + entry["groupVersion"]
    return (
        f"{entry.get('group') or group_version.partition('/')[0]}/{entry.get('version') or group_version.partition('/')[2]}/{entry['kind']}"
    )


def main() -> int:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--url", help="a running kube-apiserver; without it one is built and started")
    parser.add_argument("--token", default="fiferail")
    parser.add_argument("--types", type=pathlib.Path, help="output of scripts/gotypes, when it was run already")
    parser.add_argument("--out", type=pathlib.Path, default=DATA)
    given = parser.parse_args()
    types = json.loads(given.types.read_text()) if given.types else None
    if given.url:
        derive(Server(given.url, given.token), types, given.out)
        return 0
    from fiferail.apiserver.real.launch import RealServer

    with RealServer() as real:
        derive(Server(real.url, real.token), types, given.out)
    return 0


if __name__ == "__main__":
    sys.exit(main())
