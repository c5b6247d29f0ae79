"""Random requests that no client would send: spoiled paths, queries, media types and bodies.

Both servers get each of them; code and reason must be the same. What is stored meanwhile is the same on both, because every
request goes to both. Called by the tests, over HTTP, since part of what is judged happens before the machine.
"""

from __future__ import annotations

import copy
import json
from typing import TYPE_CHECKING, Any

from fiferail.wire import Request

if TYPE_CHECKING:
    from random import Random

    from fiferail.testing.differential.runner import Heard

_METHODS = ("GET", "POST", "PUT", "PATCH", "DELETE", "HEAD", "OPTIONS")
_TYPES = (
    "application/json",
    "application/json; charset=utf-8",
    "application/merge-patch+json",
    "application/json-patch+json",
    "application/apply-patch+yaml",
    "application/strategic-merge-patch+json",
    "application/yaml",
    "text/plain",
    "application/x-www-form-urlencoded",
    "a/b",
    "nonsense",
    "",
)
_SEGMENTS = ("%2F", "a b", "é", "UPPER", "x" * 260, "status", "scale", "nosuch", "~", "*", "null", "1")
_QUERIES = (
    (("limit", "99999999999999999999"),),
    (("limit", "-1"),),
    (("dryRun", "x"),),
    (("dryRun", ""),),
    (("fieldManager", "x" * 200),),
    (("fieldManager", "bad\nname"),),
    (("fieldValidation", "x"),),
    (("force", "maybe"),),
    (("labelSelector", "((("),),
    (("fieldSelector", "a"),),
    (("continue", "x"),),
    (("resourceVersion", "-1"),),
    (("pretty", "true"),),
    (("unknown", "1"),),
    (("gracePeriodSeconds", "x"),),
    (("propagationPolicy", "x"),),
)
_ODD: tuple[Any, ...] = (None, True, 0, -1, 1.5, 1e400, 2**63, 2**64, 10**30, "", "x", [], {}, [None], {"": 1}, "\u0000", "\ud83d\ude00")


def request(rng: Random, root: str, plural: str, body: dict[str, Any]) -> Request:
    """One request, spoiled in one to three ways. `root` is the path up to the namespace, `body` an object that is fine."""
    method, sub = rng.choice(_METHODS), rng.choice(("", "", "", "/status"))
    path = f"{root}/{plural}" + (f"/{body['metadata']['name']}{sub}" if rng.random() < 0.7 else "")
    if rng.random() < 0.3:
        parts = path.split("/")
        parts[rng.randrange(1, len(parts))] = rng.choice(_SEGMENTS)
        path = "/".join(parts)
    query = rng.choice(_QUERIES) if rng.random() < 0.3 else ()
    content = b"" if method in ("GET", "HEAD", "OPTIONS") else spoiled(rng, body)
    media = rng.choice(_TYPES) if content or method in ("POST", "PUT", "PATCH") else ""
    if method == "PATCH" and "fieldManager" not in dict(query):
        query = (*query, ("fieldManager", "raw"))
    return Request(method=method, path=path, query=query, body=content, content_type=media)


def spoiled(rng: Random, body: dict[str, Any]) -> bytes:
    """The object with a wrong value somewhere, or its text with wrong bytes somewhere."""
    tree = json.loads(json.dumps(body))
    for _ in range(rng.choice((0, 1, 1, 2))):
        _spoil(rng, tree)
    text = json.dumps(tree, allow_nan=True).replace("Infinity", "1e400").encode()
    choice = rng.random()
    if choice < 0.15:
        at = rng.randrange(len(text))
        return text[:at] + rng.choice((b"", b"{", b"}", b'"', b",", b"\xff", b"\\", b"0", b" ")) + text[at + 1 :]
    if choice < 0.2:
        return text[: rng.randrange(len(text))]
    if choice < 0.25:
        return rng.choice(
            (b"", b"null", b"[]", b"{}", b"7", b'"x"', b"[" * 50, b'[{"op":"add","path":"/x","value":1}]', b"---\na: b\n", b"a: &x [*x]\n")
        )
    return text


def _spoil(rng: Random, tree: Any) -> None:
    while True:
        keys = list(tree) if isinstance(tree, dict) else list(range(len(tree)))
        if not keys:
            return
        key = rng.choice(keys)
        if isinstance(tree[key], dict | list) and rng.random() < 0.7:
            tree = tree[key]
            continue
        tree[key] = copy.deepcopy(rng.choice(_ODD))
        return


def verdict(heard: Heard) -> tuple[int, str]:
    """What is compared: the code, and the reason where the answer is a Status."""
    try:
        reason = json.loads(heard.body).get("reason", "")
    except (ValueError, AttributeError):
        reason = "text"
    return heard.code, reason if heard.code >= 400 and heard.request.method != "HEAD" else ""
