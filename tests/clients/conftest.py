"""The servers that the adapters are tested on: the embedded one, and one real kube-apiserver for the suite of all."""

from __future__ import annotations

import base64
import ipaddress
import itertools
import json
import ssl
import time
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from fiferail.clients.kubeconfig import connect
from fiferail.errors import ApiError

_names = itertools.count()


class Place:
    """A server with the Gadget CRD: where it is, and fresh objects on it."""

    def __init__(self, kubeconfig: Path) -> None:
        self.kubeconfig = kubeconfig
        self.client = connect(kubeconfig)

    def gadget(self) -> Any:
        """A fresh object, as the server returned it."""
        name = f"g{next(_names)}"
        obj = {"apiVersion": "example.io/v1", "kind": "Gadget", "metadata": {"name": name, "namespace": "default"}, "spec": {"size": 1}}
        for _ in range(100):  # a real server serves a CRD a moment after it says so
            try:
                return self.client.create(obj)
            except ApiError as error:
                if error.code != 404:
                    raise
                time.sleep(0.1)
        raise AssertionError("the CRD was never served")

    def get(self, obj: Any) -> Any:
        """The object as it is now."""
        return self.client.get("example.io/v1", "Gadget", obj["metadata"]["name"], "default")


@pytest.fixture(scope="session")
def embedded_place(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Place]:
    """The embedded server over HTTP."""
    from fiferail.apiserver.embedded import EmbeddedServer

    with EmbeddedServer(crds=[GADGETS]) as server:
        yield Place(server.kubeconfig(tmp_path_factory.mktemp("embedded") / "kubeconfig"))


@pytest.fixture(scope="session")
def real_place(request: pytest.FixtureRequest) -> Iterator[Place]:
    """A real kube-apiserver."""
    if request.config.getoption("--fiferail-no-real"):
        pytest.skip("needs a real kube-apiserver, and --fiferail-no-real was given")
    from fiferail.apiserver.real.build import ensure
    from fiferail.apiserver.real.launch import RealServer

    ensure()
    with RealServer() as server:
        place = Place(server.kubeconfig)
        place.client.create(GADGETS)
        yield place


@pytest.fixture(params=["embedded", "real"])
def place(request: pytest.FixtureRequest) -> Place:
    """Each server in turn."""
    found: Place = request.getfixturevalue(f"{request.param}_place")
    return found


@pytest.fixture(scope="session")
def kubectl(request: pytest.FixtureRequest) -> Path:
    """The kubectl of the real server's release."""
    if request.config.getoption("--fiferail-no-real"):
        pytest.skip("needs a real kubectl, and --fiferail-no-real was given")
    from fiferail.apiserver.real.build import ensure

    return ensure(only=("kubectl",)).directory / "kubectl"


class Secured:
    """A server with TLS and tokens: its address, the certificate that verifies it, a name in that certificate, and a token it knows."""

    def __init__(self, url: str, authority: str, name: str, token: str, folder: Path) -> None:
        self.url, self.authority, self.name, self.token, self.folder = url, authority, name, token, folder
        self.folder.mkdir(exist_ok=True)

    def kubeconfig(self, cluster: Any = None, user: Any = None, **members: Any) -> Path:
        """A kubeconfig for it, with other members of its cluster and user where they are given; None removes one."""
        given = {"server": self.url, "certificate-authority-data": base64.b64encode(self.authority.encode()).decode(), **(cluster or {})}
        document = {
            "current-context": "here",
            "contexts": [{"name": "here", "context": {"cluster": "there", "user": "me"}}],
            "clusters": [{"name": "there", "cluster": {name: value for name, value in given.items() if value is not None}}],
            "users": [{"name": "me", "user": {"token": self.token} if user is None else user}],
            **members,
        }
        file = self.folder / f"kubeconfig{next(_names)}"
        file.write_text(json.dumps(document))
        return file


