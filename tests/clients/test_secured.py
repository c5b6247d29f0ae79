"""TLS, proxies and impersonation of a kubeconfig are honoured by both clients, on both servers; a token never travels in clear."""

from __future__ import annotations

import asyncio
import contextlib
import socket
import ssl
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import fiferail
from fiferail.clients.secured import is_loopback
from fiferail.errors import FiferailError

from .conftest import Secured, certificate_of

WHO = {"apiVersion": "authentication.k8s.io/v1", "kind": "SelfSubjectReview", "metadata": {}}


def ask(kubeconfig: Path) -> Any:
    """Who the blocking client is to the server."""
    with fiferail.connect(kubeconfig) as client:
        return client.create(WHO)["status"]["userInfo"]


def ask_async(kubeconfig: Path) -> Any:
    """Who the async client is."""

    async def asked() -> Any:
        async with fiferail.connect_async(kubeconfig) as client:
            return (await client.create(WHO))["status"]["userInfo"]

    return asyncio.run(asked())


@pytest.fixture(params=[ask, ask_async], ids=["sync", "async"])
def who(request: pytest.FixtureRequest) -> Callable[[Path], Any]:
    """Each client in turn."""
    asked: Callable[[Path], Any] = request.param
    return asked


def verification_failed(error: BaseException | None) -> bool:
    """Whether the certificate was the reason."""
    while error is not None:
        if isinstance(error, ssl.SSLCertVerificationError) or "CERTIFICATE_VERIFY_FAILED" in str(error):
            return True
        error = error.__cause__ or error.__context__
    return False


@pytest.mark.parametrize("scheme", ["https", "HTTPS", "HttpS"])
def test_https_in_any_case_is_verified(secured: Secured, who: Any, scheme: str, tmp_path: Path) -> None:
    """With the right authority it works; with another one nothing is sent, whatever the case of the scheme."""
    server = f"{scheme}://{secured.url.partition('://')[2]}"
    assert who(secured.kubeconfig({"server": server}))["username"]
    other = certificate_of("other.example", tmp_path)[0]
    with pytest.raises(Exception) as refused:
        who(secured.kubeconfig({"server": server, "certificate-authority-data": None, "certificate-authority": str(other)}))
    assert verification_failed(refused.value)


def test_without_verification_only_if_it_says_so(secured: Secured, who: Any) -> None:
    """insecure-skip-tls-verify is a boolean."""
    assert who(secured.kubeconfig({"certificate-authority-data": None, "insecure-skip-tls-verify": True}))["username"]
    with pytest.raises(FiferailError, match="expected `bool`, got `str` at clusters\\[0\\].cluster.insecure-skip-tls-verify"):
        who(secured.kubeconfig({"certificate-authority-data": None, "insecure-skip-tls-verify": "false"}))


def test_the_name_in_the_certificate_can_be_given(secured: Secured, who: Any) -> None:
    """tls-server-name is what the certificate is checked against, instead of the host."""
    assert who(secured.kubeconfig({"tls-server-name": secured.name}))["username"]
    with pytest.raises(Exception) as refused:
        who(secured.kubeconfig({"tls-server-name": "wrong.example"}))
    assert verification_failed(refused.value)


class Listener:
    """A port that notes what arrives, and hangs up."""

    def __init__(self) -> None:
        self._socket = socket.create_server(("127.0.0.1", 0))
        self.port = self._socket.getsockname()[1]
        self.arrived = b""
        self._thread = threading.Thread(target=self._listen)
        self._thread.start()

    def _listen(self) -> None:
        with contextlib.suppress(OSError):
            while True:
                connection = self._socket.accept()[0]
                with connection:
                    self.arrived += connection.recv(65536)

    def close(self) -> None:
        """Stop."""
        self._socket.shutdown(socket.SHUT_RDWR)
        self._socket.close()
        self._thread.join()


@pytest.fixture
def listener() -> Iterator[Listener]:
    """A listener."""
    listening = Listener()
    yield listening
    listening.close()


def test_a_token_is_not_sent_in_clear_to_a_server_that_speaks_no_tls(listener: Listener, who: Any, tmp_path: Path) -> None:
    """`HTTPS://` begins with a TLS handshake, not with a request."""
    here = Secured(f"HTTPS://127.0.0.1:{listener.port}", certificate_of("a.example", tmp_path)[0].read_text(), "", "s3cr3t", tmp_path)
    with pytest.raises(Exception):  # noqa: B017 - each client has its own error for a broken handshake
        who(here.kubeconfig())
    assert listener.arrived[:1] == b"\x16"
    assert b"s3cr3t" not in listener.arrived


@pytest.mark.parametrize(
    ("host", "here"),
    [("127.0.0.1", True), ("127.9.9.9", True), ("::1", True), ("localhost", True), ("0.0.0.0", True), ("a.localhost", True),
     ("10.0.0.1", False), ("example.com", False), ("localhost.example.com", False), ("127.0.0.1.example.com", False)],
)  # fmt: skip
def test_what_counts_as_this_machine(host: str, here: bool) -> None:
    """Credentials go over http only to loopback."""
    assert is_loopback(host) is here


