"""The annotation of client-side apply, when `kubectl` applies on the server side for the first time.

Called by `operations.applied` for the manager `kubectl` only. What client-side apply last sent, and what is still so in the
object, may be taken over without a conflict; and an object that has the annotation gets it renewed. Mirrors lastappliedmanager
and lastappliedupdater of managedfields.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..fieldset import EMPTY
from ..tree import ABSENT, lookup
from .collect import collect
from .compare import compare
from .conform import conform
from .values import TypedErrors

if TYPE_CHECKING:
    from ..fieldset import FieldSet
    from ..tree import Json
    from .types import Type

MANAGER = "kubectl"
ANNOTATION = "kubectl.kubernetes.io/last-applied-configuration"
_AT = ("metadata", "annotations", ANNOTATION)
_MAX_ANNOTATIONS = 256 * 1024


def taken_over(live: Json, type_: Type, api_version: str) -> FieldSet:
    """The fields that client-side apply manages in this object; none where the annotation is missing or of no use."""
    from ..gojson import decode

    annotation = lookup(live, _AT)
    if not isinstance(annotation, str) or not annotation:
        return EMPTY
    try:
        sent = decode(annotation.encode())
        if not isinstance(sent, dict) or sent.get("apiVersion") != api_version:
            return EMPTY
        conform(sent, type_)
    except (TypedErrors, ValueError):
        return EMPTY
    comparison = compare(sent, live, type_)
    return collect(sent, type_).difference(comparison.changed).difference(comparison.removed)


def renewed(tree: Json, patch: Json) -> Json:
    """The object with the annotation, where it has one, saying what was applied now."""
    from ..gojson import encode

    if not lookup(tree, _AT):
        return tree
    sent = patch
    if lookup(patch, _AT[:-1]) is not ABSENT:
        rest = {name: value for name, value in patch["metadata"]["annotations"].items() if name != ANNOTATION}
        sent = {**patch, "metadata": {**patch["metadata"], "annotations": rest}}
    annotations = {**tree["metadata"]["annotations"], ANNOTATION: encode(sent).decode() + "\n"}
    if sum(len(name.encode()) + len(value.encode()) for name, value in annotations.items()) > _MAX_ANNOTATIONS:
        del annotations[ANNOTATION]
    return {**tree, "metadata": {**tree["metadata"], "annotations": annotations}}
