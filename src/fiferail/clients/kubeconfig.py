"""Where the server is and who we are, as kubectl finds out: an argument, KUBECONFIG, ~/.kube/config, or the pod's own account.

    kubefile      the files: typed, merged, one context chosen
    secured       the server's address and TLS
    credentials   tokens, token files, passwords, impersonation; `execplugin` runs credential plugins

Everything that a context asks for is honoured or refused with FiferailError, never ignored. Needs the extra `connect`.
"""

from __future__ import annotations

import logging
import os
import ssl
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from ..errors import FiferailError, missing_extra
from .credentials import Credentials, TokenFile, credentials_of
from .kubefile import chosen, merged, read
from .secured import address, authority, proxy_address, refuse_clear_text, tls_context

if TYPE_CHECKING:
    from .client import AsyncClient, Client
    from .kubefile import Chosen, Cluster, Config

log = logging.getLogger("fiferail.clients")

ACCOUNT = Path("/var/run/secrets/kubernetes.io/serviceaccount")
#: The extension of a cluster that a credential plugin gets as its configuration.
PLUGIN_CONFIG = "client.authentication.k8s.io/exec"


class Server(msgspec.Struct, frozen=True):
    """How to reach a server."""

    url: str
    #: None for http.
    tls: ssl.SSLContext | None
    credentials: Credentials
    #: The name in the server's certificate, where it is not the host's.
    tls_name: str | None = None
    proxy: str | None = None
    compressed: bool = True


def connect(kubeconfig: str | os.PathLike[str] | None = None, *, context: str | None = None, user_agent: str = "fiferail") -> Client:
    """Return a blocking client of the server that the environment names.

    `kubeconfig` is a file; without it KUBECONFIG, ~/.kube/config and the pod's service account are tried. `context` chooses another
    context than the current one. `user_agent` is what the server's managedFields show unless a field manager is given.
    Raises FiferailError when there is no cluster, or when the kubeconfig asks for something that is not supported.
    """
    from .client import Client
    from .plainhttp import HttpxTransport

    server = locate(kubeconfig, context)
    return Client(HttpxTransport(_httpx(server, "Client"), server.credentials, server.tls_name), user_agent=user_agent)


def connect_async(
    kubeconfig: str | os.PathLike[str] | None = None, *, context: str | None = None, user_agent: str = "fiferail"
) -> AsyncClient:
    """Return an async client of the server that the environment names; the parameters are those of `connect`."""
    from .client import AsyncClient
    from .http1 import AsyncHttpTransport
    from .plainhttp import AsyncHttpxTransport

    server = locate(kubeconfig, context)
    transport: AsyncHttpTransport | AsyncHttpxTransport
    if server.proxy is not None:  # our own HTTP knows no proxies
        transport = AsyncHttpxTransport(_httpx(server, "AsyncClient"), server.credentials, server.tls_name)
    else:
        transport = AsyncHttpTransport(server.url, server.tls, server.credentials, user_agent=user_agent, tls_name=server.tls_name)
    return AsyncClient(transport, user_agent=user_agent)


def _httpx(server: Server, kind: str) -> Any:
    try:
        import httpx2
    except ModuleNotFoundError as missing:
        raise FiferailError("connect() " + missing_extra("connect", missing.name)) from None
    headers = {} if server.compressed else {"accept-encoding": "identity"}
    try:
        return getattr(httpx2, kind)(
            base_url=server.url, verify=server.tls or False, proxy=server.proxy, headers=headers, trust_env=False
        )
    except ImportError:
        raise FiferailError("the proxy-url is a socks5 proxy, which needs the package socksio: pip install socksio") from None


