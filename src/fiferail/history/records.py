"""Records of what actors did. Whoever watches a server makes them, in the order in which the server did things.

A commit is a write that gave the object a new resourceVersion. Dry runs and writes that changed nothing are not commits: the
latter are recorded as attempts with `outcome="unchanged"`. The actor is who did it (a token, a user agent); the manager is a label.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import msgspec

if TYPE_CHECKING:
    from ..objects.paths import Path
    from ..objects.tree import Json


class Identity(msgspec.Struct, frozen=True):
    """One object. A deleted and recreated object of the same name is another one."""

    resource: str  # plural.group
    namespace: str
    name: str
    uid: str

    def __str__(self) -> str:
        where = f"{self.namespace}/{self.name}" if self.namespace else self.name
        return f"{self.resource.partition('.')[0]} {where}"


class Observation(msgspec.Struct, frozen=True):
    """An actor was given a version of an object: by GET, LIST, watch, or as the answer to its own write."""

    actor: str
    object: Identity
    version: int
    #: get | list | watch | answer. What a watch brings is a queue: it may lag behind what the actor has from elsewhere.
    via: str = "get"


class Commit(msgspec.Struct, frozen=True):
    """A write that changed an object."""

    actor: str
    object: Identity
    version: int
    verb: str  # create | update | patch | apply | delete
    before: Json | None
    after: Json | None
    manager: str = ""
    subresource: str = ""
    content: str = ""  # for patches: merge | json | strategic | apply
    body: Json = None
    #: The resourceVersion that the request itself named, as a precondition or in its body.
    precondition: int | None = None
    #: The version whose values the process says it decided on, where it told; and the paths it looked at.
    base: int | None = None
    reads: tuple[Path, ...] | None = None
    #: The incarnation that the request was decided on, where known.
    base_uid: str = ""


class Attempt(msgspec.Struct, frozen=True):
    """A write that changed nothing: refused by the server, or the same as what was there."""

    actor: str
    object: Identity
    verb: str
    outcome: str  # refused | unchanged
    content: str = ""
    subresource: str = ""
    body: Json = None
    precondition: int | None = None
    code: int = 0
    #: As in a commit.
    base: int | None = None
    reads: tuple[Path, ...] | None = None


Record = Commit | Observation | Attempt

#: What client-go makes of a program's name: platform and commit say nothing about who it is, a suffix does.
_CLIENT_GO = re.compile(r"(\S+) \([^)]*\) kubernetes/[^/ ]+(?:/(\S+))?")


def actor_of(agent: str) -> str:
    """The actor behind a user agent: without what all parts of one program have in common."""
    found = _CLIENT_GO.fullmatch(agent)
    return agent if found is None else f"{found[1]} {found[2]}" if found[2] else found[1]