@pytest.fixture(scope="session")
def secured_embedded(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Secured]:
    """The embedded server with TLS and one token."""
    from fiferail.apiserver.embedded import EmbeddedServer
    from fiferail.apiserver.kinds import User

    folder = tmp_path_factory.mktemp("secured")
    certificate, key = certificate_of("server.example", folder)
    tls = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    tls.load_cert_chain(certificate, key)
    with EmbeddedServer(tls=tls, tokens={"the-right-token": User(name="alice")}) as server:
        yield Secured(server.url, certificate.read_text(), "server.example", "the-right-token", folder)


@pytest.fixture(scope="session")
def secured_real(real_place: Place, tmp_path_factory: pytest.TempPathFactory) -> Secured:
    """The real one."""
    config = json.loads(real_place.kubeconfig.read_text())
    cluster, user = config["clusters"][0]["cluster"], config["users"][0]["user"]
    authority = base64.b64decode(cluster["certificate-authority-data"]).decode()
    return Secured(cluster["server"], authority, "kubernetes.default.svc", user["token"], tmp_path_factory.mktemp("secured-real"))


@pytest.fixture(params=["embedded", "real"])
def secured(request: pytest.FixtureRequest) -> Secured:
    """Each server in turn, with TLS and a token."""
    found: Secured = request.getfixturevalue(f"secured_{request.param}")
    return found


def certificate_of(name: str, folder: Path) -> tuple[Path, Path]:
    """A certificate for that name and 127.0.0.1, signed by itself, and its key."""
    from cryptography import x509
    from cryptography.hazmat.primitives import hashes, serialization
    from cryptography.hazmat.primitives.asymmetric import ec

    key = ec.generate_private_key(ec.SECP256R1())
    subject = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, name)])
    now = datetime.now(UTC)
    names = x509.SubjectAlternativeName([x509.DNSName(name), x509.IPAddress(ipaddress.ip_address("127.0.0.1"))])
    made = (
        x509.CertificateBuilder().subject_name(subject).issuer_name(subject).public_key(key.public_key())
        .serial_number(x509.random_serial_number()).not_valid_before(now - timedelta(days=1)).not_valid_after(now + timedelta(days=1))
        .add_extension(names, False).add_extension(x509.BasicConstraints(ca=True, path_length=0), True)
        .sign(key, hashes.SHA256())
    )  # fmt: skip
    files = folder / f"{name}.crt", folder / f"{name}.key"
    files[0].write_bytes(made.public_bytes(serialization.Encoding.PEM))
    pkcs8, unencrypted = serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    files[1].write_bytes(key.private_bytes(serialization.Encoding.PEM, pkcs8, unencrypted))
    return files


_CONDITION = {
    "type": "object",
    "required": ["type", "status"],
    "properties": {
        **{name: {"type": "string"} for name in ("type", "status", "reason", "message")},
        "lastTransitionTime": {"type": "string", "format": "date-time"},
        "observedGeneration": {"type": "integer", "format": "int64"},
    },
}
_STATUS = {
    "type": "object",
    "properties": {
        "phase": {"type": "string"},
        "count": {"type": "integer"},
        "conditions": {
            "type": "array", "items": _CONDITION, "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["type"],
        },
    },
}  # fmt: skip
_SCHEMA = {"type": "object", "properties": {"spec": {"type": "object", "properties": {"size": {"type": "integer"}}}, "status": _STATUS}}
GADGETS = {
    "apiVersion": "apiextensions.k8s.io/v1",
    "kind": "CustomResourceDefinition",
    "metadata": {"name": "gadgets.example.io"},
    "spec": {
        "group": "example.io",
        "scope": "Namespaced",
        "names": {"plural": "gadgets", "singular": "gadget", "kind": "Gadget"},
        "versions": [
            {"name": "v1", "served": True, "storage": True, "subresources": {"status": {}}, "schema": {"openAPIV3Schema": _SCHEMA}}
        ],
    },
}
