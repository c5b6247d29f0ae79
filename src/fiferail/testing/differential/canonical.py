"""Two servers never agree on uids, times and revisions: here these become words that can be compared.

A uid becomes `uid-1`, `uid-2` in order of appearance; a time becomes `<time>`; a resourceVersion becomes its rank among all the
versions of objects in the same conversation, so order and equality stay; the version of a list or bookmark becomes the rank it
is at or above. managedFields are ordered by owner, because the server orders them by seconds of a clock, and causes by their
text, because the real server walks a hash map. Numbers stay as spelled.
"""

from __future__ import annotations

import bisect
import json
import re
from typing import TYPE_CHECKING, Any

from fiferail.testing.differential.values import USER_TIME

if TYPE_CHECKING:
    from fiferail.testing.differential.runner import Heard, Run

_UID = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}")
_TIME = re.compile(r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$")
_TIME_IN_TEXT = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ")
_QUOTED = re.compile(r'Invalid value: ("(?:\\.|[^"\\])*")')
_VERSION_IN_TEXT = re.compile(r"(ResourceVersion in (?:the )?(?:precondition|object meta|record)\D{0,4})(\d+)")
_ALLOCATED = re.compile(r"\b10\.0\.0\.(?!1\b)\d+\b")
_TIMES = ("creationTimestamp", "deletionTimestamp", "time")
_FIXED = {f"{digit * 8}-{digit * 4}-{digit * 4}-{digit * 4}-{digit * 12}" for digit in "012"}


class Number(str):
    """A number as it was spelled: 1 and 1.0 differ here."""

    __slots__ = ()


def parse(body: bytes) -> Any:
    """The JSON of a body with numbers as spelled; text that is not JSON as text."""
    try:
        return json.loads(body, parse_int=Number, parse_float=Number)
    except ValueError:
        return body.decode(errors="replace")


class Canon:
    """The mapping of one run."""

    def __init__(self, run: Run, namespace: str) -> None:
        self._namespace = namespace
        self._uids: dict[str, str] = {}
        self.answers = [parse(heard.body) for heard in run.heard]
        self.events = [parse(line) for line in run.events]
        versions: set[int] = set()
        for tree in [*self.answers, *self.events]:
            _collect(tree, versions)
        self._ranks = sorted(versions)

    def answer(self, index: int, heard: Heard) -> Any:
        """Code, the headers that matter, and the body."""
        headers = {name: heard.headers[name] for name in ("content-type", "warning", "retry-after") if name in heard.headers}
        if heard.code == 404:
            headers.pop("warning", None)  # a patch is tried on the real server's cached copy before it finds the object gone
        return {"code": heard.code, "headers": headers, "body": _unordered(self.tree(self.answers[index]))}

    def event(self, index: int) -> Any:
        return self.tree(self.events[index])

    def tree(self, tree: Any, key: str = "", listed: bool = False) -> Any:
        """A comparable tree."""
        if isinstance(tree, dict):
            whole = _is_list(tree) or tree.get("type") == "BOOKMARK"
            return {name: self._member(name, member, listed or whole) for name, member in tree.items()}
        if isinstance(tree, list):
            return [self.tree(member, key) for member in tree]
        if isinstance(tree, str) and not isinstance(tree, Number):
            return self._text(tree)
        return tree

    def _member(self, name: str, member: Any, listed: bool) -> Any:
        if name == "resourceVersion" and isinstance(member, str) and member.isdigit():
            return self._rank(int(member), listed)
        if name in _TIMES and isinstance(member, str) and _TIME.match(member):
            return "<time>"
        if name == "continue" and isinstance(member, str) and member:
            return "<continue>"
        if name == "causes" and isinstance(member, list):
            return sorted((self.tree(entry) for entry in member), key=str)
        if name == "managedFields" and isinstance(member, list):
            return sorted((self.tree(entry) for entry in member), key=_owner)
        return self.tree(member, name, listed and name in ("metadata", "object"))

    def _rank(self, version: int, listed: bool) -> str:
        if listed:
            return f"at or after version {bisect.bisect_right(self._ranks, version)}"
        return f"version {bisect.bisect_left(self._ranks, version) + 1}"

    def _text(self, text: str) -> str:
        text = _QUOTED.sub(self._quoted, text)
        text = _UID.sub(self._uid, text)
        text = _TIME_IN_TEXT.sub(lambda found: found[0] if found[0] == USER_TIME else "<time>", text)
        text = _VERSION_IN_TEXT.sub(lambda found: f"{found[1]}{self._rank(int(found[2]), False)}", text)
        text = text.replace("Key: /registry/", "Key: /")  # the real server's cache and its store name one key differently
        text = _ALLOCATED.sub("<address>", text)
        return text.replace(self._namespace, "<namespace>")

    def _quoted(self, found: re.Match[str]) -> str:
        """A whole object inside a message, made comparable like any other."""
        try:
            inner = json.loads(found[1])
            tree = json.loads(inner, parse_int=Number, parse_float=Number)
        except ValueError:
            return found[0]
        return f"Invalid value: {json.dumps(self.tree(tree), sort_keys=True)}" if isinstance(tree, dict) else found[0]

    def _uid(self, found: re.Match[str]) -> str:
        uid = found[0]
        if uid in _FIXED or uid.startswith("6ba7b810"):
            return uid
        return self._uids.setdefault(uid, f"uid-{len(self._uids) + 1}")


def _unordered(body: Any) -> Any:
    """The answer with the parts of its message in a fixed order, where the real server takes them from a hash map."""
    if not isinstance(body, dict) or body.get("kind") != "Status" or not isinstance(body.get("message"), str):
        return body
    message = body["message"]
    causes = (body.get("details") or {}).get("causes") or []
    parts = sorted({f"{cause.get('field', '')}: {cause.get('message', '')}" for cause in causes})  # a message tells each cause once
    head, separator, tail = message.partition(" is invalid: [")
    if separator and len(tail) == len(", ".join(parts)) + 1 and all(part in tail for part in parts):
        return {**body, "message": f"{head}{separator}{', '.join(parts)}]"}
    head, separator, tail = message.partition("errors:\n")
    return {**body, "message": head + separator + "\n".join(sorted(tail.split("\n")))} if separator else body


def _is_list(tree: dict[str, Any]) -> bool:
    return isinstance(tree.get("items"), list) and str(tree.get("kind", "")).endswith("List")


def _collect(tree: Any, into: set[int], listed: bool = False) -> None:
    """The versions of objects; those of lists and bookmarks are no versions of anything."""
    if isinstance(tree, dict):
        skip = _is_list(tree) or tree.get("type") == "BOOKMARK"
        for name, member in tree.items():
            if name == "resourceVersion" and isinstance(member, str) and member.isdigit() and not listed:
                into.add(int(member))
            else:
                _collect(member, into, (skip or listed) and name in ("metadata", "object"))
    elif isinstance(tree, list):
        for member in tree:
            _collect(member, into)


def _owner(entry: Any) -> str:
    if not isinstance(entry, dict):
        return ""
    return json.dumps([entry.get(name, "") for name in ("operation", "manager", "apiVersion", "subresource")])