def locate(kubeconfig: str | os.PathLike[str] | None, context: str | None) -> Server:
    """Find the server: the argument, KUBECONFIG, ~/.kube/config, or the pod's own account, whichever is there first."""
    variable = os.environ.get("KUBECONFIG", "")
    if kubeconfig is not None:
        files, looked = [Path(kubeconfig)], "found none"
    elif variable:
        named = list(dict.fromkeys(part for part in variable.split(os.pathsep) if part))
        files, looked = [Path(part) for part in named], f"KUBECONFIG names {', '.join(named)}, which does not exist"
    else:
        files, looked = [Path.home() / ".kube" / "config"], "no kubeconfig argument, no KUBECONFIG, no ~/.kube/config"
    there = [(file, content) for file in files if (content := _read(file)) is not None]
    if kubeconfig is not None and not there:
        raise FiferailError(f"expected a kubeconfig file, found none at {os.fspath(kubeconfig)}")
    config = merged(there)
    if not config.empty:
        return _server(chosen(config, context, there[0][0]))
    if there:
        looked = f"{', '.join(str(file) for file, _ in there)} is empty"
    if not _is_pod() or kubeconfig is not None:
        raise FiferailError(f"found no cluster: {looked}" + ("" if kubeconfig is not None else ", and this is no pod"))
    if variable:
        log.warning("%s: using the pod's service account", looked)
    return _in_cluster()


def _read(file: Path) -> Config | None:
    try:
        return read(file)
    except FileNotFoundError:
        return None


def _is_pod() -> bool:
    given = all(os.environ.get(f"KUBERNETES_SERVICE_{what}") for what in ("HOST", "PORT"))
    return given and (ACCOUNT / "token").is_file()


def _in_cluster() -> Server:
    host, port = os.environ["KUBERNETES_SERVICE_HOST"], os.environ["KUBERNETES_SERVICE_PORT"]
    file = ACCOUNT / "ca.crt"
    try:
        tls = ssl.create_default_context(cafile=str(file))
    except ssl.SSLError:
        raise FiferailError(f"cannot read the cluster's authority {file}: it is not a PEM certificate") from None
    except OSError as error:
        raise FiferailError(f"cannot read the cluster's authority {file}: {error.strerror or error}") from None
    url = address(f"https://[{host}]:{port}" if ":" in host else f"https://{host}:{port}", "in-cluster")
    return Server(url, tls, TokenFile(ACCOUNT / "token"))


def _server(found: Chosen) -> Server:
    cluster = found.cluster
    url = address(cluster.server, found.cluster_name)
    refuse_clear_text(url, found)
    return Server(
        url=url,
        tls=tls_context(found) if url.startswith("https://") else None,
        credentials=_credentials(found, url),
        tls_name=cluster.tls_server_name or None,
        proxy=proxy_address(cluster.proxy_url, found.cluster_name),
        compressed=not cluster.disable_compression,
    )


def _credentials(found: Chosen, url: str) -> Credentials:
    user = found.user
    plugin = None
    if user.exec is not None:
        from .execplugin import Plugin

        plugin = Plugin(user.exec, found.user_name, found.user_folder, _cluster_info(found.cluster, found, url))
        if user.client_certificate or user.client_certificate_data:
            plugin = None  # as client-go: a certificate is a credential, so the plugin is not asked
    return credentials_of(user, found.user_name, found.user_folder, plugin)


def _cluster_info(cluster: Cluster, found: Chosen, url: str) -> dict[str, Any]:
    """Return what a plugin with provideClusterInfo gets to know."""
    pem = authority(cluster, found.cluster_name, found.cluster_folder)
    extension = next((entry.extension for entry in cluster.extensions or () if entry.name == PLUGIN_CONFIG), None)
    info = {
        "server": url,
        "tls-server-name": cluster.tls_server_name,
        "insecure-skip-tls-verify": cluster.insecure_skip_tls_verify,
        "certificate-authority-data": pem.encode() if pem is not None else None,
        "proxy-url": cluster.proxy_url,
        "disable-compression": cluster.disable_compression,
        "config": extension,
    }
    return {name: value for name, value in info.items() if value}
