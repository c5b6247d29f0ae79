"""The tag of a container image, as far as the default pull policy asks for it."""

from __future__ import annotations

import re

_COMPONENT = r"[a-z0-9]+(?:(?:\.|_|__|-+)[a-z0-9]+)*"
_HOST = r"[a-zA-Z0-9](?:[a-zA-Z0-9-]*[a-zA-Z0-9])?"
_DOMAIN = rf"(?:{_HOST}(?:\.{_HOST})*|\[[a-fA-F0-9:]+\])(?::[0-9]+)?"
_REFERENCE = re.compile(
    rf"(?P<name>(?:{_DOMAIN}/)?{_COMPONENT}(?:/{_COMPONENT})*)(?::(?P<tag>\w[\w.-]{{0,127}}))?"
    rf"(?:@(?P<digest>[A-Za-z][A-Za-z0-9]*(?:[-_+.][A-Za-z][A-Za-z0-9]*)*:[0-9a-fA-F]{{32,}}))?",
    re.ASCII,
)
_IDENTIFIER = re.compile(r"[a-f0-9]{64}")


def tag(image: str) -> str:
    """The tag; `latest` when neither tag nor digest is given; nothing when the image has no valid name."""
    if _IDENTIFIER.fullmatch(image):
        return ""
    host, slash, rest = image.partition("/")
    if not slash or ("." not in host and ":" not in host and host != "localhost" and host.lower() == host):
        host, rest = "docker.io", image
    if rest.partition(":")[0].lower() != rest.partition(":")[0]:
        return ""
    found = _REFERENCE.fullmatch(f"{host}/{rest}")
    if not found:
        return ""
    return found["tag"] or ("" if found["digest"] else "latest")


def pull_policy(image: str) -> str:
    """The default pull policy of an image."""
    return "Always" if tag(image) == "latest" else "IfNotPresent"
