"""Which requests a fault or a hold is for: checked when it is set up, matched against every request that arrives.

Called by `faults` and `holds`. `aimed` refuses what can never match: a verb that the API does not have, a kind that is not served,
a namespace of a cluster-scoped kind. A misspelt fault that strikes nothing would let a test pass for no reason.
The name of a request follows the request-info resolver of apiserver: it comes from the path, for a list or watch from the field
selector `metadata.name=`, and here for a create from the body.
"""

from __future__ import annotations

from difflib import get_close_matches
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

import msgspec

from . import routes

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from ..wire import Request
    from .kinds import Kind

__tracebackhide__ = True  # pytest shows the caller's line instead of this module

#: The verbs of the API. `replace` is what clients call an update.
Verb: TypeAlias = Literal["get", "list", "watch", "create", "update", "replace", "patch", "delete", "deletecollection"]
_VERBS = ("get", "list", "watch", "create", "update", "patch", "delete", "deletecollection")
#: Words for a verb that belong to HTTP or to a client.
_OTHER_WORDS = {"replace": "update", "put": "update", "post": "create", "head": "get", "apply": "patch"}
_ALL_VERBS = "get, list, watch, create, update (or replace), patch, delete, deletecollection"


class Served(msgspec.Struct, frozen=True):
    """A kind that the server serves, as far as a request can name it."""

    group: str
    plural: str
    kind: str
    namespaced: bool = True
    subresources: frozenset[str] = frozenset()

    @property
    def names(self) -> tuple[str, ...]:
        """What `kind=` may say for it."""
        qualified = (f"{self.kind}.{self.group}", f"{self.plural}.{self.group}") if self.group else ()
        return (self.kind, self.plural, *qualified)


class Asked(msgspec.Struct, frozen=True):
    """What a request asks for."""

    verb: str
    group: str
    resource: str
    namespace: str
    name: str
    subresource: str
    #: The user agent.
    client: str

    def words(self, served: Iterable[Served]) -> str:
        """The request in words: `patch Gadget/status default/g by "operator"`."""
        kinds = {(kind.group, kind.plural): kind.kind for kind in served}
        kind = kinds.get((self.group, self.resource), self.resource)
        place = "/".join(part for part in (self.namespace, self.name) if part)
        parts = [self.verb, f"{kind}/{self.subresource}" if self.subresource else kind, *([place] if place else [])]
        return " ".join([*parts, f'by "{self.client}"'])


class Aim(msgspec.Struct, frozen=True):
    """Which requests are meant. None matches anything."""

    verb: str | None = None
    kind: str | None = None
    #: The resources behind `kind`, by group and plural.
    resources: frozenset[tuple[str, str]] = frozenset()
    name: str | None = None
    namespace: str | None = None
    subresource: str | None = None
    client: str | None = None

    def misses(self, asked: Asked) -> tuple[str, ...]:
        """The parameters that do not fit the request; none when the request is meant."""
        fits = {
            "verb": self.verb in (None, asked.verb),
            "kind": self.kind is None or (asked.group, asked.resource) in self.resources,
            "name": self.name in (None, asked.name),
            "namespace": self.namespace in (None, asked.namespace),
            "subresource": self.subresource in (None, asked.subresource),
            "client": self.client in (None, asked.client, asked.client.partition("/")[0]),
        }
        return tuple(parameter for parameter, fit in fits.items() if not fit)

    def __str__(self) -> str:
        """The aim in words: `patch Gadget/status`, `any request`."""
        kind = self.kind or ("" if self.subresource is None and self.verb is None else "any kind")
        named = f"{kind}/{self.subresource}" if self.subresource else kind
        place = "/".join(part for part in (self.namespace, self.name) if part)
        parts = [self.verb or "any request", *([named] if named else []), *([place] if place else [])]
        parts += ["(the object itself)"] if self.subresource == "" else []
        return " ".join([*parts, *([f'by "{self.client}"'] if self.client else [])])


def asked(request: Request) -> Asked | None:
    """What a request asks for; None for a path that names no resource."""
    route = routes.parse(request.method, request.path)
    if route is None:
        return None
    query = dict(reversed(request.query))  # the first of several counts, as in Go
    verb = route.verb
    if verb == "list" and query.get("watch", "0").lower() not in ("false", "0"):
        verb = "watch"
    name = route.name
    if not name and verb in ("list", "watch"):
        name = _selected(query.get("fieldSelector", ""))
    elif not name and verb == "create":
        name = _name_in(request.body)
    agent = request.headers.get("user-agent", "")
    return Asked(verb, route.group, route.resource, route.namespace, name, route.subresource, agent)


