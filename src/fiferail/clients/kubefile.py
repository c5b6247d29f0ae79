"""Kubeconfig files as kubectl reads them: typed fields, several files merged, one context chosen.

The rules are those of client-go's `clientcmd`: the first file to name a thing wins, names are unique within a file, a value of
another type is an error, and unknown fields are ignored. The errors name the file and the field, never a value: it may be a token.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any, TypeVar

import msgspec

from ..errors import FiferailError, missing_extra

#: A kubeconfig that is larger is something else, such as a device.
MAXIMUM = 16 << 20


class Extension(msgspec.Struct):
    """What a tool has added to a cluster."""

    name: str | None = None
    extension: Any = None


class Cluster(msgspec.Struct, rename="kebab"):
    """How to reach a server."""

    server: str | None = None
    tls_server_name: str | None = None
    insecure_skip_tls_verify: bool | None = None
    certificate_authority: str | None = None
    certificate_authority_data: str | None = None
    proxy_url: str | None = None
    disable_compression: bool | None = None
    extensions: list[Extension] | None = None


class ExecVariable(msgspec.Struct):
    """A variable in the environment of a plugin."""

    name: str | None = None
    value: str | None = None


class ExecConfig(msgspec.Struct, rename="camel"):
    """A credential plugin."""

    command: str | None = None
    args: list[str] | None = None
    env: list[ExecVariable] | None = None
    api_version: str | None = None
    install_hint: str | None = None
    provide_cluster_info: bool | None = None
    interactive_mode: str | None = None


class User(msgspec.Struct, rename={"token_file": "tokenFile"}):
    """Who we are. Shows nothing of it when it is printed."""

    client_certificate: str | None = msgspec.field(default=None, name="client-certificate")
    client_certificate_data: str | None = msgspec.field(default=None, name="client-certificate-data")
    client_key: str | None = msgspec.field(default=None, name="client-key")
    client_key_data: str | None = msgspec.field(default=None, name="client-key-data")
    token: str | None = None
    token_file: str | None = None
    impersonate: str | None = msgspec.field(default=None, name="as")
    impersonate_uid: str | None = msgspec.field(default=None, name="as-uid")
    impersonate_groups: list[str] | None = msgspec.field(default=None, name="as-groups")
    impersonate_extra: dict[str, list[str]] | None = msgspec.field(default=None, name="as-user-extra")
    username: str | None = None
    password: str | None = None
    auth_provider: Any = msgspec.field(default=None, name="auth-provider")
    exec: ExecConfig | None = None

    def __repr__(self) -> str:
        return "User(...)"


class Context(msgspec.Struct):
    """A cluster and a user."""

    cluster: str | None = None
    user: str | None = None
    namespace: str | None = None


class NamedCluster(msgspec.Struct):
    """An entry of `clusters`."""

    name: str | None = None
    cluster: Cluster | None = None


class NamedUser(msgspec.Struct):
    """An entry of `users`."""

    name: str | None = None
    user: User | None = None


class NamedContext(msgspec.Struct):
    """An entry of `contexts`."""

    name: str | None = None
    context: Context | None = None


class Config(msgspec.Struct):
    """One file."""

    kind: str | None = None
    apiVersion: str | None = None
    current_context: str | None = msgspec.field(default=None, name="current-context")
    clusters: list[NamedCluster] | None = None
    users: list[NamedUser] | None = None
    contexts: list[NamedContext] | None = None


class Chosen(msgspec.Struct, frozen=True):
    """The cluster and the user of a context, with the folders that their paths are relative to."""

    context: str
    cluster_name: str
    cluster: Cluster
    cluster_folder: Path
    user_name: str
    user: User
    user_folder: Path


Entry = TypeVar("Entry")
#: What is named, and the folder of the file that names it.
Found = dict[str, tuple[Entry, Path]]


class Merged(msgspec.Struct):
    """Several files as one."""

    current_context: str = ""
    clusters: Found[Cluster] = {}
    users: Found[User] = {}
    contexts: Found[Context] = {}

    @property
    def empty(self) -> bool:
        """Whether the files say nothing at all."""
        return not (self.clusters or self.users or self.contexts or self.current_context)


def read(file: str | os.PathLike[str]) -> Config:
    """Read one file. FileNotFoundError is left to the caller; everything else that is wrong is a FiferailError that names the file."""
    try:
        with open(file, "rb") as opened:
            content = opened.read(MAXIMUM + 1)
    except FileNotFoundError:
        raise
    except (OSError, ValueError) as error:
        raise FiferailError(f"cannot read the kubeconfig {os.fspath(file)}: {getattr(error, 'strerror', None) or error}") from error
    return decoded(content, f"the kubeconfig {os.fspath(file)}")


def decoded(content: bytes, named: str) -> Config:
    """Decode the text of a file."""
    try:
        from .kubeyaml import NotYaml, parsed
    except ModuleNotFoundError as missing:
        raise FiferailError("reading a kubeconfig " + missing_extra("connect", missing.name)) from None
    if len(content) > MAXIMUM:
        raise FiferailError(f"{named} is larger than {MAXIMUM >> 20} MiB")
    try:
        document = parsed(content.decode())
        if document is None:
            return Config()
        if not isinstance(document, dict):
            raise FiferailError(f"expected a mapping in {named}, got {type(document).__name__}")
        config = msgspec.convert(document, Config)
    except NotYaml as error:
        raise FiferailError(f"cannot read {named}: {error}") from None
    except UnicodeDecodeError as error:
        raise FiferailError(f"cannot read {named}: byte {error.start} is not UTF-8") from None
    except msgspec.ValidationError as error:
        raise FiferailError(f"cannot read {named}: {_plain(str(error))}") from None
    if (config.apiVersion or "v1", config.kind or "Config") != ("v1", "Config"):
        raise FiferailError(f"expected kind Config of apiVersion v1 in {named}, got {config.kind} of {config.apiVersion}")
    return config


def _plain(message: str) -> str:
    """msgspec's message without its signs: from "Expected `bool | null`, got `str` - at `$.clusters[0].cluster.x`"."""
    what, _, where = message.replace(" | null", "").partition(" - at ")
    where = where.strip("`").removeprefix("$").removeprefix(".")
    return f"{what[:1].lower()}{what[1:]} at {where}" if where else f"{what[:1].lower()}{what[1:]}"


