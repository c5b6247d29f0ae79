"""fiferail: status writes of Kubernetes controllers that never lose another writer's update.

    writer = fiferail.StatusWriter(client, field_manager="config-controller")   # the client you already have
    with writer.session(obj) as status:                                         # the object as you read it
        status["phase"] = "Running"
        status.conditions.set("Ready", True, reason="AllUp")
    # one request, only if something changed; nothing that another writer did is undone

The rooms: `status` is the writer, `clients` the adapters and the plain `Client`, `controllers` the reconcile loop around them,
`components` what an operator is made of, `apiserver` a Kubernetes API server in the process, `testing` the pytest fixture
`apiserver`, `audit` the auditor of operator source, `objects` what they all stand on.

Importing this module imports no Kubernetes client, and none of the rooms before a name of theirs is used.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ._version import __version__

if TYPE_CHECKING:
    from .clients import kopf as kopf
    from .clients.client import AsyncClient, Client
    from .clients.kubeconfig import connect, connect_async
    from .controllers.context import Context
    from .controllers.controller import Controller
    from .controllers.leases import LeaderElection
    from .controllers.manager import Manager
    from .controllers.plans import Plan, Plans, TaskFailed
    from .controllers.references import references
    from .errors import (
        AlreadyExists,
        ApiError,
        Cause,
        Change,
        Conflict,
        FiferailError,
        Forbidden,
        Invalid,
        NotFound,
        NotOwner,
        Unavailable,
        Unsupported,
    )
    from .front import AsyncStatusWriter, StatusWriter
    from .status.claims import Claims
    from .status.outcome import Made, Outcome
    from .status.patience import Budget
    from .status.strategies import APPLY, COMPARE, LOCKED, MERGE, Strategy
    from .status.view import Status

_HOMES = {
    "fiferail.errors": (
        "AlreadyExists", "ApiError", "Cause", "Change", "Conflict", "FiferailError", "Forbidden", "Invalid", "NotFound", "NotOwner",
        "Unavailable", "Unsupported",
    ),
    "fiferail.front": ("AsyncStatusWriter", "StatusWriter"),
    "fiferail.clients.client": ("AsyncClient", "Client"),
    "fiferail.clients.kubeconfig": ("connect", "connect_async"),
    "fiferail.controllers.context": ("Context",),
    "fiferail.controllers.controller": ("Controller",),
    "fiferail.controllers.leases": ("LeaderElection",),
    "fiferail.controllers.manager": ("Manager",),
    "fiferail.controllers.plans": ("Plan", "Plans", "TaskFailed"),
    "fiferail.controllers.references": ("references",),
    "fiferail.status.claims": ("Claims",),
    "fiferail.status.patience": ("Budget",),
    "fiferail.status.outcome": ("Made", "Outcome"),
    "fiferail.status.strategies": ("APPLY", "COMPARE", "LOCKED", "MERGE", "Strategy"),
    "fiferail.status.view": ("Status",),
}  # fmt: skip
_HOME = {name: module for module, names in _HOMES.items() for name in names}

__all__ = [
    "APPLY",
    "COMPARE",
    "LOCKED",
    "MERGE",
    "AlreadyExists",
    "ApiError",
    "AsyncClient",
    "AsyncStatusWriter",
    "Budget",
    "Cause",
    "Change",
    "Claims",
    "Client",
    "Conflict",
    "Context",
    "Controller",
    "FiferailError",
    "Forbidden",
    "Invalid",
    "LeaderElection",
    "Made",
    "Manager",
    "NotFound",
    "NotOwner",
    "Outcome",
    "Plan",
    "Plans",
    "Status",
    "StatusWriter",
    "Strategy",
    "TaskFailed",
    "Unavailable",
    "Unsupported",
    "__version__",
    "connect",
    "connect_async",
    "references",
]  # fmt: skip


def __getattr__(name: str) -> Any:
    """A name's room is imported when the name is first used."""
    if name in _HOME:
        import importlib

        value = getattr(importlib.import_module(_HOME[name]), name)
        globals()[name] = value
        return value
    if name == "kopf":
        import importlib

        return importlib.import_module("fiferail.clients.kopf")
    raise AttributeError(f"module 'fiferail' has no attribute {name!r}")
