"""Calls into other modules that write a status there, where only the call can be seen.

Called by `elsewhere` for calls whose callee is not in the project. Five shapes have no other meaning: a type of patch and the text "status"
among the arguments; a function value or a foreign method named after a patch that is given "status" last; a foreign function named
after the writing of a status that is given a client; a function in a field that is named so (`c.statusUpdater(ctx, condition)`);
a method named so of an object that knows its client.
"""

from __future__ import annotations

import re
from functools import cache
from typing import TYPE_CHECKING, Any

from fiferail.audit.golang import known
from fiferail.audit.golang.trees import render

if TYPE_CHECKING:
    from fiferail.audit.golang.project import GoFile
    from fiferail.audit.golang.types import Type

ELSEWHERE = "another module"
_GENERIC = re.compile(r"(?i)^(?:\w*patch\w*|update\w*|apply\w*)$")
_STATUS_WRITER = re.compile(
    r"^(?:Set|Try)?(?:Update|Modify|Patch|Apply|Write|Persist|Save)\w*Status(?:es|To|(?:In|On)[A-Z]\w*)?$|^(?:Update|Patch|Apply|Write|Persist|Save|Ensure|Set)\w*Conditions?$"
    # A base for reconcilers that many operators embed.
    r"|^Manage(?:Outcome|Error|Success)(?:WithRequeue)?$"
)
_FUNCTION = re.compile(r"^(?:status(?:Updat|Patch|Writ|Report)\w*|(?:update|patch|write|persist|report)\w*Status(?:Func|Fn)?)$")
_CLIENT = re.compile(r"(?i)(?:^|\.)\w*(?:client|clientset|kube)\w*(?:\(\))?$|(?:\.|^)Core\w*V\d\(\)$")
_CORE_KIND = re.compile(r"^(?:Set|Update|Patch|Apply|Ensure)(Node|Pod|Service|PersistentVolume(?:Claim)?)(?:Status|Conditions?)$")
_LIBRARY = re.compile(r"(?:^|/)(?:resources?|controllers?|objects?)(?:/|$)")
_CLIENT_ROLES = {"client", "status", "dynamic", "resource", "clientset", "group", "typed"}


@cache
def _named(name: str) -> str:
    if _STATUS_WRITER.match(name):
        return "status"
    return "function" if _FUNCTION.match(name) else "generic" if _GENERIC.match(name) else ""


def may_write(name: str, file: GoFile) -> bool:
    """Whether a call of that name, in that file, may write a status in another module."""
    named = _named(name)
    return named in ("status", "function") or (named == "generic" and file.names_status)


def is_status_writer(name: str) -> bool:
    """Whether a name says that a status is written."""
    return _named(name) == "status"


def is_status_function(name: str) -> bool:
    """Whether a field or a parameter with that name, if it is a function, writes a status."""
    return _named(name) == "function"


def core_kind(name: str) -> str:
    """The kind of the core API that a function is named after: `SetNodeCondition`."""
    named = _CORE_KIND.match(name)
    return named[1] if named else ""


def is_object(kind: Type) -> bool:
    """An object of a library for controllers, or what stands for one there: it knows its client."""
    return kind is not None and kind[0] == "n" and _LIBRARY.search(str(kind[1])) is not None


def patch_type(arguments: list[Any]) -> int:
    """The position of the type of a patch among arguments, or -1."""
    for position, argument in enumerate(arguments):
        text = render(argument)
        if text.endswith(("PatchType", "ApplyYAMLPatchType")) and argument[0] == ".":
            return position
    return -1


def says_status(arguments: list[Any]) -> bool:
    """The text "status" as the last argument: the subresource."""
    return bool(arguments) and arguments[-1][0] == '"' and arguments[-1][1] == "status"


def writes_status(name: str, arguments: list[Any], types: list[Type]) -> bool:
    """A foreign function named after writing a status, that is given a client to do it with, or is a client's method."""
    if not _STATUS_WRITER.match(name) or len(arguments) < 2:
        return False
    return any(
        known.role(kind) in _CLIENT_ROLES
        or (kind is not None and kind[0] == "n" and kind[2].endswith(("Client", "Clientset")))
        or (kind is None and _CLIENT.search(render(argument)) is not None)
        for argument, kind in zip(arguments, types, strict=True)
    )
