"""Conversations with the machine, kept as text: `cases/*.txt`.

A case is a list of blocks: a command, `----`, and everything the server said. Set FIFERAIL_REWRITE=1 to write what it says now, and
read the diff. Commands: `create|replace|merge|json|apply|strategic|get|list|watch|delete TARGET [BODY]`, where a target is
`gadgets/a/status?query`; a word in capitals is a raw method with a path. `compact` forgets history; `clock +N` moves time.
"""

from __future__ import annotations

import os
import re
from http import HTTPStatus
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl, unquote, urlsplit

import msgspec
import pytest

from fiferail.apiserver.faults import Delayed, Lost
from fiferail.apiserver.ids import Counted
from fiferail.apiserver.machine import Machine
from fiferail.apiserver.verbs.watch import Stream
from fiferail.objects import gojson
from fiferail.wire import APPLY_PATCH, JSON_PATCH, MERGE_PATCH, STRATEGIC_MERGE_PATCH, Request

CASES = sorted((Path(__file__).parent / "cases").glob("*.txt"))
METHODS = {"create": "POST", "replace": "PUT", "get": "GET", "list": "GET", "watch": "GET", "delete": "DELETE"}
PATCHES = {"merge": MERGE_PATCH, "json": JSON_PATCH, "apply": APPLY_PATCH, "strategic": STRATEGIC_MERGE_PATCH}
BASES = {
    "gadgets": ("/apis/example.io/v1", "Gadget", True),
    "gadgets.v2": ("/apis/example.io/v2", "Gadget", True),
    "crds": ("/apis/apiextensions.k8s.io/v1", "CustomResourceDefinition", False),
    "namespaces": ("/api/v1", "Namespace", False),
    "configmaps": ("/api/v1", "ConfigMap", True),
    "deployments": ("/apis/apps/v1", "Deployment", True),
}
PLURALS = {"crds": "customresourcedefinitions", "gadgets.v2": "gadgets"}


def _string(**more: Any) -> Any:
    return {"type": "string", **more}


def gadget_crd(*versions: Any) -> Any:
    """The CRD of the conversations: a status, a scale, conditions by type, a selectable field."""
    condition = {"type": "object", "required": ["type"], "properties": {"type": _string(), "status": _string()}}
    conditions = {"type": "array", "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["type"], "items": condition}
    spec = {"size": {"type": "integer", "minimum": 0}, "color": _string(), "tags": {"type": "array", "items": _string()}}
    status = {"phase": _string(), "size": {"type": "integer"}, "selector": _string(), "conditions": conditions}
    schema = {
        "type": "object",
        "properties": {"spec": {"type": "object", "properties": spec}, "status": {"type": "object", "properties": status}},
    }
    scale = {"specReplicasPath": ".spec.size", "statusReplicasPath": ".status.size", "labelSelectorPath": ".status.selector"}
    v1 = {
        "name": "v1",
        "served": True,
        "storage": True,
        "subresources": {"status": {}, "scale": scale},
        "selectableFields": [{"jsonPath": ".spec.color"}],
        "schema": {"openAPIV3Schema": schema},
    }
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": "gadgets.example.io"},
        "spec": {
            "group": "example.io",
            "names": {"plural": "gadgets", "singular": "gadget", "kind": "Gadget", "listKind": "GadgetList"},
            "scope": "Namespaced",
            "versions": [*(versions or (v1,))],
        },
    }