def merged(files: list[tuple[Path, Config]]) -> Merged:
    """Make one of several files: the first to name a thing wins, and paths are relative to the file that names them."""
    result = Merged()
    for file, config in files:
        result.current_context = result.current_context or config.current_context or ""
        _add(result.clusters, [(entry.name, entry.cluster or Cluster()) for entry in config.clusters or ()], "clusters", file)
        _add(result.users, [(entry.name, entry.user or User()) for entry in config.users or ()], "users", file)
        _add(result.contexts, [(entry.name, entry.context or Context()) for entry in config.contexts or ()], "contexts", file)
    return result


def _add(found: Found[Entry], entries: list[tuple[str | None, Entry]], what: str, file: Path) -> None:
    names = [name or "" for name, _ in entries]
    for name in names:
        if names.count(name) > 1:
            raise FiferailError(f"the kubeconfig {file} has the name {name!r} more than once in {what}")
    for name, (_, entry) in zip(names, entries, strict=True):
        found.setdefault(name, (entry, file.parent))


def chosen(config: Merged, context: str | None, file: Path) -> Chosen:
    """Return the cluster and the user of the context, or of the current one; what is named and missing is an error."""
    name = context or config.current_context
    if not name:
        raise FiferailError(f"expected a current-context in {file}, got none: pass context=, or `kubectl config use-context`")
    found = _pick(config.contexts, name, "context")[0]
    cluster, cluster_folder = _pick(config.clusters, found.cluster or "", "cluster")
    user, user_folder = _pick(config.users, found.user, "user") if found.user else (User(), cluster_folder)
    return Chosen(name, found.cluster or "", cluster, cluster_folder, found.user or "", user, user_folder)


def _pick(entries: Found[Entry], name: str, what: str) -> tuple[Entry, Path]:
    if name not in entries:
        known = ", ".join(sorted(entries)) or "none"
        raise FiferailError(f"expected a {what} named {name!r} in the kubeconfig, found {known}")
    return entries[name]
