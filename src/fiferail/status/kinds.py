"""What the server says of a kind: where it is served, which lists are keyed, which fields it has. Asked once, remembered by the writer.

Discovery and schema reads have the same budget and the same errors as a write. A schema that cannot be read means whole-list tests:
more conflicts, nothing lost.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from ..errors import ApiError, FiferailError
from ..objects.paths import Key, render
from . import schemas, targets
from .conversation import document
from .intents import Condition, Put
from .shapes import Shapes, place_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from ..objects.paths import Path
    from ..objects.tree import Json
    from .core import Core
    from .effects import Conversation
    from .intents import Intent
    from .patience import Patience
    from .stage import Stage
    from .targets import Resource, Target

#: Of a kind that nobody has asked for.
UNKNOWN = Shapes()


def resource(core: Core, target: Target, patience: Patience) -> Conversation[Resource]:
    """Where the kind is served."""
    known = core.memory.resource(target)
    if known is not None:
        return known
    served = yield from document(targets.discovery(target), patience, f"what {target.api_version} serves could not be read")
    found = targets.resources(served) if served is not None else {}
    if target.kind not in found:
        raise FiferailError(f"the server has no kind {target.kind} in {target.api_version}: is its CRD installed?")
    core.memory.resources[target.api_version] = found
    return found[target.kind]


def writable(core: Core, target: Target, subresource: str, patience: Patience) -> Conversation[Resource]:
    """Where the kind is served, refusing a kind that lacks the subresource."""
    found = yield from resource(core, target, patience)
    if subresource and not found.status:
        core.memory.resources.pop(target.api_version, None)  # the CRD may have gained it since
        found = yield from resource(core, target, patience)
    if subresource and not found.status:
        raise FiferailError(f"{target.kind_name} has no status subresource: add `subresources: {{status: {{}}}}` to its CRD")
    found.path(target)
    return found


def shapes(core: Core, target: Target, stage: Stage, patience: Patience) -> Conversation[None]:
    """Ask which lists are keyed, and check what the caller said of them."""
    openapi = yield from _openapi(target, patience)
    found = schemas.shapes_of(openapi, target) if openapi is not None else Shapes(enforced=frozenset())
    core.memory.keep_shapes(target.kind_id, found, core.settings.seconds())
    for place, names in stage.shapes.keyed.items():
        found.check(place, names)
    known = core.known_shapes(target)
    stage.shapes = msgspec.structs.replace(known, keyed={**stage.shapes.keyed, **known.keyed}, wholes=stage.shapes.wholes)


def require_fields(core: Core, target: Target, paths: Sequence[Path], patience: Patience) -> Conversation[None]:
    """Refuse fields that the schema lacks: the server would drop them without a word. What is missing is asked for again first."""
    known = core.memory.declared.get(target.kind_id)
    if known is None or not all(known.has(path) for path in paths):
        openapi = yield from _openapi(target, patience)
        schema = schemas.schema_of(openapi, target)[0] if openapi is not None else None
        known = core.memory.declared[target.kind_id] = schemas.Declared(schema)
    for path in paths:
        if not known.has(path):
            raise FiferailError(
                f"the schema of {target.kind_name} in {target.api_version} has no {render(path)}, so the server would drop it: "
                "add it to the CRD. Nothing was written."
            )


def depends_on_keys(intents: Iterable[Intent]) -> bool:
    """Whether the schema is needed: an entry is added, or one is addressed by keys that only the caller has named."""
    for intent in intents:
        for depth, step in enumerate(intent.path):
            if isinstance(step, Key):
                adds = depth + 1 == len(intent.path) and isinstance(intent, (Put, Condition))
                if adds or place_of(intent.path[:depth])[-1] != "conditions":
                    return True
    return False


def _openapi(target: Target, patience: Patience) -> Conversation[Json | None]:
    request = schemas.document(target)
    if request is None:
        return None
    try:
        return (yield from document(request, patience, f"the schema of {target.kind_name} could not be read"))
    except ApiError:  # 403: who may not read the schema tests whole lists
        return None
