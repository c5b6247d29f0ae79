"""managedFields of an object and of its scale, one made of the other. Called by the API server for the scale subresource.

Mirrors `managedfields.ScaleHandler`: a scale has the entries that own the replicas, spelled as a Scale spells them; after a write
to the scale, whoever lost the replicas there loses them in the object.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..fieldset import FieldSet
from .managed import Entry, Managed, Owner

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ..paths import Path

SCALE_VERSION = "autoscaling/v1"
_REPLICAS: Path = ("spec", "replicas")


def to_scale(managed: Managed, replicas: Mapping[str, Path]) -> Managed:
    """The entries of the scale. `replicas` says for each apiVersion of the kind where its replicas stand."""
    entries: dict[Owner, Entry] = {}
    for one, entry in managed.entries.items():
        path = replicas.get(entry.api_version)
        if path and entry.fields.has(path):
            entries[one._replace(api_version=one.api_version and SCALE_VERSION)] = Entry(SCALE_VERSION, FieldSet.of(_REPLICAS), entry.time)
    return Managed(entries)


def from_scale(managed: Managed, scale: Managed, replicas: Mapping[str, Path | None], api_version: str) -> Managed:
    """The entries of the object after its scale was written. A None in `replicas`: that version has no scale.

    An updater of the scale is never recognised as an updater of the object, so its entry is made anew, and has no time. Two
    entries of one owner may come of it; both are shown, and decoding again keeps one of them, as on the server.
    """
    entries: dict[Owner, Entry] = {}
    rest = dict(scale.entries)
    for one, entry in managed.entries.items():
        if entry.api_version not in replicas:
            continue
        path = replicas[entry.api_version]
        if not path or not entry.fields.has(path) or rest.pop(one, None) is not None:
            entries[one] = entry
            continue
        fields = entry.fields.difference(FieldSet.of(path))
        if fields:
            entries[one] = entry._replace(fields=fields)
    mine = replicas.get(api_version)
    for one, entry in rest.items():
        if mine and entry.fields.has(_REPLICAS):
            held = managed.entries.get(one)
            entries[one] = Entry(api_version, FieldSet.of(mine), held.time if held else None)
    return Managed(entries)
