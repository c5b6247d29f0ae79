"""Holds a conversation with one server and writes down every answer.

Called for each of the two servers with the same conversation. The namespace is fresh, so nothing of earlier conversations is
seen. A broken connection is an answer too: code 0.
"""

from __future__ import annotations

import contextlib
import http.client
import itertools
import json
import re
import time
import traceback
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from fiferail import wire
from fiferail.errors import FiferailError
from fiferail.testing.api import TYPES
from fiferail.testing.differential.conversations import REMOVE, Conversation, Step

if TYPE_CHECKING:
    from collections.abc import Sequence

_MARK = re.compile(r"\$\{(\w+)(?::(\w+))?\}")
_UNKNOWN = {"rv": "1", "stale": "1", "uid": "00000000-0000-0000-0000-000000000000", "continue": ""}
CRDS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
SENTINEL = "zz-end"
CRASHED = 599


@dataclass(frozen=True)
class Heard:
    """One answer, with the request as it was really sent."""

    request: wire.Request
    code: int
    body: bytes
    headers: dict[str, str]


@dataclass
class Run:
    """What one server said in one conversation."""

    heard: list[Heard] = field(default_factory=list)
    events: list[bytes] = field(default_factory=list)
    events_error: str = ""


class Server:
    """One of the two: a transport and a name."""

    def __init__(self, name: str, transport: wire.Transport) -> None:
        self.name, self._transport = name, transport

    def send(self, request: wire.Request) -> Heard:
        """The answer, whatever it is."""
        try:
            answer = self._transport.send(request)
        except (OSError, http.client.HTTPException) as error:
            return Heard(request, 0, type(error).__name__.encode(), {})
        except Exception as error:  # a server in this process that crashes must not end the run: it is the worst of findings
            return Heard(request, CRASHED, f"crash: {_place(error)}".encode(), {})
        return Heard(request, answer.status, answer.body, dict(answer.headers))

    def ask(self, method: str, path: str, body: Any = None, query: tuple[tuple[str, str], ...] = ()) -> Heard:
        """A request of ours, outside any conversation."""
        content = msgspec.json.encode(body) if body is not None else b""
        return self.send(wire.Request(method=method, path=path, query=query, body=content, content_type=wire.JSON if content else ""))

    def define(self, crds: Sequence[dict[str, Any]], timeout: float = 60.0) -> list[Heard]:
        """Creates CRDs that are not there yet and waits until all are served; the answers to the creates."""
        answers = []
        for crd in crds:
            answers.append(self.ask("POST", CRDS, crd))
            if answers[-1].code not in (201, 409):
                raise FiferailError(f"{self.name} refused a CRD: {answers[-1].body.decode()[:1500]}")
        deadline = time.monotonic() + timeout
        for crd in crds:
            for version in crd["spec"]["versions"]:
                path = f"/apis/{crd['spec']['group']}/{version['name']}/{crd['spec']['names']['plural']}"
                while (heard := self.ask("GET", path)).code != 200:
                    if time.monotonic() > deadline:
                        raise FiferailError(f"{self.name} does not serve {path} after {timeout:.0f} s: {heard.code} {heard.body[:300]!r}")
                    time.sleep(0.05)
        return answers

    def hold(self, conversation: Conversation, namespace: str) -> Run:
        """The conversation, in a namespace that nobody used before, and then its watch."""
        self.ask("POST", "/api/v1/namespaces", {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": namespace}})
        root = f"/apis/{conversation.group}" if conversation.group else "/api"
        collection = f"{root}/{conversation.version}/namespaces/{namespace}/{conversation.plural}"
        start = json.loads(self.ask("GET", collection).body)["metadata"]["resourceVersion"]
        speaker = _Speaker(self, root, namespace)
        run = Run()
        for step in conversation.steps:
            run.heard.append(speaker.say(step))
        self._collect_events(run, conversation, collection, start)
        return run

    def _collect_events(self, run: Run, conversation: Conversation, collection: str, start: str) -> None:
        """The watch from the start to a sentinel that is created now; needs no clock."""
        sentinel = {**conversation.sentinel, "metadata": {"name": SENTINEL, "labels": {"tier": "x"}}}
        made = self.ask("POST", collection, sentinel)
        if made.code != 201:
            run.events_error = "no sentinel"  # a schema that demands more than an empty spec: the watch goes unread
            return
        query = {"watch": "true", "resourceVersion": start, **conversation.watch}
        request = wire.Request(method="GET", path=collection, query=tuple(query.items()))
        try:
            with contextlib.closing(self._transport.stream(request, 20.0)) as lines:  # type: ignore[type-var]
                for line in lines:
                    run.events.append(line)
                    if json.loads(line)["object"].get("metadata", {}).get("name") == SENTINEL:
                        break
        except (OSError, http.client.HTTPException, wire.StreamRefused) as error:
            run.events_error = type(error).__name__
        self.ask("DELETE", f"{collection}/{SENTINEL}")


class _Speaker:
    """Turns steps into requests, with what this server said before."""

    def __init__(self, server: Server, root: str, namespace: str) -> None:
        self._server, self._root, self._namespace = server, root, namespace
        self._seen: dict[str, dict[str, Any]] = {}
        self._first: dict[str, str] = {}
        self._token = ""

    def say(self, step: Step) -> Heard:
        heard = self._server.send(self._request(step))
        self._learn(step, heard)
        return heard

    def _request(self, step: Step) -> wire.Request:
        version, _, rest = step.path.partition("/")
        body = self._based(step) if step.base is not None else self._filled(step.body)
        needs_body = step.body is not None or step.base is not None or step.type
        return wire.Request(
            method=step.method,
            path=f"{self._root}/{version}/namespaces/{self._namespace}/{rest}",
            query=tuple((name, self._filled(text)) for name, text in step.query.items()),
            body=json.dumps(body).encode() if needs_body else b"",
            content_type=TYPES.get(step.type, step.type) or (wire.JSON if needs_body else ""),
            headers={"user-agent": step.agent} if step.agent else {},
        )

    def _based(self, step: Step) -> Any:
        known = self._seen.get(step.base or "") or {"metadata": {"name": step.base}, "kind": "Unseen"}
        tree = json.loads(json.dumps(known))
        for where, content in step.edits:
            _edit(tree, where, REMOVE if content == REMOVE else self._filled(content))
        return tree

    def _filled(self, tree: Any) -> Any:
        if isinstance(tree, str):
            return _MARK.sub(self._known, tree) if "${" in tree else tree
        if isinstance(tree, dict):
            return {name: self._filled(member) for name, member in tree.items()}
        if isinstance(tree, list):
            return [self._filled(member) for member in tree]
        return tree

    def _known(self, mark: re.Match[str]) -> str:
        what, name = mark[1], mark[2] or ""
        if what == "continue":
            return self._token
        if what == "stale":
            return self._first.get(name, _UNKNOWN[what])
        metadata = self._seen.get(name, {}).get("metadata", {})
        return str(metadata.get("resourceVersion" if what == "rv" else "uid", _UNKNOWN[what]))

    def _learn(self, step: Step, heard: Heard) -> None:
        if not 200 <= heard.code < 300 or "dryRun" in step.query or step.path.endswith("/scale"):
            return
        with contextlib.suppress(ValueError, KeyError, TypeError):
            answer = json.loads(heard.body)
            metadata = answer.get("metadata", {})
            if "items" in answer:
                self._token = metadata.get("continue", "")
            elif metadata.get("name") and metadata.get("resourceVersion"):
                self._seen[metadata["name"]] = answer
                self._first.setdefault(metadata["name"], metadata["resourceVersion"])


def _place(error: Exception) -> str:
    """What was raised, and the innermost line that raised it."""
    frame = traceback.extract_tb(error.__traceback__)[-1]
    return f"{type(error).__name__}: {error} at {Path(frame.filename).name}:{frame.lineno}"


def _edit(tree: Any, where: Sequence[str | int], content: Any) -> None:
    """Sets or removes a member of a private tree; a place that cannot be reached is left alone."""
    for step, following in itertools.pairwise(where):
        if isinstance(tree, dict):
            tree = tree.setdefault(step, [] if isinstance(following, int) else {})
        elif isinstance(tree, list) and isinstance(step, int) and step < len(tree):
            tree = tree[step]
        else:
            return
    last = where[-1]
    if isinstance(tree, dict) and isinstance(last, str):
        if content == REMOVE:
            tree.pop(last, None)
        else:
            tree[last] = content
    elif isinstance(tree, list) and isinstance(last, int):
        if content == REMOVE:
            del tree[last : last + 1]
        else:
            tree[last : last + 1] = [content]
