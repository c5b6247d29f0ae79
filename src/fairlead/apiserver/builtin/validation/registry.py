"""Which function checks which kind."""

from __future__ import annotations

from typing import TYPE_CHECKING

from . import plain

if TYPE_CHECKING:
    from . import Create, Update

_CORE = ""
CREATE: dict[tuple[str, str], Create] = {
    (_CORE, "ConfigMap"): plain.config_map,
    (_CORE, "Secret"): plain.secret,
    (_CORE, "Namespace"): plain.namespace,
    (_CORE, "Event"): plain.event,
    ("events.k8s.io", "Event"): plain.events_event,
    ("coordination.k8s.io", "Lease"): plain.lease,
}
UPDATE: dict[tuple[str, str], Update] = {
    (_CORE, "ConfigMap"): plain.config_map_update,
    (_CORE, "Secret"): plain.secret_update,
    (_CORE, "Namespace"): plain.namespace_update,
    (_CORE, "Event"): plain.event_update,
    ("events.k8s.io", "Event"): plain.events_event_update,
    ("coordination.k8s.io", "Lease"): plain.lease_update,
}
UPDATE_STATUS: dict[tuple[str, str], Update] = {}
