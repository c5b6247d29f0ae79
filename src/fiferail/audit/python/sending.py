"""From a call to the writes in it: which client the receiver belongs to, and what that client then sends.

Called by `walk` for every call. It also sees writes that are handed to someone else to call (`run_in_executor(None, api.patch_..., ...)`,
`functools.partial`) and methods that are looked up by name.
"""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from fiferail.audit.python import bound, dynamic, lightkube, official, own
from fiferail.audit.python.expressions import argument, dotted, literal, text
from fiferail.audit.python.module import kind_of
from fiferail.audit.python.writes import TYPES, Write

if TYPE_CHECKING:
    from collections.abc import Iterator

    from fiferail.audit.python.held import Held
    from fiferail.audit.python.walk import Walk

_OFFICIAL = {"kubernetes", "kubernetes_asyncio", "openshift"}
_EVENTS = {"event", "info", "warn", "exception"}


def writes_in(call: ast.Call, name: str, walk: Walk) -> Iterator[tuple[ast.AST, Write]]:
    found = _write(call, name, walk)
    if found is not None:
        yield call, found
        return
    kept = _kept(call, walk)
    if kept is not None:
        yield call, kept
    for position, one in enumerate(call.args):
        if isinstance(one, ast.Attribute):
            handed = ast.Call(one, call.args[position + 1 :], call.keywords, lineno=one.lineno, col_offset=one.col_offset)
            handed.end_lineno = call.end_lineno
            found = _write(handed, one.attr, walk, handed=True)
            if found is not None:
                yield handed, found


def _write(call: ast.Call, name: str, walk: Walk, handed: bool = False) -> Write | None:
    if isinstance(call.func, ast.Name):
        return _function(call, name, walk)
    if not isinstance(call.func, ast.Attribute):
        return _looked_up(call, walk)
    receiver = call.func.value
    held = walk.values.of(receiver, walk.scope)
    if held is None or held.role in ("api", "module", "client", "instance"):
        found = _official(call, name, held, walk)
        if found is not None:
            return found
    if name == "server_side_apply" and walk.module.official and (held is None or held.role == "api"):
        found = dynamic.write_of(call, name, walk.names, None)
        if found is not None:
            found.kind = kind_of(literal(argument(call, -1, "plural"), walk.names))
        return found
    if held is None and "pykube" in walk.module.libraries and "api_kwargs" in text(call):
        return bound.raw(call, name, None)
    if held is None:
        found = _unmistakable(call, name, receiver, walk)
        if found is not None:
            return found
        return own.writer(call, name) if "fiferail" in walk.module.libraries and "writer" in text(receiver).lower() else None
    if handed and held.role not in ("object", "client", "resource"):
        return None
    return _by_role(call, name, held, walk)


def _unmistakable(call: ast.Call, name: str, receiver: ast.expr, walk: Walk) -> Write | None:
    """A receiver that nothing types, and a call that only one client has."""
    if literal(argument(call, -1, "subresource"), walk.names) == "status" and name in ("patch", "async_patch", "update"):
        return bound.write_of(call, name, walk.names, "pykube" if "pykube" in walk.module.libraries else "kr8s")
    if "lightkube" not in walk.module.libraries:
        return None
    first = walk.values.of(argument(call, 0, "res", "obj"), walk.scope)
    named = dotted(receiver).rpartition(".")[2].lstrip("_") in ("client", "lk", "lightkube_client", "lightkube", "kube_client")
    if (first is not None and first.library == "lightkube" and first.role in ("class", "object")) or (named and not walk.module.official):
        return lightkube.write_of(call, name, walk.names, lambda node: walk.values.of(node, walk.scope))
    return None


def _by_role(call: ast.Call, name: str, held: Held, walk: Walk) -> Write | None:
    if held.role == "writer":
        return own.writer(call, name)
    if held.role == "client" and held.library == "lightkube":
        return lightkube.write_of(call, name, walk.names, lambda node: walk.values.of(node, walk.scope))
    if held.role == "client" and held.library == "fiferail":
        return own.client(call, name, walk.names)
    if held.role == "client" and held.library == "kr8s" and name in ("create", "async_create"):
        return Write("create", "create")
    if held.role == "client" and held.library == "pykube":
        return bound.raw(call, name, held)
    if held.role == "resource":
        return dynamic.write_of(call, name, walk.names, held)
    if held.role == "dynamic" and call.args:
        return dynamic.write_of(call, name, walk.names, walk.values.of(call.args[0], walk.scope), 1)
    if held.role == "object" and held.library in ("kr8s", "pykube"):
        if _overridden(call, walk):
            return None
        write = bound.write_of(call, name, walk.names, held.library)
        if write is not None:
            # kr8s patches what is adopted, not who adopts.
            what = walk.values.of(call.args[0], walk.scope) if name.endswith("adopt") and call.args else held
            write.kind, write.api = (what.kind, what.api) if what is not None else ("", "")
        return write
    if held.role == "module":
        return _function_of(held, call, name, walk)
    return None