def test_an_encrypted_key_is_refused_instead_of_asking_for_its_password(tmp_path: Path, who: Any) -> None:
    """OpenSSL would ask on the terminal."""
    from cryptography.hazmat.primitives import serialization as s

    certificate, key = certificate_of("a.example", tmp_path)
    loaded = s.load_pem_private_key(key.read_bytes(), None)
    key.write_bytes(loaded.private_bytes(s.Encoding.PEM, s.PrivateFormat.PKCS8, s.BestAvailableEncryption(b"x")))
    user = {"client-certificate": certificate.name, "client-key": key.name}
    here = Secured("https://127.0.0.1:9", certificate.read_text(), "", "", tmp_path)
    with pytest.raises(FiferailError, match="^the client-key of user 'me' is encrypted: decrypt it first$"):
        who(here.kubeconfig(user=user))


class Proxy:
    """A proxy that knows CONNECT, and notes where to."""

    def __init__(self) -> None:
        self._socket = socket.create_server(("127.0.0.1", 0))
        self.url = f"http://127.0.0.1:{self._socket.getsockname()[1]}"
        self.connected: list[str] = []
        threading.Thread(target=self._listen, daemon=True).start()

    def _listen(self) -> None:
        with contextlib.suppress(OSError):
            while True:
                threading.Thread(target=self._serve, args=(self._socket.accept()[0],), daemon=True).start()

    def _serve(self, client: socket.socket) -> None:
        head = b""
        while b"\r\n\r\n" not in head:
            head += client.recv(65536)
        target = head.split(b" ")[1].decode()
        self.connected.append(target)
        host, _, port = target.rpartition(":")
        server = socket.create_connection((host, int(port)))
        client.sendall(b"HTTP/1.1 200 Connection established\r\n\r\n")
        threading.Thread(target=_pump, args=(server, client), daemon=True).start()
        _pump(client, server)

    def close(self) -> None:
        """Stop."""
        self._socket.shutdown(socket.SHUT_RDWR)
        self._socket.close()


def _pump(source: socket.socket, target: socket.socket) -> None:
    with contextlib.suppress(OSError):
        while data := source.recv(65536):
            target.sendall(data)
    for end in (source, target):
        with contextlib.suppress(OSError):
            end.shutdown(socket.SHUT_RDWR)


@pytest.mark.parametrize("name", [False, True], ids=["by its host", "by tls-server-name"])
def test_a_proxy_is_used(secured: Secured, who: Any, name: bool) -> None:
    """proxy-url: the request goes through its tunnel, and the certificate is still verified."""
    proxy = Proxy()
    try:
        extra = {"proxy-url": proxy.url, **({"tls-server-name": secured.name} if name else {})}
        assert who(secured.kubeconfig(extra))["username"]
        assert set(proxy.connected) == {secured.url.partition("://")[2]}
        with pytest.raises(Exception) as refused:
            who(secured.kubeconfig({**extra, "tls-server-name": "wrong.example"}))
        assert verification_failed(refused.value)
    finally:
        proxy.close()


def test_a_socks_proxy_says_what_it_needs(secured_embedded: Secured, who: Any) -> None:
    """Refused, not ignored."""
    with pytest.raises(FiferailError, match="^the proxy-url is a socks5 proxy, which needs the package socksio: pip install socksio$"):
        who(secured_embedded.kubeconfig({"proxy-url": "socks5://127.0.0.1:9"}))


OTHER = {"as": "bob", "as-uid": "7", "as-groups": ["dev", "ops"], "as-user-extra": {"example.io/Über": ["x", "y"]}}


def test_impersonation_reaches_the_real_server(secured_real: Secured, who: Any) -> None:
    """as, as-uid, as-groups and as-user-extra are who the server sees, each group as a header of its own."""
    seen = who(secured_real.kubeconfig(user={"token": secured_real.token, **OTHER}))
    assert (seen["username"], seen["uid"]) == ("bob", "7")
    assert seen["groups"] == ["dev", "ops", "system:authenticated"]
    assert seen["extra"] == {"example.io/Über": ["x", "y"]}


def test_impersonation_headers_are_sent(listener: Listener, who: Any, tmp_path: Path) -> None:
    """One line each; the key of an extra is percent-encoded."""
    here = Secured(f"http://127.0.0.1:{listener.port}", "", "", "", tmp_path)
    with pytest.raises(Exception):  # noqa: B017 - the listener gives no answer
        who(here.kubeconfig({"certificate-authority-data": None}, {"token": "t", **OTHER}))
    lines = [line.lower() for line in listener.arrived.decode().split("\r\n") if line.lower().startswith(("impersonate", "authorization"))]
    assert lines == [
        "authorization: bearer t", "impersonate-user: bob", "impersonate-uid: 7", "impersonate-group: dev", "impersonate-group: ops",
        "impersonate-extra-example.io%2f%c3%9cber: x", "impersonate-extra-example.io%2f%c3%9cber: y",
    ]  # fmt: skip


def test_compression_can_be_turned_off(listener: Listener, who: Any, tmp_path: Path) -> None:
    """disable-compression: the server is not asked to compress."""
    here = Secured(f"http://127.0.0.1:{listener.port}", "", "", "t", tmp_path)
    with pytest.raises(Exception):  # noqa: B017 - the listener gives no answer
        who(here.kubeconfig({"certificate-authority-data": None, "disable-compression": True}))
    assert b"gzip" not in listener.arrived