class World:
    """A machine with the gadget CRD, and the words for talking to it."""

    def __init__(self, **settings: Any) -> None:
        self.seconds = 1_700_000_000.0
        self.machine = Machine(clock=lambda: self.seconds, **settings)
        self._uids: dict[str, str] = {}
        # Whatever a fresh server holds, the conversations begin at the same revision and the same uid.
        self.machine.store.revision = 1000
        self.machine.ids = Counted(uids=100)
        assert self.send("POST", "/apis/apiextensions.k8s.io/v1/customresourcedefinitions", gojson.encode(gadget_crd()))[0] == 201
        self._uids.clear()

    def send(self, method: str, target: str, body: bytes = b"", media_type: str = "") -> tuple[int, dict[str, str], bytes]:
        """One request as a shell would pass it on."""
        parts = urlsplit(target)
        query = tuple(parse_qsl(parts.query, keep_blank_values=True))
        headers = {"user-agent": "test/1"}
        request = Request(method=method, path=unquote(parts.path), query=query, body=body, content_type=media_type, headers=headers)
        outcome = self.machine.handle(request)
        assert not isinstance(outcome, Delayed | Lost)
        if isinstance(outcome, Stream):
            lines = b"".join(outcome.take())
            outcome.close()
            return 200, outcome.headers, lines
        return outcome.status, dict(outcome.headers), outcome.body

    def say(self, command: str) -> str:
        """One command of a case, and what comes back, as text."""
        words, _, rest = command.partition("\n")
        verb, _, target = words.partition(" ")
        target, _, inline = target.strip().partition(" ")
        body = (inline.strip() or rest.strip()).encode()
        if verb == "compact":
            self.machine.compact()
            return "compacted"
        if verb == "clock":
            self.seconds += float(target)
            return "later"
        if verb.isupper():
            return self._told(*self.send(verb, target, body))
        base, kind, namespaced = BASES[re.split(r"[/?]", target)[0]]
        return self._told(*self._request(verb, target, body, base, kind, namespaced))

    def _request(self, verb: str, target: str, body: bytes, base: str, kind: str, namespaced: bool) -> tuple[int, dict[str, str], bytes]:
        plural, slash, rest = re.match(r"([^/?]+)(/?)(.*)", target, re.S).groups()  # type: ignore[union-attr]
        place = "/namespaces/default" if namespaced else ""
        path = f"{base}{place}/{PLURALS.get(plural, plural)}{slash}{rest}"
        if verb == "watch":
            path += ("&" if "?" in path else "?") + "watch=1"
        if verb in ("create", "replace", "apply") and body.startswith(b"{"):
            tree = {"apiVersion": base.partition("/apis/")[2] or "v1", "kind": kind, **gojson.decode(body)}
            name = re.split(r"[/?]", rest)[0]
            if verb != "create":
                tree["metadata"] = {"name": name, **tree.get("metadata", {})}
            body = gojson.encode(tree)
        if verb in PATCHES:
            return self.send("PATCH", path, body, PATCHES[verb])
        return self.send(METHODS[verb], path, body)

    def _told(self, code: int, headers: dict[str, str], body: bytes) -> str:
        lines = [f"{code} {HTTPStatus(code).phrase}"]
        lines += [f"warning: {text}" for text in re.findall(r'299 - "((?:[^"\\]|\\.)*)"', headers.get("warning", ""))]
        if not headers["content-type"].startswith("application/json"):
            return "\n".join([*lines, body.decode().rstrip("\n")])
        for line in body.splitlines():
            lines += self._shown(gojson.decode(line))
        return self._mapped("\n".join(lines))

    def _shown(self, tree: Any) -> list[str]:
        if tree.get("kind") == "Status" and tree["status"] == "Failure":
            details = tree.get("details", {})
            head = f"{tree.get('reason', '')}: {tree['message']}"
            causes = [f"- {cause.get('reason', '')} {cause.get('field', '')}: {cause['message']}" for cause in details.get("causes", ())]
            return [head, *(causes if len(causes) > 1 else [])]
        if "items" in tree:
            return [gojson.encode(tree["metadata"]).decode(), *(f"- {_brief(item)}" for item in tree["items"])]
        if set(tree) == {"type", "object"}:
            shown = self._shown(tree["object"]) if tree["object"].get("kind") == "Status" else [_brief(tree["object"])]
            return [f"{tree['type']} {shown[0]}"]
        return [_brief(tree), *_owners(tree)]

    def _mapped(self, text: str) -> str:
        uid = r"[0-9a-f]{8}-0000-4000-8000-[0-9a-f]{12}"
        return re.sub(uid, lambda match: self._uids.setdefault(match.group(), f"uid-{len(self._uids) + 1}"), text)


def _brief(tree: Any) -> str:
    meta = {name: value for name, value in tree.get("metadata", {}).items() if name not in ("managedFields", "creationTimestamp")}
    rest = {name: value for name, value in tree.items() if name not in ("apiVersion", "kind", "metadata")}
    shown = gojson.encode({**rest, "metadata": meta}).decode()
    return f"{tree.get('kind')} {shown}"


def _owners(tree: Any) -> list[str]:
    """managedFields in one line each."""
    lines = []
    for entry in tree.get("metadata", {}).get("managedFields", ()):
        place = f"/{entry['subresource']}" if "subresource" in entry else ""
        lines.append(f"  {entry['manager']}{place} {entry['operation']} {msgspec.json.encode(entry['fieldsV1']).decode()}")
    return lines


@pytest.mark.parametrize("path", CASES, ids=lambda path: path.stem)
def test_the_machine_says_what_the_transcript_says(path: Path) -> None:
    """Every answer of every conversation is the one that was read and accepted."""
    world = World(controllers=path.stem.startswith("controllers"))
    told: list[str] = []
    for block in re.split(r"\n\n+", path.read_text().strip()):
        comments = [line for line in block.splitlines() if line.startswith("#")]
        command = "\n".join(line for line in block.splitlines() if not line.startswith("#")).partition("\n----")[0]
        if not command.strip():
            told.append("\n".join(comments))
            continue
        told.append("\n".join([*comments, command, "----", world.say(command)]))
    text = "\n\n".join(told) + "\n"
    if os.environ.get("FIFERAIL_REWRITE"):
        path.write_text(text)
    assert text == path.read_text()
