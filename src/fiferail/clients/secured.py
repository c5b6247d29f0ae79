"""TLS as a kubeconfig asks for it, and the address of a server.

An address has the scheme http or https, in any case, and nothing but a host, a port and a path. Credentials never leave the machine
in clear: with http they are refused, but for a loopback address (kubectl drops them without a word).
"""

from __future__ import annotations

import base64
import binascii
import ipaddress
import ssl
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn
from urllib.parse import urlsplit

from ..errors import FiferailError

if TYPE_CHECKING:
    from .kubefile import Chosen, Cluster, User


def address(server: str | None, cluster: str) -> str:
    """Return the server's address with its scheme in lower case; anything but http and https is an error."""
    named = f"the server of cluster {cluster!r}"
    if not server:
        raise FiferailError(f"expected a server in cluster {cluster!r}, got none")
    try:
        parts = urlsplit(server)
        port = parts.port
    except ValueError:
        parts, port = None, None
    if parts is None or not server.isprintable() or " " in server or not parts.hostname or parts.scheme not in ("http", "https"):
        shown = f", got {server!r}" if "@" not in server else ""
        raise FiferailError(f"expected {named} to be https://host:port or http://host:port{shown}")
    if parts.username is not None or parts.password is not None:
        raise FiferailError(f"{named} has a user or password in its address: put them under users")
    if parts.query or parts.fragment:
        raise FiferailError(f"{named} has a query or fragment in its address, which no request would carry: remove it")
    host = f"[{parts.hostname}]" if ":" in parts.hostname else parts.hostname
    return f"{parts.scheme}://{host}{f':{port}' if port is not None else ''}{parts.path.rstrip('/')}"


def proxy_address(proxy: str | None, cluster: str) -> str | None:
    """Return the address of the proxy, if there is one; http, https and socks5 are known, as to kubectl."""
    if not proxy:
        return None
    try:
        parts = urlsplit(proxy)
        parts.port  # noqa: B018 - it is checked when it is asked for
    except ValueError:
        parts = None
    if parts is None or parts.scheme not in ("http", "https", "socks5") or not parts.hostname or not proxy.isprintable():
        raise FiferailError(f"expected the proxy-url of cluster {cluster!r} to be http://, https:// or socks5://host:port")
    return parts.geturl()


def refuse_clear_text(url: str, chosen: Chosen) -> None:
    """Refuse credentials that http would carry over a network."""
    user = chosen.user
    secret = user.token or user.token_file or user.username or user.password or user.exec
    if secret and url.startswith("http://") and not is_loopback(urlsplit(url).hostname or ""):
        raise FiferailError(f"{url} is not https: the credentials of user {chosen.user_name!r} would be sent in clear, so nothing is sent")


def is_loopback(host: str) -> bool:
    """Whether the host is this machine. 0.0.0.0 and :: are too, when one connects to them."""
    try:
        found = ipaddress.ip_address(host)
        return found.is_loopback or found.is_unspecified
    except ValueError:
        return host == "localhost" or host.endswith(".localhost")


def tls_context(chosen: Chosen) -> ssl.SSLContext:
    """Return the context for an https server: its authority, and the client's certificate."""
    tls = _verifying(chosen.cluster, chosen.cluster_name, chosen.cluster_folder)
    _identify(tls, chosen.user, chosen.user_name, chosen.user_folder)
    return tls


def authority(cluster: Cluster, name: str, folder: Path) -> str | None:
    """Return the PEM text of the cluster's authority; None for the system's."""
    if cluster.certificate_authority and cluster.certificate_authority_data:
        raise FiferailError(f"cluster {name!r} has certificate-authority and certificate-authority-data: only one is allowed")
    named = f"certificate-authority of cluster {name!r}"
    content = _material(cluster.certificate_authority_data, cluster.certificate_authority, folder, named)
    try:
        return content.decode("ascii") if content is not None else None
    except UnicodeDecodeError:
        raise FiferailError(f"the {named} is not PEM text") from None


def _verifying(cluster: Cluster, name: str, folder: Path) -> ssl.SSLContext:
    pem = authority(cluster, name, folder)
    if cluster.insecure_skip_tls_verify:
        if pem is not None:
            raise FiferailError(f"cluster {name!r} has a certificate-authority and insecure-skip-tls-verify: only one is allowed")
        tls = ssl.create_default_context()
        tls.check_hostname = False
        tls.verify_mode = ssl.CERT_NONE
        return tls
    try:
        return ssl.create_default_context(cadata=pem)
    except (ssl.SSLError, ValueError):
        raise FiferailError(f"the certificate-authority of cluster {name!r} is not a PEM certificate") from None


def _identify(tls: ssl.SSLContext, user: User, name: str, folder: Path) -> None:
    for field in ("client_certificate", "client_key"):
        if getattr(user, field) and getattr(user, f"{field}_data"):
            plain = field.replace("_", "-")
            raise FiferailError(f"user {name!r} has {plain} and {plain}-data: only one is allowed")
    certificate = _material(user.client_certificate_data, user.client_certificate, folder, f"client-certificate of user {name!r}")
    if certificate is None:
        return
    key = _material(user.client_key_data, user.client_key, folder, f"client-key of user {name!r}")
    if key is None:
        raise FiferailError(f"user {name!r} has a client-certificate without a client-key")
    _load_chain(tls, certificate, key, name)


def _material(data: str | None, file: str | None, folder: Path, named: str) -> bytes | None:
    """Return what is given in the kubeconfig itself, or in a file that it names."""
    if data:
        try:
            return base64.b64decode(data.replace("\r", "").replace("\n", ""), validate=True)
        except (binascii.Error, ValueError):
            raise FiferailError(f"the {named} is not base64") from None
    if not file:
        return None
    try:
        return (folder / file).read_bytes()
    except (OSError, ValueError) as error:
        raise FiferailError(f"cannot read the {named}, {folder / file}: {getattr(error, 'strerror', None) or error}") from None


def _load_chain(tls: ssl.SSLContext, certificate: bytes, key: bytes, name: str) -> None:
    """Load them through files that only we can read, removed at once: the ssl module reads nothing else."""

    def password() -> NoReturn:
        raise FiferailError(f"the client-key of user {name!r} is encrypted: decrypt it first")

    with tempfile.TemporaryDirectory() as folder:
        files = Path(folder, "cert"), Path(folder, "key")
        for file, content in zip(files, (certificate, key), strict=True):
            file.touch(mode=0o600)
            file.write_bytes(content)
        try:
            tls.load_cert_chain(*files, password=password)
        except (ssl.SSLError, OSError):
            raise FiferailError(f"the client-certificate and client-key of user {name!r} are not a PEM pair") from None
