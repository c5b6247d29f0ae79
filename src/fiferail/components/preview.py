"""What a component would apply, without a cluster: for tests, for golden files, for a person who wants to see it.

The same rendering as in a reconcile, so a preview cannot drift from what is applied. No owner reference: it needs the owner's uid.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ..errors import FiferailError
from . import data
from .resource import Mode

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from ..objects.tree import Json
    from .data import Data
    from .resource import Resource


def rendered(
    resources: Sequence[Resource], version: str | None, *, owner: Mapping[str, Any] | None, values: Mapping[Data[Any], Any], rest: bool
) -> list[Json]:
    """Each desired object after its mutations; at rest where the component is suspended."""
    namespace = (owner or {}).get("metadata", {}).get("namespace")
    found = []
    with data.filled(values):
        for resource in resources:
            obj = _rendered(resource, version, rest=rest)
            if namespace and not obj["metadata"].get("namespace"):
                obj["metadata"]["namespace"] = namespace
            found.append(obj)
    return found


def _rendered(resource: Resource, version: str | None, *, rest: bool) -> Json:
    try:
        obj = resource.render(version)
    except data.DataMissing as missing:
        hint = f'{resource.text} needs data "{missing.cell.name}": give preview() a value for it with data={{cell: value}}'
        raise FiferailError(hint) from missing
    return resource.put_to_rest(obj) if rest and resource.suspendable else obj


def topology(name: str, resources: Sequence[tuple[Resource, Mode]]) -> str:
    """The flow of data, one resource a line."""
    lines = [name]
    for resource, mode in resources:
        line = f"  {resource.text}" + ("" if mode is Mode.APPLY else f" ({mode.value})")
        optional = [cell for cell in resource.reads if cell not in resource.needs]
        line += "".join(f"  <- {cell.name}" for cell in resource.needs)
        line += "".join(f"  <? {cell.name}" for cell in optional)
        line += "".join(f"  -> {cell.name}: {cell.type.__name__}" for cell in resource.yields)
        lines.append(line)
    return "\n".join(lines)
