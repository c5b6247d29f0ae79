"""An AuthConfig that three kinds of workloads refer to, and that knows who does: `kubectl get authconfig -o yaml`.

The controller of the config is the sole owner of `status.referencingWorkloads`. The workloads write their own status and nothing
else. `before.py` is how this operator was first written, and what it lost.
"""

from __future__ import annotations

from typing import Any

from fiferail import Context, Controller, Manager, references

API = "auth.example.io/v1"
WORKLOADS = ("Server", "Gateway", "Proxy")


def configs() -> Controller:
    """The config's controller: who refers to it, and whether it can be used."""
    workloads = [(API, kind, "spec.configRef.name") for kind in WORKLOADS]
    return references((API, "AuthConfig"), field="referencingWorkloads", keys=("kind", "name"), from_=workloads, then=validate)


async def validate(ctx: Context) -> None:
    """The config's own condition, in the same write as the list."""
    issuer = (ctx.object.get("spec") or {}).get("issuer", "")
    good = issuer.startswith("https://")
    message = "" if good else f"expected an issuer that begins with https://, got {issuer!r}"
    ctx.status.conditions.set("Valid", good, reason="Checked" if good else "BadIssuer", message=message)


def workloads(kind: str) -> Controller:
    """A workload's controller: it looks at the config, and writes only its own status."""

    async def reconcile(ctx: Context) -> None:
        name = referenced(ctx.snapshot)
        config = ctx.cache.get(API, "AuthConfig", name, ctx.namespace) if name else None
        if not name:
            ctx.status.conditions.set("ConfigResolved", True, reason="NotUsed")
        elif config is None:
            ctx.status.conditions.set("ConfigResolved", False, reason="NotFound", message=f"there is no AuthConfig {name}")
        elif config["metadata"].get("deletionTimestamp"):
            ctx.status.conditions.set("ConfigResolved", False, reason="Deleting", message=f"AuthConfig {name} is to be deleted")
        else:
            ctx.status.conditions.set("ConfigResolved", True, reason="Found")

    def users(config: Any, cache: Any) -> list[tuple[str, str]]:
        namespace, name = config["metadata"]["namespace"], config["metadata"]["name"]
        return [(namespace, obj["metadata"]["name"]) for obj in cache.list(API, kind, namespace) if referenced(obj) == name]

    return Controller(API, kind, reconcile).watches(API, "AuthConfig", users)


def referenced(workload: Any) -> str:
    """The config that a workload names."""
    name: str = ((workload.get("spec") or {}).get("configRef") or {}).get("name", "")
    return name


def controllers() -> list[Controller]:
    """All of the operator."""
    return [configs(), *map(workloads, WORKLOADS)]


if __name__ == "__main__":
    Manager(*controllers(), health="0.0.0.0:8081").run()