def _overridden(call: ast.Call, walk: Walk) -> bool:
    """A method that the project's own class defines: what it does is listed where it stands."""
    return walk.values.callee(call.func, walk.scope) is not None


def _official(call: ast.Call, name: str, held: Held | None, walk: Walk) -> Write | None:
    match = official.method(name, held, walk.module.official)
    if match is None or (name in walk.values.project.methods and (held is None or held.role != "api")) or _overridden(call, walk):
        return None
    write = official.write_of(call, match, walk.names, _asynchronous(call, held, walk))
    if write is not None and walk.content_type and match.group(1) == "patch":
        # A default header wins over what the client would choose.
        write.verb = TYPES.get(walk.content_type, write.verb)
        write.notes = [note for note in write.notes if note != "content-type-guessed"]
    if write is not None and write.verb == "merge-patch" and _was_read(write.body, walk):
        write.verb = "merge-patch-locked"
    if write is not None and write.given:
        known = {one.arg for one in walk.node.args.args + walk.node.args.kwonlyargs} if walk.node is not None else set()
        write.given = {aspect: name for aspect, name in write.given.items() if name in known}
    return write


def _was_read(body: ast.expr | None, walk: Walk) -> bool:
    """A model as the client read it carries its resourceVersion."""
    held = walk.values.of(body, walk.scope) if body is not None else None
    return held is not None and held.role == "model" and held.name == "read"


def _asynchronous(call: ast.Call, held: Held | None, walk: Walk) -> bool:
    if held is not None and held.library in _OFFICIAL:
        return held.library == "kubernetes_asyncio"
    libraries = walk.module.libraries & _OFFICIAL
    return libraries == {"kubernetes_asyncio"} or (id(call) in walk.awaited and libraries != {"kubernetes"})


def _function(call: ast.Call, name: str, walk: Walk) -> Write | None:
    """A function imported by name: kubernetes.utils.create_from_yaml, kr8s.create, kopf.event."""
    held = walk.values.of(call.func, walk.scope)
    return _function_of(held, call, name, walk) if held is not None and held.role == "module" else None


def _function_of(held: Held, call: ast.Call, name: str, walk: Walk) -> Write | None:
    if held.library in _OFFICIAL:
        return official.from_file(call, name)
    if held.library == "kr8s" and name == "create" and call.args:
        return Write("create", "create")
    if held.library == "kopf" and name in _EVENTS and held.name in ("kopf", f"kopf.{name}") and len(call.args) + len(call.keywords) >= 2:
        return Write("create", "create", "Event", helper="kopf event")
    return None


def _kept(call: ast.Call, walk: Walk) -> Write | None:
    """patch = getattr(api, f"patch_namespaced_{kind}"): a method that is kept to be called later is listed where it is taken."""
    if text(call.func) != "getattr" or len(call.args) < 2 or id(call) in walk.called or not walk.module.official:
        return None
    held = walk.values.of(call.args[0], walk.scope)
    if held is not None and held.role != "api":
        return None
    return official.by_prefix(_beginning(call.args[1])) if held is not None or "api" in text(call.args[0]).lower() else None


def _beginning(node: ast.expr) -> str:
    return next((one.value for one in ast.walk(node) if isinstance(one, ast.Constant) and isinstance(one.value, str)), "")


def _looked_up(call: ast.Call, walk: Walk) -> Write | None:
    """getattr(api, "create_namespaced_" + kind)(...): the verb is known, the kind may be."""
    made = call.func
    if not (isinstance(made, ast.Call) and text(made.func) == "getattr" and len(made.args) >= 2):
        return None
    name = literal(made.args[1], walk.names)
    held = walk.values.of(made.args[0], walk.scope)
    whole = official.method(name, held, walk.module.official) if name else None
    if whole is not None:
        return official.write_of(call, whole, walk.names, _asynchronous(call, held, walk))
    return official.by_prefix(_beginning(made.args[1])) if walk.module.official else None
