"""Records of what actors did. Whoever watches a server makes them, in the order in which the server did things.

A commit is a write that gave the object a new resourceVersion. Dry runs and writes that changed nothing are not commits: the
latter are recorded as attempts with `outcome="unchanged"`. A refused attempt is a 409, or a JSON patch whose `test` failed;
validation errors are no attempts. The actor is a token or a user agent, because reads carry no field manager; writes of one actor
under field managers that it chose count as several writers.
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


class Said(msgspec.Struct, frozen=True):
    """What a process says about one of its requests: fields of the record that nobody else can know."""

    actor: str = ""
    base: int | None = None
    reads: tuple[Path, ...] | None = None
    seen: tuple[int, ...] = ()
    once: bool = False


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
    verb: str  # create | update | patch | delete
    before: Json | None
    after: Json | None
    manager: str = ""
    subresource: str = ""
    content: str = ""  # for patches: merge | json | strategic | apply
    body: Json = None
    #: The resourceVersion that the request itself named, as a precondition or in its body.
    precondition: int | None = None
    #: The version that the process says it decided on, and the paths that it says it read. None: it says nothing.
    base: int | None = None
    reads: tuple[Path, ...] | None = None
    #: Own earlier commits whose outcome the process says it knows: replacing what they wrote loses nothing.
    seen: tuple[int, ...] = ()
    #: The newest version that the actor can have received, where the recorder knows it better than the observations do.
    newest: int | None = None
    #: The actor watches the kind. A recorder that sees the deliveries of a watch sends observations instead.
    watching: bool = False
    #: The incarnation that the request was decided on, where known.
    base_uid: str = ""
    #: The apiVersion that the request used, where known.
    api_version: str = ""


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
    manager: str = ""
    #: As in a commit.
    base: int | None = None
    reads: tuple[Path, ...] | None = None
    watching: bool = False
    #: The process says that it has no function to run again: the read that follows a refusal belongs to its error message.
    once: bool = False


Record = Commit | Observation | Attempt

#: What client-go makes of a program's name: platform and commit say nothing about who it is, a suffix does.
_CLIENT_GO = re.compile(r"(\S+) \([^)]*\) kubernetes/[^/ ]+(?:/(\S+))?")


def is_failed_test(code: int, content: str, causes: object) -> bool:
    """Whether a 422 is the failed `test` of a JSON patch. Every other 422 is a validation error: nobody else's write caused it."""
    return code == 422 and content == "json" and not causes


def writer_of(record: Commit | Attempt) -> str:
    """The name of a writer: the actor, and its field manager where it chose one.

    Not for apply, which needs one: many programs apply some things and update others. Nor where the server would have derived the same
    from the user agent.
    """
    actor, manager = record.actor, record.manager
    if not manager or manager == actor or record.content == "apply" or manager == actor.partition("/")[0]:
        return actor
    return f"{actor} (field manager {manager})"


def how(record: Commit | Attempt) -> str:
    """The request: its verb, its content type and its subresource."""
    return " ".join(word for word in (record.verb, record.content, record.subresource) if word)


def actor_of(agent: str) -> str:
    """The actor behind a user agent: without what all parts of one program have in common."""
    found = _CLIENT_GO.fullmatch(agent)
    if found is None:
        return agent
    return f"{found[1]} {found[2]}" if found[2] else found[1]