def _selected(selector: str) -> str:
    """The one name that a field selector admits."""
    for term in selector.split(","):
        field, _, value = term.replace("==", "=").partition("=")
        if field.strip() == "metadata.name":
            return value.strip()
    return ""


def _name_in(body: bytes) -> str:
    """The name in a JSON body; nothing where the body is something else (YAML, protobuf)."""
    try:
        return msgspec.json.decode(body, type=_Body).metadata.name
    except msgspec.MsgspecError:
        return ""


class _Metadata(msgspec.Struct):
    name: str = ""


class _Body(msgspec.Struct):
    metadata: _Metadata = msgspec.field(default_factory=_Metadata)


def serving(kinds: Mapping[tuple[str, str], Kind]) -> Callable[[], list[Served]]:
    """A function that lists what the embedded server serves at the time of its call."""
    return lambda: [Served(kind.group, kind.plural, kind.kind, kind.namespaced, _subresources(kind)) for kind in tuple(kinds.values())]


def _subresources(kind: Kind) -> frozenset[str]:
    status = {"status"} if kind.has_status else set()
    scale = {"scale"} if any(version.scale is not None for version in kind.versions.values()) else set()
    return frozenset(status | scale | set(kind.other_subresources))


def aimed(
    served: Sequence[Served],
    *,
    verb: str | None = None,
    kind: str | None = None,
    name: str | None = None,
    namespace: str | None = None,
    subresource: str | None = None,
    client: str | None = None,
) -> Aim:
    """The aim with these parameters; ValueError where no request of this server can ever fit."""
    for parameter, value in (("verb", verb), ("kind", kind), ("name", name), ("namespace", namespace), ("client", client)):
        _text(parameter, value)
    exact = None if verb is None else _verb(verb)
    found = None if kind is None else _found(kind, served)
    _check_subresource(subresource, kind, served if found is None else found)
    if namespace is not None and found and not any(one.namespaced for one in found):
        raise ValueError(f"{found[0].kind} is cluster-scoped: leave namespace={namespace!r} out")
    if name is not None and exact == "deletecollection":
        raise ValueError(f"a deletecollection names no object: leave name={name!r} out, or use verb='delete'")
    if subresource and exact in ("list", "watch", "deletecollection", "delete"):
        raise ValueError(f"there is no {exact} of a subresource: leave subresource={subresource!r} out")
    resources = frozenset((one.group, one.plural) for one in found or ())
    return Aim(exact, kind, resources, name, namespace, subresource, client)


def _text(parameter: str, value: Any) -> None:
    if value is None:
        return
    if not isinstance(value, str):
        raise ValueError(f"{parameter}={value!r} is not a string")
    if not value:
        raise ValueError(f"{parameter}='' matches nothing: leave {parameter}= out to match every {parameter}")


def _verb(verb: str) -> str:
    if verb in _VERBS:
        return verb
    if verb == "replace":
        return "update"
    lower = verb.lower()
    meant = _OTHER_WORDS.get(lower) or nearest(verb, _VERBS)
    raise ValueError(f"verb={verb!r} is no verb of the API{did_you_mean(meant)} The verbs are {_ALL_VERBS}.")


def _found(kind: str, served: Sequence[Served]) -> list[Served]:
    found = [one for one in served if kind in one.names]
    if found:
        return found
    meant = nearest(kind, [name for one in served for name in one.names])
    raise ValueError(f"kind={kind!r} is not served{did_you_mean(meant)} The CRD of a kind must be applied before a fault or hold names it.")


def _check_subresource(subresource: Any, kind: str | None, served: Sequence[Served]) -> None:
    if subresource is None or subresource == "":
        return
    known = sorted({name for one in served for name in one.subresources})
    if not isinstance(subresource, str):
        raise ValueError(f"subresource={subresource!r} is not a string")
    if subresource not in known:
        whose = f"of {kind}" if kind else "of any kind that is served"
        have = f"{kind} has {', '.join(known) or 'none'}; " if kind else ""
        meant = did_you_mean(nearest(subresource, known))
        raise ValueError(f"subresource={subresource!r} is no subresource {whose}{meant} {have}'' is the object itself.")


def nearest(word: str, known: Iterable[str]) -> str | None:
    """The known word that was most likely meant."""
    by_lower = {name.lower(): name for name in reversed(list(known))}
    close = get_close_matches(word.lower(), by_lower, n=1, cutoff=0.7)
    return by_lower[close[0]] if close else None


def did_you_mean(word: str | None) -> str:
    """The end of a sentence about a word that is not known."""
    return f": did you mean {word!r}?" if word else "."
