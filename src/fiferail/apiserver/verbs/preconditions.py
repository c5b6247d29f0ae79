"""What the store says when a precondition on uid or resourceVersion does not hold: the place of the object in etcd, and both values.

Called by update and delete, whose preconditions reach the store. Only words it; whether it holds is the caller's business.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from .. import statuses

if TYPE_CHECKING:
    from ..call import Call

#: Where the store keeps kinds that are not under their plural.
_PLACES = {
    ("", "services"): "services/specs",
    ("", "endpoints"): "services/endpoints",
    ("", "nodes"): "minions",
    ("", "replicationcontrollers"): "controllers",
    ("networking.k8s.io", "ingresses"): "ingress",
    ("apiextensions.k8s.io", "customresourcedefinitions"): "apiextensions.k8s.io/customresourcedefinitions",
}


def failed(call: Call, key: str, name: str, wanted: str, held: str) -> statuses.Refusal:
    """The 409. `name` is UID or ResourceVersion."""
    kind = call.kind
    place = f"{kind.group}/{kind.plural}" if kind.custom else _PLACES.get(kind.key, kind.plural)
    text = f"Precondition failed: {name} in precondition: {wanted}, {name} in object meta: {held}"
    where = f"Code: 4, Key: /registry/{place}/{key}, ResourceVersion: 0"
    refusal = f"StorageError: invalid object, {where}, AdditionalErrorMsg: {text}"
    return statuses.conflict(kind.group, kind.plural, key.rpartition("/")[2], refusal)
